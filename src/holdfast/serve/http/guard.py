"""The one way into the server: what is refused here costs nothing and touches no memory."""

from __future__ import annotations

import math

from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.serve.http.bodies import Bodies, Left
from holdfast.serve.http.buckets import Bucket
from holdfast.serve.http.door import Caller, Door, Shown
from holdfast.serve.http.metrics import Metrics
from holdfast.serve.http.namespaces import confined
from holdfast.serve.http.problems import Refusal, problem
from holdfast.settings import ServeSettings

__all__ = ["Guard"]

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
