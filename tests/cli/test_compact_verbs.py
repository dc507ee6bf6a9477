"""`holdfast compact | active | expand`, as somebody at a terminal meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.chats import RULES, boatyard

from .command import Holdfast

pytestmark = pytest.mark.requirement("API-1")


def write(path: Path, session: str, talk: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps({"session": session, **message}) + "\n" for message in talk))
    return path


@pytest.fixture
def yard(holdfast: Holdfast, tmp_path: Path) -> Holdfast:
    """A conversation of 64 turns with a rule in it, in the store."""
    path = write(tmp_path / "yard.jsonl", "yard", [{"role": "user", "content": RULES[0]}, *boatyard(63)])
    assert holdfast("ingest", str(path)).code == 0
    return holdfast


@pytest.mark.requirement("COMP-8")
def test_compact_prints_its_result_and_the_next_command(yard: Holdfast) -> None:
    said = yard("compact", "yard", "--force")
    assert (said.code, said.err) == (0, "")
    assert "yard: 60 turns left the active view" in said.out
    assert "1 turn with rules kept word for word" in said.out and "% less)" in said.out
    assert "holdfast active yard" in said.out
    assert "of them 3 digests, 1 rule kept word for word" in yard("status").out


@pytest.mark.requirement("COMP-8")
def test_compact_prints_why_it_did_nothing(yard: Holdfast) -> None:
    said = yard("compact", "yard")
    assert said.code == 0 and "within the budget of 2000" in said.out and "holdfast active" not in said.out


@pytest.mark.requirement("COMP-7")
def test_active_shows_digests_first_and_expand_their_turns(yard: Holdfast) -> None:
    made = yard("compact", "yard", "--force", "--json").json
    shown = yard("active", "yard")
    head = shown.out.splitlines()[0]
    assert "yard: 3 digests, 1 rule, 4 turns" in head and RULES[0] in shown.out
    view: Any = yard("active", "yard", "--json").json
    assert [record["id"] for record in view["summaries"]] == made["summaries"]
    summary = view["summaries"][0]
    behind: Any = yard("expand", summary["id"], "--json").json["turns"]
    assert [turn["id"] for turn in behind] == summary["turn_ids"]
    assert behind[0]["text"] in " ".join(yard("expand", summary["id"], "--full").out.split())


def test_an_unknown_session_or_id_is_named(yard: Holdfast) -> None:
    for words in (("compact", "nowhere"), ("active", "nowhere"), ("expand", "r-nowhere")):
        said = yard(*words)
        assert said.code == 1 and said.err.startswith("holdfast: there is no ") and words[1] in said.err


def test_markup_in_a_session_name_is_printed_as_text(holdfast: Holdfast, tmp_path: Path) -> None:
    name = "[red]yard[/red]\x1b[31m"
    path = write(tmp_path / "talk.jsonl", name, boatyard(40))
    assert holdfast("ingest", str(path)).code == 0
    said = holdfast("compact", name, "--force")
    assert said.code == 0 and "[red]yard[/red]" in said.out and "\x1b[31m" not in said.out
