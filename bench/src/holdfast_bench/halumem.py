"""HaluMem benchmark: facts of the user are kept, inventions of the assistant are not, and updates replace old facts.

Every user's dialogue goes through the production path with its own times. Memory points and turns are aligned by words
(holdfast_bench/memories.py). docs/evidence/records.md defines the figures.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Provenance, Record
from holdfast.models.embedder import GuardedEmbedder
from holdfast_bench.data import read_json, read_shape
from holdfast_bench.machine import Progress, run_info
from holdfast_bench.memories import (
    MIN_COVERAGE,
    MODES,
    Mode,
    Words,
    bench_embedder,
    bench_settings,
    best_cover,
    content_words,
    coverage,
    share,
    temporary_memories,
)

STORED = 0.6
"""Coverage from which an interference point counts as stored."""

_TIME = "%b %d, %Y, %H:%M:%S"
_PREFIX = re.compile(r"^(?:\[[^\]]*\]\s*)+")  # "[Sep 06, 2025, 13:56:51][Persona Memory]" before some originals
_MAX_HITS = 1000
_EXAMPLES = 20


@dataclass(frozen=True)
class _Point:
    memory_content: str
    memory_source: str
    is_update: str
    original_memories: Sequence[str] = ()
    reference_memory_content: str | None = None

    @property
    def false(self) -> bool:
        return self.memory_source == "interference"

    @property
    def updates(self) -> bool:
        return self.is_update == "True" and not self.false


@dataclass(frozen=True)
class _Message:
    role: str
    content: str
    timestamp: str


@dataclass(frozen=True)
class _Session:
    memory_points: Sequence[_Point]
    dialogue: Sequence[_Message]


@dataclass(frozen=True)
class _User:
    uuid: str
    sessions: Sequence[_Session]


@dataclass(frozen=True, slots=True)
class _UserTurn:
    """A user turn and the records that it made or strengthened, live or not."""

    id: str
    session: int
    words: Words
    records: tuple[Record, ...]


@dataclass(slots=True)
class _Count:
    """Counters, which add up over users."""

    points: int = 0
    aligned: int = 0
    promoted: int = 0
    user_turns: int = 0
    turns_with_record: int = 0
    interference: int = 0
    interference_stored: int = 0
    updates_all: int = 0
    updates_told: int = 0
    """Updates that a user turn states …"""
    updates: int = 0
    """… and those for which the record of the original was found too."""
    retired: int = 0
    outranked: int = 0
    unrelated: int = 0
    unrelated_lost: int = 0
    examples: Mapping[str, list[str]] = field(
        default_factory=lambda: {"stored": [], "not_promoted": [], "still_live": [], "lost": []}
    )

    def figures(self) -> dict[str, object]:
        return {
            "n": self.points,
            "aligned": self.aligned,
            "promoted": share(self.promoted, self.aligned),
            "user_turns": self.user_turns,
            "promoted_share_of_turns": share(self.turns_with_record, self.user_turns),
            "interference_n": self.interference,
            "interference_stored": self.interference_stored,
            "updates_all": self.updates_all,
            "updates_told": self.updates_told,
            "updates_n": self.updates,
            "superseded": share(self.retired + self.outranked, self.updates),
            "retired": share(self.retired, self.updates),
            "unrelated_n": self.unrelated,
            "unrelated_lost": share(self.unrelated_lost, self.unrelated),
        }

    def __add__(self, other: _Count) -> _Count:
        numbers = {
            one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self) if one.type == "int"
        }
        return _Count(**numbers, examples={name: some + other.examples[name] for name, some in self.examples.items()})


def run(paths: Sequence[Path], progress: Progress | None = None) -> dict[str, object]:
    start = time.perf_counter()
    report = progress or (lambda step, done, total: None)
    users = {path.name: read_shape(list[_User], read_json(path), path, "HaluMem users") for path in paths}
    embedder = bench_embedder(bench_settings())
    counts = {mode: _count(users, mode, embedder, report) for mode in MODES}
    each = {mode: {name: one.figures() for name, one in counts[mode].items()} for mode in MODES}
    whole = {mode: sum(counts[mode].values(), _Count()) for mode in MODES}
    return {
        "set": "halumem",
        **whole["rank"].figures(),
        "files": each["rank"],
        "filter": {**whole["filter"].figures(), "files": each["filter"]},
        "examples": {name: some[:_EXAMPLES] for name, some in whole["rank"].examples.items()},
        **run_info(start, embedder),
    }


def _count(
    users: Mapping[str, Sequence[_User]], mode: Mode, embedder: GuardedEmbedder, report: Progress
) -> dict[str, _Count]:
    counts = {}
    with temporary_memories(bench_settings(mode), embedder) as memory_of:
        for number, (name, found) in enumerate(users.items()):
            counts[name] = _Count()
            for user in found:
                with memory_of(f"{name} {user.uuid}") as memory:
                    counts[name] += _measure(memory, user)
            report(f"users, {mode}", number + 1, len(users))
    return counts


def _measure(memory: Memory, user: _User) -> _Count:
    turns = _ingest(memory, user)
    count = _Count(user_turns=len(turns), turns_with_record=sum(bool(turn.records) for turn in turns))
    gold = _align(user, turns)
    count.points = len(gold)
    count.aligned = sum(turn is not None for _, _, turn in gold)
    count.promoted = sum(turn is not None and bool(turn.records) for _, _, turn in gold)
    count.examples["not_promoted"].extend(point.memory_content for _, point, turn in gold if turn and not turn.records)
    _count_interference(user, turns, count)
    replaced = _count_updates(memory, gold, turns, count)
    _count_unrelated(gold, replaced, count)
    return count


def _ingest(memory: Memory, user: _User) -> list[_UserTurn]:
    """Ingest all sessions and return the user's turns with their records."""
    said = []
    for number, session in enumerate(user.sessions):
        messages = [{"role": one.role, "content": one.content, "at": _time(one.timestamp)} for one in session.dialogue]
        turns = memory.ingest_many(messages, session=f"session {number}")
        said += [(turn, number) for turn in turns if turn.role == "user"]
    memory.flush()
    return [_UserTurn(turn.id, number, content_words(turn.text), memory.why(turn.id).records) for turn, number in said]


