"""From a request to an answer: whose memory it is, a thread to work in, and every error told with what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

import anyio
import anyio.to_thread
from mcp.server import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent
from starlette.requests import Request

from holdfast.context.escape import encode
from holdfast.errors import NotFound
from holdfast.memory import Memory
from holdfast.serve.errors import Fault, fault_of
from holdfast.serve.http.auth import is_confined, namespace_of
from holdfast.serve.mcp.text import Telling
from holdfast.serve.memories import Memories
from holdfast.serve.verbs import CallContext, ConcurrencyLimits, Danger, Verb, call_verb
from holdfast.text.jsonio import plain

Context = ServerRequestContext[dict[str, object], object]
_Given = TypeVar("_Given")


class Calls:
    """Runs verbs and readings beside the loop: a store waits for disks, and other requests must not wait with it."""

    def __init__(self, memories: Memories, rules: tuple[str, ...]) -> None:
        self._memories = memories
        self._around = CallContext(rules, memories.bound, memories.places)
        self._telling = Telling(memories.settings)
        self._pace = ConcurrencyLimits.of(memories.settings.serve, anyio.CapacityLimiter)

    async def call(self, context: Context, verb: Verb, payload: Mapping[str, object]) -> CallToolResult:
        """A tool's result. What goes wrong is a result too: the model reads what to do about it."""

        def work() -> CallToolResult:
            try:
                confined, reads = _is_confined(context), verb.danger is Danger.READS
                around = replace(self._around, confined=True) if confined else self._around
                with self._memories.lend(_whose(context), reads=reads, confined=confined) as memory:
                    given = call_verb(verb, memory, payload, around)
                said = TextContent(text=self._telling.tell(given))
                return CallToolResult(content=[said], structured_content=plain(given))
            except Exception as error:  # whatever it is: fault_of logs what nobody expected
                return CallToolResult(content=[TextContent(text=_told(fault_of(error)))], is_error=True)

        return await self._beside(work, self._pace.for_verb(verb))

    async def read(self, context: Context, reading: Callable[[Memory, Telling], _Given]) -> _Given:
        """Something read out of the memory, for resources and prompts; errors are the protocol's."""

        def work() -> _Given:
            try:
                with self._memories.lend(_whose(context), reads=True, confined=_is_confined(context)) as memory:
                    return reading(memory, self._telling)
            except MCPError:
                raise
            except Exception as error:
                fault = fault_of(error)
                code = INVALID_PARAMS if isinstance(error, NotFound) else fault.code
                raise MCPError(code, _told(fault), {"type": fault.type}) from None

        return await self._beside(work, self._pace.reads)

    async def _beside(self, work: Callable[[], _Given], limiter: anyio.CapacityLimiter) -> _Given:
        """A caller who no longer waits lets the work come to its end: a turn that is being written is written."""
        return await anyio.to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)


def _whose(context: Context) -> str | None:
    """What the request's header says; stdio has none, and one namespace."""
    return namespace_of(context.request.scope) if isinstance(context.request, Request) else None


def _is_confined(context: Context) -> bool:
    """Whether the credential opens one memory alone; on stdio that is the server's own matter."""
    return isinstance(context.request, Request) and is_confined(context.request.scope)


def _told(fault: Fault) -> str:
    """`NotFound: there is no … What to do: …`; a message may quote what was given, so it is escaped."""
    return f"{fault.type}: {encode(fault.message)}\nWhat to do: {fault.advice}"
