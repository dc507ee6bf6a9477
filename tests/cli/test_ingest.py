from __future__ import annotations

import json
from pathlib import Path

import pytest

from .command import TALK, Holdfast


def turns_of(holdfast: Holdfast, session: str) -> list[str]:
    answer = holdfast("thread", session, "--json").json["turns"]
    assert isinstance(answer, list)
    return [turn["text"] for turn in answer]


def counts(said: dict[str, object]) -> tuple[object, object, object]:
    return said["added"], said["known"], said["sessions"]


@pytest.mark.requirement("API-1")
def test_ingest_prints_how_many_turns_were_added(holdfast: Holdfast, talk: Path) -> None:
    said = holdfast("ingest", str(talk))
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("3 turns added, 0 known already; 2 sessions")


@pytest.mark.requirement("LOG-7")
def test_a_second_ingest_adds_only_new_messages(holdfast: Holdfast, talk: Path) -> None:
    assert counts(holdfast("ingest", str(talk), "--json").json) == (3, 0, 2)
    assert counts(holdfast("ingest", str(talk), "--json").json) == (0, 3, 2)
    with talk.open("a") as file:
        file.write(json.dumps({"session": "s1", "role": "user", "content": "ok"}) + "\n")
        file.write(json.dumps({"session": "s1", "role": "user", "content": "ok"}) + "\n")
    assert counts(holdfast("ingest", str(talk), "--json").json) == (2, 3, 2)
    assert turns_of(holdfast, "s1") == ["I moved to Lisbon in May", "Noted: Lisbon.", "ok", "ok"]


@pytest.mark.requirement("LOG-7")
def test_interleaved_sessions_of_a_file_stay_separate(holdfast: Holdfast, tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    lines = [{"role": "user", "content": str(n), "session": "ab"[n % 2]} for n in range(6)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert counts(holdfast("ingest", str(path), "--json").json) == (6, 0, 2)
    assert turns_of(holdfast, "a") == ["0", "2", "4"]
    assert turns_of(holdfast, "b") == ["1", "3", "5"]


@pytest.mark.requirement("LOG-4")
def test_a_key_that_occurs_twice_is_one_turn(holdfast: Holdfast) -> None:
    line = json.dumps({"role": "user", "content": "hello", "key": "k"}) + "\n"
    assert counts(holdfast("ingest", "-", "--json", stdin=line * 2).json) == (1, 1, 1)


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("chat.json", '[{"role": "user", "content": "one"}, {"role": "ai", "content": "two"}]', ["one", "two"]),
        ("chat.json", json.dumps({"messages": [{"role": "user", "content": "one"}]}), ["one"]),
        ("chat", json.dumps([{"role": "user", "content": "one"}], indent=1), ["one"]),
        ("chat", json.dumps({"messages": [{"role": "user", "content": "one"}]}, indent=1), ["one"]),
        ("chat", json.dumps({"role": "user", "content": "one"}), ["one"]),
        ("chat.jsonl", "\ufeff" + json.dumps({"role": "user", "content": "one"}) + "\r\n\r\n", ["one"]),
        ("chat.txt", "first line\nsecond line\n", ["first line\nsecond line"]),
        ("chat", "plain words, {not json}\n", ["plain words, {not json}"]),
        ("chat.txt", " \n", []),
        ("chat.jsonl", "", []),
    ],
)  # fmt: skip
def test_the_format_is_guessed_from_name_or_content(
    holdfast: Holdfast, tmp_path: Path, name: str, text: str, found: list[str]
) -> None:
    path = tmp_path / name
    path.write_text(text, newline="")
    assert holdfast("ingest", str(path)).code == 0
    assert turns_of(holdfast, "chat") == found  # the session is named after the file


def test_every_line_of_a_text_can_be_a_turn(holdfast: Holdfast) -> None:
    said = holdfast("ingest", "-", "--lines", "--role", "tool", "--session", "log", stdin="one\n\ntwo\n")
    assert said.out.startswith("2 turns added")
    assert turns_of(holdfast, "log") == ["one", "two"]


def test_stdin_can_be_json_lines(holdfast: Holdfast) -> None:
    stdin = "".join(json.dumps(message) + "\n" for message in TALK)
    assert counts(holdfast("ingest", "-", "--json", stdin=stdin).json) == (3, 0, 2)


