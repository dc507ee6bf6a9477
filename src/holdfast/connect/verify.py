"""Checks of a connection: the commands that were written into a host's files are started as the host starts them."""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import time

from holdfast.connect.hosts import Command
from holdfast.errors import InputError
from holdfast.serve.mcp.tools import VERSIONS

_WAIT_S = 60.0
_HELLO = {
    "protocolVersion": VERSIONS[-1],
    "capabilities": {},
    "clientInfo": {"name": "holdfast connect", "version": "1"},
}


def verify_server(command: Command) -> str:
    """Start the MCP server and list its tools; return what was seen, or raise InputError."""
    args = command.server["args"]
    assert isinstance(args, list)
    messages = (
        {"id": 0, "method": "initialize", "params": _HELLO},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
    )
    lines = "".join(json.dumps({"jsonrpc": "2.0", **one}) + "\n" for one in messages)
    began = time.monotonic()
    pipe = subprocess.PIPE
    try:
        with tempfile.TemporaryFile("w+") as said, subprocess.Popen(
            [str(command.server["command"]), *args], stdin=pipe, stdout=pipe, stderr=said, text=True,
            cwd=tempfile.gettempdir(),
        ) as server:  # fmt: skip
            assert server.stdin is not None and server.stdout is not None
            server.stdin.write(lines)
            server.stdin.flush()
            heard = [server.stdout.readline(), server.stdout.readline()]
            seconds = time.monotonic() - began
            server.terminate()
            server.communicate(timeout=_WAIT_S)
            said.seek(0)
            told = said.read().strip()[-500:]
        names = [str(tool["name"]) for tool in json.loads(heard[1])["result"]["tools"]]
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"the MCP server cannot be started: {error}") from error
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"the MCP server did not list its tools: {told}") from error
    return f"the MCP server lists {', '.join(names)} after {seconds:.1f} s"


def verify_hook(command: Command) -> str:
    """Run the hooks on a conversation without turns; return what was seen, or raise InputError."""
    event = {"session_id": "holdfast-connect", "transcript_path": "", "hook_event_name": "SessionStart"}
    began = time.monotonic()
    try:
        ended = subprocess.run(
            shlex.split(command.hook), input=json.dumps(event), capture_output=True, text=True, timeout=_WAIT_S,
            cwd=tempfile.gettempdir(), check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"the hook cannot be started: {error}") from error
    seconds = time.monotonic() - began
    if ended.returncode or ended.stderr or (ended.stdout and "hookSpecificOutput" not in ended.stdout):
        raise InputError(f"the hook does not answer: {(ended.stderr or ended.stdout).strip()[-500:]}")
    return f"the hooks answer in {seconds:.1f} s"
