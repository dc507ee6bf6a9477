"""Compacting a session: what leaves the active view, what replaces it, and that nothing is lost."""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from holdfast.compact.prepare import CompactSizes
from holdfast.errors import NotFound
from holdfast.memory import Memory
from holdfast.settings import ChatSettings
from holdfast.testing import Delayed, FailingEmbedder, Reply, ScriptedChat
from tests.support.chats import RULES, SMALL_TALK, boatyard, ingest, records
from tests.support.memories import QUICK, OpenMemory, WaitingEmbedder, answers, texts, user


def replacements(memory: Memory, session: str = "yard") -> list[tuple[str, str, tuple[str, ...]]]:
    """Return all summaries and guidance as values that another run would give too."""
    view = memory.active(session)
    return [(record.kind.value, record.text, record.turn_ids) for record in (*view.summaries, *view.guidance)]


@pytest.mark.requirement("COMP-8")
def test_the_result_matches_the_active_view(memory: Memory) -> None:
    turns = ingest(memory, boatyard(64, rules=3))
    made = memory.compact("yard", force=True)
    view = memory.active("yard")
    assert made.did_compact
    assert made.protected == len(view.guidance) == len(made.guidance) >= 1
    assert made.clusters_formed == len(view.summaries) == len(made.summaries)
    assert made.turns_removed == len(turns) - len(view.turns) == 60
    assert made.summary_method == "extractive"
    assert made.mean_confidence == pytest.approx(
        sum(record.confidence for record in view.summaries) / len(view.summaries), abs=1e-4
    )
    assert made.tokens_after < 0.5 * made.tokens_before
    assert view.turns == tuple(turns[-4:])
    assert "60 turns left the active view" in made.reason
    status = memory.status()
    assert (status.summaries, status.guidance) == (made.clusters_formed, made.protected)


@pytest.mark.requirement("COMP-8")
def test_a_session_within_its_budget_is_not_compacted(memory: Memory) -> None:
    ingest(memory, boatyard(30))
    made = memory.compact("yard")
    assert (made.did_compact, made.turns_removed, made.summary_method, made.mean_confidence) == (False, 0, "none", 0.0)
    assert "within the budget of 2000" in made.reason
    assert len(memory.active("yard").turns) == 30


@pytest.mark.requirement("COMP-8")
def test_a_second_compaction_changes_nothing(memory: Memory) -> None:
    ingest(memory, boatyard(64))
    memory.compact("yard", force=True)
    before = replacements(memory)
    again = memory.compact("yard", force=True)
    assert (again.did_compact, again.turns_removed, again.clusters_formed) == (False, 0, 0)
    assert replacements(memory) == before


@pytest.mark.requirement("COMP-7", "INV-1")
def test_every_turn_stays_in_the_log_and_expand_returns_them(memory: Memory) -> None:
    turns = ingest(memory, boatyard(64, rules=2))
    memory.compact("yard", force=True)
    assert memory.thread("yard") == turns
    for record in memory.active("yard").summaries:
        sources = memory.expand(record.id)
        assert tuple(turn.id for turn in sources) == record.turn_ids
        assert (record.valid_from, record.at) == (sources[0].at, sources[-1].at)
        assert len(record.text) < sum(len(turn.text) for turn in sources)
        assert record.metadata["decay_rate"] == pytest.approx(1 - record.confidence, abs=1e-4)
    assert memory.expand(turns[3].id) == [turns[3]]


