from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from .command import Holdfast

pytestmark = pytest.mark.requirement("API-1")


def first_id(holdfast: Holdfast, question: str) -> str:
    hits = holdfast("search", question, "--kind", "turn", "--json").json["hits"]
    assert isinstance(hits, list)
    return str(hits[0]["id"])


def found(holdfast: Holdfast, *args: str) -> list[str]:
    hits = holdfast("search", *args, "--json").json["hits"]
    assert isinstance(hits, list)
    return [hit["text"] for hit in hits]


def test_search_prints_rank_date_session_role_text_and_reason(filled: Holdfast) -> None:
    said = filled("search", "which port?", "--kind", "turn")
    assert said.code == 0
    head, text, reason = said.out.splitlines()[:3]
    assert head.split()[:9] == ["1", "Mon", "4", "May", "2026", "09:00", "UTC", "user", "s2"]
    assert text.strip() == "slipway listens on port 9417"
    assert reason.strip().startswith("shares port · cosine")


def test_times_are_local_and_name_their_zone(filled: Holdfast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert "Mon 4 May 2026 18:00 JST  user" in filled("recent").out
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


@pytest.mark.requirement("BEL-7", "BEL-10")
def test_records_are_listed_read_corrected_and_told_in_a_profile(holdfast: Holdfast, tmp_path: Path) -> None:
    first = str(holdfast("remember", "I live in Lisbon", "--json").json["id"])
    holdfast("remember", "My sister Zofia is a nurse")
    assert "I live in Lisbon" in holdfast("get", first).out
    assert "Zofia" in holdfast("records", "--about", "zofia").out
    assert "Lisbon" not in holdfast("records", "--about", "zofia").out
    page = holdfast("records", "--limit", "1")
    assert "Zofia" in page.out and "--before r-" in page.out
    assert "I live in Porto" in holdfast("update", first, "I live in Porto").out
    assert holdfast("profile").out.splitlines() == [
        "# Profile of ana", "", "## People", "- My sister Zofia is a nurse", "", "## Home", "- I live in Porto",
    ]  # fmt: skip
    file = tmp_path / "USER.md"
    assert "has the new profile" in " ".join(holdfast("profile", "--keep-in", str(file)).out.split())
    assert "is up to date" in holdfast("profile", "--keep-in", str(file)).out
    assert "- I live in Porto" in file.read_text(encoding="utf-8")
    assert "I live in Porto" in holdfast("standing").out
    assert holdfast("gating", "We decided to deploy on Fridays", "--json").json.keys() >= {"g", "h", "r"}
    assert "mem_saturation" in holdfast("gating", "We decided to deploy on Fridays").out
    assert holdfast("update", first, "x", "--agent").code == 2


@pytest.mark.requirement("LOG-6")
def test_init_names_the_default_namespace(holdfast: Holdfast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOLDFAST_NAMESPACE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert "holdfast init NAME" in holdfast("recent").err
    assert holdfast("init", "ana").code == 0
    assert holdfast("remember", "I live in Lisbon").code == 0
    file = tmp_path / "holdfast" / "config.toml"
    file.write_text(file.read_text() + "\n[merge]\nsame = 0.9\n")
    assert holdfast("init", "ben").code == 0
    assert file.read_text() == 'namespace = "ben"\n\n[merge]\nsame = 0.9\n'
    assert holdfast("records").out == "Nothing here.\n"
    assert holdfast("init", "").code == 2


def test_search_prints_one_json_document_of_hits_and_receipt(filled: Holdfast) -> None:
    answer = filled("search", "which port?", "--json").json
    assert list(answer) == ["hits", "receipt"]


@pytest.mark.requirement("RECALL-11")
def test_search_explains_its_stages(filled: Holdfast) -> None:
    receipt = filled("search", "which port?", "--json").json["receipt"]
    out = filled("search", "which port?", "--explain").out
    assert isinstance(receipt, dict) and len(receipt["stages"]) > 2
    told = out[out.index("stage") :]
    assert all(f"{stage['name']} " in told for stage in receipt["stages"]) and receipt["reason"] in told


def test_an_empty_result_is_not_an_error(filled: Holdfast) -> None:
    said = filled("search", "zyzzyva")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("No results")


def test_search_in_an_empty_namespace_says_so(filled: Holdfast) -> None:
    said = filled("search", "which port?", "--namespace", "anna")
    assert (said.code, said.err) == (0, "")
    assert said.out == "No results: namespace 'anna' is empty. Did you mean another namespace?\n"
    assert "is empty" not in filled("search", "which port?", "--until", "1999-01-01").out


@pytest.mark.requirement("SAFE-1")
def test_an_empty_result_says_what_is_not_embedded_yet(filled: Holdfast) -> None:
    said = filled("search", "zyzzyva", "--embedder", "remote:http://127.0.0.1:9/v1#away")
    assert said.out.startswith("No results") and "3 are not embedded yet" in said.err
    assert filled("search", "which port?", "--embedder", "remote:http://127.0.0.1:9/v1#away").err == ""


def test_search_applies_its_filters(filled: Holdfast) -> None:
    assert found(filled, "Lisbon port", "--session", "s2") == ["slipway listens on port 9417"]
    assert found(filled, "Lisbon port", "--since", "2026-05-04") == ["slipway listens on port 9417"]
    assert "slipway listens on port 9417" not in found(filled, "Lisbon port", "--until", "2026-05-04")
    assert "slipway listens on port 9417" not in found(filled, "Lisbon port", "--as-of", "2026-05-04")
    assert len(found(filled, "Lisbon port", "--limit", "1")) == 1
    assert found(filled, "Lisbon port", "--kind", "summary") == []


def test_long_texts_are_shortened_unless_asked_for(holdfast: Holdfast) -> None:
    holdfast("ingest", "-", "--role", "assistant", stdin="needle " + "word " * 500 + "end")
    short = holdfast("search", "needle").out
    assert "…" in short and "end" not in short and len(short.splitlines()) == 5
    assert "end" in holdfast("search", "needle", "--full").out


@pytest.mark.requirement("SAFE-4")
def test_stored_text_cannot_control_the_terminal(holdfast: Holdfast) -> None:
    holdfast("ingest", "-", "--session", "\x1b[31ms", stdin="needle \x1b]0;owned\x07 \x9b2J \u202egnp [bold]x[/bold]")
    for args in (["search", "needle"], ["search", "needle", "--full"], ["recent"], ["search", "needle", "--json"]):
        out = holdfast(*args).out
        assert not set(out) & set("\x1b\x07\x9b\u202e")
        assert "[bold]x[/bold]" in out


@pytest.mark.requirement("RECALL-5")
def test_an_unknown_kind_lists_the_known_ones(filled: Holdfast) -> None:
    said = filled("recent", "--kind", "rumour")
    assert said.code == 2
    assert "turn" in said.err and "exchange" in said.err and "record" in said.err


def test_recent_lists_the_newest_first(filled: Holdfast) -> None:
    out = filled("recent", "--limit", "2").out
    assert out.index("port 9417") < out.index("Noted: Lisbon.")
    assert "I moved" not in out
    answer = filled("recent", "--json").json["turns"]
    assert isinstance(answer, list) and len(answer) == 3


@pytest.mark.requirement("RECALL-5")
def test_recent_pairs_questions_with_answers(filled: Holdfast) -> None:
    answer = filled("recent", "--kind", "exchange", "--session", "s1", "--json").json["exchanges"]
    assert isinstance(answer, list)
    assert [(one["question"]["text"], one["answer"]["text"]) for one in answer] == [
        ("I moved to Lisbon in May", "Noted: Lisbon.")
    ]
    out = filled("recent", "--kind", "exchange").out
    assert out.index("I moved to Lisbon") < out.index("Noted")


def test_recent_of_an_empty_memory_says_so(holdfast: Holdfast) -> None:
    assert holdfast("recent").out == "Nothing here.\n"
    assert holdfast("recent", "--kind", "record", "--json").json == {"records": []}


@pytest.mark.requirement("RECALL-6")
def test_thread_prints_a_session_in_order(filled: Holdfast) -> None:
    out = filled("thread", "s1").out
    assert out.startswith("s1: 2 turns")
    assert out.index("I moved to Lisbon") < out.index("Noted")
    assert "slipway" not in out
    assert filled("thread", "nobody").out == "There is no session 'nobody' here.\n"


def test_remembered_records_are_found(holdfast: Holdfast) -> None:
    said = holdfast("remember", "The spare key is with Zofia", "--kind", "preference")
    assert "preference" in said.out and "Zofia" in said.out
    assert found(holdfast, "who has the spare key?") == ["The spare key is with Zofia"]
    assert "Zofia" in holdfast("recent", "--kind", "record").out
    assert holdfast("remember", "Tea, no sugar", "--json").json["kind"] == "fact"


def test_a_key_gets_a_new_text_by_upsert(holdfast: Holdfast) -> None:
    for text in ("Tea, no sugar", "Tea with milk", "Coffee"):
        assert holdfast("remember", text, "--key", "drink", *(["--upsert"] if text == "Coffee" else [])).code == 0
    shown = holdfast("records").out
    assert "Coffee" in shown and "Tea" not in shown


def test_forget_can_be_undone(filled: Holdfast) -> None:
    turn = first_id(filled, "port")
    said = filled("forget", turn)
    assert said.out.startswith(f"{turn} forgotten") and f"holdfast forget {turn} --undo" in said.out
    assert found(filled, "port") == []
    assert filled("forget", turn, "--json").json["what"] == "unchanged"
    assert filled("forget", turn, "--undo", "--json").json["what"] == "restored"
    assert found(filled, "port") == ["slipway listens on port 9417"]


@pytest.mark.requirement("INV-6")
def test_why_prints_the_decisions(filled: Holdfast) -> None:
    turn = first_id(filled, "port")
    filled("forget", turn)
    out = filled("why", turn).out
    assert out.startswith(f"turn {turn}  s2")
    assert out.index("• kept:") < out.index("• found by words:") < out.index("• forgotten:")
    assert filled("why", turn, "--json").json["id"] == turn


def test_status_counts_and_checks(filled: Holdfast) -> None:
    out = filled("status", "--check").out
    assert "3 in 2 sessions" in out and "integrity  ok" in out
    answer = filled("status", "--json").json
    assert (answer["turns"], answer["problems"]) == (3, None)
    assert filled("status", "--check", "--json").json["problems"] == []


@pytest.mark.requirement("INV-3")
def test_a_rebuild_gives_the_same_answers(filled: Holdfast) -> None:
    filled("remember", "The spare key is with Zofia")
    before = json.dumps(filled("search", "where is Lisbon?", "--json").json["hits"])
    assert filled("store", "rebuild").out.startswith("rebuilt ana: 3 turns and 3 records ")
    assert filled("store", "rebuild", "--json").json["turns"] == 3
    assert json.dumps(filled("search", "where is Lisbon?", "--json").json["hits"]) == before


@pytest.mark.requirement("INV-4")
def test_another_namespace_finds_nothing(filled: Holdfast) -> None:
    assert filled("search", "Lisbon", "--namespace", "an", "--json").json["hits"] == []
    turn = first_id(filled, "Lisbon")
    assert filled("why", turn, "-n", "an").code == 1
