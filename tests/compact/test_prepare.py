"""Preparing turns for a summary: sentences, and placeholders for bulk."""

from __future__ import annotations

import base64
import time

import pytest

from holdfast.compact.prepare import readable_sentences, sentences_with_placeholders, with_placeholders
from tests.support.pace import slowness

CODE = "```python\nimport os\n\ndef main():\n    print(os.getcwd())\n```"
BLOB = base64.b64encode(bytes(range(256)) * 3).decode()


@pytest.mark.requirement("COMP-5")
@pytest.mark.parametrize(
    ("bulk", "placeholder"),
    [
        (CODE, "[code, 3 lines of python]"),
        ("```\nall is well\nso far\n```", "[code, 2 lines]"),
        ("\n".join(f"2026-03-02T08:0{n}:11Z INFO pump started" for n in range(6)), "[log, 6 lines]"),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |", "[table, 4 rows]"),
        ("\n".join(f"{n},{n * 2},{n * 3},{n * 4}" for n in range(9)), "[table, 9 rows]"),
        (BLOB, f"[encoded data, {len(BLOB):,} characters]"),
        ("lorem ipsum " * 200, "[text, 2,400 characters]"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_bulk_becomes_a_placeholder_and_the_text_around_it_stays(bulk: str, placeholder: str) -> None:
    text = f"I built the pump controller.\n\n{bulk}\n\nIt runs on the Tana board."
    assert sentences_with_placeholders(text) == [
        "I built the pump controller.",
        placeholder,
        "It runs on the Tana board.",
    ]
    assert readable_sentences(text) == ["I built the pump controller.", "It runs on the Tana board."]


@pytest.mark.requirement("COMP-5")
def test_json_of_a_tool_is_one_placeholder() -> None:
    text = '{"tool": "calendar.create", "title": "Ferry to Senja", "start": "2026-03-14T07:15"}'
    assert sentences_with_placeholders(text) == [f"[json, {len(text)} characters]"]


@pytest.mark.requirement("COMP-5")
def test_greetings_thanks_and_filler_are_dropped() -> None:
    text = "Hey Tove! Good morning. I sold the boat to Arne. Thanks so much! That's wonderful. ok\n👍\n1."
    assert sentences_with_placeholders(text) == ["I sold the boat to Arne."]


@pytest.mark.requirement("COMP-5")
def test_markdown_syntax_is_removed() -> None:
    text = "## The plan\n- **Boat**: sold to `Arne` in May.\n- [ ] Ask the harbour master."
    assert readable_sentences(text) == ["The plan", "Boat: sold to Arne in May.", "Ask the harbour master."]


@pytest.mark.requirement("COMP-5")
def test_text_beyond_the_limit_becomes_a_placeholder() -> None:
    assert sentences_with_placeholders("I sold the boat. " * 100, most=34) == [
        "I sold the boat.",
        "I sold the boat.",
        "[text, 1,666 characters]",
    ]


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    "text",
    [
        "a" * 400_000,
        "aA1+" * 100_000,
        "| " * 200_000,
        "a,b;" * 100_000,
        "x|\n" * 130_000,
        "**a " * 100_000,
        "\t" * 400_000,
    ],
    ids=lambda text: text[:4],
)
def test_hostile_texts_take_linear_time(text: str) -> None:
    started = time.process_time()
    with_placeholders(text, 200_000)
    assert time.process_time() - started < 3 * slowness()
