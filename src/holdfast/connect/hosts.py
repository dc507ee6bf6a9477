"""Configuration of hosts: what `holdfast connect` changes in their files, and how `holdfast disconnect` undoes it.

A plan is made before anything is written. Every file is written whole and atomically. Undoing removes exactly what was
added; if the file has not changed since and that would not give back its old bytes, they are restored from a copy.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.connect.socket import hook_folder
from holdfast.errors import InputError
from holdfast.serve.mcp.tools import VERSIONS

SERVER = "holdfast"
"""Name of the MCP server in every host."""
_HOOKED = "hook claude-code"
"""Part of the command by which our hooks are known."""
_WAIT_S = 60.0
_EVENTS = {"SessionStart": 10, "UserPromptSubmit": 10, "Stop": 30, "PreCompact": 30, "SessionEnd": 30}
"""Hooks of Claude Code, with the seconds after which it gives one up."""
_ALLOWED = [f"mcp__{SERVER}__memory_search", f"mcp__{SERVER}__memory_recent"]
"""Tools that Claude Code may use without asking: those that only read."""


@dataclass(frozen=True)
class HostCommand:
    """How to start Holdfast for one memory."""

    program: tuple[str, ...]
    store: str
    namespace: str

    @property
    def memory(self) -> list[str]:
        return ["--store", self.store, "--namespace", self.namespace]

    @property
    def server(self) -> dict[str, object]:
        """The MCP server, as most hosts' files have it."""
        return {"command": self.program[0], "args": [*self.program[1:], "mcp", *self.memory]}

    @property
    def hook(self) -> str:
        return shlex.join([*self.program, *_HOOKED.split(), *self.memory])


def find_program() -> tuple[str, ...]:
    """Return the absolute command of this installation: programs with windows do not know a shell's PATH."""
    script = Path(sys.executable).with_name("holdfast.exe" if os.name == "nt" else "holdfast")
    return (str(script),) if script.is_file() else (sys.executable, "-m", "holdfast.cli")


@dataclass(frozen=True)
class FileChange:
    """One file of a host, before and after."""

    path: Path
    before: bytes | None
    """None if there is no file."""
    after: bytes | None
    about: tuple[str, ...]
    """What changes in it, for a person."""

    @property
    def needed(self) -> bool:
        return self.before != self.after

    def write(self) -> None:
        if self.after is None:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(f".{self.path.name}.holdfast")
        part.write_bytes(self.after)
        if self.path.exists():
            part.chmod(self.path.stat().st_mode & 0o777)
        os.replace(part, self.path.resolve())


# --- documents of hosts

Edit = Callable[[dict[str, Any]], None]


def _edited(path: Path, edit: Edit, about: tuple[str, ...]) -> FileChange:
    """Change a JSON file, keeping its indentation; a file that holds nothing afterwards is removed."""
    before = _read(path)
    text = "" if before is None else before.decode("utf-8")
    try:
        document = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise InputError(f"{path} is not valid JSON ({error}); repair it first, nothing was changed") from error
    if not isinstance(document, dict):
        raise InputError(f"{path} holds no JSON object; repair it first, nothing was changed")
    known = json.dumps(document)
    edit(document)
    if json.dumps(document) == known:
        return FileChange(path, before, before, about)
    if not document:
        return FileChange(path, before, None, about)
    indent = re.search(r"\n([ \t]+)\S", text)
    made = json.dumps(document, indent=indent[1] if indent else 2, ensure_ascii=False)
    end = "\n" if not text or text.endswith("\n") else ""
    return FileChange(path, before, (made + end).encode(), about)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}; nothing was changed") from error


def _add_server(server: Mapping[str, object]) -> Edit:
    return lambda document: document.setdefault("mcpServers", {}).__setitem__(SERVER, dict(server))


def _remove_server(document: dict[str, Any]) -> None:
    _discard(document, "mcpServers", SERVER)


def _discard(document: dict[str, Any], part: str, name: str) -> None:
    """Remove a name from a part of the document, and the part with its last name."""
    inner = document.get(part)
    if isinstance(inner, dict) and name in inner:
        del inner[name]
        if not inner:
            del document[part]


# --- Claude Code


def claude_folder() -> Path:
    """Return CLAUDE_CONFIG_DIR, or ~/.claude."""
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(named) if named else Path.home() / ".claude"


