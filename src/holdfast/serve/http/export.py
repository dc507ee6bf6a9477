"""`GET /v1/export`: the log of a namespace as JSON lines, sent while it is read, however long it is."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import BinaryIO, cast

import anyio
from anyio import CapacityLimiter, from_thread, to_thread
from anyio.streams.memory import MemoryObjectSendStream
from starlette.types import Receive, Scope, Send

from holdfast.serve.errors import fault_of
from holdfast.serve.http.auth import is_confined, namespace_of, problem
from holdfast.serve.memories import Memories

_log = logging.getLogger("holdfast")

_PIECE = 1 << 16  # bytes
LINES = "application/x-ndjson"


@dataclass(frozen=True)
class Export:
    """An ASGI app. A stream that breaks off lacks the last line, by which an import tells it from a whole one."""

    memories: Memories
    limiter: CapacityLimiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            named = namespace_of(scope)
            await to_thread.run_sync(self._check, named, is_confined(scope), limiter=self.limiter)
        except Exception as error:
            await problem(fault_of(error))(scope, receive, send)
            return
        headers = [(b"content-type", LINES.encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        if scope["method"] == "HEAD" or await self._sent(named, receive, send):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _sent(self, named: str | None, receive: Receive, send: Send) -> bool:
        """Whether all of it was; if not, the response is left without an end, and the connection is closed."""
        writer, reader = anyio.create_memory_object_stream[bytes](1)
        whole = False

        async def produce() -> None:
            nonlocal whole
            async with writer:
                try:
                    await to_thread.run_sync(self._write, named, writer, limiter=self.limiter)
                    whole = True
                except anyio.BrokenResourceError:
                    _log.info("an export was left by its reader")
                except Exception as error:
                    fault_of(error)  # it tells the log

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group, reader:
            group.start_soon(produce)
            group.start_soon(watch)
            async for piece in reader:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            group.cancel_scope.cancel()
        return whole

    def _check(self, named: str | None, confined: bool) -> None:
        with self.memories.lend(named, reads=True, confined=confined):
            pass

    def _write(self, named: str | None, writer: MemoryObjectSendStream[bytes]) -> None:
        with self.memories.lend(named, reads=True) as memory:
            memory.export(cast("BinaryIO", _Sending(writer)))


class _Sending:
    """A file that is sent piece by piece; it is written from a thread, which waits when the reader is slow."""

    def __init__(self, writer: MemoryObjectSendStream[bytes]) -> None:
        self._writer = writer
        self._held = bytearray()

    def write(self, data: bytes) -> int:
        self._held += data
        if len(self._held) >= _PIECE:
            self.flush()
        return len(data)

    def flush(self) -> None:
        from_thread.run(self._writer.send, bytes(self._held))
        self._held.clear()
