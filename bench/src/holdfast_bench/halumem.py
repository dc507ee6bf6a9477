"""HaluMem: of what people tell an assistant, how much is kept; that its inventions are not; that the old makes way.

Every user's dialogue goes through the production path with its own times. Points and turns are aligned by words
(holdfast_bench/admission.py); DESIGN, "What the benches mean", defines the figures.
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
from holdfast.models.breaker import GuardedEmbedder
from holdfast.version import __version__
from holdfast_bench.admission import (
    ALIGNED,
    MODES,
    Became,
    Mode,
    Progress,
    Words,
    admitting,
    became,
    bench_embedder,
    bench_settings,
    best_cover,
    content_words,
    coverage,
    share,
)
from holdfast_bench.data import read_json, read_shape

STORED = 0.6
"""An interference point counts as stored from this coverage (DESIGN)."""

_TIME = "%b %d, %Y, %H:%M:%S"
_MARK = re.compile(r"^(?:\[[^\]]*\]\s*)+")  # "[Sep 06, 2025, 13:56:51][Persona Memory]" before some originals
_MOST_HITS = 1000
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
class _Told:
    """A user turn, and what it became."""

    id: str
    session: int
    words: Words
    became: Became


@dataclass(slots=True)
class _Count:
    """Parts and wholes, which add up over users."""

    points: int = 0
    aligned: int = 0
    promoted: int = 0
    user_turns: int = 0
    turns_with_record: int = 0
    interference: int = 0
    interference_stored: int = 0
    updates_all: int = 0
    updates_told: int = 0
    """… of which a user turn tells."""
    updates: int = 0
    """… of which the turn and the original's record were found."""
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
    tell = progress or (lambda step, done, total: None)
    users = {path.name: read_shape(list[_User], read_json(path), path, "HaluMem users") for path in paths}
    embedder = bench_embedder(bench_settings())
    counts = {mode: _count(users, mode, embedder, tell) for mode in MODES}
    each = {mode: {name: one.figures() for name, one in counts[mode].items()} for mode in MODES}
    whole = {mode: sum(counts[mode].values(), _Count()) for mode in MODES}
    return {
        "set": "halumem",
        **whole["rank"].figures(),
        "files": each["rank"],
        "filter": {**whole["filter"].figures(), "files": each["filter"]},
        "examples": {name: some[:_EXAMPLES] for name, some in whole["rank"].examples.items()},
        "seconds": round(time.perf_counter() - start, 1),
        "embedder": embedder.profile.name,
        "version": __version__,
    }


def _count(
    users: Mapping[str, Sequence[_User]], mode: Mode, embedder: GuardedEmbedder, tell: Progress
) -> dict[str, _Count]:
    counts = {}
    with admitting(bench_settings(mode), embedder) as memory_of:
        for number, (name, found) in enumerate(users.items()):
            counts[name] = _Count()
            for user in found:
                with memory_of(f"{name} {user.uuid}") as memory:
                    counts[name] += _measure(memory, user)
            tell(f"users, {mode}", number + 1, len(users))
    return counts


def _measure(memory: Memory, user: _User) -> _Count:
    told = _tell(memory, user)
    count = _Count(user_turns=len(told), turns_with_record=sum(one.became.yielded for one in told))
    gold = _align(user, told)
    count.points = len(gold)
    count.aligned = sum(turn is not None for _, _, turn in gold)
    count.promoted = sum(turn is not None and turn.became.yielded for _, _, turn in gold)
    count.examples["not_promoted"].extend(
        point.memory_content for _, point, turn in gold if turn and not turn.became.yielded
    )
    _count_interference(user, told, count)
    replaced = _count_updates(memory, gold, told, count)
    _count_unrelated(gold, replaced, count)
    return count


def _tell(memory: Memory, user: _User) -> list[_Told]:
    """All of it said in order; then what each of the user's turns became."""
    said = []
    for number, session in enumerate(user.sessions):
        messages = [
            {"role": one.role, "content": one.content, "at": _moment(one.timestamp)} for one in session.dialogue
        ]
        turns = memory.ingest_many(messages, session=f"session {number}")
        said += [(turn, number) for turn in turns if turn.role == "user"]
    memory.flush()
    return [_Told(turn.id, number, content_words(turn.text), became(memory, turn.id)) for turn, number in said]


