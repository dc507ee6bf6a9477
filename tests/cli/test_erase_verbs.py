"""`holdfast erase`: asks before it destroys, demands --yes where nobody can be asked, and prints the proof."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from holdfast_bench.contract import schema

from .command import Holdfast

pytestmark = pytest.mark.requirement("KEEP-4")


def test_erase_without_a_terminal_needs_yes(filled: Holdfast) -> None:
    said = filled("erase", "--session", "s1")
    assert said.code == 2 and "no terminal to confirm it; add --yes" in said.err
    assert "Lisbon" in filled("thread", "s1").out


def test_erasing_a_session_prints_its_proof(filled: Holdfast) -> None:
    said = filled("erase", "--session", "s1", "--prove", "--yes")
    assert said.code == 0 and "erased 2 turns" in said.out and "found: nothing" in said.out
    assert "searched for" in said.out and ".db:" in said.out.replace("\n", "")
    assert "Lisbon" not in filled("recent", "--full").out
    assert "slipway" in filled("recent", "--full").out


def test_erase_json_matches_the_contract(filled: Holdfast) -> None:
    made = filled("erase", "--everything", "--prove", "--yes", "--json").json
    Draft202012Validator(schema("erase")).validate(made)
    assert (made["scope"], made["turns"]) == ("namespace", 3)


@pytest.mark.parametrize(
    ("asked", "told", "code"),
    [
        ((), "choose exactly one of --session", 2),
        (("--session", "s1", "--everything"), "choose exactly one of --session", 2),
        (("--session", "s", "--yes"), "there is no session 's'", 1),
        (("--turn", "t-1", "--yes"), "there is no turn 't-1'", 1),
    ],
)
def test_an_impossible_erase_is_reported(filled: Holdfast, asked: tuple[str, ...], told: str, code: int) -> None:
    said = filled("erase", *asked)
    assert said.code == code and told in said.err


def test_erase_creates_no_store(filled: Holdfast, tmp_path: Path) -> None:
    said = filled("erase", "--everything", "--yes", "--store", str(tmp_path / "none.db"))
    assert said.code == 2 and "there is no store" in said.err and not (tmp_path / "none.db").exists()
