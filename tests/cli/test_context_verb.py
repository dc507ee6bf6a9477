"""`holdfast context`: messages in, the block a model is handed out, with the reasons when asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import Holdfast

ASKED = json.dumps([{"role": "user", "content": "which city did I move to?"}])


@pytest.mark.requirement("CTX-1", "API-1")
def test_context_prints_the_block_for_messages_on_stdin(holdfast: Holdfast, talk: Path, tmp_path: Path) -> None:
    holdfast("ingest", str(talk))
    rules = tmp_path / "AGENTS.md"
    rules.write_text("- Never push to main.\n")
    said = holdfast("context", "--session", "s1", "--rules", str(rules), stdin=ASKED)
    assert said.code == 0
    assert said.out.splitlines()[0].endswith("begins]]") and said.out.splitlines()[-1].endswith("ends]]")
    assert "\n- Never push to main.\n" in said.out and ", user said: I moved to Lisbon in May\n" in said.out


@pytest.mark.requirement("CTX-8")
def test_explain_lists_every_candidate_with_its_reason(holdfast: Holdfast, talk: Path, tmp_path: Path) -> None:
    holdfast("ingest", str(talk))
    messages = tmp_path / "messages.json"
    messages.write_text(json.dumps({"messages": json.loads(ASKED)}))
    said = holdfast("context", str(messages), "--session", "other", "--explain", "--memory-budget", "900")
    assert "found, rank 1" in said.out and "of 900 tokens" in said.out and "never cut" in said.out


def test_context_json_has_messages_text_and_receipt(holdfast: Holdfast, talk: Path) -> None:
    holdfast("ingest", str(talk))
    answer = holdfast("context", "-", "--session", "other", "--json", stdin=ASKED).json
    messages, text, receipt = answer["messages"], answer["text"], answer["receipt"]
    assert isinstance(messages, list) and isinstance(receipt, dict)
    assert messages[-1] == json.loads(ASKED)[0]
    assert messages[0] == {"role": "system", "content": text}
    assert answer["tokens"] == receipt["tokens"]
    assert answer["degraded"] is None


@pytest.mark.parametrize("given", ["no json", '"text"', "[1]", '{"other": []}'])
def test_context_names_invalid_messages(holdfast: Holdfast, given: str) -> None:
    said = holdfast("context", "-", stdin=given)
    assert said.code == 2 and said.err.startswith("holdfast: stdin")


def test_a_missing_rule_file_is_named(holdfast: Holdfast) -> None:
    said = holdfast("context", "-", "--rules", "nowhere.md", stdin=ASKED)
    assert said.code == 2 and "nowhere.md" in said.err
