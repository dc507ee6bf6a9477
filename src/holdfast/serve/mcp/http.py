"""MCP over streamable HTTP, as one ASGI app for the server of serve/http."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from holdfast.serve.mcp.server import mcp_server
from holdfast.serve.memories import Memories

__all__ = ["McpApp", "mcp_app"]


class McpApp:
    """An ASGI app for one path. It answers only while `run()` is entered, and that can be done once.

    It keeps no sessions: a client that was silent for a day, or whose server was started again, just goes on. And it
    offers no stream to listen on, for it has nothing to say unasked; an answer is one JSON document.
    """

    def __init__(self, requests: StreamableHTTPSessionManager) -> None:
        self._requests = requests

    def run(self) -> AbstractAsyncContextManager[None]:
        return self._requests.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._requests.handle_request(scope, receive, send)
        else:
            refusal = PlainTextResponse("There is no stream to listen on; POST a message.", 405, {"allow": "POST"})
            await refusal(scope, receive, send)


def mcp_app(
    memories: Memories, rules: Sequence[str] = (), *, hosts: Collection[str], origins: Collection[str]
) -> McpApp:
    """The app for `/mcp`, to be hung behind the Guard, which has checked Host, Origin and token by then.

        mcp = mcp_app(memories, rules, hosts=["127.0.0.1:8765"], origins=["http://127.0.0.1:8765"])
        Starlette(routes=[Route("/mcp", mcp)], lifespan=…)     # a Route, not a Mount: the path is exact

    The server's lifespan must enter it: `async with mcp.run(): yield`. Whose memory a request is about says its header
    `Holdfast-Namespace`; without it, it is the server's own. `hosts` and `origins` are checked by the SDK a second
    time, exactly as they are given.
    """
    return McpApp(
        StreamableHTTPSessionManager(
            mcp_server(memories, tuple(rules)),
            json_response=True,  # as an event of a stream, the SDK's client takes 1 MiB at most
            stateless=True,
            security_settings=TransportSecuritySettings(allowed_hosts=list(hosts), allowed_origins=list(origins)),
            max_request_body_size=memories.settings.serve.max_request_bytes,
        )
    )
