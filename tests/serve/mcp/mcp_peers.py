"""Helpers of the MCP tests: the SDK's client in process, over pipes or over HTTP."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent, TextResourceContents

from holdfast.serve.mcp.server import mcp_server
from holdfast.serve.mcp.tools import Offer
from holdfast.serve.memories import Memories
from holdfast.settings import ContextSettings, ServeSettings, Settings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK

EVERYTHING = Offer(all_tools=True, structured=True)
_Given = TypeVar("_Given")
Answer = dict[str, Any]

PATIENT = replace(
    QUICK,
    context=ContextSettings(deadline_s=30.0, embedder_s=10.0),
    serve=ServeSettings(trust_roles=True),  # what agents may write is tested in test_mcp_agents.py
)
"""A busy machine must not make another answer."""


class Model:
    """An MCP client whose calls wait: what a model sees of the memory."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def wait(self, ask: Callable[[], Awaitable[_Given]]) -> _Given:
        return self._portal.call(ask)

    def ask(self, tool: str, given: dict[str, Any] | None = None) -> CallToolResult:
        return self.wait(lambda: self.client.call_tool(tool, given or {}))

    def call(self, verb: str, **given: object) -> Answer:
        """The structured answer; an error fails the test."""
        result = self.ask(f"memory_{verb}", given)
        assert not result.is_error, text_of(result)
        return cast("Answer", result.structured_content)

    def text(self, verb: str, **given: object) -> str:
        result = self.ask(f"memory_{verb}", given)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def error(self, verb: str, **given: object) -> str:
        result = self.ask(f"memory_{verb}", given)
        assert result.is_error and result.structured_content is None, result
        return text_of(result)

    def read(self, uri: str) -> str:
        (content,) = self.wait(lambda: self.client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        return content.text


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@contextmanager
def connected(target: Any, mode: str = "auto") -> Iterator[Model]:
    """A client of a server, of a command or of a transport."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(target, mode=mode)) as client:
        yield Model(portal, client)


@contextmanager
def in_process(
    path: Path,
    namespace: str = "ana",
    *,
    mode: str = "auto",
    embedder: object = None,
    settings: Settings = PATIENT,
    rules: tuple[str, ...] = (),
    offer: Offer = EVERYTHING,
) -> Iterator[Model]:
    """A client of a server that is bound to one memory, both in this process; with every tool and its JSON."""
    model = HashEmbedder() if embedder is None else embedder
    memories = Memories(path, namespace, embedder=model, settings=settings, bound=True)  # type: ignore[arg-type]
    try:
        with connected(mcp_server(memories, rules, offer), mode) as one:
            yield one
    finally:
        memories.close()


def command(folder: Path, *args: str) -> StdioServerParameters:
    """`holdfast mcp` on a store in the folder, words only: these tests look at the way, not at the answers."""
    options = ["--embedder", "none", "--all-tools", "--structured"]
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "holdfast.cli", "mcp", "--store", str(folder / "memory.db"), *options, *args],
        env=surroundings(),
    )


def surroundings() -> dict[str, str]:
    around = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
    return around | {"HOLDFAST_STORE__DURABLE": "false"}


HELLO: dict[str, object] = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}},
    "id": "hello",
}
"""The first message of a client of before 2026-07."""


def line_of(message: Mapping[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()
