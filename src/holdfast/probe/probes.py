"""Probes: questions of one's own with the record or turn that answers each. One JSON object a line.

{"question": "Which port does the shop use?", "expect": ["r-017d…"], "note": "changed in May"}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from pathlib import Path

from holdfast.admit.floor import judge_turn
from holdfast.errors import InputError, NotFound
from holdfast.insight.themes import read_words
from holdfast.memory import Memory
from holdfast.model import Hit, Kind, Record, Role, Turn, Why
from holdfast.text.jsonio import complain, lines_of_file

_FORM = '{"question": TEXT, "expect": [ID, …], "note": TEXT}'


@dataclass(frozen=True)
class Probe:
    question: str
    expect: tuple[str, ...]
    """Ids of records or turns; any one of them answers it."""
    note: str = ""
    draft: bool = False
    """Proposed by `eval init` and not looked at by a person yet: it is not asked."""


def probes_of_file(path: str | os.PathLike[str]) -> list[Probe]:
    """Every bad line is named with its number."""
    found = _read(lines_of_file(path))
    if not found:
        name = Path(path).name
        raise InputError(f"{name} holds no probes; `holdfast eval init` drafts some, or write one a line: {_FORM}")
    return found


def write_probes(path: str | os.PathLike[str], probes: Sequence[Probe]) -> None:
    """A new file; one that is there already is somebody's work and stays."""
    lines = [
        json.dumps(
            {"question": one.question, "expect": list(one.expect), "note": one.note, "draft": one.draft},
            ensure_ascii=False,
        )
        for one in probes
    ]
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
    except FileExistsError as error:
        raise InputError(f"{path} is there already; name another file, or remove it first") from error


def probe_hash(probes: Iterable[Probe]) -> str:
    """The same for the same questions and expectations in any order: two runs of one hash can be compared."""
    told = sorted(json.dumps([one.question, sorted(one.expect)], ensure_ascii=False) for one in probes)
    return sha256("\n".join(told).encode(errors="surrogatepass")).hexdigest()[:16]


def _read(given: Sequence[tuple[str, object]]) -> list[Probe]:
    probes: list[Probe] = []
    faults: list[str] = []
    seen: dict[str, str] = {}
    for where, one in given:
        probe = _probe(one)
        if isinstance(probe, str):
            faults.append(f"{where}: {probe}")
        elif probe.question in seen:
            faults.append(f"{where}: the question of {seen[probe.question]} again; give all ids in one probe")
        else:
            seen[probe.question] = where
            probes.append(probe)
    complain(faults)
    return probes


def _probe(one: object) -> Probe | str:
    """The probe, or what is wrong with it."""
    if not isinstance(one, Mapping):
        return f"no JSON object; write {_FORM}"
    question, expect, note = one.get("question"), one.get("expect"), one.get("note", "")
    ids = [expect] if isinstance(expect, str) else expect
    if not isinstance(question, str) or not question.strip():
        return '"question" must be a text'
    if not isinstance(ids, list | tuple) or not ids or not all(isinstance(one, str) and one for one in ids):
        return f'"expect" must be the id of a record or turn, or a list of ids; write {_FORM}'
    if not isinstance(note, str):
        return '"note" must be a text'
    draft = one.get("draft", False)
    if not isinstance(draft, bool):
        return '"draft" must be true or false'
    return Probe(question.strip(), tuple(dict.fromkeys(str(one) for one in ids)), note, draft)


# --- Drafts of probes from what a memory holds, for a person to mend: no model is asked.
#
# A drafted question is made of the words of its answer, so search finds it too easily. It says what to ask about;
# how one would really ask is for a person to write.


_MOST = 1000  # newest records, or turns where there are no records, that are drawn from
_WORDS = 4  # of the answer that a drafted question names
_LEAST = 2  # … and one alone asks for half of what there is
_NOTE = 200  # characters of the answer that a person sees beside it
_ASKS = {
    Kind.PREFERENCE: "What do I like or dislike about {}?",
    Kind.DECISION: "What was decided about {}?",
    Kind.GUIDANCE: "Which rule did I give about {}?",
}
_WHICH, _WHAT = "Which number goes with {}?", "What do you know about {}?"


