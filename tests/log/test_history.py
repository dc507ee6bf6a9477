"""A conversation that is ingested again adds only new turns."""

from __future__ import annotations

import threading

import pytest

from holdfast.memory import Memory
from tests.support.memories import Message, OpenMemory, assistant, ingest_month, month, system, texts, user

TALK = [user("Hi"), assistant("Hello!"), user("ok"), assistant("Anything else?"), user("ok")]


def said(memory: Memory, session: str = "default") -> list[str]:
    return texts(memory.thread(session))


@pytest.mark.requirement("LOG-7")
def test_the_same_conversation_twice_adds_nothing_and_returns_the_same_turns(memory: Memory) -> None:
    first = memory.ingest_many(TALK)
    assert memory.ingest_many(TALK) == first
    assert said(memory) == ["Hi", "Hello!", "ok", "Anything else?", "ok"]


@pytest.mark.requirement("LOG-7")
def test_a_growing_history_adds_its_end_and_a_repeated_ok_is_a_new_turn(memory: Memory) -> None:
    for end in range(1, len(TALK) + 1):
        assert texts(memory.ingest_many(TALK[:end])) == [str(message["content"]) for message in TALK[:end]]
    assert said(memory) == ["Hi", "Hello!", "ok", "Anything else?", "ok"]


@pytest.mark.requirement("LOG-7")
@pytest.mark.parametrize("width", [2, 3, 5, 20])
def test_a_sliding_window_rebuilds_the_conversation(memory: Memory, width: int) -> None:
    talk = [user(f"question {n}") if n % 2 == 0 else assistant(f"answer {n}") for n in range(40)]
    for end in range(1, len(talk) + 1):
        memory.ingest_many(talk[max(0, end - width) : end])
    assert said(memory) == [str(message["content"]) for message in talk]


@pytest.mark.requirement("LOG-7")
def test_turns_that_were_added_one_by_one_are_recognised_in_the_history(memory: Memory) -> None:
    memory.ingest("Hi")
    memory.ingest("Hello!", role="assistant")
    memory.ingest_many(TALK)
    assert said(memory) == ["Hi", "Hello!", "ok", "Anything else?", "ok"]


@pytest.mark.requirement("LOG-7")
def test_the_same_text_of_another_role_is_another_turn(memory: Memory) -> None:
    memory.ingest_many([user("ok")])
    memory.ingest_many([assistant("ok")])
    assert [(turn.role, turn.text) for turn in memory.thread("default")] == [("user", "ok"), ("assistant", "ok")]


@pytest.mark.requirement("LOG-7")
def test_the_same_conversation_in_another_session_is_another_conversation(memory: Memory) -> None:
    memory.ingest_many(TALK, session="a")
    memory.ingest_many(TALK, session="b")
    assert said(memory, "a") == said(memory, "b")
    assert memory.status().turns == 2 * len(TALK)


@pytest.mark.requirement("LOG-7")
def test_an_edited_system_prompt_adds_only_the_prompt_and_new_turns(memory: Memory) -> None:
    body = [user(f"q{n}") if n % 2 == 0 else assistant(f"a{n}") for n in range(8)]
    memory.ingest_many([system("Be brief."), *body])
    memory.ingest_many([system("Be kind."), *body, user("new")])
    assert said(memory) == ["Be brief.", *[str(m["content"]) for m in body], "Be kind.", "new"]


@pytest.mark.requirement("LOG-7")
def test_an_edited_system_prompt_doubles_no_turn_later(memory: Memory) -> None:
    memory.ingest_many([system("Be brief."), user("q1"), assistant("a1")])
    memory.ingest_many([system("Be kind."), user("q1"), assistant("a1"), user("q2")])
    memory.ingest_many([system("Be kind."), user("q1"), assistant("a1"), user("q2"), assistant("a2")])
    assert [text for text in said(memory) if not text.startswith("Be ")] == ["q1", "a1", "q2", "a2"]


@pytest.mark.requirement("LOG-7")
def test_a_system_prompt_with_the_time_doubles_no_turn(memory: Memory) -> None:
    talk: list[Message] = []
    for number in range(5):
        talk.append(user(f"q{number}"))
        memory.ingest_many([system(f"It is {number} o'clock."), *talk])
        talk.append(assistant(f"a{number}"))
    spoken = [turn.text for turn in memory.thread("default") if turn.role != "system"]
    assert spoken == ["q0", "a0", "q1", "a1", "q2", "a2", "q3", "a3", "q4"]


@pytest.mark.requirement("LOG-7", "LOG-5")
def test_a_history_that_leaves_out_the_tools_doubles_no_turn(memory: Memory) -> None:
    memory.ingest_many([user("What is in the file?"), {"role": "tool", "content": "berth 7"}, assistant("Berth 7.")])
    memory.ingest_many([user("What is in the file?"), assistant("Berth 7."), user("Thanks, close it")])
    assert said(memory) == ["What is in the file?", "berth 7", "Berth 7.", "Thanks, close it"]


@pytest.mark.requirement("LOG-7")
def test_a_dropped_message_in_the_middle_doubles_no_other(memory: Memory) -> None:
    body = [user(f"q{n}") if n % 2 == 0 else assistant(f"a{n}") for n in range(12)]
    memory.ingest_many(body)
    memory.ingest_many([*body[:5], *body[6:], user("new")])
    assert said(memory) == [*[str(m["content"]) for m in body], "new"]


