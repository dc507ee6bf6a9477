"""The erase proof finds what remains and nothing else; erased people leave no trace."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from holdfast.compact.prepare import CompactSizes
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.store.open import open_store
from holdfast.store.types import Scope
from holdfast.testing import HashEmbedder
from holdfast.text.jsonio import plain
from holdfast.upkeep.erase import ByteSearch, Traces, prove
from tests.support.memories import EAGER, QUICK, OpenMemory
from tests.support.people import coined, own_words, questions, talk

pytestmark = pytest.mark.requirement("KEEP-4")


def traces_left(path: Path, words: Sequence[str]) -> list[str]:
    """Return the words that a file of a closed store still contains, in any case, in UTF-8 or UTF-16."""
    left = b"".join(file.read_bytes() for file in path.parent.glob(path.name + "*"))
    return [
        word
        for word in words
        for spelling in (word, word.lower())
        if spelling.encode() in left or spelling.encode("utf-16-le") in left
    ]


def vocabulary(path: Path) -> set[str]:
    connection = apsw.Connection(str(path))
    return {str(term) for (term,) in connection.execute("SELECT DISTINCT term FROM postings")}


def test_byte_search_finds_all_patterns_and_no_others() -> None:
    rng = random.Random(3)
    piece = rng.randbytes(50_000)
    there = [piece[at : at + rng.randrange(6, 60)] for at in (0, 17, 49_000, *range(100, 40_000, 371))]
    absent = [rng.randbytes(6) for _ in range(500)]
    assert (
        ByteSearch([*there, *absent]).matches(piece) == {one for one in [*there, *absent] if one in piece} >= set(there)
    )
    assert ByteSearch([b"abcdef"]).matches(b"abcde") == set() and ByteSearch([]).matches(piece) == set()
    assert ByteSearch([b"abcdef", b"abcdefg"]).matches(b"..abcdefg") == {b"abcdef", b"abcdefg"}


def test_the_proof_finds_leftovers_before_the_file_is_swept(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(settings=EAGER)
    turn = memory.ingest("My boat is called Zhiofruquae.", session="s")
    memory.ingest("The harbour is quiet.", session="s")
    memory.flush()
    memory.close()
    store = open_store(tmp_path / "memory.db", EAGER.store)
    traces = Traces(store.erase_content("ana", Scope.TURN, turn.id))
    store.erase("ana", Scope.TURN, turn.id, turn.at)
    unswept = prove(store, "ana", traces, [])
    assert unswept.found > 5
    assert store.sweep() is None
    swept = prove(store, "ana", traces, [])
    assert swept.found == 0 and (swept.strings, swept.vectors) == (unswept.strings, unswept.vectors)
    assert swept.strings >= 5 and swept.vectors == 1 and swept.terms >= 1
    store.close()


def test_words_that_remain_elsewhere_are_counted_as_not_distinctive(memory: Memory) -> None:
    memory.ingest("Zhiofruquae lies in the harbour of Mwaethoklio.", session="s")
    turn = memory.ingest("Zhiofruquae was sold to Pfuoskazha.", session="s")
    memory.flush()
    made = memory.erase(turn=turn.id, prove=True)
    assert made.proof is not None and made.proof.found == 0 and made.proof.not_distinctive >= 1
    assert memory.search("Zhiofruquae", kind="turn")[0].text.endswith("Mwaethoklio.")


def test_backups_and_exports_are_searched_but_not_changed(memory: Memory, tmp_path: Path) -> None:
    memory.ingest("My boat is called Zhiofruquae.", session="s")
    memory.flush()
    memory.backup(tmp_path / "backup.db")
    memory.export(tmp_path / "ana.jsonl")
    before = (tmp_path / "backup.db").read_bytes()
    made = memory.erase(session="s", prove=True)
    assert set(made.copies) == {str(tmp_path / "backup.db"), str(tmp_path / "ana.jsonl")}
    assert made.proof is not None and made.proof.found == 0
    assert all(copy.found > 0 for copy in made.proof.copies) and len(made.proof.copies) == 2
    assert (tmp_path / "backup.db").read_bytes() == before


def test_an_open_reader_delays_the_sweep_until_the_next_open(open_memory: OpenMemory, tmp_path: Path) -> None:
    settings = replace(QUICK, store=replace(QUICK.store, busy_s=0.05))
    memory = open_memory(settings=settings)
    memory.ingest("My boat is called Zhiofruquae.", session="s")
    memory.ingest("The harbour is quiet.", session="t")
    memory.flush()
    reader = apsw.Connection(str(tmp_path / "memory.db"))
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM log").fetchall()
    made = memory.erase(session="s", prove=True)
    assert made.pending is not None and "-wal" in made.pending
    assert made.proof is not None and made.proof.found > 0
    reader.close()
    memory.close()
    again = open_memory(settings=settings)
    assert [turn.text for turn in again.recent(10)] == ["The harbour is quiet."]
    again.close()
    assert traces_left(tmp_path / "memory.db", ["Zhiofruquae"]) == []


def said(memory: Memory, number: int) -> object:
    """Return everything a person's memory answers to their own questions, and the active view of their session."""
    view = memory.active("talk")
    return (
        [plain(list(memory.search(question, limit=10))) for question in questions(number)],
        plain(memory.recent(100)),
        plain([one for one in memory.recent(100, kind="record") if isinstance(one, Record)]),
        plain((view.summaries, view.guidance, view.turns)),
    )