@pytest.mark.requirement("COMP-7")
def test_why_and_history_explain_a_compaction(memory: Memory) -> None:
    turns = ingest(memory, [user(RULES[0]), *boatyard(40)])
    memory.compact("yard", force=True)
    view = memory.active("yard")
    rule = {decision.what: decision.reason for decision in memory.why(turns[0].id).decisions}
    assert rule["protected"] == f"its rules are kept word for word as {view.guidance[0].id}"
    old = {decision.what: decision.reason for decision in memory.why(turns[1].id).decisions}
    assert old["summarised"].startswith("with ") and view.summaries[0].id in old["summarised"]
    new = [decision.what for decision in memory.why(turns[-1].id).decisions]
    assert "summarised" not in new and "protected" not in new
    (version,) = memory.history(view.summaries[0].id).versions
    assert version.live
    assert version.reasons[-1].what == "summarised" and "extractive: alignment" in version.reasons[-1].reason
    (decision,) = memory.why(view.guidance[0].id).decisions
    assert decision.what == "protected" and "kept word for word" in decision.reason


@pytest.mark.requirement("COMP-1")
@pytest.mark.parametrize("count", [0, 1, 4, 5])
def test_a_session_of_few_turns_never_grows(memory: Memory, count: int) -> None:
    memory.bootstrap("yard")
    ingest(memory, boatyard(count))
    made = memory.compact("yard", force=True)
    view = memory.active("yard")
    assert len(view.turns) == count - made.turns_removed
    assert made.did_compact == bool(made.turns_removed)
    assert made.turns_removed <= max(count - 4, 0)


def test_an_unknown_session_is_named_in_the_error(memory: Memory) -> None:
    for verb in (memory.compact, memory.active):
        with pytest.raises(NotFound, match="there is no session 'nowhere'"):
            verb("nowhere")


@pytest.mark.requirement("COMP-6")
def test_incompressible_turns_stay_active_and_are_read_once(memory: Memory) -> None:
    turns = ingest(memory, [user(SMALL_TALK[number % len(SMALL_TALK)]) for number in range(60)])
    made = memory.compact("yard", force=True)
    assert not made.did_compact and made.turns_removed == 0
    assert memory.active("yard").turns == tuple(turns)
    assert memory.compact("yard", force=True).clusters_formed == 0
    assert "stays active" in memory.why(turns[0].id).decisions[-1].reason


@pytest.mark.requirement("COMP-1")
def test_turns_ingested_out_of_order_are_summarised_by_time(memory: Memory) -> None:
    begin = datetime(2026, 4, 1, tzinfo=UTC)
    messages = boatyard(46)
    for number, message in enumerate(messages[:40]):
        message["at"] = begin + timedelta(days=(number * 7) % 40)
    for message in messages[40:]:
        message["at"] = begin + timedelta(days=50)
    ingest(memory, messages)
    memory.compact("yard", force=True)
    summaries = memory.active("yard").summaries
    assert len(summaries) == 3
    for earlier, later in itertools.pairwise(summaries):
        assert earlier.at <= later.valid_from
    for record in summaries:
        days = [line for line in record.text.splitlines() if line.startswith("2026-")]
        assert days == sorted(days)


@pytest.mark.parametrize("name", ["compact:yard", "vectors:turn:x", "a'); DROP TABLE log; --", "港 🛟", "%_*?", " s "])
def test_a_session_may_have_any_name(memory: Memory, name: str) -> None:
    ingest(memory, boatyard(40), name)
    ingest(memory, boatyard(40, seed=1), name + "2")
    assert memory.compact(name, force=True).turns_removed == 36
    assert len(memory.active(name).turns) == 4
    assert len(memory.active(name + "2").turns) == 40


@pytest.mark.requirement("INV-4")
def test_compactions_of_another_namespace_are_neither_seen_nor_changed(open_memory: OpenMemory) -> None:
    ana, ben = open_memory("ana"), open_memory("ben")
    for memory in (ana, ben):
        ingest(memory, boatyard(40, rules=2))
    ana.compact("yard", force=True)
    ana.flush()
    assert replacements(ben) == [] and len(ben.active("yard").turns) == 40
    assert ben.recent(100, kind="summary") == [] == list(ben.search("boat", kind="summary"))
    assert {record.metadata["collection"] for record in ana.active("yard").guidance} == {"elevated:user:ana"}