def _claude_state() -> Path:
    """Return the file in which Claude Code keeps its servers: next to the folder, or in it if it was named."""
    return claude_folder() / ".claude.json" if os.environ.get("CLAUDE_CONFIG_DIR") else Path.home() / ".claude.json"


def claude_hooks(command: HostCommand) -> dict[str, list[dict[str, object]]]:
    """Return the hooks as settings.json and a plugin's hooks.json have them."""
    return {
        event: [{"hooks": [{"type": "command", "command": command.hook, "timeout": seconds}]}]
        for event, seconds in _EVENTS.items()
    }


def _claude_code(command: HostCommand | None) -> list[FileChange]:
    def edit(document: dict[str, Any]) -> None:
        hooks = document.get("hooks", {})
        for event in list(hooks):
            hooks[event] = [one for one in hooks[event] if _HOOKED not in json.dumps(one)]
            if not hooks[event]:
                del hooks[event]
        allowed = [one for one in document.get("permissions", {}).get("allow", ()) if one not in _ALLOWED]
        if command is not None:
            for event, ours in claude_hooks(command).items():
                hooks.setdefault(event, []).extend(ours)
            document["hooks"] = hooks
            document.setdefault("permissions", {})["allow"] = [*allowed, *_ALLOWED]
            return
        if "hooks" in document and not hooks:
            del document["hooks"]
        if "allow" in document.get("permissions", {}):
            document["permissions"]["allow"] = allowed
            if not allowed:
                _discard(document, "permissions", "allow")

    server = _remove_server if command is None else _add_server({"type": "stdio", **command.server, "env": {}})
    about = (f"hooks: {', '.join(_EVENTS)}", f"permissions: {', '.join(_ALLOWED)}")
    return [
        _edited(claude_folder() / "settings.json", edit, about),
        _edited(_claude_state(), server, (f"MCP server {SERVER!r}",)),
    ]


def plugin_files(command: HostCommand, folder: Path) -> list[FileChange]:
    """Return the files of a plugin for Claude Code (`claude --plugin-dir FOLDER`)."""
    from holdfast.version import __version__

    about = {"name": SERVER, "description": "Long-term memory for Claude Code.", "version": __version__}
    documents: dict[str, Mapping[str, object]] = {
        ".claude-plugin/plugin.json": about,
        "hooks/hooks.json": {"hooks": claude_hooks(command)},
        ".mcp.json": {"mcpServers": {SERVER: command.server}},
    }
    return [
        FileChange(folder / name, _read(folder / name), (json.dumps(one, indent=2) + "\n").encode(), ("new file",))
        for name, one in documents.items()
    ]


# --- hosts with a file of MCP servers


def _desktop_file() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    if os.name == "nt":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "Claude" / (
            "claude_desktop_config.json"
        )  # fmt: skip
    raise InputError("Claude Desktop runs on macOS and Windows; on this system use claude-code, cursor or codex")


def _with_servers(path: Callable[[], Path]) -> Callable[[HostCommand | None], list[FileChange]]:
    def plan(command: HostCommand | None) -> list[FileChange]:
        edit = _remove_server if command is None else _add_server(command.server)
        return [_edited(path(), edit, (f"MCP server {SERVER!r}",))]

    return plan


_CODEX_TABLE = re.compile(rf"\n?^\[mcp_servers\.{SERVER}(?:\.[^\]\n]*)?\]\n(?:(?!\[).*(?:\n|\Z))*", re.MULTILINE)


def _codex(command: HostCommand | None) -> list[FileChange]:
    path = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"
    before = _read(path)
    text = "" if before is None else before.decode("utf-8")
    after = _CODEX_TABLE.sub("", text)
    if command is not None:
        server = command.server
        table = (
            f"[mcp_servers.{SERVER}]\ncommand = {json.dumps(server['command'])}\nargs = {json.dumps(server['args'])}\n"
        )
        after = f"{after}{'' if not after or after.endswith(chr(10)) else chr(10)}{chr(10) if after else ''}{table}"
    try:
        tomllib.loads(after)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML ({error}); repair it first, nothing was changed") from error
    made = after.encode() if after or (before is not None and text == after) else None
    return [FileChange(path, before, made, (f"MCP server {SERVER!r}",))]


