"""Probes: the user's own questions, each with the record or turn that answers it. One JSON object per line.

    {"question": "Which port does the shop use?", "expect": ["r-017d…"], "note": "changed in May"}

Drafts are made from the words of their answers, without a model, so search finds them too easily: they only suggest
what to ask about, and a person should rewrite them. A probe has drifted when its answer was replaced, forgotten or
erased.
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
from holdfast.text.jsonio import raise_faults, read_json_lines

_FORM = '{"question": TEXT, "expect": [ID, …], "note": TEXT}'
_MAX_ITEMS = 1000  # newest records, or turns if there are no records, from which drafts are made
_MAX_CHARS = 1000  # of a text that is read for a draft
_MAX_WORDS = 4  # of the answer in a drafted question
_MIN_WORDS = 2  # a question with a single word fits too many answers
_NOTE_CHARS = 200
_TEMPLATES = {
    Kind.PREFERENCE: "What do I like or dislike about {}?",
    Kind.DECISION: "What was decided about {}?",
    Kind.GUIDANCE: "Which rule did I give about {}?",
}
_NUMBER_TEMPLATE, _TEMPLATE = "Which number goes with {}?", "What do you know about {}?"


@dataclass(frozen=True)
class Probe:
    question: str
    expect: tuple[str, ...]
    """Ids of records or turns, any of which answers the question."""
    note: str = ""
    draft: bool = False
    """True if `eval init` proposed it and no person has reviewed it; it is not asked."""


@dataclass(frozen=True)
class Drifted:
    question: str
    expect: tuple[str, ...]
    why: tuple[str, ...]
    """One reason per expected id."""


@dataclass(frozen=True)
class Target:
    """A probe whose answer is live, with all ids that answer it."""

    probe: Probe
    records: frozenset[str]
    turns: frozenset[str]
    """Expected turns; a hit for one of them or for a record of it is an answer."""
    sources: frozenset[str]
    """Source turns of the expected records; they are answers, other records of them are not."""
    made: frozenset[str]
    """Records of the expected turns."""

    @property
    def ids(self) -> frozenset[str]:
        """All ids under which the answer may appear in a prompt."""
        return self.records | self.turns | self.sources | self.made

    def answered_by(self, hit: Hit) -> bool:
        if hit.kind is Kind.TURN:
            return hit.id in self.turns or hit.id in self.sources
        return hit.id in self.records or not self.turns.isdisjoint(hit.turn_ids)


def read_probes(path: str | os.PathLike[str]) -> list[Probe]:
    """Read a file of probes; InputError names every bad line."""
    found = _parse(read_json_lines(path))
    if not found:
        name = Path(path).name
        raise InputError(
            f"{name} contains no probes; draft some with `holdfast eval init`, or write lines like {_FORM}"
        )
    return found


def write_probes(path: str | os.PathLike[str], probes: Sequence[Probe]) -> None:
    """Write a new file; an existing one is never replaced."""
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
        raise InputError(f"{path} already exists; choose another file name, or remove it first") from error


def probe_hash(probes: Iterable[Probe]) -> str:
    """Hash questions and expectations in any order; runs with equal hashes can be compared."""
    lines = sorted(json.dumps([one.question, sorted(one.expect)], ensure_ascii=False) for one in probes)
    return sha256("\n".join(lines).encode(errors="surrogatepass")).hexdigest()[:16]


def draft_probes(memory: Memory, count: int = 50) -> list[Probe]:
    """Draft up to `count` probes from a deterministic choice of records, or turns if there are none; oldest first."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MAX_ITEMS:
        raise InputError(f"count must be a whole number from 1 to {_MAX_ITEMS}, not {count!r}")
    recent = memory.recent(_MAX_ITEMS, kind="record")
    records = [one for one in recent if isinstance(one, Record) and not one.superseded_by]
    items: Sequence[Record | Turn] = records or _statements(memory.recent(_MAX_ITEMS))
    drafts: dict[str, tuple[Record | Turn, Probe]] = {}
    for item in sorted(items, key=lambda one: blake2b(one.id.encode(), digest_size=8).digest()):
        question = _question(item)
        if question is not None and question not in drafts:
            note = " ".join(item.text.split())[:_NOTE_CHARS]
            drafts[question] = (item, Probe(question, (item.id,), note, draft=True))
        if len(drafts) == count:
            break
    if not drafts:
        raise InputError(f"there is nothing to ask about in {memory.namespace!r} yet: no record and no statement")
    return [probe for item, probe in sorted(drafts.values(), key=lambda one: (one[0].at, one[0].id))]


