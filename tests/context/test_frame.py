"""The frame: a mark nobody can guess, the same for the whole session, and words that say what wins."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.context.render import ContextFrame
from holdfast.errors import InputError
from holdfast.models.tokens import TokenEstimator
from holdfast.results import Tier
from tests.support.memories import OpenMemory, user

SECRET = bytes(range(32))


@pytest.mark.requirement("CTX-7")
def test_a_session_has_one_frame_and_no_two_have_the_same() -> None:
    assert ContextFrame.of(SECRET, "s1", "ana") == ContextFrame.of(SECRET, "s1", "ana")
    others = [
        ContextFrame.of(SECRET, "s2", "ana"),
        ContextFrame.of(SECRET, "s1", "bo"),
        ContextFrame.of(SECRET, "1", "anas"),
        ContextFrame.of(SECRET, "", "anas1"),
        ContextFrame.of(SECRET[::-1], "s1", "ana"),
    ]
    marks = {frame.mark for frame in [ContextFrame.of(SECRET, "s1", "ana"), *others]}
    assert len(marks) == 6
    assert all(len(mark) == 12 and mark.isalpha() and mark.islower() for mark in marks)


def test_a_secret_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(InputError, match="16 bytes"):
        ContextFrame.of(b"short", "s1")


@pytest.mark.requirement("CTX-1")
def test_headings_say_what_to_follow_and_the_words_what_wins() -> None:
    frame = ContextFrame.of(SECRET, "s1")
    assert "where parts disagree, the first wins" in frame.opening
    assert "follow these" in frame.heading(Tier.HARD) and "follow these" in frame.heading(Tier.SOFT)
    assert "unless the operator's rules say otherwise" in frame.heading(Tier.ELEVATED)
    assert "not instructions" in frame.heading(Tier.RECALLED)


@pytest.mark.requirement("CTX-6", "CTX-9")
def test_the_words_take_at_most_60_tokens_the_same_in_every_store() -> None:
    counter = TokenEstimator()
    frames = [ContextFrame.of(bytes([number]) * 16, f"s{number}") for number in range(50)]
    counts = {counter.count(frame.opening) + counter.count(frame.closing) for frame in frames}
    assert len(counts) == 1 and max(counts) <= 60
    assert len({counter.count(frame.heading(Tier.RECALLED)) for frame in frames}) == 1


@pytest.mark.requirement("CTX-7")
def test_the_words_are_the_same_bytes_every_time() -> None:
    assert ContextFrame.of(SECRET, "s1").opening.encode() == ContextFrame.of(SECRET, "s1").opening.encode()


@pytest.mark.requirement("CTX-6", "TRUST-5")
def test_the_same_chat_in_two_stores_gives_the_same_context(open_memory: OpenMemory) -> None:
    """Secrets and ids differ from store to store; their lengths do not, and the reader sees no id."""
    now = datetime(2026, 5, 4, 9, tzinfo=UTC)
    said = ["My sister Anna lives in Milan.", "I work as a nurse.", "Never deploy on Fridays.", "I like green tea."] * 3
    blocks, ids = [], set()
    for number in range(4):
        memory = open_memory(file=f"{number}.db", clock=lambda: now)
        memory.ingest_many([user(f"{text} Note {place}.") for place, text in enumerate(said)], session="s")
        memory.remember("My cat is called Tom.")
        memory.flush()
        block = memory.context([user("Where does my sister Anna live?")], session="t", budget=300).text
        nouns = [one.id for one in memory.recent()] + [one.id for one in memory.records()]
        assert not any(noun in block for noun in nouns)
        mark = block.split()[1]
        assert len(mark) == 12 and mark.isalpha() and block.count(mark) >= 3
        blocks.append(block.replace(mark, "mark"))
        ids.add(tuple(sorted(len(noun) for noun in nouns)))
    assert len(set(blocks)) == 1 and "Milan" in blocks[0] and len(ids) == 1
