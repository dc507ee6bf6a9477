"""Results of derived work do not depend on where its batches are cut or what happens between them (INV-3).

Random lives: what is said, remembered, forgotten and compacted, which stage of derived work runs when and how far,
when questions are asked (which fills caches), and when the memory is closed. All answers are then compared with those
after a rebuild, and with those of an import into a store that derives everything in one go with other settings.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import apsw
import numpy as np
import pytest

from holdfast.admit.ledger import Ledger
from holdfast.compact.prepare import CompactSizes
from holdfast.index.blocks import IndexSizes, cut_turns, index_words
from holdfast.index.vectors import embed_documents, read_turns
from holdfast.memory import Memory
from holdfast.model import Kind, Provenance, Record
from holdfast.settings import Settings
from holdfast.store.store import Store
from holdfast.store.types import Changes, Move, RecordState, Space
from holdfast.testing import FixedClock, HashEmbedder
from holdfast.text.jsonio import plain
from tests.support.chats import boatyard
from tests.support.engines import chosen
from tests.support.memories import QUICK, OpenMemory, user

NAMES, PLACES = ("Rosa", "Benedikt", "Ottilie"), ("Lisbon", "Ghent", "Porto")
SAID = (
    "I live in {place}.",
    "I do live in {place}.",
    "I moved to {place} in May.",
    "My sister {name} lives in {place}.",
    "My sister {name} lives in {place} and has two dogs called Miso and Nori.",
    "I think I am allergic to peanuts.",
    "I am allergic to peanuts.",
    "My berth is number {number}.",
    "The launch moves to the {number}th of June.",
    "My name is {name}. I live in {place}. I have {number} children.",
    "Actually, my favourite place is {place} now.",
    "Never order epoxy from the dealer in Vigo again.",
    "Always ask {name} before you book the crane.",
    "Today we varnished the ferry with {name}, and it took {number} hours.",
    "Where is the ferry?",
    "thanks!",
    " ".join(["{name} measured plank {number} of the ferry in {place} and wrote it down."] * 14),
)
REPLIES = (
    "Noted. Do you want a reminder about the ferry?",
    "Your sister {name} lives in {place}.",
    "What is your name?",
)
QUESTIONS = ("where do I live", "my sister Rosa", "epoxy from Vigo")
KINDS = (None, "fact", "summary", "guidance")
SESSIONS = ("a", "b")


class Life:
    """A memory whose derived work is done step by step by the test."""

    def __init__(self, seed: int, home: Path) -> None:
        self.chance = random.Random(f"any cuts {seed}")
        self.clock = FixedClock()
        self._home = home
        self.memory = self.opened("memory.db", self.settings())

    def settings(self) -> Settings:
        index = IndexSizes(
            tail=self.chance.choice((1, 3, 7, 128)),
            vector_tail=self.chance.choice((1, 3, 7, 256)),
            batch=self.chance.choice((1, 2, 3, 5, 8, 1000)),
        )
        compact = CompactSizes(automatic=False, size=self.chance.choice((4, 6, 20)), tail=self.chance.choice((1, 4)))
        return replace(QUICK, compact=compact, _tuning=(index,))

    def opened(self, file: str, settings: Settings) -> Memory:
        memory = Memory(self._home / file, "ana", embedder=HashEmbedder(), settings=settings, clock=self.clock)
        memory._engine.worker.wake = lambda namespace: None  # type: ignore[method-assign]
        return memory

    def go_on(self) -> None:
        """Do one random act on the log or on derived data."""
        chance, memory = self.chance, self.memory
        self.clock.advance(chance.choice((0, 1, 3600)))
        match chance.choices(range(8), (40, 4, 4, 4, 30, 6, 7, 2))[0]:
            case 0:
                role = chance.choice(("user", "user", "user", "assistant"))
                for _ in range(chance.choice((1, 1, 1, 6))):
                    memory.ingest(self.text(role), role=role, session=chance.choice(SESSIONS))
            case 1:
                memory.remember(self.text("user"), kind=chance.choice(("fact", "guidance")))
            case 2:
                nouns = [one.id for one in memory.recent(9)] + [one.id for one in records(memory)]
                if nouns:
                    memory.forget(chance.choice(nouns))
            case 3:
                memory.bootstrap(session := chance.choice(SESSIONS))
                memory.compact(session, force=True)
            case 4:
                self.do_a_piece()
            case 5:
                memory._engine.worker.derive("ana")
            case 6:
                memory.search(chance.choice(QUESTIONS), kind=chance.choice(KINDS))
            case 7:
                memory.close()
                self.memory = self.opened("memory.db", self.settings())

    def text(self, role: str) -> str:
        said = self.chance.choice(SAID if role == "user" else REPLIES)
        return said.format(
            name=self.chance.choice(NAMES), place=self.chance.choice(PLACES), number=self.chance.randrange(4, 8)
        )

    def do_a_piece(self) -> None:
        """Advance one stage alone, so that any stage may be ahead of the others."""
        worker = self.memory._engine.worker
        store, embedder, admission = worker._store, worker._embedder, worker.admission("ana")
        assert embedder is not None
        settings = replace(worker._settings, batch=self.chance.choice((1, 2, 4, 1000)))
        match self.chance.randrange(8):
            case 0:
                cut_turns(store, "ana", settings)
            case 1 | 2 as place:
                index_words(store, "ana", (Space.TURN, Space.RECORD)[place - 1], settings)
            case 3 | 4 as place:
                embed_documents(store, "ana", (Space.TURN, Space.RECORD)[place - 3], embedder, settings)
            case 5:
                read_turns(store, "ana", embedder, settings)
            case _:
                admission.admit_batch(lambda: None)


def derive(memory: Memory) -> None:
    end = time.monotonic() + 60
    while memory._engine.worker.behind("ana"):
        if memory._engine.worker.derive("ana") is None:  # another thread has the claim
            time.sleep(0.01)
        assert time.monotonic() < end, "derived work comes to no end"


def records(memory: Memory) -> list[Record]:
    return [one for one in memory.recent(1000, kind="record") if isinstance(one, Record)]


def everything(memory: Memory, questions: Sequence[str] = QUESTIONS) -> dict[str, object]:
    """Return all answers with their ids, which come from the log or follow from it."""
    said: dict[str, object] = {
        f"search {kind} {question}": plain(list(memory.search(question, limit=20, kind=kind)))
        for question in questions
        for kind in KINDS
    }
    turns = memory.recent(1000)
    said |= {f"why {turn.id}": (plain(memory.why(turn.id)), plain(turn.signals)) for turn in turns}
    said |= {f"history {turn.id}": plain(memory.history(turn.id)) for turn in turns}
    said |= {f"record {one.id}": (plain(one), plain(memory.history(one.id))) for one in records(memory)}
    for session in {turn.session for turn in turns}:
        said |= {f"active {session}": plain(memory.active(session)), f"thread {session}": plain(memory.thread(session))}
    return said | {
        "records": [one.id for one in records(memory)],
        "stats": plain(memory.stats()),
        "signals": plain(memory.gating_scalar("My sister Rosa lives in Porto.")),
    }


def differs(one: Mapping[str, object], other: Mapping[str, object]) -> dict[str, object]:
    return {
        name: (one.get(name), other.get(name)) for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    }


def live_through(seed: int, home: Path, most: int) -> None:
    life = Life(seed, home)
    for _ in range(life.chance.randrange(most // 3, most)):
        life.go_on()
    derive(life.memory)
    before, context = everything(life.memory), in_context(life.memory)
    life.memory.export(home / "log.jsonl")
    with life.opened("other.db", life.settings()) as other:
        other.import_file(home / "log.jsonl")
        derive(other)
        assert differs(before, everything(other)) == {}
    life.memory._store.clear_views("ana")
    derive(life.memory)
    assert differs(before, everything(life.memory)) == {}
    assert in_context(life.memory) == context
    life.memory.close()


def in_context(memory: Memory) -> str:
    """Remove the frame's mark, which is different for each store."""
    return memory.context([{"role": "user", "content": "How do I order epoxy?"}], budget=8000).text


