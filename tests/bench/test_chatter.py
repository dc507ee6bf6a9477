"""Synthetic chat for measuring speed."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.text.words import terms
from holdfast_bench.chatter import chatter, questions, read_messages


def _texts(turns: int, seed: int = 0) -> list[str]:
    return [str(message["content"]) for _, messages in chatter(turns, seed) for message in messages]


def test_chatter_depends_on_its_seed() -> None:
    assert _texts(150) == _texts(150)
    assert _texts(150) != _texts(150, seed=1)


def test_chatter_has_the_requested_length() -> None:
    assert len(_texts(250)) == 250
    assert _texts(250)[:100] == _texts(100)


def test_turns_have_five_to_sixty_words() -> None:
    lengths = [len(text.split()) for text in _texts(1000)]
    assert min(lengths) >= 5
    assert max(lengths) <= 60
    assert max(lengths) > 40


def test_word_frequencies_are_skewed() -> None:
    texts = _texts(2000)
    holders = Counter(term for text in texts for term in set(terms(text)))
    shares = [count / len(texts) for _, count in holders.most_common()]
    assert shares[0] > 0.3
    assert shares[300] < 0.05
    assert sum(count == 1 for count in holders.values()) > len(holders) / 4


def test_questions_are_all_different() -> None:
    asked = questions(list(chatter(300)), 200)
    assert len(set(asked)) == 200


def test_real_chat_is_read_from_json_lines_and_repeated(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl.gz"
    lines = [json.dumps("a plain text"), json.dumps({"role": "assistant", "content": "an answer"}), ""]
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    sessions = list(read_messages(path, 5))
    assert [(message["role"], message["content"]) for message in sessions[0][1]] == [
        ("user", "a plain text"),
        ("assistant", "an answer"),
    ] * 2 + [("user", "a plain text")]


@pytest.mark.parametrize("content", ["", "not json", "[1]"])
def test_a_chat_file_without_messages_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=r"chat\.jsonl"):
        list(read_messages(path, 5))