def test_stdin_without_a_session_uses_the_default_one(holdfast: Holdfast) -> None:
    holdfast("ingest", "-", stdin="hello there")
    assert turns_of(holdfast, "default") == ["hello there"]


@pytest.mark.requirement("LOG-5")
def test_heartbeats_are_counted_and_not_stored(holdfast: Holdfast) -> None:
    lines = [{"role": "user", "content": "ping", "heartbeat": True}, {"role": "user", "content": "hello"}]
    said = holdfast("ingest", "-", "--json", stdin="".join(json.dumps(line) + "\n" for line in lines)).json
    assert (said["added"], said["heartbeats"]) == (1, 1)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{not json", "not JSON"),
        (b'{"role": "user"\n', "at column 16"),
        (b'{"role": "user"}', "content"),
        (b'{"role": "boss", "content": "x"}', "unknown role 'boss'"),
        (b'{"role": "user", "content": "x", "at": "soon"}', "cannot read the time 'soon'"),
        (b'{"role": "user", "content": "x", "session": 3}', "session must be a string"),
        (b'{"role": "user", "content": "\\ud800"}', "lone surrogate"),
        (b'{"role": "user", "content": "\xff"}', "not UTF-8"),
        (b'["a"]', "must be a mapping"),
        (b"[" * 200_000, "cannot be read"),
    ],
)
def test_an_invalid_line_is_named_and_nothing_is_stored(
    holdfast: Holdfast, talk: Path, bad: bytes, reason: str
) -> None:
    talk.write_bytes(talk.read_bytes() + bad + b"\n")
    said = holdfast("ingest", str(talk))
    assert said.code == 2
    assert said.err.startswith(f"holdfast: {talk}:4: ")
    assert reason in said.err
    assert said.err.count("\n") == 1
    assert holdfast("status", "--json").json["turns"] == 0


@pytest.mark.requirement("SAFE-4")
def test_invalid_lines_can_be_skipped(holdfast: Holdfast, talk: Path) -> None:
    talk.write_text("nonsense\n" + talk.read_text() + "{}\n")
    said = holdfast("ingest", str(talk), "--skip-bad")
    assert said.code == 0
    assert "3 turns added" in said.out and "2 invalid messages skipped" in said.out
    assert f"skipped {talk}:1:" in said.err and f"skipped {talk}:5:" in said.err


@pytest.mark.requirement("SAFE-4")
def test_an_invalid_file_stops_all_files(holdfast: Holdfast, talk: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('[{"role": "user", "content": "x"}, 7]')
    said = holdfast("ingest", str(talk), str(bad))
    assert (said.code, f"{bad}:2:" in said.err) == (2, True)
    assert holdfast("status", "--json").json["turns"] == 0


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(holdfast: Holdfast, tmp_path: Path, name: str) -> None:
    said = holdfast("ingest", str(tmp_path / name))
    assert said.code == 2
    assert str(tmp_path) in said.err


def test_a_json_file_without_messages_is_refused(holdfast: Holdfast, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"colour": "blue"}')
    said = holdfast("ingest", str(path))
    assert (said.code, "expected a JSON array" in said.err) == (2, True)


@pytest.mark.requirement("INV-5")
def test_an_unavailable_embedder_loses_no_turn(holdfast: Holdfast, talk: Path) -> None:
    said = holdfast("ingest", str(talk), "--json", "--embedder", "remote:http://127.0.0.1:9/v1#m")
    assert said.code == 0
    assert said.json["added"] == 3
    assert "not yet by meaning" in str(said.json["degraded"])


def test_without_waiting_the_turns_are_stored(holdfast: Holdfast, talk: Path) -> None:
    assert holdfast("ingest", str(talk), "--no-wait").out.startswith("3 turns added")
    hits = holdfast("search", "Lisbon", "--json").json["hits"]
    assert isinstance(hits, list) and len(hits) == 2


def test_a_reused_key_with_another_text_gives_a_warning(holdfast: Holdfast) -> None:
    holdfast("ingest", "-", stdin=json.dumps({"role": "user", "content": "one", "key": "k"}))
    said = holdfast("ingest", "-", stdin=json.dumps({"role": "user", "content": "two", "key": "k"}))
    assert "came again with another text" in said.err
    assert turns_of(holdfast, "default") == ["one"]