@pytest.mark.requirement("INV-3")
@pytest.mark.parametrize("seed", range(4))
def test_answers_do_not_depend_on_how_derived_work_was_cut(tmp_path: Path, seed: int) -> None:
    live_through(seed, tmp_path, 45)


@pytest.mark.long
@pytest.mark.requirement("INV-3")
@pytest.mark.parametrize("seed", range(100, 160))
def test_answers_of_many_lives_do_not_depend_on_how_work_was_cut(tmp_path: Path, seed: int) -> None:
    live_through(seed, tmp_path, 150)


# --- what was found so, each by itself


@contextmanager
def rows_come_otherwise(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Reverse rows that a statement does not order; a vacuum or another plan may do that."""
    with patch.context() as patched:
        hook = _reverse
        patched.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, hook])
        if chosen() == "postgres":
            from holdfast.store.postgres.transaction import PostgresTransaction

            given = PostgresTransaction.rows

            def rows(tx: PostgresTransaction, sql: str, **values: object) -> list[tuple[object, ...]]:
                found = given(tx, sql, **values)
                return found if "ORDER BY" in sql else found[::-1]

            patched.setattr(PostgresTransaction, "rows", rows)
        yield


def _reverse(connection: apsw.Connection) -> None:
    connection.pragma("reverse_unordered_selects", 1)


@pytest.mark.requirement("INV-3")
def test_the_row_order_of_an_engine_changes_no_answer(open_memory: OpenMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regression: after a vacuum on a server, a rebuild named another turn as the one that outdates a hit."""
    memory, questions = open_memory(), ("where is berth 14", "who varnished what")
    memory.ingest_many([user("My boat Albatross lies at berth 14."), *boatyard(60, rules=4)], session="yard")
    memory.compact("yard", force=True)
    memory.ingest_many(boatyard(20, seed=3), session="yard")
    memory.flush()
    before = everything(memory, questions)
    assert any("'outdated_by': 't-" in repr(said) for said in before.values())
    with rows_come_otherwise(monkeypatch):
        assert differs(before, everything(open_memory(), questions)) == {}


@pytest.mark.requirement("INV-3")
def test_a_vector_kept_by_a_rebuild_counts_once(open_memory: OpenMemory) -> None:
    """Regression: a vector in a segment was also read as one that waits for its segment."""
    memory = open_memory(settings=replace(QUICK, _tuning=(IndexSizes(batch=10, vector_tail=8),)))
    memory.ingest_many([user(f"My sister Rosa lives in house {number % 4}.") for number in range(15)])
    memory.flush()
    before = everything(memory)
    memory.rebuild()
    assert differs(before, everything(memory)) == {}


@pytest.mark.requirement("INV-3")
def test_a_record_with_a_new_document_number_counts_once(
    open_memory: OpenMemory,
) -> None:
    def say(tail: int) -> list[list[tuple[str, float]]]:
        eager = replace(QUICK, _tuning=(IndexSizes(tail=tail, vector_tail=tail),))
        memory = open_memory(file=f"{tail}.db", embedder="static", settings=eager)
        for text in (
            "I am allergic to peanuts.",
            "My sister Anna really lives in Rome.",
            "I grow tomatoes on my balcony.",
            "My sister Anna lives in Rome.",
        ):
            memory.ingest(text)
            memory.flush()
        assert memory.stats().total.merged == 1
        return [
            [(hit.text, hit.score) for hit in memory.search(question, kind="fact")]
            for question in ("my sister Anna in Rome", "tomatoes on the balcony")
        ]

    assert say(1) == say(100)


class OvertakenStore:
    """A store in which something happens between reading a batch and writing it; all else is the real store's."""

    def __init__(self, store: Store, meanwhile: Callable[[], None]) -> None:
        self._store, self._meanwhile = store, meanwhile

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    def advance(self, namespace: str, moves: Sequence[Move], changes: Changes) -> bool:
        self._meanwhile()
        return self._store.advance(namespace, moves, changes)


@pytest.mark.requirement("INV-3", "SAFE-2")
@pytest.mark.parametrize("stage", ["words of records", "vectors of records", "words of turns", "passages", "admission"])
def test_a_batch_that_a_rebuild_overtook_is_not_written(tmp_path: Path, stage: str) -> None:
    """Regression: the cursor was at the same place before and after, and records had got other numbers meanwhile."""
    life = Life(1, tmp_path)
    memory, worker = life.memory, life.memory._engine.worker
    embedder, settings = HashEmbedder(), replace(worker._settings, tail=1)

    def admit_all() -> None:
        for space in (Space.TURN, Space.RECORD):
            embed_documents(worker._store, "ana", space, embedder, replace(settings, batch=1000))
        read_turns(worker._store, "ana", embedder, replace(settings, batch=1000))
        while worker.admission("ana").admit_batch(lambda: None):
            embed_documents(worker._store, "ana", Space.RECORD, embedder, replace(settings, batch=1000))

    def meanwhile() -> None:
        memory._store.clear_views("ana")
        if "of records" in stage:
            admit_all()

    for name in NAMES:
        memory.ingest(f"My sister {name} lives in Porto.")
    if "of records" in stage:
        admit_all()
    memory.remember("The launch moves to the 5th of June.")  # comes first after a rebuild
    if stage == "admission":
        embed_documents(worker._store, "ana", Space.TURN, embedder, settings)
        embed_documents(worker._store, "ana", Space.RECORD, embedder, settings)
        read_turns(worker._store, "ana", embedder, settings)
    store = cast(Store, OvertakenStore(worker._store, meanwhile))
    match stage:
        case "words of records":
            written = index_words(store, "ana", Space.RECORD, settings)
        case "words of turns":
            written = index_words(store, "ana", Space.TURN, settings)
        case "vectors of records":
            written = embed_documents(store, "ana", Space.RECORD, embedder, settings)
        case "passages":
            written = cut_turns(store, "ana", settings)
        case _:
            admission = worker.admission("ana")
            admission._store = store
            written = admission.admit_batch(lambda: None)
            admission._store = worker._store
    assert written == 0
    derive(memory)
    before = everything(memory)
    memory._store.clear_views("ana")
    derive(memory)
    assert differs(before, everything(memory)) == {}
    memory.close()


@pytest.mark.requirement("INV-3", "RECALL-1")
def test_a_record_is_not_found_under_its_neighbours_number(open_memory: OpenMemory) -> None:
    """Its number changes with a rebuild, where records of acts come first."""
    question, answer, other = "Where is the spare key?", "Zofia keeps it in a tin.", "The spare tyre is in the shed."

    def found(texts: tuple[str, ...]) -> list[tuple[str, float]]:
        memory = open_memory("-".join(str(len(text)) for text in texts), clock=FixedClock())
        for text in texts:
            memory.remember(text)
        memory.flush()
        return sorted((hit.text, hit.score) for hit in memory.search("where is the spare key", kind="fact"))

    assert found((question, answer, other)) == found((answer, question, other)) == found((other, answer, question))


@pytest.mark.requirement("INV-3")
def test_a_ledger_finds_the_same_in_any_record_order() -> None:
    def standing(number: int) -> RecordState:
        record = Record(
            f"r-{number}", "ana", Kind.FACT, f"The keeper of pier {number} is a cousin.", Provenance.USER_STATED, 1.0,
            1, FixedClock()(), FixedClock()(),
        )  # fmt: skip
        vector = HashEmbedder().embed([f"The keeper is number {number % 3}"])[0]
        return RecordState(record, number // 2, None, vector.tobytes())

    every = [standing(number) for number in range(400)]
    asked, text = HashEmbedder().embed(["The keeper is number 1"])[0], "The keeper of every pier is my cousin."
    ledger = Ledger(every)
    near, akin = ledger.nearest(asked, 150, 8, own=True), ledger.akin(text, asked, 190, 8)
    assert [one.id for one, _ in akin] == [f"r-{number}" for number in range(381, 373, -1)]
    for seed in range(5):
        shuffled = random.Random(seed).sample(every, len(every))
        other = Ledger(shuffled[:200])
        other.look_ahead(np.stack([asked, asked]))
        other.take(shuffled[200:])
        assert other.nearest(asked, 150, 8, own=True, row=1) == near
        assert other.akin(text, asked, 190, 8) == akin


def test_a_small_batch_does_not_delay_flush(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, _tuning=(IndexSizes(tail=7, batch=3),)))
    memory.ingest_many([user(f"mooring m{number}") for number in range(20)])
    memory.flush(20)
    assert memory.status().words_done > 0