HOSTS: Mapping[str, Callable[[HostCommand | None], list[FileChange]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _with_servers(_desktop_file),
    "cursor": _with_servers(lambda: Path.home() / ".cursor" / "mcp.json"),
    "codex": _codex,
}
"""By name: the changes that connect it, or with None those that disconnect it."""


# --- connecting and disconnecting


def plan_connect(host: str, command: HostCommand) -> list[FileChange]:
    """Return the changes that connect a host; none of them needed if it is connected already."""
    return HOSTS[host](command)


def connect(host: str, changes: list[FileChange], command: HostCommand) -> None:
    """Write the changes, and a copy of what cannot be undone exactly by removing what was added."""
    known = _kept(host, command.store)
    kept: dict[str, dict[str, str | None]] = {}
    for change in changes:
        entry = known.get(str(change.path))
        if entry is None or entry["after"] != _digest(change.before):  # else it is connected, perhaps otherwise
            copy = None if change.before is None else base64.b64encode(change.before).decode()
            entry = {"before": copy, "made_folder": None if change.path.parent.exists() else "yes"}
        kept[str(change.path)] = {**entry, "after": _digest(change.after)}
        if change.needed:
            change.write()
    for undo in HOSTS[host](None):
        entry = kept[str(undo.path)]
        if entry["before"] and undo.after == base64.b64decode(entry["before"]):
            entry["before"] = None  # no need for a copy of the user's file
    note = _note(host, command.store)
    note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(kept, file)


def plan_disconnect(host: str, store: str) -> list[FileChange]:
    """Return the changes that undo a connection."""
    kept = _kept(host, store)
    changes = []
    for change in HOSTS[host](None):
        copy = kept.get(str(change.path), {})
        if copy.get("before") and copy.get("after") == _digest(change.before):
            change = FileChange(change.path, change.before, base64.b64decode(copy["before"] or ""), change.about)
        changes.append(change)
    return changes


def disconnect(host: str, changes: list[FileChange], store: str) -> None:
    """Undo the changes and remove what hooks left next to the store; the store itself stays."""
    kept = _kept(host, store)
    for change in changes:
        if change.needed:
            change.write()
        if kept.get(str(change.path), {}).get("made_folder") and not any(change.path.parent.iterdir()):
            change.path.parent.rmdir()
    _note(host, store).unlink(missing_ok=True)
    folder = Path(hook_folder(store))
    if host == "claude-code" and folder.is_dir():
        for path in folder.iterdir():
            if path.suffix in (".offset", ".new", ".log"):
                path.unlink(missing_ok=True)
    for empty in (folder, _note(host, store).parent):
        if empty.is_dir() and {path.name for path in empty.iterdir()} <= {"token"}:
            (empty / "token").unlink(missing_ok=True)
            empty.rmdir()


def _kept(host: str, store: str) -> dict[str, dict[str, str | None]]:
    note = _note(host, store)
    return json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}


def _digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def _note(host: str, store: str) -> Path:
    """Return the file that keeps what a connection replaced."""
    if "://" in store:
        from platformdirs import user_data_path

        return user_data_path("holdfast", appauthor=False) / "connections" / f"{host}.json"
    return Path(store).absolute().parent / "connections" / f"{host}.json"


# --- verifying


def verify(command: HostCommand, hooks: bool) -> list[str]:
    """Start what was written into the files as the host does; return what was seen, or raise InputError."""
    hello = {"protocolVersion": VERSIONS[-1], "capabilities": {}, "clientInfo": {"name": "holdfast", "version": "1"}}
    messages = ({"id": 0, "method": "initialize", "params": hello}, {"id": 1, "method": "tools/list"})
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)
    server = [*command.program, "mcp", *command.memory]
    out, seconds = _run(server, lines)
    try:
        names = [str(tool["name"]) for tool in json.loads(out.splitlines()[-1])["result"]["tools"]]
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"the MCP server does not list its tools; try `{shlex.join(server)}`") from error
    seen = [f"the MCP server lists {', '.join(names)} ({seconds:.1f} s)"]
    if hooks:
        out, seconds = _run(shlex.split(command.hook), json.dumps({"hook_event_name": "SessionStart"}))
        if out and "hookSpecificOutput" not in out:
            raise InputError(f"the hook does not answer; try `{command.hook}`")
        seen.append(f"the hooks answer ({seconds:.1f} s)")
    return seen


def _run(command: list[str], given: str) -> tuple[str, float]:
    began = time.monotonic()
    try:
        ended = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=_WAIT_S, cwd=tempfile.gettempdir(), check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{command[0]} does not run: {error}") from error
    return ended.stdout, time.monotonic() - began