def _moment(text: str) -> datetime:
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"a HaluMem time looks like 'Jan 15, 2029, 15:12:20', not {text!r}") from error


_Gold = tuple[int, _Point, _Told | None]
"""The number of the session, the true point, and the turn that told it."""


def _align(user: _User, told: Sequence[_Told]) -> list[_Gold]:
    gold: list[_Gold] = []
    for number, session in enumerate(user.sessions):
        here = [one for one in told if one.session == number]
        true = [point for point in session.memory_points if not point.false]
        gold += [(number, point, _teller(point.memory_content, here)) for point in true]
    return gold


def _teller(text: str, told: Sequence[_Told]) -> _Told | None:
    found = best_cover(content_words(text), [one.words for one in told])
    return None if found is None else told[found]


def _nearest_record(text: str, records: Sequence[Record], least: float) -> Record | None:
    """Of a turn's records the one that tells most of the point."""
    found = best_cover(content_words(text), [content_words(record.text) for record in records], least)
    return None if found is None else records[found]


# --- what was invented -----------------------------------------------------------------------------------------------


def _count_interference(user: _User, told: Sequence[_Told], count: _Count) -> None:
    records = {record.id: record for one in told for record in one.became.records}
    stated = [
        (record, content_words(record.text))
        for record in records.values()
        if record.provenance is Provenance.USER_STATED
    ]
    for point in (point for session in user.sessions for point in session.memory_points if point.false):
        words = content_words(point.memory_content)
        lie = words - content_words(point.reference_memory_content or "")
        stored = [record for record, said in stated if coverage(words, said) >= STORED and lie & said]
        count.interference += 1
        count.interference_stored += bool(stored)
        count.examples["stored"].extend(f"{point.memory_content} | {record.text}" for record in stored[:1])


# --- what was replaced -----------------------------------------------------------------------------------------------


def _count_updates(memory: Memory, gold: Sequence[_Gold], told: Sequence[_Told], count: _Count) -> set[str]:
    """Counts the updates; gives the ids of all records that an update was meant to replace."""
    places = {one.id: place for place, one in enumerate(told)}
    replaced: set[str] = set()
    for number, point, new in gold:
        count.updates_all += point.updates
        count.updates_told += point.updates and new is not None
        if not point.updates or new is None:
            continue
        earlier = [one for one in told[: places[new.id]] if one.session < number]
        old = [
            (original, one, record)
            for original in (_MARK.sub("", text) for text in point.original_memories)
            if (one := _told_before(original, number, gold, earlier)) is not None
            if (record := _nearest_record(original, one.became.records, ALIGNED)) is not None
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


def _told_before(original: str, number: int, gold: Iterable[_Gold], earlier: Sequence[_Told]) -> _Told | None:
    """The turn that told the original: that of the earlier point with its text, else the one that covers it best."""
    for session, point, turn in gold:
        if session < number and turn is not None and point.memory_content == original:
            return turn
    return _teller(original, earlier)


def _outranked(memory: Memory, original: str, point: _Point, old: _Told, record: Record, new: _Told) -> bool:
    """Whether the new comes before the old when one asks for what both speak of, in the words they share."""
    both = content_words(original) & content_words(point.memory_content)
    question = " ".join(word for word in original.split() if content_words(word) & both)
    fresh = {new.id, *(one.id for one in new.became.records)} - {record.id, old.id}
    if not question or not fresh:
        return False
    for hit in memory.search(question, limit=_MOST_HITS):
        if hit.id in (record.id, old.id):
            return False
        if hit.id in fresh:
            return True
    return False


def _count_unrelated(gold: Sequence[_Gold], replaced: set[str], count: _Count) -> None:
    for _, point, turn in gold:
        record = _nearest_record(point.memory_content, turn.became.records, 0.0) if turn else None
        if record is None or record.id in replaced:
            continue
        count.unrelated += 1
        if record.superseded_by is not None:
            count.unrelated_lost += 1
            count.examples["lost"].append(record.text)
