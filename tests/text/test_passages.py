"""Long turns are found by their passages, and shown as themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory import Memory
from holdfast.text.sentences import cut

FILLER = "Here is some general advice on packing light for a long weekend away, with a list of small things. " * 12
LINE = "The night ferry to Hvar leaves from pier seven at a quarter to eleven."


@given(st.text(max_size=2000), st.integers(5, 80), st.integers(0, 120))
def test_passages_are_in_order_do_not_overlap_and_cover_every_word(text: str, words: int, at_least: int) -> None:
    passages = cut(text, words, at_least)
    ends = [0, *(place for span in passages for place in span)]
    assert ends == sorted(ends)
    if passages:
        left = text
        for start, stop in reversed(passages):
            left = left[:start] + left[stop:]
        assert not left.strip()


def test_a_passage_ends_with_a_sentence_where_there_is_one_near() -> None:
    text = "One two three four five six seven eight nine ten eleven twelve. " * 20
    assert all(text[start:stop].endswith(".") for start, stop in cut(text, 60, 90))


def test_a_long_run_without_spaces_is_cut_too() -> None:
    assert len(cut("記" * 1000, 60, 90)) > 5


@pytest.mark.requirement("RECALL-1", "INV-3")
def test_a_line_in_a_long_answer_is_found_before_shorter_talk_and_after_a_rebuild(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", "ana") as memory:
        said = memory.ingest(FILLER + LINE + " " + FILLER, role="assistant")
        for number in range(40):
            memory.ingest(f"The weekend list has {number} small things on it.", role="assistant")
        memory.flush()
        question = "when does the boat to Hvar go?"
        assert memory.search(question)[0].id == said.id
        before = [(hit.id, hit.score) for hit in memory.search(question)]
        memory.rebuild()
        memory.flush()
        assert [(hit.id, hit.score) for hit in memory.search(question)] == before