def find_target(memory: Memory, probe: Probe) -> Target | Drifted:
    """Return the target while one of the expected ids is live, else why the probe has drifted."""
    records: set[str] = set()
    turns: set[str] = set()
    sources: set[str] = set()
    made: set[str] = set()
    gone: list[str] = []
    for item_id in probe.expect:
        try:
            why = memory.why(item_id)
        except NotFound:
            gone.append(f"{item_id} is not in this namespace")
            continue
        ended = _turn_end(why) if why.kind is Kind.TURN else _record_end(memory, item_id)
        if ended is not None:
            gone.append(ended)
        elif why.kind is Kind.TURN:
            turns.add(item_id)
            made.update(record.id for record in why.records)
        else:
            records.add(item_id)
            sources.update(turn.id for turn in why.turns)
    if records or turns:
        return Target(probe, frozenset(records), frozenset(turns), frozenset(sources), frozenset(made))
    return Drifted(probe.question, probe.expect, tuple(gone))


def _parse(lines: Sequence[tuple[str, object]]) -> list[Probe]:
    probes: list[Probe] = []
    faults: list[str] = []
    seen: dict[str, str] = {}
    for where, one in lines:
        probe = _probe(one)
        if isinstance(probe, str):
            faults.append(f"{where}: {probe}")
        elif probe.question in seen:
            faults.append(f"{where}: repeats the question of {seen[probe.question]}; give all ids in one probe")
        else:
            seen[probe.question] = where
            probes.append(probe)
    raise_faults(faults)
    return probes


def _probe(one: object) -> Probe | str:
    """Return the probe, or what is wrong with it."""
    if not isinstance(one, Mapping):
        return f"not a JSON object; write {_FORM}"
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


def _statements(turns: Iterable[Turn]) -> list[Turn]:
    """Return the user turns that state something."""
    return [
        turn
        for turn in turns
        if turn.role is Role.USER and any(one.refusal is None for one in judge_turn(turn.text[:_MAX_CHARS]))
    ]


def _question(item: Record | Turn) -> str | None:
    """Draft a question; None if the text has too few distinctive words."""
    words = dict.fromkeys(word[1] for word in read_words(item.text[:_MAX_CHARS]).words if word is not None)
    names = [word for word in words if not any(char.isdigit() for char in word)][:_MAX_WORDS]
    if len(names) < _MIN_WORDS:
        return None
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    numbered = any(char.isdigit() for char in item.text)
    kind = item.kind if isinstance(item, Record) else Kind.TURN
    return _TEMPLATES.get(kind, _NUMBER_TEMPLATE if numbered else _TEMPLATE).format(listed)


def _record_end(memory: Memory, record_id: str) -> str | None:
    """Return why a record is no longer live, or None."""
    version = next(one for one in memory.history(record_id).versions if one.record.id == record_id)
    if version.live:
        return None
    if version.record.superseded_by is not None:
        return f"{record_id} was replaced by {version.record.superseded_by}"
    return f"{record_id} was forgotten"


def _turn_end(why: Why) -> str | None:
    """Return why a turn is no longer an answer, or None: it was forgotten, or all its records were replaced."""
    acts = [decision.what for decision in why.decisions if decision.what in ("forgotten", "restored")]
    if acts and acts[-1] == "forgotten":
        return f"{why.id} was forgotten"
    successors = [record.superseded_by for record in why.records]
    if successors and all(successor is not None for successor in successors):
        return f"what {why.id} says was replaced by {', '.join(dict.fromkeys(map(str, successors)))}"
    return None
