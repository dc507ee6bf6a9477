"""Claude Code itself, connected by `holdfast connect`, before a scripted endpoint on loopback.

    python tests/conformance/run_claude_code.py [FOLDER]

The CLI comes from npm and its agent SDK from PyPI, both into FOLDER (build/claude-code). Nothing leaves the machine
afterwards: ANTHROPIC_BASE_URL names the endpoint below, which records every request and answers from a script. Three
sessions are run in a home of their own: one that tells something, one that asks for it (the script calls
`memory_search`), and one with the plugin folder instead of the settings.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from holdfast.importers import claude_code
from holdfast.importers.run import import_chats
from holdfast.memory import Memory

CLI, SDK = "@anthropic-ai/claude-code", "claude-agent-sdk"
TOLD = "I moved to Lisbon in May, and my cat is called Miso."
ASKED = "Please look up what my cat is called."
TOOLS = ["mcp__holdfast__memory_forget", "mcp__holdfast__memory_recent", "mcp__holdfast__memory_remember",
         "mcp__holdfast__memory_search"]  # fmt: skip
WAIT_S = 180


class Endpoint(ThreadingHTTPServer):
    """Answers /v1/messages: a search of the memory if it is asked for one, else a sentence."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, Any]] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing about a connection that the CLI dropped."""

    def script(self, body: dict[str, Any]) -> dict[str, Any]:
        said = json.dumps(body["messages"])
        search = next((tool["name"] for tool in body.get("tools", ()) if tool["name"].endswith("memory_search")), None)
        if ASKED in said and search and "tool_result" not in said:
            return {"type": "tool_use", "id": "toolu_1", "name": search, "input": {"query": "name of my cat"}}
        return {"type": "text", "text": "All right."}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(b"{}", "application/json")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "messages" not in self.path or "count_tokens" in self.path:
            self._send(b'{"input_tokens": 10}', "application/json")
            return
        self.server.requests.append(body)
        self._send(b"".join(_events(self.server.script(body), str(body.get("model")))), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _events(block: dict[str, Any], model: str) -> Iterator[bytes]:
    called = block["type"] == "tool_use"
    usage = {"input_tokens": 9, "output_tokens": 1}
    message = {
        "id": f"msg_{time.monotonic_ns()}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "usage": usage,
    }
    begun = {**block, "input": {}} if called else {"type": "text", "text": ""}
    delta = (
        {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        if called
        else {"type": "text_delta", "text": block["text"]}
    )
    for kind, data in (
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": begun}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None},
                           "usage": {"output_tokens": 5}}),
        ("message_stop", {}),
    ):  # fmt: skip
        yield f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


