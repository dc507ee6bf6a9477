"""The MCP server before other people's tools: the inspector's command line and the conformance suite.

    python tests/conformance/run_conformance.py [FOLDER]

The npm packages are installed into FOLDER (build/conformance), with a Node of their own, for they need a newer one than
most systems have. The inspector speaks with `holdfast mcp` and with `holdfast serve`, as it comes; the suite cannot
send a token, so the same app, guard included, adds it to its requests.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.serve.http.app import create_app
from holdfast.serve.http.auth import addresses_of
from holdfast.serve.mcp.tools import FOR_MODELS, Offer
from holdfast.serve.memories import Memories
from holdfast.serve.process import ServeLimits
from holdfast.serve.run_http import make_server
from holdfast.settings import tuned

ROOT = Path(__file__).parents[2]
EXPECTED = Path(__file__).parent / "expected_failures.yml"
TOKEN = "a-token-for-the-conformance-suite-and-nothing-else"
INSPECTOR, SUITE = "@modelcontextprotocol/inspector", "@modelcontextprotocol/conformance"
WAIT_S = 120


def main(folder: Path) -> int:
    bin_folder = install(folder)
    around = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    for package in (INSPECTOR, SUITE):
        found = json.loads((folder / "node_modules" / package / "package.json").read_text())
        print(f"{package} {found['version']}")
    with tempfile.TemporaryDirectory() as place:
        failed = inspect_stdio(Path(place), around) + inspect_http(Path(place), around)
        return failed + run_suite(Path(place), around)


def install(folder: Path) -> Path:
    """In two steps: npm takes the newest packages only under the Node that they need."""
    bin_folder = folder / "node_modules" / ".bin"
    folder.mkdir(parents=True, exist_ok=True)
    quietly = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent"]
    around = {**os.environ, "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    if not (bin_folder / "node").exists():
        subprocess.run([*quietly, "node"], check=True)
    if not (bin_folder / "conformance").exists():
        subprocess.run([*quietly, f"{INSPECTOR}@latest", f"{SUITE}@latest"], check=True, env=around)
    return bin_folder


# --- the inspector


def inspect_stdio(place: Path, around: Mapping[str, str]) -> int:
    command = [sys.executable, "-m", "holdfast.cli", "mcp", "--store", str(place / "stdio.db"), "--namespace", "ana",
               "--embedder", "none"]  # fmt: skip
    return _inspect("stdio", command, around)


def inspect_http(place: Path, around: Mapping[str, str]) -> int:
    token_file = place / "secret" / "token"
    command = [sys.executable, "-m", "holdfast.cli", "serve", "--store", str(place / "http.db"), "--namespace", "ana",
               "--embedder", "none", "--port", "0"]  # fmt: skip
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**around, "HOLDFAST_TOKEN_FILE": str(token_file)}
    ) as serving:
        assert serving.stdout is not None
        try:
            url = next(word for word in serving.stdout.readline().split() if word.startswith("http://"))
            header = ["--header", f"Authorization: Bearer {token_file.read_text().strip()}"]
            return _inspect("HTTP", [f"{url}/mcp", "--transport", "http", *header], around)
        finally:
            serving.terminate()


def _inspect(way: str, target: list[str], around: Mapping[str, str]) -> int:
    """List the tools, strictly, and call one; how many of these went wrong."""
    listed = _ask(["--method", "tools/list", "--strict"], target, around)
    names = [tool["name"] for tool in json.loads(listed.stdout or "{}").get("tools", [])]
    told = listed.returncode == 0 and names == [f"memory_{name}" for name in FOR_MODELS]
    print(f"inspector, {way}: tools/list --strict {'ok' if told else 'FAILED'}{listed.stderr if not told else ''}")
    asked = ["--method", "tools/call", "--tool-name", "memory_remember", "--tool-arg", "text=The bell is brass"]
    called = _ask(asked, target, around)
    kept = "Stored as" in called.stdout and called.returncode == 0
    print(f"inspector, {way}: tools/call {'ok' if kept else 'FAILED'}{called.stderr if not kept else ''}")
    return 2 - told - kept


def _ask(what: list[str], target: list[str], around: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    by_url = target[0].startswith("http://")
    what = ["--connect-timeout", str(WAIT_S * 1000), *what]
    command = ["mcp-inspector", "--cli", *(target + what if by_url else [*what, "--", *target])]
    return subprocess.run(command, capture_output=True, text=True, env=around, timeout=WAIT_S, check=False)


# --- the suite


def run_suite(place: Path, around: Mapping[str, str]) -> int:
    with served(place) as url:
        command = ["conformance", "server", "--url", url, "--suite", "all", "--expected-failures", str(EXPECTED)]
        ran = subprocess.run(command, capture_output=True, text=True, env=around, cwd=place, timeout=600, check=False)
    print(ran.stdout[ran.stdout.find("=== SUMMARY") :].strip() if "=== SUMMARY" in ran.stdout else ran.stdout)
    return ran.returncode


@contextmanager
def served(place: Path) -> Iterator[str]:
    memories = Memories(place / "suite.db", "ana", embedder="none")
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = _with_token(create_app(memories, TOKEN, addresses_of("127.0.0.1", port), offer=Offer(all_tools=True)))
    started = threading.Event()
    server = make_server(app, tuned(memories.settings, ServeLimits), started.set)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        started.wait(WAIT_S)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join()
        memories.close()
        listening.close()


def _with_token(app: ASGIApp) -> ASGIApp:
    async def shown(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await app(scope, receive, send)

    return shown


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "conformance"))
