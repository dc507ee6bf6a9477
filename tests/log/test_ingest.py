"""Turns: their fields, keys, roles, times and heartbeats."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta, timezone

import pytest

from holdfast.errors import BadMessage, BadTime, InputError
from holdfast.memory import Memory
from holdfast.testing import FixedClock
from tests.support.memories import OpenMemory, assistant, found, system, texts, user

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.requirement("LOG-1")
def test_a_turn_has_everything_that_was_given(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    said = memory.ingest(
        "I moved to Lisbon in May",
        role="user",
        session="s1",
        at="2026-04-30T08:30:00Z",
        key="msg-17",
        origin="user_pasted",
        stability=0.75,
        metadata={"speaker": "Ana", "tags": ["home", 1, None, True, 0.5]},
    )
    assert said.id
    assert (said.namespace, said.session, said.index) == ("ana", "s1", 0)
    assert (said.role, said.origin, said.stability) == ("user", "user_pasted", 0.75)
    assert said.text == "I moved to Lisbon in May"
    assert said.at == datetime(2026, 4, 30, 8, 30, tzinfo=UTC)
    assert said.recorded_at == NOON
    assert said.key == "msg-17"
    assert said.metadata == {"speaker": "Ana", "tags": ["home", 1, None, True, 0.5]}
    assert memory.thread("s1") == memory.recent() == [said]


@pytest.mark.requirement("LOG-2")
@pytest.mark.parametrize(
    ("role", "origin", "stability"),
    [("user", "user", 0.5), ("assistant", "assistant", 0.25), ("system", "system", 0.2), ("tool", "tool", 0.2)],
)
def test_the_role_sets_default_origin_and_stability(memory: Memory, role: str, origin: str, stability: float) -> None:
    said = memory.ingest("some words", role=role)
    assert (said.role, said.origin, said.stability) == (role, origin, stability)


@pytest.mark.requirement("LOG-2")
@pytest.mark.parametrize("origin", ["user", "user_pasted", "assistant", "tool", "system", "imported"])
def test_a_users_turn_can_come_by_any_channel(memory: Memory, origin: str) -> None:
    assert memory.ingest("some words", origin=origin).origin == origin


@pytest.mark.requirement("LOG-2")
@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_no_other_role_can_pose_as_the_user(memory: Memory, role: str) -> None:
    with pytest.raises(InputError, match="origin"):
        memory.ingest("the user loves olives", role=role, origin="user")
    with pytest.raises(InputError, match="origin"):
        memory.ingest_many([{"role": role, "content": "the user loves olives", "origin": "user"}])
    assert memory.recent() == []


@pytest.mark.requirement("LOG-2")
def test_the_origin_is_never_raised_later(memory: Memory) -> None:
    first = memory.ingest("pasted from a page", origin="user_pasted", key="k")
    again = memory.ingest("pasted from a page", origin="user", key="k")
    assert (again.id, again.origin) == (first.id, "user_pasted")
    assert memory.ingest_many([user("pasted from a page", origin="user")])[0].origin == "user_pasted"


@pytest.mark.requirement("LOG-2")
@pytest.mark.parametrize("weight", [0, 1, 0.0, 1.0, 0.35])
def test_stability_can_be_set_from_0_to_1(memory: Memory, weight: float) -> None:
    assert memory.ingest("some words", stability=weight).stability == weight


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), float("inf"), True, "0.5"])
def test_an_invalid_stability_is_refused(memory: Memory, weight: object) -> None:
    with pytest.raises(InputError, match="stability"):
        memory.ingest("some words", stability=weight)  # type: ignore[call-overload]
    assert memory.recent() == []


@pytest.mark.requirement("LOG-1")
def test_indexes_are_counted_per_session_without_gaps(memory: Memory) -> None:
    for number in range(6):
        memory.ingest(f"left {number}", session="left")
        memory.ingest(f"right {number}", session="right", key=f"k{number % 3}")  # every key comes twice
    assert [turn.index for turn in memory.thread("left")] == [0, 1, 2, 3, 4, 5]
    assert [turn.index for turn in memory.thread("right")] == [0, 1, 2]


@pytest.mark.requirement("LOG-1")
def test_the_index_goes_on_after_reopening(open_memory: OpenMemory) -> None:
    first = open_memory()
    first.ingest("one")
    first.close()
    assert open_memory().ingest("two").index == 1


# --- times


@pytest.mark.requirement("LOG-1")
def test_a_turn_without_a_time_was_said_now(open_memory: OpenMemory) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    said = memory.ingest("some words")
    assert said.at == said.recorded_at == NOON


@pytest.mark.requirement("LOG-1")
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (datetime(2026, 4, 1, 9), datetime(2026, 4, 1, 9, tzinfo=UTC)),
        (datetime(2026, 4, 1, 9, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 4, 1, 7, tzinfo=UTC)),
        ("2026-04-01", datetime(2026, 4, 1, tzinfo=UTC)),
        ("2026-04-01T09:30:00.000001-05:30", datetime(2026, 4, 1, 15, 0, 0, 1, tzinfo=UTC)),
        ("7 days ago", NOON - timedelta(days=7)),
        ("two weeks ago", NOON - timedelta(days=14)),
        ("a month ago", datetime(2026, 4, 1, 12, tzinfo=UTC)),
        ("yesterday", datetime(2026, 4, 30, tzinfo=UTC)),
        ("today", datetime(2026, 5, 1, tzinfo=UTC)),
        ("now", NOON),
        ("last year", datetime(2025, 5, 1, 12, tzinfo=UTC)),
        (datetime.min, datetime.min.replace(tzinfo=UTC)),
        (datetime.max, datetime.max.replace(tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_as_utc_to_the_microsecond(
    open_memory: OpenMemory, given: datetime | str, meant: datetime
) -> None:
    memory = open_memory(clock=FixedClock(NOON))
    said = memory.ingest("some words", at=given)
    assert said.at == meant
    assert said.at.tzinfo is UTC
    assert memory.recent() == [said]


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "given",
    [
        "",
        "soon",
        "2026-02-30",
        "2026-13-01",
        "some days ago",
        "999999999 years ago",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        "9" * 5000 + " days ago",
        "\ud800",
        1714550400,
        float("nan"),
    ],
)
def test_an_impossible_time_is_refused_and_nothing_is_stored(memory: Memory, given: object) -> None:
    with pytest.raises(BadTime):
        memory.ingest("some words", at=given)  # type: ignore[call-overload]
    with pytest.raises(BadTime):
        memory.search("some words", since=given)  # type: ignore[arg-type]
    assert memory.recent() == []


# --- keys


@pytest.mark.requirement("LOG-4")
def test_a_repeated_key_keeps_the_first_turn_and_returns_it(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    first = memory.ingest("the first words", key="msg-1")
    memory.ingest("between")
    with caplog.at_level(logging.WARNING, "holdfast"):
        again = memory.ingest("other words", role="assistant", key="msg-1", at="2020-01-01", metadata={"a": 1})
    assert again == first
    assert texts(memory.thread("default")) == ["the first words", "between"]
    assert "msg-1" in caplog.text and "other text" in caplog.text


@pytest.mark.requirement("LOG-4")
def test_a_key_repeated_inside_one_list_is_one_turn(memory: Memory) -> None:
    turns = memory.ingest_many([user("one", key="k"), assistant("two", key="l"), user("one", key="k")])
    assert turns[0] == turns[2]
    assert texts(memory.thread("default")) == ["one", "two"]


@pytest.mark.requirement("LOG-4")
def test_a_key_is_recognised_after_reopening_and_by_a_second_memory(open_memory: OpenMemory) -> None:
    one, other = open_memory(), open_memory()
    first = one.ingest("words", key="k")
    assert other.ingest("words", key="k").id == first.id
    one.close()
    assert open_memory().ingest_many([user("words", key="k")])[0].id == first.id


@pytest.mark.requirement("LOG-4", "INV-4")
def test_the_same_key_of_another_namespace_is_another_turn(open_memory: OpenMemory) -> None:
    ana, ben = open_memory("ana"), open_memory("ben")
    assert ana.ingest("words of ana", key="k").id != ben.ingest("words of ben", key="k").id
    assert texts(ben.recent()) == ["words of ben"]


# --- roles and heartbeats


@pytest.mark.requirement("LOG-5")
def test_a_heartbeat_is_not_kept(memory: Memory) -> None:
    assert memory.ingest("HEARTBEAT", heartbeat=True, key="beat") is None
    kept = memory.ingest_many([user("one"), user("HEARTBEAT", heartbeat=True), {"heartbeat": True}, user("two")])
    assert texts(kept) == texts(memory.thread("default")) == ["one", "two"]
    assert found(memory.search("HEARTBEAT")) == []
    assert memory.ingest("a turn now", key="beat").text == "a turn now"


@pytest.mark.requirement("LOG-5")
def test_every_role_goes_to_the_session_and_tool_calls_are_turns(memory: Memory) -> None:
    call = {"id": "c1", "function": {"name": "read", "arguments": "{}"}}
    memory.ingest_many(
        [
            system("You help."),
            user("What is in the file?"),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "content": "berth 7", "tool_call_id": "c1"},
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "It says"}, "berth 7", {"type": "image", "n": 1}],
            },
        ]
    )
    thread = memory.thread("default")
    assert [turn.role for turn in thread] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert thread[2].text == "" and thread[2].metadata == {"tool_calls": [call]}
    assert thread[3].metadata == {"tool_call_id": "c1"}
    assert texts(thread[4:]) == ["It says\nberth 7", "n: 1"]


@pytest.mark.requirement("LOG-5")
@pytest.mark.parametrize(
    ("name", "role"),
    [("human", "user"), ("ai", "assistant"), ("developer", "system"), ("function", "tool"), (" User ", "user")],
)
def test_roles_of_other_chat_apis_are_understood(memory: Memory, name: str, role: str) -> None:
    assert memory.ingest("words", role=name).role == role


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("role", ["", "root", "user\x00", "\ud800", None, 7, ["user"]])
def test_an_unknown_role_is_refused(memory: Memory, role: object) -> None:
    with pytest.raises(BadMessage, match="role"):
        memory.ingest("words", role=role)  # type: ignore[call-overload]
    assert memory.recent() == []


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "bad",
    [
        {"role": "user"},
        {"content": "no role"},
        {},
        "just text",
        None,
        user("x", at="soon"),
        user("x", key=""),
        user("x", key=7),
        user("x", metadata=[1]),
        user("x", metadata={"a": {1, 2}}),
        user("x", origin="god"),
        user("x", extra=object()),
        {"role": "user", "content": 7},
        {"role": "user", "content": b"bytes"},
        user("lone \ud83d surrogate"),
    ],
)
def test_one_bad_message_is_named_and_none_of_the_list_is_stored(memory: Memory, bad: object) -> None:
    with pytest.raises(InputError, match="message 1"):
        memory.ingest_many([user("good"), bad, user("also good")])  # type: ignore[list-item]
    assert memory.recent() == []
    assert memory.status().sessions == 0


@pytest.mark.requirement("LOG-1")
def test_an_empty_list_of_messages_is_fine(memory: Memory) -> None:
    told: list[tuple[int, int]] = []
    assert memory.ingest_many([], progress=lambda done, total: told.append((done, total))) == []
    assert told == [(0, 0)]


@pytest.mark.requirement("LOG-1")
def test_progress_is_reported_per_batch_up_to_the_total(memory: Memory) -> None:
    told: list[tuple[int, int]] = []
    messages = [user(f"turn {number}") for number in range(1200)]
    memory.ingest_many(messages, progress=lambda done, total: told.append((done, total)))
    assert told == [(500, 1200), (1000, 1200), (1200, 1200)]
    memory.ingest_many([*messages, user("one more")], progress=lambda done, total: told.append((done, total)))
    assert told[3:] == [(1201, 1201)]


@pytest.mark.requirement("KEEP-4", "LOG-4")
def test_an_erased_turn_is_recognised_after_later_turns(memory: Memory) -> None:
    erased = memory.ingest("my safe opens with zanzibar", session="s", key="k", at=NOON)
    memory.erase(turn=erased.id)
    for text in ("one", "two"):
        memory.ingest(text, session="s")
    again = [
        memory.ingest("my safe opens with zanzibar", session="s", **given) for given in ({"key": "k"}, {"at": NOON})
    ]
    assert [turn.id[:2] for turn in again] == ["e-", "e-"]
    assert texts(memory.thread("s")) == ["one", "two"]