class Trial:
    """A home of its own with the CLI, an endpoint and a count of what failed."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.endpoint = Endpoint()
        self.claude = str(folder / "node_modules" / ".bin" / "claude")
        self.home, self.failed = home, 0
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("HOLDFAST_", "CLAUDE", "ANTHR"))
        }
        self.around = kept | {
            "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "ANTHROPIC_BASE_URL": self.endpoint.url,
            "ANTHROPIC_API_KEY": "sk-ant-scripted", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }  # fmt: skip
        (home / "project").mkdir(parents=True)

    def run(self, *command: str) -> str:
        ended = subprocess.run(command, cwd=self.home / "project", env=self.around, capture_output=True, text=True,
                               timeout=WAIT_S, stdin=subprocess.DEVNULL)  # fmt: skip
        if ended.returncode:
            print(f"  {' '.join(command)[:100]} ended with {ended.returncode}: {ended.stderr[-500:]}")
        return ended.stdout

    def holdfast(self, *args: str) -> str:
        return self.run(sys.executable, "-m", "holdfast.cli", *args)

    def say(self, prompt: str, *options: str) -> list[dict[str, Any]]:
        """Run one session; the requests it made."""
        before = len(self.endpoint.requests)
        self.run(self.claude, "-p", prompt, *options)
        return self.endpoint.requests[before:]

    def check(self, what: str, holds: bool, seen: object = "") -> None:
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else f': {seen!r:.600}'}")


def tools_of(request: dict[str, Any]) -> list[str]:
    return [str(tool["name"]) for tool in request.get("tools", ()) if "holdfast" in tool["name"]]


def main(folder: Path) -> int:
    install(folder)
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(folder, Path(place) / "home")
        print(trial.run(trial.claude, "--version").strip())
        began = time.monotonic()
        connect(trial)
        told = trial.say(TOLD)
        remember(trial, told)
        print(f"     from `holdfast connect` to the end of the first session: {time.monotonic() - began:.0f} s")
        ask(trial)
        compare(trial, folder)
        plugin(trial)
        disconnect(trial)
        return trial.failed


def install(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules" / ".bin" / "claude").exists():
        subprocess.run(
            ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent", CLI], check=True
        )
        subprocess.run(["node", "install.cjs"], cwd=folder / "node_modules" / CLI, check=False)
    if not (folder / "sdk" / "claude_agent_sdk").exists():
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder / "sdk"), SDK], check=True
        )


def connect(trial: Trial) -> None:
    (trial.home / ".claude").mkdir()
    (trial.home / ".claude" / "settings.json").write_text('{"model": "sonnet"}')
    made = json.loads(trial.holdfast("connect", "claude-code", "--json"))
    trial.check("connect changes two files and verifies them", len(made["files"]) == len(made["verified"]) == 2, made)
    for line in made["verified"]:
        print(f"     {line}")
    listed = trial.run(trial.claude, "mcp", "list")
    trial.check("Claude Code connects to the server", "Connected" in listed, listed)


def remember(trial: Trial, requests: list[dict[str, Any]]) -> None:
    trial.check("its first request has the four tools", sorted(tools_of(requests[0])) == TOOLS, tools_of(requests[0]))
    with memory_of(trial) as memory:
        kept = [(turn.role.value, turn.origin.value, turn.text) for turn in memory.recent(10)]
    wanted = {("user", "user", TOLD), ("assistant", "assistant", "All right.")}
    trial.check("the turn is kept, as what the user said", wanted <= set(kept), kept)


def ask(trial: Trial) -> None:
    requests = trial.say(ASKED)
    first = json.dumps(requests[0]["messages"], ensure_ascii=False)
    trial.check(
        "the first request of the next session has the memory", TOLD in first and "not instructions" in first, first
    )
    trial.check("… and the four tools", sorted(tools_of(requests[0])) == TOOLS, tools_of(requests[0]))
    found = json.dumps([_result(one) for one in requests[-1]["messages"]], ensure_ascii=False)
    framed = "History, not instructions" in found and "Miso" in found and "structuredContent" not in found
    trial.check("the model sees the framed text of memory_search", framed and '"hits"' not in found, found)
    with memory_of(trial) as memory:
        kept = [turn.text for turn in memory.recent(10)]
    again = [text for text in kept if "History, not" in text]
    trial.check("what the memory answered is not kept again", ASKED in kept and not again, kept)


def _result(message: dict[str, Any]) -> list[Any]:
    content = message["content"] if isinstance(message["content"], list) else []
    return [one.get("content") for one in content if one.get("type") == "tool_result"]


def memory_of(trial: Trial) -> Memory:
    return Memory(trial.home / "data" / "holdfast" / "memory.db", "me", embedder="none")


def compare(trial: Trial, folder: Path) -> None:
    """The importer and the SDK's own reader agree on every transcript."""
    code = (
        "import json, claude_agent_sdk as s; "
        "print(json.dumps({one.session_id: [m.uuid for m in s.get_session_messages(one.session_id)] "
        "for one in s.list_sessions()}))"
    )
    around = {**trial.around, "PYTHONPATH": str(folder / "sdk")}
    read = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, timeout=WAIT_S)
    theirs = json.loads(read.stdout) if read.returncode == 0 else {}
    with tempfile.TemporaryDirectory() as place, Memory(Path(place) / "m.db", "me", embedder="none") as memory:
        claude_code.RECALLED = "\0"  # the SDK's reader gives what the memory answered, too
        import_chats(memory, trial.home / ".claude" / "projects")
        ours = {
            name: list(dict.fromkeys(str(turn.key).partition("#")[0] for turn in memory.thread(f"claude-code:{name}")))
            for name in theirs
        }
    trial.check(
        f"the importer reads {len(ours)} transcripts as the SDK does", bool(ours) and ours == theirs, (ours, theirs)
    )


def plugin(trial: Trial) -> None:
    folder = str(trial.home / "plugin")
    trial.holdfast("connect", "claude-code", "--plugin", folder, "--namespace", "other")
    said = trial.run(trial.claude, "plugin", "validate", folder)
    trial.check("Claude Code accepts the plugin folder", "passed" in said.lower(), said)


def disconnect(trial: Trial) -> None:
    trial.holdfast("disconnect", "claude-code")
    settings = json.loads((trial.home / ".claude" / "settings.json").read_text())
    state = (trial.home / ".claude.json").read_text()
    trial.check("disconnect restores the settings", settings == {"model": "sonnet"}, settings)
    trial.check("… and leaves no trace in Claude Code's own file", "holdfast" not in state.lower(), state)
    left = {path.name for path in (trial.home / "data" / "holdfast").iterdir()}
    trial.check(
        "… and only the store in the data folder", left <= {"memory.db", "memory.db-lock", "memory.db-work"}, left
    )


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build" / "claude-code"))
