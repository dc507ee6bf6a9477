"""Recent turns and exchanges, and a session in order."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.memory import Memory
from holdfast.testing import FixedClock
from tests.support.memories import OpenMemory, assistant, ingest_month, month, system, texts, user

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
FRESH = itertools.count()


@pytest.mark.requirement("RECALL-5")
def test_recent_is_newest_first_by_event_time(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    ages = list(range(100))
    random.Random(5).shuffle(ages)
    for age in ages:
        memory.ingest(f"{age} days old", at=NOON - timedelta(days=age), session=f"s{age % 3}")
    assert texts(memory.recent(100)) == [f"{age} days old" for age in range(100)]
    assert texts(memory.recent(3)) == ["0 days old", "1 days old", "2 days old"]
    assert len(memory.recent()) == 20


@pytest.mark.requirement("RECALL-5")
def test_of_turns_with_equal_time_the_later_in_the_log_comes_first(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    memory.ingest_many([user(f"turn {n}") for n in range(5)])
    memory.ingest("elsewhere", session="other")
    assert texts(memory.recent()) == ["elsewhere", "turn 4", "turn 3", "turn 2", "turn 1", "turn 0"]


@pytest.mark.requirement("RECALL-5")
def test_since_is_inclusive_until_exclusive_and_session_filters(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    for hour in range(10):
        memory.ingest(f"{hour}h", at=NOON - timedelta(hours=hour), session="even" if hour % 2 == 0 else "odd")
    assert texts(memory.recent(since="2 hours ago")) == ["0h", "1h", "2h"]
    assert texts(memory.recent(until="7 hours ago")) == ["8h", "9h"]
    assert texts(memory.recent(since="5 hours ago", until="2 hours ago")) == ["3h", "4h", "5h"]
    assert texts(memory.recent(since="5 hours ago", until="2 hours ago", session="odd")) == ["3h", "5h"]
    assert memory.recent(session="nobody") == memory.recent(since="now", until="now") == []
    assert texts(memory.recent(1, session="odd")) == ["1h"]


@pytest.mark.requirement("RECALL-5")
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.booleans()), max_size=12), st.data())
def test_recent_equals_a_sorted_list(
    open_memory: OpenMemory, said: list[tuple[int, str, bool]], data: st.DataObject
) -> None:
    memory = open_memory(f"ns {next(FRESH)}", embedder="none")
    model = []
    for day, session, forget in said:
        turn = memory.ingest(f"{day}", at=NOON + timedelta(days=day), session=session)
        if forget:
            memory.forget(turn.id)
        else:
            model.append(turn)
    model.sort(key=lambda turn: (turn.at, turn.seq), reverse=True)
    first, last = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    limit = data.draw(st.integers(1, 12))
    only = data.draw(st.sampled_from([None, "a", "b"]))
    since, until = NOON + timedelta(days=first), NOON + timedelta(days=last)
    wanted = [t for t in model if since <= t.at < until and only in (None, t.session)][:limit]
    assert memory.recent(limit, since=since, until=until, session=only) == wanted
    memory.close()


@pytest.mark.requirement("RECALL-5")
def test_an_exchange_is_a_question_with_its_answer(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    memory.ingest_many(
        [
            system("You help."),
            user("first question"),
            assistant(""),
            {"role": "tool", "content": "a result"},
            assistant("first answer"),
            assistant("and more"),
            user("second question"),
            user("third question"),
            assistant("third answer"),
            user("last question"),
        ]
    )
    exchanges = memory.recent(kind="exchange")
    assert [(e.question.text, e.answer.text if e.answer else None) for e in exchanges] == [
        ("last question", None),
        ("third question", "third answer"),
        ("second question", None),
        ("first question", "first answer"),
    ]
    assert all(exchange.at == exchange.question.at for exchange in exchanges)
    assert len(memory.recent(2, kind="exchange")) == 2


@pytest.mark.requirement("RECALL-5")
def test_an_answer_is_from_the_same_session_and_not_forgotten(memory: Memory) -> None:
    memory.ingest("question", session="a")
    memory.ingest("of another talk", role="assistant", session="b")
    gone = memory.ingest("wrong answer", role="assistant", session="a")
    memory.ingest("right answer", role="assistant", session="a")
    memory.forget(gone.id)
    (exchange,) = memory.recent(kind="exchange")
    assert exchange.answer is not None and exchange.answer.text == "right answer"


@pytest.mark.requirement("RECALL-5")
def test_forgotten_turns_do_not_use_up_the_limit(memory: Memory) -> None:
    turns = [memory.ingest(f"turn {number}") for number in range(10)]
    for turn in turns[5:]:
        memory.forget(turn.id)
    assert texts(memory.recent(5)) == [f"turn {number}" for number in (4, 3, 2, 1, 0)]


@pytest.mark.requirement("RECALL-6")
def test_a_thread_is_in_order_of_arrival(memory: Memory) -> None:
    for number, day in enumerate((3, 1, 2)):
        memory.ingest(f"turn {number}", at=f"2026-01-0{day}", session="s")
    assert texts(memory.thread("s")) == ["turn 0", "turn 1", "turn 2"]
    assert memory.thread("another") == []


@pytest.mark.requirement("RECALL-6")
def test_concurrent_sessions_never_interleave(open_memory: OpenMemory) -> None:
    memory = open_memory()
    messages = month()[:200]
    shuffled = list(messages)
    random.Random(7).shuffle(shuffled)
    heard: dict[str, list[str]] = {}
    for message in shuffled:
        session = str(message["session"])
        memory.ingest(str(message["content"]), role=str(message["role"]), session=session)
        heard.setdefault(session, []).append(str(message["content"]))
    for session, said in heard.items():
        assert texts(memory.thread(session)) == said


@pytest.mark.requirement("RECALL-6")
def test_a_thread_longer_than_a_page_is_complete(memory: Memory) -> None:
    memory.ingest_many([user(f"turn {number}") for number in range(1203)])
    for turn in memory.thread("default")[499:502]:
        memory.forget(turn.id)
    assert [turn.index for turn in memory.thread("default")] == [*range(499), *range(502, 1203)]


@pytest.mark.requirement("RECALL-5", "RECALL-6")
def test_the_demo_month_reads_as_it_was_written(open_memory: OpenMemory) -> None:
    memory = open_memory()
    ingest_month(memory)
    newest = memory.recent(1000)
    assert [turn.at for turn in newest] == sorted((turn.at for turn in newest), reverse=True)
    for session in {str(message["session"]) for message in month()}:
        assert texts(memory.thread(session)) == [str(m["content"]) for m in month() if m["session"] == session]
