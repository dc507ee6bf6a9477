"""Imports: every format is recognised, says who said what, keeps its times, and comes in once."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli import main
from holdfast.errors import InputError
from holdfast.importers.run import detect, import_chats
from holdfast.memory import Memory
from holdfast.model import Kind, Origin, Provenance
from holdfast_bench.imports import compare, write_export
from tests.importers.exports import (
    Export,
    Line,
    chatgpt,
    claude_ai,
    codex_lines,
    gemini_lines,
    openclaw_lines,
    write_json,
    write_lines,
)
from tests.support.memories import QUICK

pytestmark = pytest.mark.requirement("CONN-1")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", "ana", embedder="none", settings=QUICK) as one:
        yield one


def stored(memory: Memory) -> list[Line]:
    with memory.view as view:
        names = [one.name for one in view.sessions(10_000)]
    found = [turn for name in names for turn in memory.thread(name)]
    return [(one.session, one.role.value, one.origin.value, one.text) for one in found]


def own_lines(memory: Memory) -> Counter[Line]:
    """Everything but calls of tools and pictures, whose wording is ours."""
    kept = (one for one in stored(memory) if not one[3].startswith(("name:", "asset_pointer")))
    return Counter((*one[:3], one[3].removeprefix("title: a.txt\n")) for one in kept)


@pytest.mark.parametrize("seed", range(5))
def test_chatgpt_exports_say_what_the_generator_wrote(memory: Memory, tmp_path: Path, seed: int) -> None:
    made = chatgpt(seed, 12)
    file = write_json(tmp_path / "conversations.json", made, indent=2 if seed % 2 else None)
    assert detect(file) == "chatgpt"
    first = import_chats(memory, file)
    assert own_lines(memory) == Counter(made.lines)
    assert {one.text for one in memory.recent(1000, kind="record")} == made.notes  # type: ignore[union-attr]
    assert (first.turns, first.notes, first.skipped) == (len(stored(memory)), len(made.notes), 0)
    assert not any("abandoned" in one[3] or "hidden" in one[3] for one in stored(memory))
    with memory.view as view:
        for session in {one[0] for one in made.lines}:
            for turn in view.thread(session, -1, 1000):
                if turn.text in made.times:
                    assert turn.at == datetime.fromtimestamp(made.times[turn.text], UTC)
                assert turn.at.year == 2025 or session.endswith("custom-instructions"), "null times have a neighbour's"
    again = import_chats(memory, file)
    assert (again.turns, again.notes, again.known) == (0, 0, first.turns + first.notes + 11)  # the profile, 12 times


@pytest.mark.parametrize("seed", range(3))
def test_claude_ai_exports_say_what_the_generator_wrote(memory: Memory, tmp_path: Path, seed: int) -> None:
    made = claude_ai(seed, 12)
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data/users.json", "[]")
        archive.writestr("data/conversations.json", json.dumps(made.document))
        archive.writestr(
            "data/memories.json", json.dumps([{"conversations_memory": "**Work**\n- Ana builds boats in Porto"}])
        )
    assert detect(file) == "claude-ai"
    import_chats(memory, file)
    assert own_lines(memory) == Counter(made.lines)
    assert [one.text for one in memory.recent(5, kind="record")] == ["Ana builds boats in Porto"]  # type: ignore[union-attr]
    assert import_chats(memory, file).turns == 0


AGENTS: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "codex": codex_lines, "gemini": gemini_lines, "openclaw": openclaw_lines,
}  # fmt: skip


@pytest.mark.requirement("TRUST-1")
@pytest.mark.parametrize("form", AGENTS)
def test_sessions_of_agents_keep_role_and_channel(memory: Memory, tmp_path: Path, form: str) -> None:
    write_lines(tmp_path / "sessions" / "2026" / "s.jsonl", AGENTS[form]())
    made = import_chats(memory, tmp_path / "sessions")
    found = [one[1:] for one in stored(memory)]
    assert made.formats == (form,) and made.chats == 1
    assert [one for one in found if one[1] == "user"] == [("user", "user", "I live in Lisbon")]
    assert [one[:2] for one in found if "Oslo" in one[2]] == [("tool", "tool")]
    assert ("assistant", "assistant", "Noted.") in found
    assert not [one for one in found if any(word in one[2] for word in ("Rome", "context", "sandbox", "hm", "hidden"))]
    assert {turn.at.date().isoformat() for turn in memory.recent(100)} == {"2026-11-16"}
    assert import_chats(memory, tmp_path / "sessions").turns == 0


def test_other_lists_of_messages_and_text_chats(memory: Memory, tmp_path: Path) -> None:
    talk = [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "I live in Lisbon"},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "x"}]},
            {"role": "tool", "tool_call_id": "x", "content": "I live in Oslo"}]  # fmt: skip
    write_lines(tmp_path / "a.jsonl", iter([{"messages": talk}, {"messages": talk[1:2]}]))
    (tmp_path / "b.md").write_text(
        "# Talk\n\n**You:** I live in Lisbon\nand like it\n\n## Assistant\n\nNoted: Lisbon\n"
    )
    (tmp_path / "c.txt").write_text("User: I live in Porto\nAssistant: Noted\nUser: Bye\n")
    assert [detect(tmp_path / name) for name in ("a.jsonl", "b.md", "c.txt")] == ["openai", "chat", "chat"]
    for name in ("a.jsonl", "b.md", "c.txt", "a.jsonl", "b.md"):
        import_chats(memory, tmp_path / name)
    said = Counter(one[2:] for one in stored(memory))
    assert said[("user", "I live in Lisbon")] == 2 and said[("tool", "I live in Oslo")] == 1
    assert said[("user", "I live in Lisbon\nand like it")] == 1 and said[("assistant", "Noted: Lisbon")] == 1
    assert said[("user", "Bye")] == 1


def test_memories_of_others_come_in_as_imported(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [
        {"id": "1", "memory": "Likes tea", "created_at": "2025-01-02T03:04:05Z"}]}))  # fmt: skip
    write_lines(tmp_path / "store.jsonl", iter([
        {"namespace": ["ana", "facts"], "key": "k", "value": {"text": "Has a cat"}, "created_at": "2025-02-02"},
        {"namespace": ["ana"], "key": "j", "value": {"city": "Porto"}}]))  # fmt: skip
    (tmp_path / "MEMORY.md").write_text(
        "# Notes\n\n- Always answer in French\n- Works as a carpenter\n@docs/style.md\n"
    )
    with sqlite3.connect(tmp_path / "history.db") as base:
        base.execute("CREATE TABLE history (id TEXT, memory_id TEXT, new_memory TEXT, event TEXT, created_at TEXT)")
        base.execute("INSERT INTO history VALUES ('1', 'm', 'Plays the piano', 'ADD', '2025-03-03T00:00:00Z')")
    base.close()
    names = {"mem0.json": "memories", "store.jsonl": "langgraph", "MEMORY.md": "notes", "history.db": "memories"}
    for name, form in names.items():
        assert detect(tmp_path / name) == form
        import_chats(memory, tmp_path / name)
        assert import_chats(memory, tmp_path / name).notes == 0
    records: Any = memory.recent(100, kind="record")
    assert {one.text for one in records} == {"Likes tea", "Has a cat", '{"city": "Porto"}', "Always answer in French",
                                             "Works as a carpenter", "Plays the piano"}  # fmt: skip
    assert {(one.provenance, one.kind) for one in records} == {(Provenance.IMPORTED, Kind.FACT)}
    assert memory.status().guidance == 0 and memory.status().turns == 0
    assert next(one.at for one in records if one.text == "Likes tea").isoformat() == "2025-01-02T03:04:05+00:00"


@pytest.mark.requirement("SAFE-4")
def test_damage_is_reported_and_the_rest_comes_in(memory: Memory, tmp_path: Path) -> None:
    made = chatgpt(1, 3)
    whole = json.dumps(made.document[:3])
    broken = whole.replace("I like the", "I like \\ud83d the")
    (tmp_path / "a.json").write_text(broken)
    assert import_chats(memory, tmp_path / "a.json").skipped == 0  # half an emoji is repaired
    assert any("I like \ufffd the" in one[3] for one in stored(memory))
    (tmp_path / "b.json").write_text(json.dumps(chatgpt(2, 3).document[:3])[:-40])
    cut = import_chats(memory, tmp_path / "b.json")
    assert cut.skipped == 1 and "cut off; 2 of its objects" in cut.reasons[0] and cut.turns > 0
    (tmp_path / "c.json").write_text('[{"mapping": ' + '{"a":' * 100_000)
    assert "nested too deeply" in import_chats(memory, tmp_path / "c.json").reasons[0]
    for name, text in (("d.zip", b"PK\x03\x04 no zip"), ("e.bin", b"\x00\x01"), ("f.json", b"{}")):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(InputError):
            import_chats(memory, tmp_path / name)
    with pytest.raises(InputError, match="there is nothing"):
        import_chats(memory, tmp_path / "nowhere")
    odd = {"mapping": {"a": {"id": "a", "parent": "b", "message": 7}, "b": {"parent": "a"}, "c": None}, "id": 3}
    (tmp_path / "g.json").write_text(json.dumps([odd, {"mapping": 5}, 7, None, "x"]))
    assert import_chats(memory, tmp_path / "g.json").turns == 0


def test_an_interrupted_import_is_continued(memory: Memory, tmp_path: Path) -> None:
    made = chatgpt(3, 10)
    file = write_json(tmp_path / "conversations.json", made)

    def stop(done: int, total: int) -> None:
        if memory.status().sessions > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_chats(memory, file, progress=stop)
    assert 0 < len(stored(memory)) < len(made.lines)
    import_chats(memory, file)
    assert own_lines(memory) == Counter(made.lines)


def test_the_command_imports_and_says_what_it_knows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_STORE", str(tmp_path / "memory.db"))
    monkeypatch.setenv("HOLDFAST_NAMESPACE", "ana")
    made = Export()
    said = {"content_type": "text", "parts": ["I live in Lisbon and my daughter is called Ines."]}
    message = {"author": {"role": "user"}, "content": said, "create_time": 1_750_000_000.0}
    made.document.append({"id": "c", "mapping": {"n": {"id": "n", "parent": None, "message": message}}})
    file = str(write_json(tmp_path / "conversations.json", made))
    assert main(["import", file]) == 0
    out = capsys.readouterr().out
    assert "1 turn of 1 conversation" in out and "Ines" in out and len(out.splitlines()) <= 12
    assert main(["ingest", file]) == 0 and "1 known" in capsys.readouterr().out
    assert main(["import", file, "--from", "nonsense"]) == 2
    with Memory(tmp_path / "memory.db", "ana") as memory:
        (record,) = [one for one in memory.recent(9, kind="record") if "Ines" in one.text]  # type: ignore[union-attr]
        assert record.provenance is Provenance.USER_STATED  # type: ignore[union-attr]
        assert memory.recent(1)[0].origin is Origin.USER
    monkeypatch.delenv("HOLDFAST_NAMESPACE")
    capsys.readouterr()
    assert main(["import", file]) == 0
    out = capsys.readouterr().out
    assert " into me: 1 turn" in out and "holdfast init me" in out


@pytest.mark.slow
def test_a_large_export_is_stored_at_half_the_rate_of_ingest_many(tmp_path: Path) -> None:
    """And as a stream: `python -m holdfast_bench.imports --mb 500` takes no more memory than these 40 MB."""
    write_export(tmp_path / "conversations.json", 40_000_000)
    imported, ingested = compare(tmp_path / "conversations.json", tmp_path)
    assert (imported.turns > 20_000, ingested.turns) == (True, 6000)
    assert imported.rate >= ingested.rate / 2
    assert imported.grown_mb <= 200