@pytest.mark.slow
def test_a_turn_of_two_hundred_pages_is_compacted(memory: Memory) -> None:
    page = "The keel was laid in 1931 and the mast came from Bergen. " * 4_000
    turns = ingest(memory, [user(page), *boatyard(24)])
    started = time.process_time()
    made = memory.compact("yard", force=True)
    assert time.process_time() - started < 10
    assert turns[0].id not in {turn.id for turn in memory.active("yard").turns}
    assert made.tokens_after < 0.1 * made.tokens_before


@pytest.mark.requirement("INV-3")
@pytest.mark.slow
def test_a_rebuild_restores_the_compaction_and_its_answers(open_memory: OpenMemory) -> None:
    memory = open_memory()
    ingest(memory, [user("My boat Albatross lies at berth 14."), *boatyard(60, rules=4)])
    memory.compact("yard", force=True)
    ingest(memory, boatyard(20, seed=3))
    memory.compact("yard", force=True)
    memory.flush()
    questions = ("where is berth 14", "epoxy from Vigo", "who varnished what")

    def everything() -> object:
        kinds = ("summary", "guidance")
        return (
            memory.active("yard"),
            answers(memory, questions),
            [list(memory.search(question, kind=kind)) for question in questions for kind in kinds],
            [memory.history(record.id) for record in records(memory, "summary")],
        )

    before = everything()
    memory.rebuild()
    assert everything() == before
    assert not memory.compact("yard", force=True).did_compact


@pytest.mark.requirement("INV-3", "COMP-7")
def test_an_export_contains_the_compaction(open_memory: OpenMemory, tmp_path_factory: pytest.TempPathFactory) -> None:
    memory, path = open_memory(), tmp_path_factory.mktemp("export") / "ana.jsonl"
    ingest(memory, boatyard(60, rules=3))
    memory.compact("yard", force=True)
    memory.export(path)
    other = open_memory(file="other.db")
    other.import_file(path)
    assert replacements(other) == replacements(memory)
    assert other.active("yard") == memory.active("yard")
    assert not other.compact("yard", force=True).did_compact


@pytest.mark.requirement("COMP-4")
def test_concurrent_compactions_make_one_summary_only(open_memory: OpenMemory) -> None:
    """One process waits for its embedder while the other compacts the session."""
    slow = WaitingEmbedder()
    slow.go.set()
    first = open_memory(embedder=slow)
    ingest(first, [user("The wind at the pier is usually from the west."), *boatyard(60)])
    second = open_memory()
    slow.go.clear()
    slow.asked.clear()

    results = []
    thread = threading.Thread(target=lambda: results.append(first.compact("yard", force=True)))
    thread.start()
    assert slow.asked.wait(10)
    made = second.compact("yard", force=True)
    slow.go.set()
    thread.join(20)
    (late,) = results
    assert made.did_compact and made.turns_removed == 57
    assert not late.did_compact and "another process" in late.reason
    turn_ids = [turn_id for _, _, turn_ids in replacements(first) for turn_id in turn_ids]
    assert len(turn_ids) == len(set(turn_ids)) == 57


@pytest.mark.requirement("COMP-3", "INV-5")
def test_an_embedder_that_is_down_adds_a_note_only(open_memory: OpenMemory) -> None:
    embedder = FailingEmbedder()
    memory = open_memory(embedder=embedder)
    ingest(memory, [user("The wind at the pier is usually from the west."), *boatyard(60, rules=2)])
    embedder.down = True
    made = memory.compact("yard", force=True)
    assert made.turns_removed == 57 and made.protected >= 1
    assert any("the booster contributed nothing" in note for note in made.notes)


