"""Fidelity to the seeds: weights, formulas and limits that a changed constant would break."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.admit import ledger, pipeline
from holdfast.memory import Memory
from holdfast.models.embedder import StaticEmbedder
from holdfast.probe.run import AskedProbe, probe_figures
from holdfast.results import Tier
from holdfast.settings import RecallSettings
from holdfast.testing import FixedClock
from holdfast.text.time import read_moment
from tests.support.memories import QUICK, OpenMemory, texts, user

NOW = datetime(2026, 5, 14, 12, tzinfo=UTC)
CALM = replace(QUICK, context=replace(QUICK.context, deadline_s=30.0, embedder_s=10.0))


@pytest.fixture
def memory(open_memory: OpenMemory) -> Memory:
    return open_memory(settings=CALM, clock=FixedClock(NOW))


@pytest.mark.requirement("GATE-2")
@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("```\nhello\n```", 0.5),
        ("panic: runtime error", 0.5),
        ("look into src/holdfast/gate for it", 0.4),
        ("def add(a, b):", 0.4),
        ("$ git status", 0.4),
        ("see https://example.org for it", 0.3),
        ("it broke at 9f86d081884c7d659a2feaa0c55ad015 again", 0.3),
        ("nothing of the kind here", 0.0),
    ],
)
def test_each_technical_family_has_the_seeds_weight(memory: Memory, text: str, weight: float) -> None:
    assert memory.gating_scalar(text).t == pytest.approx(weight / 1.5)


@pytest.mark.requirement("GATE-7")
@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("We decided to use a queue instead of the table", 0.5),
        ("I fixed the bug at last", 0.4),
        ("I set the log level to debug", 0.4),
        ("The release was deployed to production", 0.3),
        ("The sky is grey", 0.0),
    ],
)
def test_each_kind_of_action_has_the_seeds_weight(memory: Memory, text: str, weight: float) -> None:
    assert memory.gating_scalar(text).a == pytest.approx(weight)


@pytest.mark.requirement("GATE-8")
@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("def add(a, b):", 0.4),
        ("struct Point { int x; }", 0.3),
        ("import numpy as np", 0.3),
        ("assert add(1, 2) == 3", 0.2),
        ("/** Returns the sum. */", 0.2),
        ("The sky is grey", 0.0),
    ],
)
def test_each_kind_of_structure_has_the_seeds_weight(memory: Memory, text: str, weight: float) -> None:
    assert memory.gating_scalar(text).dtech == pytest.approx(weight)


@pytest.mark.requirement("GATE-9")
def test_the_gate_makes_two_searches_and_no_more(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("Ana lives in Lisbon.")
    memory.ingest("Ana lives in Lisbon, near the river.")
    memory.flush()
    searches: list[str] = []

    def counted(name: str, search: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object, **named: object) -> object:
            searches.append(name)
            return search(*given, **named)

        return call

    monkeypatch.setattr(ledger.Ledger, "nearest", counted("records", ledger.Ledger.nearest))
    monkeypatch.setattr(pipeline, "nearest_earlier", counted("turns", ledger.nearest_earlier))
    signals = memory.gating_scalar("Ana lives in Lisbon, near the river.")
    assert sorted(searches) == ["records", "turns"]
    assert signals.input_freq > 0 and signals.mem_saturation > 0 and signals.h < 1, "both searches count"


@pytest.mark.requirement("RECALL-3")
def test_the_seeds_ranker_is_its_formula(open_memory: OpenMemory, static_embedder: StaticEmbedder) -> None:
    settings = replace(CALM, recall=RecallSettings(ranker="seed"))
    opened = open_memory(embedder=static_embedder, clock=FixedClock(NOW), settings=settings)
    said = {"My blood type is AB negative.": 180, "What is my blood type?": 2, "My blood pressure is high.": 0}
    for text, days in said.items():
        opened.ingest(text, at=NOW - timedelta(days=days), session="here" if days else "there")
    opened.flush()
    hits = opened.search("what is my blood type", kind="turn")
    assert len(hits) == len(said) and [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        recent = math.exp(-math.log(2) / settings.recall.half_life_days * said[hit.text])
        assert hit.score == pytest.approx(0.7 * hit.semantic + 0.2 * recent + 0.1 * 0.6, abs=0.002)
    opened.of("global").ingest("My blood type is AB negative.", at=NOW - timedelta(days=180))
    opened.of("global").flush()
    (common,) = [hit for hit in opened.search("what is my blood type", kind="turn") if hit.namespace == "global"]
    (same,) = [hit for hit in hits if hit.text == common.text]
    assert same.score - common.score == pytest.approx(0.1 * 0.3, abs=0.002), "what is common counts .3, the user's .6"
    own = opened.search("what is my blood type", kind="turn", session="here")
    assert {hit.id: hit.score for hit in own} == {
        hit.id: pytest.approx(hit.score + 0.1 * 0.4, abs=1e-5) for hit in hits if hit.session == "here"
    }


@pytest.mark.requirement("RECALL-3", "RECALL-1")
def test_the_seeds_ranker_mixes_the_session_that_asks_with_others(
    open_memory: OpenMemory, static_embedder: StaticEmbedder
) -> None:
    settings = replace(CALM, recall=RecallSettings(ranker="seed"))
    opened = open_memory(embedder=static_embedder, clock=FixedClock(NOW), settings=settings)
    for session in ("first", "second"):
        opened.ingest(f"The spare key of the {session} boat hangs in the shed", at=NOW, session=session)
        for number in range(6):  # the tail shows the last turns of a session
            opened.ingest(f"Good night, number {number}", at=NOW, session=session)
    opened.flush()
    for session, other in (("first", "second"), ("second", "first")):
        made = opened.context([user("Where does the spare key of the boat hang?")], session)
        scores = {one.text: one.score for one in made.receipt.candidates if one.tier == Tier.RECALLED.value}
        near, far = (scores[f"The spare key of the {one} boat hangs in the shed"] for one in (session, other))
        assert near - far == pytest.approx(0.04, abs=0.03) and near > far


@pytest.mark.requirement("RECALL-7")
def test_recently_is_read_as_a_question_for_the_newest(memory: Memory) -> None:
    for days, text in ((90, "I painted the boat blue"), (3, "The engine is repaired"), (1, "Rita comes on Friday")):
        memory.ingest(text, at=NOW - timedelta(days=days), session=f"s{days}")
    memory.flush()
    hits = memory.search("what did we talk about recently?", limit=2)
    assert [hit.text for hit in hits] == ["Rita comes on Friday", "The engine is repaired"]


@pytest.mark.requirement("CTX-2")
def test_the_tail_is_the_last_four_turns(memory: Memory) -> None:
    long = "and so on and so forth, which is more than the tail needs for its tokens " * 8
    for number in range(8):
        memory.ingest(f"turn {number}: {long}", session="now", at=NOW + timedelta(minutes=number))
    made = memory.context([user("hello")], "now", budget=4000)
    tail = [item.text[:6] for item in made.receipt.items if item.tier == Tier.TAIL.value]
    assert tail == ["turn 4", "turn 5", "turn 6", "turn 7"]


@pytest.mark.requirement("CTX-2")
def test_guidelines_take_three_tenths_of_the_budget_and_no_more(memory: Memory, tmp_path: Path) -> None:
    rules = tmp_path / "AGENTS.md"
    rules.write_text("\n\n".join(f"You should check list number {number} before you answer." for number in range(200)))
    made = memory.context([user("hello")], "now", budget=1000, rules=[rules])
    (soft,) = [use for use in made.receipt.tiers if use.tier == Tier.SOFT.value]
    assert soft.limit == 300 and 270 <= soft.tokens <= 300


@pytest.mark.requirement("LOG-7")
def test_a_history_is_the_same_with_and_without_times(memory: Memory) -> None:
    said = ["hello", "ok", "and now?", "ok"]
    timed = [user(text, at=(NOW + timedelta(minutes=number)).isoformat()) for number, text in enumerate(said)]
    first = memory.ingest_many(timed, session="s1")
    assert memory.ingest_many([user(text) for text in said], session="s1") == first
    assert memory.ingest_many(timed, session="s1") == first
    memory.ingest_many([user(text) for text in [*said, "ok"]], session="s1")
    assert texts(memory.thread("s1")) == [*said, "ok"]
    later = user("ok", at=(NOW + timedelta(hours=1)).isoformat())
    memory.ingest_many(timed[1:2], session="s2")
    memory.ingest_many([later, user("and then?")], session="s2")
    assert texts(memory.thread("s2")) == ["ok", "ok", "and then?"], "the same word at another time is said again"


@pytest.mark.requirement("EVAL-1")
def test_precision_at_three_and_at_five_are_told_apart() -> None:
    each = [AskedProbe(f"q{rank}", (), rank, None, None, 1.0) for rank in (1, 3, 4, 6)]
    assert probe_figures(each) == {"p@1": 0.25, "p@3": 0.5, "p@5": 0.75, "mrr": pytest.approx(0.4375, abs=1e-4)}


@pytest.mark.requirement("RECALL-5")
@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("19.01.2024", "2024-01-19"),
        ("5.1.24", "2024-01-05"),
        ("5/1/2024", "2024-01-05"),
        ("3 May", "2026-05-03"),
        ("3 may 2025", "2025-05-03"),
        ("last Tuesday", "2026-05-12"),
        ("yesterday", "2026-05-13"),
        ("March 2024", "2024-03-01"),
        ("the 3rd of December", "2025-12-03"),  # nearer to the next one, but what was said is past
        ("Friday", "2026-05-08"),
        ("in June", "2025-06-01"),
        ("May", "2026-05-01"),
        ("2024-05", "2024-05-01"),
        ("2024", "2024-01-01"),
        ("next Friday", "2026-05-15"),
    ],
)
def test_days_are_read_as_people_write_them(text: str, day: str) -> None:
    assert read_moment(text, NOW) == datetime.fromisoformat(day).replace(tzinfo=UTC)
