"""Search through the public door: what is found, when, in which order, and what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.index.blocks import IndexSizes, index_words
from holdfast.memory import Memory
from holdfast.models.embedder import StaticEmbedder
from holdfast.search.question import Ranking
from holdfast.settings import AdmitSettings, RankWeights, RecallSettings
from holdfast.store.open import open_store
from holdfast.store.types import Space
from holdfast.testing import FixedClock, HashEmbedder
from holdfast.text.jsonio import plain
from tests.support.hostile_texts import HOSTILE
from tests.support.memories import (
    EAGER,
    QUESTIONS,
    QUICK,
    OpenMemory,
    WaitingEmbedder,
    answers,
    found,
    ingest_month,
    month,
)
from tests.support.scripts import WORDS_IN_SCRIPTS

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def hits(memory: Memory, question: str, limit: int = 20) -> object:
    return plain(list(memory.search(question, limit=limit)))


@pytest.mark.requirement("LOG-3")
def test_a_turn_is_found_by_words_at_once_and_by_meaning_once_it_is_embedded(open_memory: OpenMemory) -> None:
    embedder = WaitingEmbedder()
    memory = open_memory(embedder=embedder)
    memory.ingest("the ferry leaves at nine")
    assert embedder.asked.wait(10)  # the worker is stuck in the model, off the caller's path
    memory.ingest("the lighthouse needs paint")
    assert [turn.text for turn in memory.recent()] == ["the lighthouse needs paint", "the ferry leaves at nine"]
    embedder.go.set()
    assert found(memory.search("lighthouse")) == ["the lighthouse needs paint"]
    memory.flush(10)
    assert memory.search("lighthouse")[0].semantic > 0.3


@pytest.mark.requirement("LOG-3", "RECALL-1")
def test_a_paraphrase_without_a_shared_word_is_found_by_the_default_model(
    open_memory: OpenMemory, static_embedder: StaticEmbedder
) -> None:
    memory = open_memory(embedder=static_embedder)
    memory.ingest("My doctor told me to stop eating peanuts.")
    memory.ingest("The printer on the second floor is out of toner.")
    memory.ingest("We are flying to Oslo next Thursday.")
    memory.flush()
    first = memory.search("physician nut allergies")[0]
    assert first.text.startswith("My doctor") and first.words == () and first.semantic > 0.35


@pytest.mark.requirement("RECALL-9")
@pytest.mark.parametrize("eager", [False, True], ids=["waiting", "indexed"])
@pytest.mark.parametrize("case", WORDS_IN_SCRIPTS, ids=[case[0] for case in WORDS_IN_SCRIPTS])
def test_a_word_of_any_script_finds_its_sentence_first(
    open_memory: OpenMemory, static_embedder: StaticEmbedder, case: tuple[str, str, str, str], eager: bool
) -> None:
    _, turn, query, other = case
    memory = open_memory(embedder=static_embedder, settings=EAGER if eager else QUICK)
    memory.ingest(turn)
    memory.ingest(other)
    if eager:
        memory.flush()
    assert memory.search(query)[0].text == turn


@pytest.mark.requirement("RECALL-9")
def test_every_script_is_found_in_one_store_of_all(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    memory = open_memory(embedder=static_embedder)
    for _, turn, _, other in WORDS_IN_SCRIPTS:
        memory.ingest(turn)
        memory.ingest(other)
    memory.flush()
    missed = [name for name, turn, query, _ in WORDS_IN_SCRIPTS if memory.search(query)[0].text != turn]
    assert missed == []


@pytest.mark.requirement("RECALL-9")
@pytest.mark.parametrize(
    ("text", "word"), [("물을 많이 마셔요", "물"), ("새 집에서 잤어요", "집"), ("책을 샀다", "책")]
)
def test_a_korean_word_of_one_syllable_is_found_with_its_particle(
    open_memory: OpenMemory, text: str, word: str
) -> None:
    memory = open_memory(embedder="none")
    memory.ingest(text)
    assert found(memory.search(word)) == [text]


@pytest.mark.requirement("RECALL-9")
@pytest.mark.parametrize(
    "name",
    [
        "HRB-7713",
        "src/tides/model.py",
        "E_CONN_RESET",
        "v1.24.3-rc1",
        "ana@harbour.example",
        "getUserName",
        "0xDEADBEEF",
    ],
)
def test_an_exact_identifier_comes_before_its_near_twins(memory: Memory, name: str) -> None:
    twins = [name[:-1] + "9", name[:-1], name + "2", name.swapcase()[:2] + "zz" + name[3:]]
    memory.ingest(f"the job failed at {name} again")
    for twin in twins:
        memory.ingest(f"the job failed at {twin} again")
    memory.flush()
    assert memory.search(name)[0].text == f"the job failed at {name} again"


# --- the same answers, however far the derived work has come


@pytest.mark.slow
@pytest.mark.requirement("INV-3", "LOG-3")
def test_the_word_index_changes_no_answer(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(embedder="none", settings=replace(QUICK, _tuning=(IndexSizes(tail=10_000),)))
    ingest_month(memory)
    memory.remember("Bree tuned pianos for nine years")
    memory.flush()  # words may wait outside the index; long turns are cut
    before = [hits(memory, question, 50) for question in QUESTIONS]
    assert memory.status().words_done == 0
    store = open_store(tmp_path / "memory.db", QUICK.store)
    for space in (Space.TURN, Space.PASSAGE, Space.RECORD):
        while index_words(store, "ana", space, IndexSizes(tail=1, batch=90)):
            assert [hits(memory, question, 50) for question in QUESTIONS] == before
    store.close()
    assert memory.status().words_done == len(month())


@pytest.mark.slow
@pytest.mark.requirement("INV-3")
def test_folding_vectors_into_segments_changes_no_answer(open_memory: OpenMemory) -> None:
    """Two stores of one month, one with every vector in a segment, one with none."""
    tail, folded = open_memory("a", file="a.db"), open_memory("a", file="b.db", settings=EAGER)
    for memory in (tail, folded):
        ingest_month(memory)
        memory.flush()
    for question in QUESTIONS:
        before = [(hit.text, hit.score, hit.semantic) for hit in tail.search(question, limit=50)]
        assert [(hit.text, hit.score, hit.semantic) for hit in folded.search(question, limit=50)] == before


@pytest.mark.slow
@pytest.mark.requirement("INV-3")
@pytest.mark.parametrize("settings", [QUICK, EAGER], ids=["lazy", "eager"])
def test_reopening_changes_no_answer(open_memory: OpenMemory, settings: object) -> None:
    chosen = EAGER if settings is EAGER else QUICK
    memory = open_memory(settings=chosen)
    ingest_month(memory)
    memory.remember("Bree tuned pianos for nine years")
    memory.forget(memory.recent(3)[2].id)
    memory.flush()
    before = answers(memory)
    memory.close()
    assert answers(open_memory(settings=chosen)) == before


@pytest.mark.slow
@pytest.mark.requirement("RECALL-1")
def test_the_same_question_twice_gives_the_same_answer(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=EAGER)
    ingest_month(memory)
    memory.flush()
    for question in QUESTIONS:
        assert hits(memory, question) == hits(memory, question)


@pytest.mark.slow
@pytest.mark.requirement("RECALL-1")
def test_a_smaller_limit_is_the_head_of_a_larger_one(open_memory: OpenMemory) -> None:
    memory = open_memory()
    ingest_month(memory)
    memory.flush()
    for question in QUESTIONS:
        many = hits(memory, question, 16)
        assert isinstance(many, list)
        for limit in (1, 3, 10):
            assert hits(memory, question, limit) == many[:limit]


# --- filters


@pytest.fixture
def dated(open_memory: OpenMemory) -> Memory:
    """One turn about the harbour a day, in two sessions, and a record."""
    clock = FixedClock(NOON)
    memory = open_memory(clock=clock, settings=replace(EAGER, admit=AdmitSettings(enabled=False)))
    for day in range(1, 11):
        memory.ingest(f"harbour report {day}", at=f"2026-04-{day:02d}", session="odd" if day % 2 else "even")
    memory.remember("the harbour opens at six")
    memory.flush()
    return memory


def days(memory: Memory, **filters: object) -> list[int]:
    wanted = memory.search("harbour report", limit=50, kind="turn", **filters)  # type: ignore[arg-type]
    return sorted(hit.at.day for hit in wanted)


@pytest.mark.requirement("RECALL-1")
def test_since_counts_and_until_does_not(dated: Memory) -> None:
    assert days(dated) == list(range(1, 11))
    assert days(dated, since="2026-04-08") == [8, 9, 10]
    assert days(dated, until="2026-04-03") == [1, 2]
    assert days(dated, since="2026-04-03", until="2026-04-05") == [3, 4]
    assert days(dated, since="2026-04-05", until="2026-04-05") == []
    assert days(dated, since="25 days ago", until="23 days ago") == [7, 8]


@pytest.mark.requirement("RECALL-1")
def test_as_of_sees_nothing_that_was_said_later(dated: Memory) -> None:
    assert days(dated, as_of="2026-04-04") == [1, 2, 3, 4]
    assert dated.search("harbour", as_of="2026-04-04", kind="fact") == []
    assert len(dated.search("harbour", as_of="now", kind="fact")) == 1


@pytest.mark.requirement("RECALL-1")
def test_a_session_is_searched_alone(dated: Memory) -> None:
    assert days(dated, session="even") == [2, 4, 6, 8, 10]
    assert days(dated, session="even", since="2026-04-05") == [6, 8, 10]
    assert days(dated, session="no such session") == []
    assert {hit.session for hit in dated.search("harbour", session="odd")} == {"odd"}


@pytest.mark.requirement("RECALL-1")
def test_a_kind_is_searched_alone(dated: Memory) -> None:
    assert {hit.kind for hit in dated.search("harbour", kind="turn")} == {"turn"}
    assert found(dated.search("harbour", kind="fact")) == ["the harbour opens at six"]
    assert dated.search("harbour", kind="preference") == []
    assert {hit.kind for hit in dated.search("harbour", limit=50)} == {"turn", "fact"}


@pytest.mark.requirement("RECALL-1")
@pytest.mark.slow
def test_a_filter_that_leaves_few_still_finds_them_in_a_large_store(open_memory: OpenMemory) -> None:
    """The best of everything are all outside the filter: the filter comes before the cut."""
    memory = open_memory(settings=replace(EAGER, recall=Ranking(rescore=8)))
    memory.ingest("a word about the harbour and many other things besides", session="quiet")
    memory.ingest_many([{"role": "user", "content": f"harbour harbour {n}"} for n in range(300)], session="loud")
    memory.flush()
    assert len(memory.search("harbour", limit=2, session="quiet")) == 1


# --- forget and remember


@pytest.mark.requirement("RECALL-1", "INV-1")
@pytest.mark.parametrize("settings", [QUICK, EAGER], ids=["waiting", "indexed"])
def test_a_forgotten_turn_is_found_by_no_verb_until_it_is_brought_back(
    open_memory: OpenMemory, settings: object
) -> None:
    memory = open_memory(settings=EAGER if settings is EAGER else QUICK)
    memory.ingest("the old berth is seven", session="s")
    gone = memory.ingest("the new berth is nine", session="s")
    memory.flush()
    assert memory.forget(gone.id).what == "forgotten"
    assert found(memory.search("berth")) == ["the old berth is seven"]
    assert "the new berth is nine" not in found(memory.search("nine"))
    assert (
        [turn.text for turn in memory.recent()]
        == [turn.text for turn in memory.thread("s")]
        == ["the old berth is seven"]
    )
    assert [exchange.question.text for exchange in memory.recent(kind="exchange")] == ["the old berth is seven"]
    assert memory.forget(gone.id).what == "unchanged"
    assert memory.status().hidden == 1 and memory.status().turns == 2
    assert memory.forget(gone.id, undo=True).what == "restored"
    assert memory.forget(gone.id, undo=True).what == "unchanged"
    assert sorted(found(memory.search("berth"))) == ["the new berth is nine", "the old berth is seven"]
    assert memory.thread("s")[1] == gone
    assert [decision.what for decision in memory.why(gone.id).decisions][-2:] == ["forgotten", "restored"]


@pytest.mark.requirement("RECALL-1", "INV-6")
def test_what_is_remembered_is_found_at_once_and_can_be_forgotten(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    record = memory.remember("Deploys happen on Fridays", kind="decision")
    assert (record.kind, record.provenance, record.confidence, record.at) == ("decision", "user_stated", 1.0, NOON)
    assert record.namespace == "ana" and record.turn_ids == ()
    assert memory.recent(kind="decision") == memory.recent(kind="record") == [record]
    assert memory.recent(kind="fact") == []
    first = memory.search("when are deploys")[0]
    assert (first.id, first.kind, first.session) == (record.id, "decision", None)
    memory.flush()
    assert memory.search("deploys Fridays")[0].semantic > 0.4
    memory.forget(record.id)
    assert memory.search("deploys") == [] and memory.recent(kind="record") == []
    memory.forget(record.id, undo=True)
    assert memory.search("deploys")[0].id == record.id
    assert [decision.what for decision in memory.why(record.id).decisions] == ["remembered", "forgotten", "restored"]


def test_what_cannot_be_remembered_is_refused(memory: Memory) -> None:
    for text, kind in (("", "fact"), ("  \n", "fact"), ("words", "turn"), ("words", "nonsense")):
        with pytest.raises(InputError):
            memory.remember(text, kind)
    assert memory.recent(kind="record") == []


@pytest.mark.requirement("INV-4")
def test_an_unknown_id_is_not_found(memory: Memory) -> None:
    for noun_id in ("", "t-nobody", "r-nobody", "' OR 1=1 --", "%"):
        with pytest.raises(KeyError, match="no turn or record"):
            memory.why(noun_id)
        with pytest.raises(KeyError):
            memory.forget(noun_id)


# --- namespaces


@pytest.mark.slow
@pytest.mark.requirement("INV-4")
@pytest.mark.parametrize("settings", [QUICK, EAGER], ids=["lazy", "eager"])
def test_a_noisy_neighbour_changes_no_answer(open_memory: OpenMemory, settings: object) -> None:
    """Not a hit, not an order, not a digit of a score, before and after it is indexed."""
    chosen = EAGER if settings is EAGER else QUICK
    memory = open_memory("ana", settings=chosen)
    ingest_month(memory, 150)
    memory.remember("Bree tuned pianos")
    memory.flush()
    before = answers(memory)
    for name in ("an", "anaa", "ANA", "ben"):
        noisy = open_memory(name, settings=chosen)
        ingest_month(noisy)
        noisy.remember("pianos metric birthday Bree deploy failed")
        noisy.forget(noisy.recent(1)[0].id)
        noisy.flush()
        assert answers(memory) == before
        noisy.rebuild()
        assert answers(memory) == before
    memory.rebuild()
    assert answers(memory) == before


# --- questions nobody should ask


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("question", [text for _, text in HOSTILE], ids=[name for name, _ in HOSTILE])
@pytest.mark.slow
def test_a_hostile_question_is_answered(month_memory: Memory, question: str) -> None:
    answer = month_memory.search(question, limit=5)
    assert len(answer) <= 5
    assert answer.receipt.reason


@pytest.fixture(scope="module")
def month_memory(tmp_path_factory: pytest.TempPathFactory) -> object:
    with Memory(tmp_path_factory.mktemp("month") / "m.db", "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        ingest_month(memory)
        memory.flush()
        yield memory


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("limit", [0, -1, 1001, 10**30, True, 1.5, "5", None])
def test_a_limit_that_is_none_is_refused(memory: Memory, limit: object) -> None:
    for ask in (memory.search, lambda _, limit: memory.recent(limit)):
        with pytest.raises(InputError, match="limit"):
            ask("words", limit=limit)  # type: ignore[arg-type]


@pytest.mark.requirement("SAFE-4")
def test_an_unknown_kind_is_refused_with_the_known_ones(memory: Memory) -> None:
    with pytest.raises(InputError, match="preference"):
        memory.search("words", kind="thought")
    with pytest.raises(InputError, match="preference"):
        memory.recent(kind="thought")


@pytest.mark.requirement("RECALL-1", "RECALL-11")
def test_an_empty_memory_and_an_empty_question_find_nothing_and_say_so(memory: Memory) -> None:
    assert memory.search("anything") == []
    assert "nothing" in memory.search("anything").receipt.reason
    memory.ingest("words")
    assert memory.search("") == memory.search("   ") == memory.search("?!") == []
    assert "no word" in memory.search("").receipt.reason


@pytest.mark.requirement("RECALL-11", "INV-6")
def test_the_receipt_tells_stages_counts_and_time(open_memory: OpenMemory) -> None:
    memory = open_memory()
    ingest_month(memory, 100)
    memory.flush()
    answer = memory.search("piano tuning", limit=5)
    receipt = answer.receipt
    names = [stage.name for stage in receipt.stages]
    assert receipt.verb == "search" and receipt.degraded is None and receipt.ms > 0
    assert names == ["shelves", "question", "words", "meaning", "weighed", "floor", "read"]
    assert receipt.stages[-1].count == len(answer) > 0
    assert "piano" in answer[0].words
    assert answer[0].score != answer[0].raw  # raw scores are kept beside the weighted ones


@pytest.mark.requirement("RECALL-2")
def test_of_the_same_words_the_users_come_first(memory: Memory) -> None:
    for role in ("tool", "user", "assistant", "system"):
        memory.ingest("the anchor is rusty", role=role)
    memory.flush()
    answer = memory.search("anchor")
    assert answer[0].role == "user" and answer[0].provenance == "user_stated"
    assert len(answer) == 4 and len({hit.raw for hit in answer}) == 1


@pytest.mark.slow
@pytest.mark.requirement("RECALL-2")
def test_without_a_preference_the_order_is_the_raw_one(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, recall=RecallSettings(weights=RankWeights(user_preference=0.0))))
    ingest_month(memory)
    memory.flush()
    for question in QUESTIONS:
        # Turns that only ask come after the others (BEL-5), and what was replaced brings what replaced it (BEL-3).
        hits = memory.search(question, limit=30)
        moved = {hit.outdated_by for hit in hits}
        answer = [hit for hit in hits if not hit.text.endswith("?") and hit.id not in moved]
        assert [hit.score for hit in answer] == [hit.raw for hit in answer]
        assert [hit.raw for hit in answer] == sorted((hit.raw for hit in answer), reverse=True)


@pytest.mark.requirement("RECALL-1")
def test_of_equals_the_one_said_later_comes_first(open_memory: OpenMemory) -> None:
    clock = FixedClock(NOON)
    memory = open_memory(clock=clock)
    for age in (3, 1, 2):
        memory.ingest("the anchor is rusty", at=NOON - timedelta(days=age), session=f"{age}")
    assert [hit.session for hit in memory.search("anchor")] == ["1", "2", "3"]


@pytest.mark.requirement("RECALL-9")
def test_a_turn_longer_than_the_index_reads_is_found_by_its_head_and_why_says_so(open_memory: OpenMemory) -> None:
    settings = replace(EAGER, _tuning=(IndexSizes(tail=1, vector_tail=1, max_chars=100),))
    memory = open_memory(settings=settings, embedder=HashEmbedder())
    long = "harbour " + "x " * 100 + "lighthouse"
    turn = memory.ingest(long)
    for _ in range(2):
        assert found(memory.search("harbour")) == [long]
        assert [
            stage.count for stage in memory.search("lighthouse", kind="turn").receipt.stages if stage.name == "words"
        ] == [0]
        memory.flush()
    assert any("100 characters" in decision.reason for decision in memory.why(turn.id).decisions)


def test_the_sample_month_is_what_these_tests_think(month_memory: Memory) -> None:
    assert month_memory.status().turns == len(month()) > 300


@pytest.mark.requirement("RECALL-10")
def test_what_a_forgotten_turn_said_is_not_served_as_a_fact(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="static")
    turn = memory.ingest("My sister Anna lives in Rome and has two dogs.")
    memory.flush()
    assert memory.search("where does Anna live?") and memory.recent(kind="record")
    memory.forget(turn.id)
    assert memory.search("where does Anna live?") == [] and memory.recent(kind="record") == []
    memory.forget(turn.id, undo=True)
    assert memory.search("where does Anna live?") and memory.recent(kind="record")


@pytest.mark.requirement("RECALL-9", "RECALL-1")
@pytest.mark.parametrize("question", ["PostgreSQL", "which PostgreSQL version"])
def test_an_exact_word_in_another_script_ranks_above_accidental_neighbours(
    open_memory: OpenMemory, static_embedder: StaticEmbedder, question: str
) -> None:
    memory = open_memory(embedder=static_embedder)
    memory.ingest("Always answer in metric units.")
    memory.ingest("Проект использует PostgreSQL 16.")
    for number in range(30):
        memory.ingest(f"I saw film number {number} about ships and rain.")
    for number in range(8):
        memory.ingest(f"ok {number}", "assistant")
    memory.flush()
    assert found(memory.search(question))[0] == "Проект использует PostgreSQL 16."