@pytest.mark.requirement("LOG-7")
def test_given_times_distinguish_repeated_words(memory: Memory) -> None:
    beats = [user("ok", at=f"2026-01-01T00:00:{second:02d}Z") for second in range(10)]
    for start in range(0, 9, 3):
        memory.ingest_many(beats[start : start + 4])
    assert [turn.at.second for turn in memory.thread("default")] == list(range(10))


@pytest.mark.requirement("LOG-7")
@pytest.mark.parametrize("times_first", [True, False])
def test_a_history_with_times_and_again_without_adds_nothing(memory: Memory, times_first: bool) -> None:
    timed = [{**message, "at": f"2026-05-03T18:0{minute}:00Z"} for minute, message in enumerate(TALK)]
    first, second = (timed, TALK) if times_first else (TALK, timed)
    turns = memory.ingest_many(first)
    assert memory.ingest_many(second) == turns
    assert memory.ingest_many([*second, user("Bye")])[:-1] == turns
    assert said(memory) == ["Hi", "Hello!", "ok", "Anything else?", "ok", "Bye"]


@pytest.mark.requirement("LOG-7")
def test_a_history_with_some_times_only_is_recognised(memory: Memory) -> None:
    some = [{**TALK[0], "at": "2026-05-03T18:00:00Z"}, *TALK[1:3], {**TALK[3], "at": "2026-05-03T18:03:00Z"}, TALK[4]]
    turns = memory.ingest_many(some)
    assert memory.ingest_many(TALK) == turns and memory.ingest_many(some) == turns


@pytest.mark.requirement("LOG-7")
def test_with_times_given_a_short_part_from_the_middle_adds_nothing(memory: Memory) -> None:
    talk = [user(f"m{n}", at=f"2026-01-01T00:00:{n:02d}Z") for n in range(10)]
    memory.ingest_many(talk)
    memory.ingest_many(talk[3:5])
    assert len(said(memory)) == 10


@pytest.mark.requirement("LOG-7")
def test_keys_decide_where_there_are_any(memory: Memory) -> None:
    memory.ingest_many([user("ok", key="1"), user("ok", key="2")])
    memory.ingest_many([user("ok", key="2"), user("ok", key="3"), user("ok", key="1")])
    assert [turn.key for turn in memory.thread("default")] == ["1", "2", "3"]


@pytest.mark.requirement("LOG-7")
def test_messages_with_and_without_keys_in_one_list_are_recognised(memory: Memory) -> None:
    talk = [user("a", key="1"), assistant("b"), user("c", key="3"), assistant("d")]
    memory.ingest_many(talk)
    memory.ingest_many([*talk, user("e", key="5")])
    assert said(memory) == ["a", "b", "c", "d", "e"]


@pytest.mark.requirement("LOG-7")
def test_a_conversation_with_keys_is_recognised_without_them(memory: Memory) -> None:
    memory.ingest_many([user("a", key="1"), assistant("b", key="2")])
    memory.ingest_many([user("a"), assistant("b"), user("c")])
    assert said(memory) == ["a", "b", "c"]


@pytest.mark.requirement("LOG-7")
def test_a_forgotten_turn_is_not_added_again_by_the_history(memory: Memory) -> None:
    turns = memory.ingest_many(TALK)
    memory.forget(turns[0].id)
    assert memory.ingest_many(TALK)[0].id == turns[0].id
    assert memory.status().turns == len(TALK)


@pytest.mark.requirement("LOG-7")
def test_a_month_of_conversations_twice_adds_nothing_with_or_without_keys(open_memory: OpenMemory) -> None:
    keyed, keyless = open_memory("keyed"), open_memory("keyless")
    for _ in range(2):
        ingest_month(keyed)
        for name in dict.fromkeys(str(message["session"]) for message in month()):
            talk = [{k: m[k] for k in ("role", "content")} for m in month() if m["session"] == name]
            keyless.ingest_many(talk, session=name)
    assert keyed.status().turns == keyless.status().turns == len(month())


@pytest.mark.requirement("LOG-7", "SAFE-2")
@pytest.mark.parametrize("messages", [40, 1300])
def test_two_threads_with_the_same_history_double_nothing(open_memory: OpenMemory, messages: int) -> None:
    """1300 messages are three transactions, so that the threads interleave."""
    memories = [open_memory(), open_memory()]
    talk = [user(f"line {number}") for number in range(messages)]
    gate, errors = threading.Barrier(4), []

    def hand_over(memory: Memory) -> None:
        gate.wait()
        try:
            assert len(memory.ingest_many(talk)) == messages
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=hand_over, args=(memories[n % 2],)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    thread_said = memories[0].thread("default")
    assert texts(thread_said) == [f"line {number}" for number in range(messages)]
    assert [turn.index for turn in thread_said] == list(range(messages))


@pytest.mark.requirement("LOG-8")
def test_bootstrap_twice_changes_nothing(memory: Memory) -> None:
    first = memory.bootstrap("s1", user="ana")
    assert memory.bootstrap("s1") == first
    assert (first.namespace, first.session, first.turns) == ("ana", "s1", 0)
    memory.ingest("Hi", session="s1")
    assert memory.bootstrap("s1").turns == 1
    assert (memory.status().sessions, memory.status().turns) == (1, 1)
    assert said(memory, "s1") == ["Hi"]


@pytest.mark.requirement("LOG-8", "INV-4")
def test_bootstrap_for_somebody_else_is_refused(memory: Memory) -> None:
    with pytest.raises(ValueError, match="ben"):
        memory.bootstrap("s1", user="ben")
    assert memory.status().sessions == 0
