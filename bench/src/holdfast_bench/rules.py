"""How well rules are told from talk: our own labelled sentences, contracts (LexDeMod), everyday dialogue (DailyDialog).

Own set: {"part", "norm", "text"} a line; recall and precision of "is a rule", by part. LexDeMod: of the sentences that
bind, bar or let somebody, the share found. DailyDialog: of the turns that only inform, the share taken for a rule.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from holdfast.errors import InputError
from holdfast.rules.detect import norms
from holdfast_bench.admission import share
from holdfast_bench.data import Haystack, Said, Sitting

OWN, CONTRACTS, DIALOGUE = "own", "lexdemod", "dailydialog"
_TYPES = ("obligation", "entitlement", "prohibition", "permission", "no obligation", "no entitlement", "none")
"""LexDeMod's labels, in the order of its columns."""
_FOUND_TYPES = ("obligation", "prohibition", "permission")
_ACTS = {"1": "inform", "2": "question", "3": "directive", "4": "commissive"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text, whose set it is of, and what its label says."""

    source: str
    text: str
    kinds: tuple[str, ...]
    """Own: its part. LexDeMod: the types somebody has in it. DailyDialog: its act."""
    norm: str | None = None
    """Own: the modality, or None for no rule."""


def measure(labelled: Iterable[Labelled]) -> dict[str, object]:
    """The figures of each set that is there."""
    by_source: dict[str, list[Labelled]] = defaultdict(list)
    for one in labelled:
        by_source[one.source].append(one)
    figures: dict[str, object] = {}
    if own := by_source[OWN]:
        parts = dict.fromkeys(one.kinds[0] for one in own)
        figures[OWN] = {part: _own([one for one in own if one.kinds[0] == part]) for part in parts}
    if contracts := by_source[CONTRACTS]:
        figures[CONTRACTS] = {kind: _found([one for one in contracts if kind in one.kinds]) for kind in _FOUND_TYPES}
    if dialogue := by_source[DIALOGUE]:
        acts = [act for act in _ACTS.values() if any(act in one.kinds for one in dialogue)]
        figures[DIALOGUE] = {act: _found([one for one in dialogue if act in one.kinds]) for act in acts}
    return figures


def _own(labelled: Sequence[Labelled]) -> dict[str, object]:
    found = [(one, norms(one.text)) for one in labelled]
    rules = [(one, said) for one, said in found if one.norm is not None]
    right = [(one, said) for one, said in rules if said]
    flagged = sum(1 for _, said in found if said)
    doubted = sum(1 for one, _ in rules if norms(one.text, in_doubt=True))
    return {
        "n": len(found),
        "rules": len(rules),
        "recall": share(len(right), len(rules)),
        "recall_in_doubt": share(doubted, len(rules)),
        "precision": share(len(right), flagged),
        "modality": share(sum(said[0].modality == one.norm for one, said in right), len(right)),
    }


def _found(labelled: Sequence[Labelled]) -> dict[str, object]:
    flagged, doubted = (sum(1 for one in labelled if norms(one.text, in_doubt)) for in_doubt in (False, True))
    return {"n": len(labelled), "flagged": share(flagged, len(labelled)), "in_doubt": share(doubted, len(labelled))}


# --- the files -------------------------------------------------------------------------------------------------------


def read_labelled(path: Path, content: str) -> list[Labelled]:
    """The labelled texts of a file, recognised by its content."""
    if content.startswith("id,cid,text,label"):
        return _read_contracts(path, content)
    if "__eou__" in content[:100_000]:
        return _read_dialogues(path, content)
    return _read_own(path, content)


def _read_own(path: Path, content: str) -> list[Labelled]:
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            row = json.loads(line)
            found.append(Labelled(OWN, str(row["text"]), (str(row["part"]),), row["norm"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f'{path}:{number}: neither {{"part", "norm", "text"}}, LexDeMod nor DailyDialog: {error}'
            ) from error
    return found


def _read_contracts(path: Path, content: str) -> list[Labelled]:
    """A sentence stands there once for each party; what one of them owes, it says."""
    types: dict[str, set[str]] = defaultdict(set)
    for number, row in enumerate(csv.DictReader(io.StringIO(content)), 2):
        try:
            marks = json.loads(row["label"])
            types[row["text"].partition("] ")[2]] |= {name for name, on in zip(_TYPES, marks, strict=True) if on}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}:{number}: not a row of LexDeMod: {error}") from error
    return [Labelled(CONTRACTS, _joined(text), tuple(sorted(kinds))) for text, kinds in types.items()]


def _read_dialogues(path: Path, content: str) -> list[Labelled]:
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        columns = line.split("\t")
        if len(columns) < 3:
            raise InputError(f"{path}:{number}: not a line of DailyDialog (turns, topic, acts)")
        turns = [turn for turn in columns[0].split("__eou__") if turn.strip()]
        acts = columns[2].split()
        found += [
            Labelled(DIALOGUE, _joined(turn), (_ACTS.get(act, act),)) for turn, act in zip(turns, acts, strict=False)
        ]
    return found


_APOSTROPHE = re.compile(r"(?<=\w) ?(['’]) ?(?=(?:s|t|m|d|re|ve|ll)\b)")
_BEFORE_MARK = re.compile(r" +(?=[,.!?;:)])")


def _joined(text: str) -> str:
    """As a person writes it: both sets put blanks around marks."""
    return _BEFORE_MARK.sub("", _APOSTROPHE.sub(r"\1", text)).strip()


# --- Rules of our own, planted in other people's conversations: what a compaction must not lose, and must not
# take over.
#
# A hundred are the user's, each with a question about it; fifty more are said by the assistant and again by a tool.
# None of them was changed after the detector was seen to miss it.


_OWN, _OTHERS = "planted rule", "planted claim"


@dataclass(frozen=True)
class Planted:
    """A rule with where it stands; only the user's have a question."""

    haystack: str
    turn: str
    text: str
    question: str | None = None


def plant(haystacks: Sequence[Haystack], free: int, seed: int = 0) -> tuple[list[Haystack], list[Planted]]:
    """The conversations with the rules in them, as many in each, none among the last `free` turns of a sitting."""
    listed = json.loads((files("holdfast_bench") / "planted.json").read_text(encoding="utf-8"))
    seeds = [
        (Said(f"{_OWN} {number}", "user", one["rule"]), one["question"]) for number, one in enumerate(listed["rules"])
    ]
    seeds += [
        (Said(f"{_OTHERS} {role} {number}", role, text), None)
        for role in ("assistant", "tool")
        for number, text in enumerate(listed["others"])
    ]
    chance = random.Random(f"planted {seed}")
    chance.shuffle(seeds)
    grown, planted = [], []
    for number, haystack in enumerate(haystacks):
        mine = seeds[number :: len(haystacks)]
        grown.append(_with(haystack, [said for said, _ in mine], free, chance))
        planted += [Planted(haystack.name, said.id, said.text, question) for said, question in mine]
    return grown, planted


def _with(haystack: Haystack, seeds: Sequence[Said], free: int, chance: random.Random) -> Haystack:
    places = [
        (at, spot) for at, sitting in enumerate(haystack.sittings) for spot in range(max(len(sitting.turns) - free, 0))
    ]
    if not places:
        raise InputError(f"{haystack.name} has no sitting of more than {free} turns to plant a rule in")
    chosen = sorted(chance.choices(places, k=len(seeds)), reverse=True)
    turns = [list(sitting.turns) for sitting in haystack.sittings]
    for (at, spot), said in zip(chosen, seeds, strict=True):
        turns[at].insert(spot, said)
    sittings: list[Sitting] = [
        replace(sitting, turns=said) for sitting, said in zip(haystack.sittings, turns, strict=True)
    ]
    return replace(haystack, sittings=sittings)