def draft_probes(memory: Memory, count: int = 50) -> list[Probe]:
    """At most so many, drawn evenly and the same each time, oldest first; of turns where there are no records."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
        raise InputError(f"count must be a whole number from 1 to {_MOST}, not {count!r}")
    records = [one for one in memory.recent(_MOST, kind="record") if isinstance(one, Record) and not one.superseded_by]
    nouns: Sequence[Record | Turn] = records or _statements(memory.recent(_MOST))
    drafts: dict[str, tuple[Record | Turn, Probe]] = {}
    for noun in sorted(nouns, key=lambda one: blake2b(one.id.encode(), digest_size=8).digest()):
        question = _question(noun)
        if question is not None and question not in drafts:
            drafts[question] = (noun, Probe(question, (noun.id,), " ".join(noun.text.split())[:_NOTE], draft=True))
        if len(drafts) == count:
            break
    if not drafts:
        raise InputError(f"there is nothing in {memory.namespace!r} to ask about yet: no record, and no statement")
    return [probe for noun, probe in sorted(drafts.values(), key=lambda one: (one[0].at, one[0].id))]


def _statements(turns: Iterable[Turn]) -> list[Turn]:
    """The user's turns that state something."""
    return [
        turn
        for turn in turns
        if turn.role is Role.USER and any(one.refusal is None for one in judge_turn(turn.text[:_MOST]))
    ]


def _question(noun: Record | Turn) -> str | None:
    """None where too little of it names anything."""
    told = dict.fromkeys(word[1] for word in read_words(noun.text[:_MOST]).words if word is not None)
    names = [word for word in told if not any(char.isdigit() for char in word)][:_WORDS]
    if len(names) < _LEAST:
        return None
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    numbered = any(char.isdigit() for char in noun.text)
    kind = noun.kind if isinstance(noun, Record) else Kind.TURN
    return _ASKS.get(kind, _WHICH if numbered else _WHAT).format(listed)


# --- What a probe expects, as it is today: still live, or drifted because it was replaced, forgotten or is not
# there.


@dataclass(frozen=True)
class Drifted:
    question: str
    expect: tuple[str, ...]
    why: tuple[str, ...]
    """What became of each id it expects."""


@dataclass(frozen=True)
class Target:
    """A probe that holds, with everything that answers it."""

    probe: Probe
    records: frozenset[str]
    turns: frozenset[str]
    """A hit that stands for one of these turns, itself or by a record of it, answers."""
    sources: frozenset[str]
    """Turns that the expected records came from: as they are they answer; another record of theirs does not."""
    made: frozenset[str]
    """Records of the expected turns."""

    @property
    def ids(self) -> frozenset[str]:
        """Every id under which the answer may stand in a prompt."""
        return self.records | self.turns | self.sources | self.made

    def answered_by(self, hit: Hit) -> bool:
        if hit.kind is Kind.TURN:
            return hit.id in self.turns or hit.id in self.sources
        return hit.id in self.records or not self.turns.isdisjoint(hit.turn_ids)


def find_target(memory: Memory, probe: Probe) -> Target | Drifted:
    """It holds while one of the ids it expects does."""
    records: set[str] = set()
    turns: set[str] = set()
    sources: set[str] = set()
    made: set[str] = set()
    gone: list[str] = []
    for noun_id in probe.expect:
        try:
            told = memory.why(noun_id)
        except NotFound:
            gone.append(f"{noun_id} is not in this namespace")
            continue
        ended = _turn_ended(told) if told.kind is Kind.TURN else _record_ended(memory, noun_id)
        if ended is not None:
            gone.append(ended)
        elif told.kind is Kind.TURN:
            turns.add(noun_id)
            made.update(record.id for record in told.records)
        else:
            records.add(noun_id)
            sources.update(turn.id for turn in told.turns)
    if records or turns:
        return Target(probe, frozenset(records), frozenset(turns), frozenset(sources), frozenset(made))
    return Drifted(probe.question, probe.expect, tuple(gone))


def _record_ended(memory: Memory, record_id: str) -> str | None:
    """What ended a record; None while it is live."""
    version = next(one for one in memory.history(record_id).versions if one.record.id == record_id)
    if version.live:
        return None
    if version.record.superseded_by is not None:
        return f"{record_id} was replaced by {version.record.superseded_by}"
    return f"{record_id} was forgotten"


def _turn_ended(told: Why) -> str | None:
    """A turn ends when it is forgotten, or when every record it made was replaced."""
    acts = [decision.what for decision in told.decisions if decision.what in ("forgotten", "restored")]
    if acts and acts[-1] == "forgotten":
        return f"{told.id} was forgotten"
    successors = [record.superseded_by for record in told.records]
    if successors and all(successor is not None for successor in successors):
        return f"what {told.id} says was replaced by {', '.join(dict.fromkeys(map(str, successors)))}"
    return None
