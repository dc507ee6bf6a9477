"""Changes benchmark: what a later statement does to an earlier one.

JSON lines, each a tiny history of one user. `change`: something said in `old` no longer holds after `new`; `ended` and
`still` are pieces of the old turns. `different`: `first` and `second` are both true. `same`: the second says the first
in other words. `not_same`: they differ in a name, a number, a negation or a relation (`differs`).

Each history has a namespace of its own; the later statement is made in another session a week later. A record holds a
piece if it has at least .8 of its words.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict  # pydantic supports typing.TypedDict only from Python 3.12 on

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Record, Turn
from holdfast.models.embedder import Embedder
from holdfast.testing import FixedClock
from holdfast_bench.machine import Progress, RunInfo, run_info
from holdfast_bench.memories import (
    HELD,
    all_words,
    bench_embedder,
    bench_settings,
    coverage,
    read_lines,
    share,
    temporary_memories,
    wilson,
)

NEAR = 0.85
"""Cosine from which two wordings are near enough that merging is expected."""
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_WEEK = timedelta(days=7)
_DEPTH = 10
_MERGED = ("merged", "dropped")  # decisions about a statement that is known already (admit/place.py)

Interval = tuple[float, float]


@dataclass(frozen=True)
class StatedHistory:
    """One line of a file."""

    id: str
    what: Literal["change", "different", "same", "not_same"]
    old: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    new: str = ""
    ended: str = ""
    still: tuple[str, ...] = ()
    question: str = ""
    answer: str | None = None
    stale: str = ""
    first: str = ""
    second: str = ""
    differs: str = ""

    @property
    def sound(self) -> bool:
        if self.what == "change":
            return bool(self.old and self.new and self.ended and self.question)
        return bool(self.first and self.second)


class ChangeFigures(TypedDict):
    """Facts that ended: noticed if the old record is retired, or no search serves the old words as current."""

    n: int
    recorded: float | None
    noticed: float | None
    noticed_ci: Interval | None
    noticed_of_recorded: float | None
    new_first: float | None
    still_n: int
    still_lost: float | None


class DifferentFigures(TypedDict):
    """Facts that are both true: outdated if the first is retired or marked as replaced."""

    n: int
    both_recorded: float | None
    outdated: int
    outdated_ci: Interval | None


class RestatedFigures(TypedDict):
    """Pairs of wordings. `near` counts those with a cosine of .85 or more."""

    n: int
    both_recorded: float | None
    merged: int
    merged_share: float | None
    merged_ci: Interval | None
    replaced: int
    near: int
    near_merged_share: float | None


class ChangesFigures(RunInfo):
    """Output of `bench changes`."""

    set: str
    n: int
    change: ChangeFigures
    different: DifferentFigures
    same: RestatedFigures
    not_same: RestatedFigures
    not_same_merged_by: dict[str, int]
    outcomes: dict[str, str]


@dataclass(frozen=True, slots=True)
class _ChangeOutcome:
    id: str
    recorded: bool
    noticed: bool
    new_first: bool | None
    """None if nothing took the place of the old fact."""
    still: int
    still_lost: int


@dataclass(frozen=True, slots=True)
class _PairOutcome:
    history: StatedHistory
    recorded: bool
    """Both statements led to a record."""
    merged: bool
    replaced: bool
    """The first is retired or marked as outdated."""
    near: bool


def run(paths: Sequence[Path], progress: Progress | None = None) -> ChangesFigures:
    """Tell every history of the files to a memory of its own."""
    started = time.perf_counter()
    histories = [one for path in paths for one in _read(path)]
    settings, clock = bench_settings(), FixedClock(_START)
    changes: list[_ChangeOutcome] = []
    pairs: dict[str, list[_PairOutcome]] = defaultdict(list)
    with closing(bench_embedder(settings)) as embedder:
        with temporary_memories(settings, embedder, clock) as memory_of:
            for number, one in enumerate(histories):
                clock.now = _START
                with memory_of(f"history {number}") as memory:
                    if one.what == "change":
                        changes.append(_tell_change(memory, clock, one))
                    else:
                        pairs[one.what].append(_tell_pair(memory, clock, one, embedder))
                if progress is not None:
                    progress("histories", number + 1, len(histories))
        info = run_info(started, embedder)
    wrong = [one.history.differs for one in pairs["not_same"] if one.merged]
    outcomes = {one.id: "noticed" if one.noticed else "missed" for one in changes}
    for some in pairs.values():
        outcomes |= {
            one.history.id: "merged" if one.merged else "replaced" if one.replaced else "apart" for one in some
        }
    return {
        "set": "changes",
        "n": len(histories),
        "change": _change_figures(changes),
        "different": _different_figures(pairs["different"]),
        "same": _restated_figures(pairs["same"]),
        "not_same": _restated_figures(pairs["not_same"]),
        "not_same_merged_by": {name: wrong.count(name) for name in sorted(set(wrong))},
        "outcomes": outcomes,
        **info,
    }


def _read(path: Path) -> list[StatedHistory]:
    found = read_lines(StatedHistory, path, "changes")
    if odd := next((one for one in found if not one.sound), None):
        raise InputError(f"{path}: {odd.id} is a {odd.what} without its texts")
    # Ids are unique in a file only.
    return [StatedHistory(**{**vars(one), "id": f"{path.name} {one.id}"}) for one in found]


def _tell_change(memory: Memory, clock: FixedClock, history: StatedHistory) -> _ChangeOutcome:
    old = _say(memory, clock, "first", (*history.old, *history.between))[: len(history.old)]
    before = _records_of(memory, old)
    clock.advance(_WEEK)
    _say(memory, clock, "second", [history.new])
    after = _live(_records_of(memory, old), clock.now)
    recorded = bool(_holding(before, history.ended))
    retired = recorded and not _holding(after, history.ended)
    still = [piece for piece in history.still if _holding(before, piece)]
    return _ChangeOutcome(
        history.id,
        recorded,
        retired or not _served_as_current(memory, history.ended, old),
        _new_first(memory, history),
        len(still),
        sum(not _holding(after, piece) for piece in still),
    )


def _served_as_current(memory: Memory, text: str, turns: Sequence[Turn]) -> bool:
    """Return True if a search for the text brings it, from one of the turns, without a mark that it is outdated."""
    words, ids = all_words(text), {turn.id for turn in turns}
    return any(
        hit.outdated_by is None and not ids.isdisjoint(hit.turn_ids) and coverage(words, all_words(hit.text)) >= HELD
        for hit in memory.search(text, limit=_DEPTH)
    )


def _new_first(memory: Memory, history: StatedHistory) -> bool | None:
    """Return True if the answer of today comes before any hit that shows the old one as current."""
    if not history.answer:
        return None
    new, old = history.answer.casefold(), history.stale.casefold()
    for hit in memory.search(history.question, limit=_DEPTH):
        text = hit.text.casefold()
        if new in text:
            return True
        if old and old in text and hit.outdated_by is None:
            return False
    return False


def _tell_pair(memory: Memory, clock: FixedClock, history: StatedHistory, embedder: Embedder) -> _PairOutcome:
    (first,) = _say(memory, clock, "first", [history.first])
    clock.advance(_WEEK)
    (second,) = _say(memory, clock, "second", [history.second])
    mine, later = _records_of(memory, [first]), _records_of(memory, [second])
    decisions = {decision.what for decision in memory.why(second.id).decisions}
    both = any({first.id, second.id} <= set(record.turn_ids) for record in mine)
    marked = any(
        hit.outdated_by is not None and first.id in hit.turn_ids for hit in memory.search(history.first, limit=_DEPTH)
    )
    vectors = embedder.embed([history.first, history.second])
    return _PairOutcome(
        history,
        bool(mine) and (bool(later) or not decisions.isdisjoint(_MERGED)),
        both or not decisions.isdisjoint(_MERGED),
        marked or len(_live(mine, clock.now)) < len(mine),
        float(vectors[0] @ vectors[1]) >= NEAR,
    )


def _say(memory: Memory, clock: FixedClock, session: str, texts: Iterable[str]) -> list[Turn]:
    messages = []
    for text in texts:
        clock.advance(timedelta(minutes=1))
        messages.append({"role": "user", "content": text, "at": clock.now.isoformat()})
    turns = memory.ingest_many(messages, session=session)
    memory.flush()
    return turns


def _records_of(memory: Memory, turns: Iterable[Turn]) -> list[Record]:
    """Return every record of the turns, live or not."""
    found = [record for turn in turns for record in memory.why(turn.id).records]
    return list({record.id: record for record in found}.values())


def _live(records: Iterable[Record], now: datetime) -> list[Record]:
    return [one for one in records if one.superseded_by is None and (one.valid_to is None or one.valid_to > now)]


def _holding(records: Iterable[Record], piece: str) -> list[Record]:
    words = all_words(piece)
    return [record for record in records if coverage(words, all_words(record.text)) >= HELD]


def _change_figures(changes: Sequence[_ChangeOutcome]) -> ChangeFigures:
    recorded = [one for one in changes if one.recorded]
    noticed = sum(one.noticed for one in changes)
    answered = [one.new_first for one in changes if one.new_first is not None]
    still = sum(one.still for one in changes)
    return {
        "n": len(changes),
        "recorded": share(len(recorded), len(changes)),
        "noticed": share(noticed, len(changes)),
        "noticed_ci": wilson(noticed, len(changes)),
        "noticed_of_recorded": share(sum(one.noticed for one in recorded), len(recorded)),
        "new_first": share(sum(answered), len(answered)),
        "still_n": still,
        "still_lost": share(sum(one.still_lost for one in changes), still),
    }


def _different_figures(pairs: Sequence[_PairOutcome]) -> DifferentFigures:
    outdated = _count(pairs, lambda one: one.replaced)
    return {
        "n": len(pairs),
        "both_recorded": share(_count(pairs, lambda one: one.recorded), len(pairs)),
        "outdated": outdated,
        "outdated_ci": wilson(outdated, len(pairs)),
    }


def _restated_figures(pairs: Sequence[_PairOutcome]) -> RestatedFigures:
    near = [one for one in pairs if one.near]
    merged = _count(pairs, lambda one: one.merged)
    return {
        "n": len(pairs),
        "both_recorded": share(_count(pairs, lambda one: one.recorded), len(pairs)),
        "merged": merged,
        "merged_share": share(merged, len(pairs)),
        "merged_ci": wilson(merged, len(pairs)),
        "replaced": _count(pairs, lambda one: one.replaced and not one.merged),
        "near": len(near),
        "near_merged_share": share(_count(near, lambda one: one.merged), len(near)),
    }


def _count(pairs: Iterable[_PairOutcome], test: Callable[[_PairOutcome], bool]) -> int:
    return sum(map(test, pairs))
