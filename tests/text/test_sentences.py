"""A turn's text as sentences: where they end, and where they only seem to."""

from __future__ import annotations

import pytest

from holdfast.text.sentences import MAX_SENTENCE, sentences


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
def test_a_sentence_ends_where_a_reader_ends_it(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_a_dump_without_an_end_is_cut() -> None:
    assert [len(one) for one in sentences("a" * 5000)] == [MAX_SENTENCE]