def _time(text: str) -> datetime:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"a HaluMem time looks like 'Jan 15, 2029, 15:12:20', not {text!r}") from error


_Gold = tuple[int, _Point, _UserTurn | None]  # number of the session, true memory point, and the turn that states it


def _align(user: _User, turns: Sequence[_UserTurn]) -> list[_Gold]:
    gold: list[_Gold] = []
    for number, session in enumerate(user.sessions):
        here = [turn for turn in turns if turn.session == number]
        true = [point for point in session.memory_points if not point.false]
        gold += [(number, point, _stating_turn(point.memory_content, here)) for point in true]
    return gold


def _stating_turn(text: str, turns: Sequence[_UserTurn]) -> _UserTurn | None:
    found = best_cover(content_words(text), [turn.words for turn in turns])
    return None if found is None else turns[found]


def _nearest_record(text: str, records: Sequence[Record], least: float) -> Record | None:
    """Return the record that covers most of the point."""
    found = best_cover(content_words(text), [content_words(record.text) for record in records], least)
    return None if found is None else records[found]


def _count_interference(user: _User, turns: Sequence[_UserTurn], count: _Count) -> None:
    records = {record.id: record for turn in turns for record in turn.records}
    stated = [
        (record, content_words(record.text))
        for record in records.values()
        if record.provenance is Provenance.USER_STATED
    ]
    for point in (point for session in user.sessions for point in session.memory_points if point.false):
        words = content_words(point.memory_content)
        invented = words - content_words(point.reference_memory_content or "")
        stored = [record for record, said in stated if coverage(words, said) >= STORED and invented & said]
        count.interference += 1
        count.interference_stored += bool(stored)
        count.examples["stored"].extend(f"{point.memory_content} | {record.text}" for record in stored[:1])


def _count_updates(memory: Memory, gold: Sequence[_Gold], turns: Sequence[_UserTurn], count: _Count) -> set[str]:
    """Count the updates and return the ids of all records that an update should replace."""
    places = {turn.id: place for place, turn in enumerate(turns)}
    replaced: set[str] = set()
    for number, point, new in gold:
        count.updates_all += point.updates
        count.updates_told += point.updates and new is not None
        if not point.updates or new is None:
            continue
        earlier = [turn for turn in turns[: places[new.id]] if turn.session < number]
        old = [
            (original, one, record)
            for original in (_PREFIX.sub("", text) for text in point.original_memories)
            if (one := _original_turn(original, number, gold, earlier)) is not None
            if (record := _nearest_record(original, one.records, MIN_COVERAGE)) is not None
        ]
        if not old:
            continue
        replaced |= {record.id for _, _, record in old}
        count.updates += 1
        live = [(original, one, record) for original, one, record in old if record.superseded_by is None]
        if not live:
            count.retired += 1
        elif all(_outranked(memory, original, point, one, record, new) for original, one, record in live):
            count.outranked += 1
        else:
            count.examples["still_live"].append(f"{live[0][2].text} | {point.memory_content}")
    return replaced


def _original_turn(original: str, number: int, gold: Iterable[_Gold], earlier: Sequence[_UserTurn]) -> _UserTurn | None:
    """Return the turn of the earlier point with the same text, else the turn that covers the original best."""
    for session, point, turn in gold:
        if session < number and turn is not None and point.memory_content == original:
            return turn
    return _stating_turn(original, earlier)


def _outranked(memory: Memory, original: str, point: _Point, old: _UserTurn, record: Record, new: _UserTurn) -> bool:
    """Return True if search ranks the new before the old for the words that both share."""
    both = content_words(original) & content_words(point.memory_content)
    question = " ".join(word for word in original.split() if content_words(word) & both)
    fresh = {new.id, *(one.id for one in new.records)} - {record.id, old.id}
    if not question or not fresh:
        return False
    for hit in memory.search(question, limit=_MAX_HITS):
        if hit.id in (record.id, old.id):
            return False
        if hit.id in fresh:
            return True
    return False


def _count_unrelated(gold: Sequence[_Gold], replaced: set[str], count: _Count) -> None:
    for _, point, turn in gold:
        record = _nearest_record(point.memory_content, turn.records, 0.0) if turn else None
        if record is None or record.id in replaced:
            continue
        count.unrelated += 1
        if record.superseded_by is not None:
            count.unrelated_lost += 1
            count.examples["lost"].append(record.text)
