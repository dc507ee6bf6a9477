"""Early answers of `holdfast mcp`: what a client asks first is answered while everything else is still being loaded.

One thread owns stdin for the life of the process. Until the server is attached it answers `initialize`, `ping` and
`tools/list` itself; every other line waits for the server. The server is given the `initialize` that was answered, so
that it knows its client, and its response to it is dropped (transports.py).
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator

from holdfast.serve.mcp.tools import initialize_result, model_tools
from holdfast.text.jsonio import encode

END = object()
"""The last of the lines."""
_CHUNK = 1 << 16
_LEAVE_S = 0.05  # in which a host that only looked has closed stdin
_WAITING = 64  # lines that are held until the server takes them


class EarlyReader:
    """Reads the lines of a client on stdin and answers the first ones."""

    def __init__(self, max_bytes: int, *, early: bool = True) -> None:
        self.target = 1
        self._source = 0
        self._max_bytes = max_bytes
        self._lines: queue.Queue[object] = queue.Queue(_WAITING)
        self._lock = threading.Lock()
        self._attached = not early
        self._greeted = False
        self._begun = threading.Event()
        if not early:
            self._begun.set()
        self._wanted = False
        self._ended = threading.Event()
        self.answered: set[object] = set()
        """Ids of requests that the server is given although they have been answered."""

    def start(self, source: int | None = None, target: int | None = None) -> None:
        """Take these file descriptors, or stdin and stdout, and answer in a thread of its own."""
        self._source, self.target = _take_stdio() if source is None or target is None else (source, target)
        # A daemon: a read of stdin cannot be woken, and must not keep the process alive.
        threading.Thread(target=self._read, name="holdfast-stdin", daemon=True).start()

    def wait(self, timeout: float) -> None:
        """Wait until the tools are listed, or the client wants something else, or leaves."""
        self._begun.wait(timeout)

    def unused(self) -> bool:
        """Return whether the client left without wanting more than an early answer."""
        return self._ended.wait(_LEAVE_S) and not self._wanted

    def attach(self) -> None:
        """Pass every further line to `next`: the server answers from now on."""
        with self._lock:
            self._attached = True

    def next(self) -> object:
        """Return the next line for the server; None for one that is too long, END after the last."""
        return self._lines.get()

    def _read(self) -> None:
        try:
            for line in read_lines(self._chunk, self._max_bytes):
                with self._lock:
                    passed = self._attached or line is None or self._answer(line)
                    self._wanted = self._wanted or (passed and self._begun.is_set())
                if passed:
                    self._lines.put(line)
        finally:
            self._begun.set()
            self._lines.put(END)
            self._ended.set()

    def _chunk(self, size: int) -> bytes:
        try:
            return os.read(self._source, size)
        except OSError:  # the same as an end
            return b""

    def _answer(self, line: bytes) -> bool:
        """Answer a line if that needs no memory; return whether the server needs it."""
        try:
            message = json.loads(line)
            method, request = message["method"], message.get("id")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._begun.set()
            return True
        if method == "initialize" and isinstance(request, str | int):
            params = message.get("params")
            if not isinstance(params, dict) or not {"protocolVersion", "capabilities", "clientInfo"} <= params.keys():
                return True
            self._greeted = True
            self.answered.add(request)
            self._write(request, initialize_result(params["protocolVersion"]))
            return True
        if request is None:
            return True
        if self._greeted and method == "ping":
            self._write(request, {})
            return False
        early = self._greeted and method == "tools/list"
        if early:
            self._write(request, {"tools": model_tools()})
        self._begun.set()
        return not early

    def _write(self, request: object, result: dict[str, object]) -> None:
        try:
            write_bytes(self.target, encode({"jsonrpc": "2.0", "id": request, "result": result}))
        except OSError:  # the client left
            self._begun.set()


def write_bytes(target: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(target, rest) :]


def _take_stdio() -> tuple[int, int]:
    """Reserve stdin and stdout for messages: other output goes to stderr, and other readers find the end."""
    sys.stdout.flush()
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target


def read_lines(read: Callable[[int], bytes], max_bytes: int) -> Iterator[bytes | None]:
    """Yield lines without their ends, skipping blank ones; None for a line that is too long, which is never held.

    `read(n)` returns up to n bytes, and nothing at the end. A last line without an end counts too.
    """
    buffer, skipping = bytearray(), False
    while chunk := read(_CHUNK):
        searched = len(buffer)
        buffer += chunk
        start = 0
        while (end := buffer.find(b"\n", max(searched, start))) >= 0:
            line = bytes(buffer[start:end])
            start = end + 1
            if skipping or len(line) > max_bytes:
                skipping = False
                yield None
            elif line.strip():
                yield line
        del buffer[:start]
        if len(buffer) > max_bytes:
            buffer.clear()
            skipping = True
    if skipping:
        yield None
    elif buffer.strip():
        yield bytes(buffer)
