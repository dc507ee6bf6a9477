"""The one way into the server: what is refused here costs nothing and touches no memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.serve.http.auth import Caller, Door, Refusal, Shown, confined, problem
from holdfast.serve.http.metrics import Metrics
from holdfast.settings import ServeSettings

# --- The body of a request: no larger than allowed, there in time, and never more of them in memory than is
# meant.


class Left(Exception):
    """The caller went away before all was said."""


class Bodies:
    def __init__(self, seconds: float, held_bytes: int) -> None:
        self._seconds = seconds
        self._most_held = held_bytes
        self._held = 0

    @contextmanager
    def holding(self) -> Iterator[_Share]:
        """What is read inside is counted until it is left."""
        share = _Share()
        try:
            yield share
        finally:
            self._held -= share.bytes

    async def read(self, scope: Scope, receive: Receive, most: int, share: _Share) -> Receive:
        """Read all of it; what the app is to read it from. Raises a Refusal, or Left."""
        declared = _declared(scope)
        if declared == 0:
            return receive
        if declared is not None and declared > most:
            raise _too_large(most)
        pieces: list[bytes] = []
        with anyio.move_on_after(self._seconds) as waiting:
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Left
                piece = message.get("body", b"")
                more = message.get("more_body", False)
                if piece:
                    pieces.append(piece)
                    share.bytes += len(piece)
                    self._held += len(piece)
                if share.bytes > most:
                    raise _too_large(most)
                if self._held > self._most_held:
                    raise Refusal(503, "TooBusy", "too many large requests at once", "Try again later.", _LATER)
        if waiting.cancelled_caught:
            raise Refusal(
                408, "TooSlow", f"the body was not there after {self._seconds:g} s", "Send it faster, or send less."
            )
        return _again(b"".join(pieces), receive)


class _Share:
    """The bytes of one request."""

    bytes = 0


_LATER = {"retry-after": "1"}


def _declared(scope: Scope) -> int | None:
    """The length that the headers give; None: it comes in chunks."""
    headers = dict(scope["headers"])
    if b"transfer-encoding" in headers:
        return None
    return int(headers.get(b"content-length", b"0"))  # h11 let only digits through


def _too_large(most: int) -> Refusal:
    return Refusal(
        413, "TooLarge", f"a request has at most {most:,} bytes, and this one has more", "Send less at once."
    )


def _again(body: bytes, receive: Receive) -> Receive:
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def read() -> Message:
        return waiting.pop() if waiting else await receive()

    return read


# --- How often one may ask: a bucket of tokens that fills at a steady pace.


class Bucket:
    """Holds up to `size` and gains `per_s`; used by one event loop, so it needs no lock."""

    def __init__(self, per_s: float, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s = per_s
        self._size = size
        self._clock = clock
        self._level = float(size)
        self._seen = clock()

    def take(self) -> float:
        """0, or how many seconds to wait until there is one."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._seen) * self._per_s)
        self._seen = now
        if self._level >= 1:
            self._level -= 1
            return 0.0
        return (1 - self._level) / self._per_s


_ALWAYS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
)
_HEALTH = "/healthz"
_STRANGER = Caller(Shown.NOTHING)


class Guard:
    """ASGI middleware: Host, Origin, path and credential (door.py), then pace, number and size of requests."""

    def __init__(self, app: ASGIApp, door: Door, settings: ServeSettings, metrics: Metrics) -> None:
        self._app = app
        self._door = door
        self._settings = settings
        self._metrics = metrics
        self._bodies = Bodies(settings.body_s, settings.held_mb * 1_000_000)
        self._buckets = {_STRANGER: Bucket(settings.strangers_per_s, settings.strangers_at_once)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, _with_headers(send))
        else:  # nothing here speaks over web sockets
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._metrics.in_flight() as others, self._bodies.holding() as share:
            try:
                caller = self._let_in(scope, others)
                most = self._settings.max_request_bytes
                if caller == _STRANGER:
                    most = self._settings.stranger_kb * 1000
                if caller.namespace is not None:
                    scope = confined(scope, caller.namespace)
                receive = await self._bodies.read(scope, receive, most, share)
            except Refusal as refusal:
                self._metrics.refused(refusal.fault.type)
                await self._turned_away(scope, refusal)(scope, receive, send)
            except Left:
                self._metrics.refused("Left")
            else:
                await self._app(scope, receive, send)

    def _let_in(self, scope: Scope, others: int) -> Caller:
        try:
            caller = self._door.judge(scope)
        except Refusal as refusal:
            if refusal.fault.status == 401:  # guessing is slow, and who has the right token does not feel it
                self._pace(_STRANGER)
            raise
        if scope["path"] != _HEALTH:  # it must answer who looks after the server, whatever others do
            self._pace(caller)
        if others >= self._settings.in_flight:
            raise Refusal(503, "TooBusy", "too many requests at once", "Try again in a moment.", {"retry-after": "1"})
        return caller

    def _pace(self, caller: Caller) -> None:
        if caller not in self._buckets:  # there are no more of them than credentials
            self._buckets[caller] = Bucket(self._settings.calls_per_s, self._settings.calls_at_once)
        if wait := self._buckets[caller].take():
            raise Refusal(
                429, "TooMany", "too many requests", "Wait as long as Retry-After says.",
                {"retry-after": str(math.ceil(wait))},
            )  # fmt: skip

    def _turned_away(self, scope: Scope, refusal: Refusal) -> Response:
        browser = any(key == b"accept" and b"text/html" in value for key, value in scope["headers"])
        if refusal.fault.status == 401 and browser and scope["method"] == "GET":
            return RedirectResponse("/login", 303, {"cache-control": "no-store"})
        # What is left of the body is not read: the connection ends with the answer.
        return problem(refusal.fault, {"connection": "close", **refusal.headers})


def _with_headers(send: Send) -> Send:
    async def say(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            given += [(name, value) for name, value in _ALWAYS if name not in names]
            message = {**message, "headers": given}
        await send(message)

    return say
