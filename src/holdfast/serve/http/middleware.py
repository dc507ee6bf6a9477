"""Middleware in front of the app: access control, rate limits, concurrency and body limits.

A request that is refused here costs little and touches no memory.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.serve.http.auth import AccessPolicy, Caller, Credential, HttpProblem, confine, problem_response
from holdfast.serve.http.connections import keep_connection
from holdfast.serve.http.metrics import Metrics
from holdfast.serve.process import ServeLimits

_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)
_HEALTH = "/healthz"
_ANONYMOUS = Caller(Credential.NONE)
_SOON = {"retry-after": "1"}
_DISCARDED_BYTES, _DISCARD_S = 64_000, 1.0


class BodyReader:
    """Reads request bodies within a limit of bytes and time, and a limit of bytes that all requests hold together."""

    def __init__(self, seconds: float, max_held: int) -> None:
        self._seconds = seconds
        self._max_held = max_held
        self._held = 0

    @asynccontextmanager
    async def read(self, scope: Scope, receive: Receive, max_bytes: int) -> AsyncIterator[Receive]:
        """Read the whole body and yield a `receive` that replays it; the body counts as held inside."""
        declared = _declared_length(scope)
        if declared == 0:
            yield receive
            return
        if declared is not None and declared > max_bytes:
            raise _too_large(max_bytes)
        pieces: list[bytes] = []
        size = 0
        try:
            with anyio.move_on_after(self._seconds) as waiting:
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    piece = message.get("body", b"")
                    more = message.get("more_body", False)
                    pieces.append(piece)
                    size += len(piece)
                    self._held += len(piece)
                    if size > max_bytes:
                        raise _too_large(max_bytes)
                    if self._held > self._max_held:
                        raise HttpProblem(503, "TooBusy", "too many large requests at once", "Try again later.", _SOON)
            if waiting.cancelled_caught:
                raise HttpProblem(
                    408,
                    "TooSlow",
                    f"the body did not arrive within {self._seconds:g} s",
                    "Send it faster, or send less.",
                )
            yield _replay(b"".join(pieces), receive)
        finally:
            self._held -= size


def _declared_length(scope: Scope) -> int | None:
    """Return the length from the headers; None if the body comes in chunks."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    return int(headers.get(b"content-length", b"0"))  # h11 accepts digits only


async def _discard_body(scope: Scope, receive: Receive) -> None:
    """Read a small body before its request is refused: closing a connection with unread data would reset it, and the
    client might not get the response.
    """
    if not 0 < (_declared_length(scope) or 0) <= _DISCARDED_BYTES:
        return
    with anyio.move_on_after(_DISCARD_S):
        while (message := await receive())["type"] == "http.request" and message.get("more_body", False):
            pass


def _too_large(max_bytes: int) -> HttpProblem:
    return HttpProblem(
        413, "TooLarge", f"the request is larger than the maximum of {max_bytes:,} bytes", "Send less at once."
    )


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return waiting.pop() if waiting else await receive()

    return read


class TokenBucket:
    """A rate limit: holds up to `size` requests and gains `per_s`. For one event loop, so it needs no lock."""

    def __init__(self, per_s: float, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._size = size
        self._clock = clock
        self._level = float(size)
        self._seen = clock()

    def take(self) -> float:
        """Take one; return 0, or the seconds to wait for the next."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._seen) * self._per_s)
        self._seen = now
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) / self._per_s


class AccessMiddleware:
    """Check access, then the rate, number and size of requests, and add security headers to every response."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy, settings: ServeLimits, metrics: Metrics) -> None:
        self._app = app
        self._policy = policy
        self._settings = settings
        self._metrics = metrics
        self._bodies = BodyReader(settings.body_s, settings.held_mb * 1_000_000)
        self._limits = {_ANONYMOUS: TokenBucket(settings.strangers_per_s, settings.strangers_at_once)}
        self._admitted = Counter[bool]()
        """Requests in progress, by whether their caller has a credential."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _with_security_headers(send))
        else:  # web sockets are not used
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        reading = called = False
        with self._metrics.in_flight():
            try:
                caller = self._admit(scope)
                max_bytes = self._settings.max_request_bytes
                if caller == _ANONYMOUS:
                    max_bytes = self._settings.stranger_kb * 1000
                if caller.namespace is not None:
                    scope = confine(scope, caller.namespace)
                with self._slot(caller):
                    reading = True
                    async with self._bodies.read(scope, receive, max_bytes) as whole:
                        called = True
                        await self._app(scope, whole, send)
            except HttpProblem as problem:
                self._metrics.refused(problem.failure.type)
                if not reading:
                    await _discard_body(scope, receive)
                await self._refusal(scope, problem)(scope, receive, send)
            except ClientDisconnect:
                if called:
                    raise
                self._metrics.refused("Disconnected")

    def _admit(self, scope: Scope) -> Caller:
        try:
            caller = self._policy.authenticate(scope)
        except HttpProblem as problem:
            if problem.failure.status == 401:  # guessing is slow, and the right token is not slowed down by it
                self._check_rate(_ANONYMOUS)
            raise
        if scope["path"] != _HEALTH:  # it must answer a monitor, whatever others do
            self._check_rate(caller)
        return caller

    @contextmanager
    def _slot(self, caller: Caller) -> Iterator[None]:
        """Count a request while it lasts; bodies that strangers never finish take no slot or connection of others."""
        known = caller != _ANONYMOUS
        if self._admitted[known] >= self._settings.in_flight:
            raise HttpProblem(503, "TooBusy", "too many requests at once", "Try again in a moment.", _SOON)
        if known:
            keep_connection()
        self._admitted[known] += 1
        try:
            yield
        finally:
            self._admitted[known] -= 1

    def _check_rate(self, caller: Caller) -> None:
        if caller not in self._limits:  # there are no more of them than credentials
            self._limits[caller] = TokenBucket(self._settings.calls_per_s, self._settings.calls_at_once)
        if wait := self._limits[caller].take():
            raise HttpProblem(
                429, "TooMany", "too many requests", "Wait as long as Retry-After says.",
                {"retry-after": str(math.ceil(wait))},
            )  # fmt: skip

    def _refusal(self, scope: Scope, problem: HttpProblem) -> Response:
        browser = any(key == b"accept" and b"text/html" in value for key, value in scope["headers"])
        if problem.failure.status == 401 and browser and scope["method"] == "GET":
            return RedirectResponse("/login", 303, {"cache-control": "no-store"})
        # A large body is not read, so the connection ends with the response.
        return problem_response(problem.failure, {"connection": "close", **problem.headers})


def _with_security_headers(send: Send) -> Send:
    async def send_message(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            given += [(name, value) for name, value in _SECURITY_HEADERS if name not in names]
            message = {**message, "headers": given}
        await send(message)

    return send_message
