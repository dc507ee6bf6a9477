"""Connecting and disconnecting hosts: what is shown, what is changed, and that nothing is left."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path

import pytest

from holdfast.cli import main
from holdfast.connect import hosts
from holdfast.connect.hosts import HOSTS, SERVER, HostCommand
from holdfast.errors import InputError
from tests.cli.command import Said

pytestmark = pytest.mark.requirement("CONN-2")

OLD = {
    ".claude/settings.json": '{"model": "opus",\n  "hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}',
    ".claude.json": '{\n  "numStartups": 3,\n  "mcpServers": {\n    "other": {\n      "command": "x"\n    }\n  }\n}',
    ".cursor/mcp.json": '{\n\t"mcpServers": {}\n}\n',
    ".codex/config.toml": 'model = "gpt"\n\n[mcp_servers.other]\ncommand = "x"  # mine\n',
}
FILES = {
    "claude-code": (".claude/settings.json", ".claude.json"),
    "cursor": (".cursor/mcp.json",),
    "codex": (".codex/config.toml",),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "data"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "HOLDFAST_NAMESPACE", "HOLDFAST_STORE"):
        monkeypatch.delenv(name, raising=False)
    return place


def command_of(home: Path) -> HostCommand:
    return HostCommand(("/opt/holdfast",), str(home / "data" / "memory.db"), "ana")


def contents(home: Path) -> dict[str, bytes]:
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def folders(home: Path) -> set[str]:
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_dir()}


@pytest.mark.parametrize("host", FILES)
@pytest.mark.parametrize("old", [True, False])
def test_a_connection_is_undone_without_a_trace(home: Path, host: str, old: bool) -> None:
    for name, text in OLD.items() if old else ():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)
    (home / "data").mkdir()
    before, folders_before = contents(home), folders(home)
    command = command_of(home)
    for namespace in ("bo", "ana", "ana"):
        newer = HostCommand(command.program, command.store, namespace)
        hosts.connect(host, hosts.plan_connect(host, newer), newer)
    for name in FILES[host]:
        text = (home / name).read_text()
        assert "/opt/holdfast" in text
    hosts.disconnect(host, hosts.plan_disconnect(host, command.store), command.store)
    assert contents(home) == before
    assert folders(home) == folders_before


def test_what_changed_since_is_kept(home: Path) -> None:
    command = command_of(home)
    hosts.connect("claude-code", hosts.plan_connect("claude-code", command), command)
    settings = json.loads((home / ".claude/settings.json").read_text())
    assert set(settings["hooks"]) == {"SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd"}
    settings["model"] = "opus"
    settings["permissions"]["allow"].append("Bash(ls:*)")
    (home / ".claude/settings.json").write_text(json.dumps(settings))
    state = json.loads((home / ".claude.json").read_text())
    assert state["mcpServers"][SERVER]["args"][:1] == ["mcp"]
    (home / ".claude.json").write_text(json.dumps({**state, "numStartups": 4}))
    hosts.disconnect("claude-code", hosts.plan_disconnect("claude-code", command.store), command.store)
    assert json.loads((home / ".claude/settings.json").read_text()) == {
        "model": "opus", "permissions": {"allow": ["Bash(ls:*)"]},
    }  # fmt: skip
    assert json.loads((home / ".claude.json").read_text()) == {"numStartups": 4}


def test_connecting_again_replaces_the_command(home: Path) -> None:
    command = command_of(home)
    for program in ("/opt/holdfast", "/usr/bin/holdfast"):
        newer = HostCommand((program,), command.store, "ana")
        for host in FILES:
            hosts.connect(host, hosts.plan_connect(host, newer), newer)
    settings = (home / ".claude/settings.json").read_text()
    assert "/opt/holdfast" not in settings and settings.count("hook claude-code") == 5
    servers = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]
    assert servers[SERVER]["command"] == "/usr/bin/holdfast"
    assert not any(change.needed for change in hosts.plan_connect("codex", newer))


@pytest.mark.parametrize(("host", "file"), [("claude-code", ".claude/settings.json"), ("codex", ".codex/config.toml")])
def test_a_file_that_cannot_be_read_stops_everything(home: Path, host: str, file: str) -> None:
    (home / file).parent.mkdir()
    (home / file).write_text('{"hooks": [}')
    with pytest.raises(InputError, match="nothing was changed"):
        hosts.plan_connect(host, command_of(home))
    assert contents(home) == {file: b'{"hooks": [}'}


def test_claude_desktop_has_a_file_where_it_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    (change,) = HOSTS["claude-desktop"](command_of(home))
    assert change.path == home / "Library/Application Support/Claude/claude_desktop_config.json"
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(InputError, match="macOS and Windows"):
        HOSTS["claude-desktop"](command_of(home))


@pytest.mark.slow
def test_the_command_shows_changes_verifies_and_undoes(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def holdfast(*args: str) -> Said:
        code = main(args)
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    store = str(home / "data" / "memory.db")
    shown = holdfast("connect", "claude-code", "--store", store, "--dry-run")
    assert "would be created" in shown.out and contents(home) == {}
    made = holdfast("connect", "claude-code", "--store", store, "--json").json
    assert (made["namespace"], made["connected"]) == ("me", True)
    assert "memory_search" in str(made["verified"]) and "hooks answer" in str(made["verified"])
    undone = holdfast("disconnect", "claude-code", "--store", store)
    assert "is disconnected" in undone.out
    assert {name for name in contents(home) if not name.startswith("data/memory.db")} == set()
    assert holdfast("connect", "no-such-host", "--store", store).code == 2


def test_a_plugin_is_a_folder(home: Path) -> None:
    for change in hosts.plugin_files(command_of(home), home / "plugin"):
        change.write()
    made = contents(home / "plugin")
    assert set(made) == {".claude-plugin/plugin.json", "hooks/hooks.json", ".mcp.json"}
    assert json.loads(made[".claude-plugin/plugin.json"])["name"] == "holdfast"
    assert len(json.loads(made["hooks/hooks.json"])["hooks"]) == 5
