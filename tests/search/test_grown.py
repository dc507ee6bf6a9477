"""What a search keeps grows with the log: it is the same as if it were read anew, after every turn, record and act."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast.store.open as stores
from holdfast.index.blocks import BlockCache, IndexSizes, quantise
from holdfast.index.candidates import CandidateTables, Columns, Pool, read_pool
from holdfast.log.messages import read_message
from holdfast.memory import Memory
from holdfast.model import utc_now
from holdfast.search.rank import _best_of_session
from holdfast.search.retrieve import Cosines, GatheredVectors
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import Space
from holdfast.testing import FixedClock, HashEmbedder
from tests.support.memories import QUICK

FEW_WAIT = replace(QUICK, _tuning=(IndexSizes(tail=4, vector_tail=5),))
"""Every few turns the index takes in what waits, and a segment of vectors is written anew."""
QUESTIONS = ("where is the ferry", "Rosa and the anchor", "what does the keeper prefer")
SAID = (
    "The ferry leaves at {}.",
    "Where is the anchor of boat {}?",
    "Rosa keeps anchor {} in the shed.",
    "I prefer pier {} to the others.",
    "So I moved to house {}.",
)

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(st.sampled_from(["say", "say", "say", "remember", "forget"]), st.integers(0, 2), st.integers(0, 9)),
    min_size=2,
    max_size=14,
)


def take(memory: Memory, step: Step) -> None:
    what, session, number = step
    if what == "say":
        memory.ingest(SAID[number % len(SAID)].format(number), session=f"s{session}")
    elif what == "remember":
        memory.remember(f"The keeper of pier {number} is Rosa's cousin {session}.")
    elif turns := memory.recent(limit=5):
        memory.forget(turns[number % len(turns)].id)
    memory.flush()


def answers(memory: Memory) -> list[list[tuple[str, float, float, tuple[str, ...]]]]:
    return [[(hit.id, hit.score, hit.semantic, hit.words) for hit in memory.search(one, limit=20)] for one in QUESTIONS]


@pytest.mark.requirement("RECALL-1", "INV-1")
@settings(max_examples=6, deadline=None)
@given(steps)
def test_a_memory_that_was_asked_all_along_answers_like_one_that_is_opened_now(talk: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as home:
        path, clock = Path(home) / "memory.db", FixedClock()

        def opened() -> Memory:
            return Memory(path, "ana", embedder=HashEmbedder(), settings=FEW_WAIT, clock=clock)

        with opened() as memory:
            for step in talk:
                take(memory, step)
                grown = answers(memory)
            with opened() as fresh:
                assert grown == answers(fresh)


def append(store: Store, talk: Sequence[Step]) -> None:
    for _, session, number in talk:
        said = {"role": "user", "content": SAID[number % len(SAID)].format(number)}
        turns = read_message(said, number=0, now=utc_now(), settings=QUICK.log)
        store.append("ana", f"s{session}", turns, utc_now())


def table(pool: Pool) -> list[object]:
    """All that a pool says, as plain values."""
    columns = ("exists", "length", "session", "index", "sort", "marks", "prior", "at", "before", "asked")
    return [
        [getattr(pool, column).tolist() for column in columns],
        [(one.back, one.places.tolist(), one.sources.tolist()) for one in pool.line],
        [(one.num, one.held, one.length, one.marks, one.prior) for one in pool.waiting],
        (pool.count, pool.total_length, dict(pool.last)),
    ]


def read(view: Snapshot, cache: BlockCache) -> list[object]:
    return table(read_pool(view, "ana", Space.TURN, cache, 1_000_000))


@settings(max_examples=10, deadline=None)
@given(st.lists(steps, min_size=1, max_size=4))
def test_an_extended_pool_equals_one_that_is_read_again(talks: list[list[Step]]) -> None:
    with tempfile.TemporaryDirectory() as home:
        store, cache = stores.open_store(Path(home) / "memory.db", QUICK.store), BlockCache(1_000_000)
        for talk in talks:
            append(store, talk)
            with store.snapshot("ana") as view:
                assert read(view, cache) == read(view, BlockCache(1_000_000))
        store.close()


def elsewhere(work: Callable[[], object]) -> object:
    """In a thread of its own, which has snapshots of its own."""
    with ThreadPoolExecutor(1) as other:
        return other.submit(work).result()


@pytest.mark.requirement("INV-1")
def test_an_older_snapshot_sees_no_later_turn(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=FEW_WAIT) as memory:
        for number in range(9):  # some in the index, some behind it
            memory.ingest(f"boat {number}", session="s")
        memory.flush()
    store, cache = stores.open_store(tmp_path / "memory.db", QUICK.store), BlockCache(1_000_000)

    def now() -> object:
        with store.snapshot("ana") as view:
            return read(view, cache)

    with store.snapshot("ana") as view:
        append(store, [("say", 0, 1)])
        older = read(view, cache)
        newer = elsewhere(now)
        assert older != newer
        assert read(view, cache) == older == read(view, BlockCache(1_000_000))
    assert now() == newer
    store.close()


vectors = st.lists(st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8), min_size=1, max_size=6)


@given(vectors, st.lists(st.floats(-1, 1, width=32), min_size=8, max_size=8))
def test_no_cosine_is_outside_the_bounds_of_its_codes(drawn: list[list[float]], asked: list[float]) -> None:
    full, question = np.array(drawn, np.float32), np.array(asked, np.float32)
    codes, scales = quantise(full)
    places = np.arange(len(full))
    near = GatheredVectors(places, codes * scales[:, None], scales)
    least, most = Cosines(CandidateTables([], Columns([], [], 1)), question, None).bounds(places, near)
    exact = full.astype(np.float64) @ question.astype(np.float64)
    tiny = 1e-30  # vectors of subnormal numbers have codes of zero
    assert (least <= exact + tiny).all() and (exact - tiny <= most).all()


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), min_size=1, max_size=30))
def test_a_document_is_given_the_best_of_its_session_and_the_mean_at_least(drawn: list[tuple[int, int]]) -> None:
    pool = replace(_pool(len(drawn)), session=np.array([session for session, _ in drawn], np.uint32))
    scores = np.array([score for _, score in drawn], np.float32)
    best = _best_of_session(Columns([pool], [False], 1).sessions, scores, np.float32(1))
    for (session, _), given_score in zip(drawn, best.tolist(), strict=True):
        of_session = [score for other, score in drawn if other == session]
        assert given_score == (max(*of_session, 1, 1) if session else 1)


def _pool(size: int) -> Pool:
    from holdfast.index.candidates import _empty

    return _empty(Space.TURN, size)