BAD_REPLIES: dict[str, Reply] = {
    "nonsense": "the boat is a boat is a boat",
    "empty": "",
    "an object of another shape": '{"summary": "boats"}',
    "longer than the source": '{"lines": [{"turns": [1], "text": "%s"}]}' % ("they sanded the boat " * 2000),
    "a refusal": "I'm sorry, but I cannot help with that.",
    "an invented number": '{"lines": [{"turns": [1], "text": "The user paid 77,431 euros."}]}',
    "an invented turn": '{"lines": [{"turns": [99], "text": "The user sanded a boat."}]}',
    "HTTP 500": 500,
    "HTTP 400": 400,
    "no HTTP at all": b"\x00\xff",
    "too late": Delayed('{"lines": [{"turns": [1], "text": "The user sanded a boat."}]}', 30.0),
}


@pytest.mark.slow
@pytest.mark.requirement("COMP-5", "INV-5")
@pytest.mark.parametrize("name", BAD_REPLIES)
def test_a_failing_model_gives_the_extractive_result_in_time(open_memory: OpenMemory, name: str) -> None:
    plain = open_memory()
    ingest(plain, boatyard(44, rules=1))
    settled = open_memory(file="same.db")
    ingest(settled, boatyard(44, rules=1))
    settled.close()
    plain.compact("yard", force=True)
    compact = CompactSizes(mean_g=0.0, deadline_s=0.3)
    with ScriptedChat(itertools.repeat(BAD_REPLIES[name])) as server:
        chat = ChatSettings(model=f"{server.url}#any")
        memory = open_memory(file="same.db", settings=replace(QUICK, compact=compact, chat=chat))
        started = time.monotonic()
        made = memory.compact("yard", force=True)
        assert time.monotonic() - started < 5
        assert server.requests
        memory.close()
    assert (made.summary_method, made.turns_removed) == ("extractive", 40)
    assert made.notes and all("chat model" in note for note in made.notes)
    again = open_memory(file="same.db")
    assert [text for _, text, _ in replacements(again)] == [text for _, text, _ in replacements(plain)]


@pytest.mark.requirement("COMP-5", "INV-3")
def test_a_rebuild_keeps_a_model_summary_without_asking_again(open_memory: OpenMemory) -> None:
    talk = [user("We sanded the ketch Albatross with Ottilie and it took 14 hours, and the paint is blue.")] * 24
    memory = open_memory()
    ingest(memory, [dict(message, content=f"{message['content']} Part {n}.") for n, message in enumerate(talk)])
    memory.close()
    reply = '{"lines": [{"turns": [1], "text": "The user sanded the ketch Albatross with Ottilie, it took 14 hours."}]}'
    with ScriptedChat(itertools.repeat(reply)) as server:
        settings = replace(QUICK, compact=CompactSizes(mean_g=0.0), chat=ChatSettings(model=f"{server.url}#any"))
        memory = open_memory(settings=settings)
        made = memory.compact("yard", force=True)
        asked = len(server.requests)
        before = memory.active("yard")
        memory.rebuild()
        assert memory.active("yard") == before
        assert len(server.requests) == asked == 1
        memory.close()
    assert (made.summary_method, made.notes) == ("abstractive", ())
    assert "sanded the ketch Albatross with Ottilie, it took 14 hours" in before.summaries[0].text


def test_compaction_progress_ends_at_the_total(memory: Memory) -> None:
    ingest(memory, boatyard(64))
    seen: list[tuple[int, int]] = []
    memory.compact("yard", force=True, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (60, 60) and seen == sorted(seen) and len(seen) > 2


@pytest.mark.requirement("COMP-1", "COMP-4")
@pytest.mark.slow
def test_a_long_backlog_is_compacted_in_complete_disjoint_steps(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, compact=CompactSizes(step=30)))
    turns = ingest(memory, boatyard(104))
    assert memory.compact("yard", force=True).turns_removed == 100
    view = memory.active("yard")
    covered = [turn_id for record in view.summaries for turn_id in record.turn_ids]
    assert sorted(covered) == sorted(turn.id for turn in turns[:100])
    assert texts(view.turns) == texts(turns[100:])
