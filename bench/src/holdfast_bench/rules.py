"""Rule detection benchmark, and rules planted in other people's conversations.

Own set: one {"part", "norm", "text"} per line; recall and precision of "is a rule", by part. LexDeMod (contracts): the
share of sentences with an obligation, prohibition or permission that is found. DailyDialog: the share of turns by
dialogue act that is taken for a rule.

Of the planted rules a hundred are the user's, each with a question about it; fifty more are said by the assistant and
again by a tool. None was changed after the detector was seen to miss it.
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
from holdfast_bench.data import DIALOGUE_ACTS, END_OF_TURN, Haystack, SetTurn, read_dialogues
from holdfast_bench.memories import share

OWN, CONTRACTS, DIALOGUE = "own", "lexdemod", "dailydialog"
_TYPES = ("obligation", "entitlement", "prohibition", "permission", "no obligation", "no entitlement", "none")
"""LexDeMod's labels, in the order of its columns."""
_MEASURED_TYPES = ("obligation", "prohibition", "permission")
_APOSTROPHE = re.compile(r"(?<=\w) ?(['’]) ?(?=(?:s|t|m|d|re|ve|ll)\b)")
_BEFORE_MARK = re.compile(r" +(?=[,.!?;:)])")


@dataclass(frozen=True, slots=True)
class LabelledText:
    source: str
    text: str
    kinds: tuple[str, ...]
    """Own set: its part. LexDeMod: its types. DailyDialog: its act."""
    norm: str | None = None
    """Own set: the modality, None if it is not a rule."""


@dataclass(frozen=True)
class PlantedRule:
    """A planted rule and its place; only the user's have a question."""

    haystack: str
    turn: str
    text: str
    question: str | None = None


def measure(labelled: Iterable[LabelledText]) -> dict[str, object]:
    """Return the figures of each set."""
    by_source: dict[str, list[LabelledText]] = defaultdict(list)
    for one in labelled:
        by_source[one.source].append(one)
    figures: dict[str, object] = {}
    if own := by_source[OWN]:
        parts = dict.fromkeys(one.kinds[0] for one in own)
        figures[OWN] = {part: _own_figures([one for one in own if one.kinds[0] == part]) for part in parts}
    if contracts := by_source[CONTRACTS]:
        figures[CONTRACTS] = {kind: _flagged(contracts, kind) for kind in _MEASURED_TYPES}
    if dialogue := by_source[DIALOGUE]:
        acts = [act for act in DIALOGUE_ACTS.values() if any(act in one.kinds for one in dialogue)]
        figures[DIALOGUE] = {act: _flagged(dialogue, act) for act in acts}
    return figures


def read_labelled(path: Path, content: str) -> list[LabelledText]:
    """Read labelled texts, recognising the format by content."""
    if content.startswith("id,cid,text,label"):
        return _read_contracts(path, content)
    if END_OF_TURN in content[:100_000]:
        return _read_dialogue_acts(path, content)
    return _read_own(path, content)


def plant(haystacks: Sequence[Haystack], free: int, seed: int = 0) -> tuple[list[Haystack], list[PlantedRule]]:
    """Distribute the rules over the haystacks, none in the last `free` turns of a session."""
    listed = json.loads((files("holdfast_bench") / "planted.json").read_text(encoding="utf-8"))
    rules: list[tuple[SetTurn, str | None]] = [
        (SetTurn(f"planted rule {number}", "user", one["rule"]), one["question"])
        for number, one in enumerate(listed["rules"])
    ]
    rules += [
        (SetTurn(f"planted claim {role} {number}", role, text), None)
        for role in ("assistant", "tool")
        for number, text in enumerate(listed["others"])
    ]
    chance = random.Random(f"planted {seed}")
    chance.shuffle(rules)
    grown, planted = [], []
    for number, haystack in enumerate(haystacks):
        mine = rules[number :: len(haystacks)]
        grown.append(_with_turns(haystack, [turn for turn, _ in mine], free, chance))
        planted += [PlantedRule(haystack.name, turn.id, turn.text, question) for turn, question in mine]
    return grown, planted


def _with_turns(haystack: Haystack, rules: Sequence[SetTurn], free: int, chance: random.Random) -> Haystack:
    places = [
        (at, spot) for at, session in enumerate(haystack.sessions) for spot in range(max(len(session.turns) - free, 0))
    ]
    if not places:
        raise InputError(f"{haystack.name} has no session of more than {free} turns to plant a rule in")
    chosen = sorted(chance.choices(places, k=len(rules)), reverse=True)
    turns = [list(session.turns) for session in haystack.sessions]
    for (at, spot), rule in zip(chosen, rules, strict=True):
        turns[at].insert(spot, rule)
    sessions = [replace(session, turns=grown) for session, grown in zip(haystack.sessions, turns, strict=True)]
    return replace(haystack, sessions=sessions)


def _own_figures(labelled: Sequence[LabelledText]) -> dict[str, object]:
    found = [(one, norms(one.text)) for one in labelled]
    rules = [(one, detected) for one, detected in found if one.norm is not None]
    right = [(one, detected) for one, detected in rules if detected]
    flagged = sum(1 for _, detected in found if detected)
    doubted = sum(1 for one, _ in rules if norms(one.text, in_doubt=True))
    return {
        "n": len(found),
        "rules": len(rules),
        "recall": share(len(right), len(rules)),
        "recall_in_doubt": share(doubted, len(rules)),
        "precision": share(len(right), flagged),
        "modality": share(sum(detected[0].modality == one.norm for one, detected in right), len(right)),
    }


def _flagged(labelled: Sequence[LabelledText], kind: str) -> dict[str, object]:
    texts = [one.text for one in labelled if kind in one.kinds]
    flagged, doubted = (sum(1 for text in texts if norms(text, in_doubt)) for in_doubt in (False, True))
    return {"n": len(texts), "flagged": share(flagged, len(texts)), "in_doubt": share(doubted, len(texts))}


def _read_own(path: Path, content: str) -> list[LabelledText]:
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            row = json.loads(line)
            found.append(LabelledText(OWN, str(row["text"]), (str(row["part"]),), row["norm"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f'{path}:{number}: neither {{"part", "norm", "text"}}, LexDeMod nor DailyDialog: {error}'
            ) from error
    return found


def _read_contracts(path: Path, content: str) -> list[LabelledText]:
    """Read LexDeMod, which has one row per sentence and party; the types of all parties are joined."""
    types: dict[str, set[str]] = defaultdict(set)
    for number, row in enumerate(csv.DictReader(io.StringIO(content)), 2):
        try:
            marks = json.loads(row["label"])
            types[row["text"].partition("] ")[2]] |= {name for name, on in zip(_TYPES, marks, strict=True) if on}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path}:{number}: not a row of LexDeMod: {error}") from error
    return [LabelledText(CONTRACTS, _untokenized(text), tuple(sorted(kinds))) for text, kinds in types.items()]


def _read_dialogue_acts(path: Path, content: str) -> list[LabelledText]:
    found = []
    for number, (turns, acts) in enumerate(read_dialogues(content), 1):
        if not acts:
            raise InputError(f"{path}:{number}: not a line of DailyDialog (turns, topic, acts)")
        found += [LabelledText(DIALOGUE, _untokenized(turn), (act,)) for turn, act in zip(turns, acts, strict=False)]
    return found


def _untokenized(text: str) -> str:
    """Remove the blanks that both sets put around punctuation."""
    return _BEFORE_MARK.sub("", _APOSTROPHE.sub(r"\1", text)).strip()