_FAST_SEEDS = 4  # the other sixteen run with `make torture`


@pytest.mark.requirement("SAFE-5")
def test_erasing_one_of_fifty_people_leaves_no_trace_and_others_unchanged(tmp_path: Path) -> None:
    settings = replace(EAGER, compact=CompactSizes(automatic=False, size=8))
    path = tmp_path / "memory.db"
    before = {}
    for number in range(50):
        with Memory(path, f"person-{number}", embedder=HashEmbedder(), settings=settings) as memory:
            memory.ingest_many(talk(number), session="talk")
            memory.flush()
            memory.compact("talk", force=True)
            memory.flush()
            before[number] = said(memory, number)
            if number == 17:
                assert any(
                    one.evidence_count > 1 for one in memory.recent(100, kind="record") if isinstance(one, Record)
                )
                assert memory.active("talk").summaries and memory.active("talk").guidance
    assert sorted(set(traces_left(path, own_words(17)))) == sorted(own_words(17))
    with Memory(path, "person-17", embedder=HashEmbedder(), settings=settings) as memory:
        made = memory.erase(namespace=True, prove=True)
    assert made.proof is not None and made.proof.found == 0 and made.proof.strings > 40 and made.proof.vectors > 5
    assert traces_left(path, [*own_words(17), "person-17"]) == []
    assert not {word.lower() for word in own_words(17)} & vocabulary(path)
    assert own_words(18)[0].lower() in vocabulary(path)
    for number in range(50):
        if number != 17:
            with Memory(path, f"person-{number}", embedder=HashEmbedder(), settings=settings) as memory:
                assert said(memory, number) == before[number]


Marks = dict[str, tuple[str, str]]
"""Session and unique word of each turn or record, by id."""


def grow(memory: Memory, rng: random.Random, marks: Marks) -> None:
    """Add a few turns and acts."""
    for session in rng.sample(["alpha", "beta", "gamma"], 2):
        for _ in range(rng.randrange(1, 5)):
            word = coined(rng)
            role = rng.choice(["user", "user", "assistant"])
            text = rng.choice(
                [f"I live in {word} with my dog.", f"My sister is called {word}.", f"Always ask {word} first.",
                 f"{word} called again about the invoice, please deal with it."]
            )  # fmt: skip
            turn = memory.ingest(text, role, session, key=coined(rng) if rng.random() < 0.3 else None)
            marks[turn.id] = (session, word)
    if rng.random() < 0.5:
        word = coined(rng)
        marks[memory.remember(f"The vault is under {word}").id] = ("", word)
    memory.flush()
    if rng.random() < 0.4:
        memory.compact(turn.session, force=True)
    if rng.random() < 0.4:
        memory.forget(turn.id)


def erase_one(memory: Memory, rng: random.Random, marks: Marks) -> list[str]:
    """Erase something at random and return the words that must be gone."""
    noun = rng.choice(sorted(marks))
    session, _ = marks[noun]
    gone = [noun]
    if not session:
        made = memory.erase(record=noun, prove=True)
    elif rng.random() < 0.3:
        gone = [one for one, (place, _) in marks.items() if place == session]
        made = memory.erase(session=session, prove=True)
    else:
        made = memory.erase(turn=noun, prove=True)
    assert made.pending is None and made.proof is not None
    assert made.proof.found == 0, made.proof
    return [marks.pop(one)[1] for one in gone]


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=pytest.mark.long) if seed >= _FAST_SEEDS else seed for seed in range(20)]
)
def test_ten_random_erases_leave_no_trace_and_lose_nothing_else(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    marks: Marks = {}
    gone: list[str] = []
    path = tmp_path / "memory.db"
    settings = replace(EAGER, compact=CompactSizes(automatic=False, tail=1, size=4))
    with Memory(path, "ana", embedder=HashEmbedder(), settings=settings) as memory:
        for _ in range(10):
            grow(memory, rng, marks)
            before = {noun: memory.why(noun).text for noun in marks}
            gone += erase_one(memory, rng, marks)
            assert {noun: memory.why(noun).text for noun in marks} == {noun: before[noun] for noun in marks}
            assert memory.status().turns == sum(noun.startswith("t-") for noun in marks)
        assert memory.check() == []
        before_rebuild = plain(memory.recent(1000, kind="record"))
        memory.rebuild()
        assert plain(memory.recent(1000, kind="record")) == before_rebuild
    assert traces_left(path, gone) == []
    kept = {word for _, word in marks.values()}
    assert set(traces_left(path, sorted(kept))) == kept
