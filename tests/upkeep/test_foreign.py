"""Audits of other systems' memories: mem0, MEMORY.md files, MCP's reference memory."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.settings import Settings
from holdfast.testing import HashEmbedder
from holdfast.upkeep.findings import CheckResult, Diagnosis, DoctorSizes

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
MEMORIES = [
    ("m1", "Prefers tea to coffee", "2026-01-04T10:00:00-08:00"),
    ("m2", "prefers tea to coffee.", "2026-01-05T10:00:00-08:00"),
    ("m3", "Merged PR #501", "2026-01-06T10:00:00-08:00"),
    ("m4", f"The deploy token is {TOKEN}", "2026-01-07T10:00:00-08:00"),
    ("m5", "The dentist appointment is on 12 January 2026", "2026-01-08T10:00:00-08:00"),
    ("m6", "Has a sister, Anna, who lives in Rome", "2026-01-09T10:00:00-08:00"),
]
"""One memory for each check, and two without problems."""


def audit(path: Path) -> Diagnosis:
    return Memory.audit(path, HashEmbedder())


def found(made: Diagnosis, check: str) -> CheckResult:
    (one,) = (one for one in made.findings if one.check == check)
    return one


def ids(made: Diagnosis, check: str) -> list[str]:
    return [one.id for one in found(made, check).examples]


def mem0_list(folder: Path) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps([{"id": name, "memory": text, "created_at": at} for name, text, at in MEMORIES]))
    return path


def mem0_results(folder: Path) -> Path:
    path = folder / "get_all.json"
    listed = [
        {"id": name, "memory": text, "metadata": None, "created_at": at, "updated_at": None, "user_id": "ana"}
        for name, text, at in MEMORIES
    ]
    path.write_text(json.dumps({"results": listed, "count": len(listed)}))
    return path


def mem0_lines(folder: Path) -> Path:
    path = folder / "export.jsonl"
    path.write_text("".join(json.dumps({"id": i, "memory": text, "created_at": at}) + "\n" for i, text, at in MEMORIES))
    return path


def history(path: Path, old: bool = False) -> Path:
    new = "old_memory TEXT, new_memory TEXT, event TEXT, created_at DATETIME, updated_at DATETIME, is_deleted INTEGER"
    older = "prev_value TEXT, new_value TEXT, event TEXT, timestamp DATETIME, is_deleted INTEGER"
    columns = f"id TEXT PRIMARY KEY, memory_id TEXT, {older if old else new + ', actor_id TEXT, role TEXT'}"
    connection = apsw.Connection(str(path))
    connection.execute(f"CREATE TABLE history ({columns})")
    text, time = ("new_value", "timestamp") if old else ("new_memory", "created_at")
    events: list[tuple[str, str | None, str, str, int]] = [(name, said, "ADD", at, 0) for name, said, at in MEMORIES]
    events += [
        ("m7", "Lives in Porto", "ADD", "2026-01-01T00:00:00Z", 0),
        ("m7", "Lives in Ghent", "UPDATE", "2026-02-01T00:00:00Z", 0),
        ("m8", "Prefers tea to coffee", "ADD", "2026-01-01T00:00:00Z", 0),
        ("m8", None, "DELETE", "2026-02-01T00:00:00Z", 1),
    ]
    connection.executemany(
        f"INSERT INTO history (id, memory_id, {text}, event, {time}, is_deleted) VALUES (?, ?, ?, ?, ?, ?)",
        [(f"e{number}", *event) for number, event in enumerate(events)],
    )
    connection.close()
    return path


def mem0_history(folder: Path) -> Path:
    return history(folder / "history.db")


def old_mem0_history(folder: Path) -> Path:
    return history(folder / "history.db", old=True)


@pytest.mark.requirement("KEEP-3")
@pytest.mark.parametrize("write", [mem0_list, mem0_results, mem0_lines, mem0_history, old_mem0_history])
def test_every_mem0_format_is_audited(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    made = audit(write(tmp_path))
    assert made.system.startswith("mem0") and not made.healthy
    assert ids(made, "duplicates") == ["m2"]
    assert ids(made, "junk") == ["m3"] and "workflow_event" in found(made, "junk").examples[0].why
    assert ids(made, "secrets") == ["m4"] and TOKEN not in str(made)
    assert ids(made, "stale") == ["m5"]
    assert made.memories == len(MEMORIES) + ("history" in made.system)


@pytest.mark.requirement("KEEP-3")
def test_the_last_event_of_a_mem0_history_counts(tmp_path: Path) -> None:
    path = mem0_history(tmp_path)
    connection = apsw.Connection(str(path))
    connection.execute(
        "INSERT INTO history (id, memory_id, new_memory, event) VALUES ('x', 'm0', 'Has a cat', 'UPDATE')"
    )
    connection.close()
    made = audit(path)
    assert ids(made, "duplicates") == ["m2"], "m8 is deleted"
    assert ids(made, "orphans") == ["m0"] and "never added" in found(made, "orphans").examples[0].why


def folder_of_notes(folder: Path) -> Path:
    notes = folder / "notes"
    (notes / "memory").mkdir(parents=True)
    (notes / "CLAUDE.md").write_text(
        "---\nname: notes\n---\n# Rules\n\n- Run the tests before a commit\n- Never deploy on a Friday\n"
        "- [The plan](memory/plan.md) for the harbour\n- [Lost](memory/lost.md) notes about the crane\n\n"
        "```sh\nexport TOKEN=swordfish\n```\n"
    )
    (notes / "memory" / "plan.md").write_text(
        "The crane stands at the north quay\nof the harbour.\n\n1. never deploy on a friday\n"
        "2. thanks, that is great!\n"
        f"3. The registry password is {TOKEN}\n"
    )
    (notes / "memory" / "plan.txt").write_text("- Never deploy on a Friday\n")
    return notes


@pytest.mark.requirement("KEEP-3")
def test_a_folder_of_notes_is_audited_line_by_line(tmp_path: Path) -> None:
    made = audit(folder_of_notes(tmp_path))
    assert (made.system, made.memories) == ("markdown", 8)
    assert ids(made, "duplicates") == ["memory/plan.md:4"]
    assert ids(made, "junk") == ["memory/plan.md:5"], "here a command is a rule, not junk"
    assert ids(made, "secrets") == ["memory/plan.md:6"]
    assert ids(made, "orphans") == ["CLAUDE.md:9"]


@pytest.mark.requirement("KEEP-3")
def test_a_single_clean_notes_file_is_healthy(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(
        "# Memory\n\n- The shop's API runs on port 9090\n* Ana lives in Lisbon\n- [x] The crane is repaired\n"
    )
    made = audit(path)
    assert made.healthy and made.memories == 3 and all(one.count == 0 for one in made.findings)


@pytest.mark.requirement("KEEP-3")
def test_an_mcp_memory_graph_is_audited(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    lines = [
        {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Prefers tea", "Lives in Lisbon"]},
        {
            "type": "entity",
            "name": "Ben",
            "entityType": "person",
            "observations": ["prefers tea!", {"content": "Sails"}],
        },
        {"type": "relation", "from": "Ana", "to": "Ben", "relationType": "knows"},
        {"type": "relation", "from": "Ana", "to": "Carl", "relationType": "knows"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    made = audit(path)
    assert (made.system, made.memories) == ("MCP memory", 4)
    assert ids(made, "duplicates") == ["Ben[0]"]
    (lost,) = found(made, "orphans").examples
    assert lost.text == "Ana knows Carl" and lost.why == "there is no entity 'Carl'"


@pytest.mark.requirement("KEEP-3", "SAFE-4")
@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"], ids=ascii)
def test_unicode_line_separators_do_not_split_json_lines(tmp_path: Path, mark: str) -> None:
    said = f"Lives in Lisbon{mark}since 2019"
    graph = {"type": "entity", "name": "Ana", "entityType": "person", "observations": [said, "Prefers tea"]}
    rows = [{"id": "m1", "memory": said}, {"id": "m2", "memory": "Prefers tea"}]
    for system, lines in (("MCP memory", [graph]), ("mem0 export", rows)):
        path = tmp_path / f"{system}.jsonl"
        path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
        assert (audit(path).system, audit(path).memories) == (system, 2)


HOSTILE: dict[str, tuple[str, bytes, str]] = {
    "no JSON": ("a.json", b"{not json", "is not JSON"),
    "no list": ("a.json", b'{"results": 3}', "no list of memories"),
    "a number for a memory": ("a.json", b"[3]", "memory 1 .* neither a text nor an object"),
    "a memory without a text": ("a.json", b'[{"id": 1}]', "memory 1 .* has no text"),
    "a bomb of brackets": ("a.json", b"[" * 200_000, "nested too deeply"),
    "a number of many digits": ("a.json", b"[" + b"9" * 10_000 + b"]", "cannot be read"),
    "nothing": ("a.json", b"  \n", "is empty"),
    "no text": ("a.json", b"\xff\xfe\x00\x01", "is not UTF-8 text"),
    "a broken line": ("a.jsonl", b'{"type": "entity", "entityType": "x", "name": "a"}\n{', "line 2 is not JSON"),
    "an entity without a name": ("a.jsonl", b'{"type": "entity", "entityType": "x"}', "line 1: an entity needs a name"),
    "an incomplete relation": (
        "a.jsonl",
        b'{"type": "relation", "relationType": "x"}',
        "line 1: a relation needs",
    ),
    "half a database": ("history.db", b"SQLite format 3\x00" + b"\x00" * 50, "cannot read .* as an SQLite file"),
    "too large": ("a.json", b'["' + b"a" * 1_100_000 + b'"]', "larger than 1 MB"),
}


@pytest.mark.requirement("KEEP-3", "SAFE-4")
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_with_a_clear_error(tmp_path: Path, kind: str) -> None:
    name, data, said = HOSTILE[kind]
    (tmp_path / name).write_bytes(data)
    settings = replace(Settings(), doctor=DoctorSizes(max_file_mb=1))
    with pytest.raises(InputError, match=said):
        Memory.audit(tmp_path / name, HashEmbedder(), settings)


@pytest.mark.requirement("KEEP-3")
def test_unknown_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is nothing at .*; the doctor reads a mem0 export"):
        audit(tmp_path / "none")
    with pytest.raises(InputError, match=r"there is no \.md file"):
        audit(tmp_path)
    other = tmp_path / "other.db"
    connection = apsw.Connection(str(other))
    connection.execute("CREATE TABLE t (a); CREATE VIEW history AS SELECT 1 AS memory_id, 'ADD' AS event")
    connection.close()
    with pytest.raises(InputError, match="no table 'history'"):
        audit(other)
    with Memory(tmp_path / "ours.db", "ana", embedder="none"):
        pass
    with pytest.raises(InputError, match="is a Holdfast store"):
        audit(tmp_path / "ours.db")


@pytest.mark.requirement("KEEP-3")
def test_an_audit_writes_nothing_and_follows_no_symlinks(tmp_path: Path) -> None:
    notes = folder_of_notes(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("- not for the doctor\n")
    os.symlink(outside, notes / "linked")
    os.symlink(notes, notes / "circle")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    assert audit(notes).memories == 8
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before
