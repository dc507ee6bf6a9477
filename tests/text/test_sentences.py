"""Sentence and passage boundaries."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.memory import Memory
from holdfast.text.words import MAX_SENTENCE, sentences, split_passages

FILLER = "Here is some general advice on packing light for a long weekend away, with a list of small things. " * 12
LINE = "The night ferry to Hvar leaves from pier seven at a quarter to eleven."


@given(st.text(max_size=2000), st.integers(5, 80), st.integers(0, 120))
def test_passages_are_ordered_disjoint_and_cover_every_word(text: str, words: int, at_least: int) -> None:
    passages = split_passages(text, words, at_least)
    ends = [0, *(place for span in passages for place in span)]
    assert ends == sorted(ends)
    if passages:
        left = text
        for start, stop in reversed(passages):
            left = left[:start] + left[stop:]
        assert not left.strip()


def test_a_passage_ends_at_a_near_sentence_end() -> None:
    text = "One two three four five six seven eight nine ten eleven twelve. " * 20
    assert all(text[start:stop].endswith(".") for start, stop in split_passages(text, 60, 90))


def test_a_long_text_without_spaces_is_split() -> None:
    assert len(split_passages("記" * 1000, 60, 90)) > 5


@pytest.mark.requirement("RECALL-1", "INV-3")
def test_a_line_in_a_long_answer_is_found_by_its_passage(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I live in Porto. My sister is Ana!", ["I live in Porto.", "My sister is Ana!"]),
        ("Dr. Sousa moved to St. Ives. Good.", ["Dr. Sousa moved to St. Ives.", "Good."]),
        ("Mr. Tan is here", ["Mr. Tan is here"]),
        ("Tools (e.g. saws) are there. So", ["Tools (e.g. saws) are there.", "So"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("- milk\n- two eggs\n3. bread", ["milk", "two eggs", "bread"]),
        ("Well... maybe. v2.1 is out", ["Well...", "maybe.", "v2.1 is out"]),
        ("我住在波尔图。我有一只狗！！真的？", ["我住在波尔图。", "我有一只狗！！", "真的？"]),
        ("> not mine\nmine\n```\ncode\n```", ["mine"]),
        (" \n\t\n", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_text_without_sentence_ends_is_cut() -> None:
    assert [len(one) for one in sentences("a" * 5000)] == [MAX_SENTENCE]
