"""Test doubles: a fixed clock, deterministic embedders, a temporary memory and a scripted model server."""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelUnavailable
from holdfast.memory import Memory
from holdfast.model import Clock, utc_now
from holdfast.models.embedder import Embedder, Profile, Thresholds, unit
from holdfast.settings import Settings


class FixedClock:
    """A clock that moves only when advanced; `clock()` is an aware UTC datetime."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now.astimezone(UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta | float) -> None:
        """Advance by a timedelta or by seconds."""
        self.now += by if isinstance(by, timedelta) else timedelta(seconds=by)


@contextmanager
def temporary_memory(
    namespace: str = "test",
    *,
    embedder: Embedder | str | None = None,
    settings: Settings | None = None,
    clock: Clock = utc_now,
) -> Iterator[Memory]:
    """Open a real memory in a temporary folder, without waiting for the disk; the default embedder is HashEmbedder."""
    settings = settings or Settings()
    quick = replace(settings, store=replace(settings.store, durable=False))
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(
            Path(folder) / "memory.db", namespace, embedder=embedder or HashEmbedder(), settings=quick, clock=clock
        ) as memory,
    ):
        yield memory


class HashEmbedder:
    """Deterministic embedder: each word has a fixed random direction, so texts are as close as the words they share."""

    _DIMS = 64

    @property
    def profile(self) -> Profile:
        return Profile(
            name="hash",
            fingerprint=f"hash|blake2b|dims={self._DIMS}",
            dims=self._DIMS,
            # 64 random dimensions: unrelated words have cosine 0 ± .125
            thresholds=Thresholds(repeat=0.80, known=0.85, same=0.92, related=0.20, boost=0.78, relevant=0.40),
            scripts=frozenset(),
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._DIMS), dtype=np.float32)
        for i, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                digest = hashlib.blake2b(word.encode(errors="replace"), digest_size=self._DIMS).digest()
                vectors[i] += np.frombuffer(digest, dtype=np.int8)
        return unit(vectors)


class FailingEmbedder:
    """Wraps an embedder that a test can take down and bring back; counts the calls."""

    def __init__(self, embedder: Embedder | None = None, *, down: bool = False) -> None:
        self._embedder = embedder or HashEmbedder()
        self.down = down
        self.calls = 0

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.down:
            raise ModelUnavailable("the embedder was taken down by a test")
        return self._embedder.embed(texts)


Reply: TypeAlias = (
    "str | Mapping[str, object] | Sequence[Sequence[float]] | int | bytes | tuple[int, bytes] | Delayed"
    " | Callable[[Mapping[str, object]], Reply]"
)
"""A reply of the scripted server: a message's content, a whole JSON body, vectors, an HTTP status, raw bytes, a status
with bytes, any of these after a delay, or a function of the request's body that returns one of them."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """A delayed reply; closing the server ends the wait."""

    reply: Reply
    seconds: float


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """One request to the server; header names are lower case."""

    path: str
    headers: dict[str, str]
    body: Mapping[str, object]


class ScriptedChat:
    """A real HTTP server on 127.0.0.1 that answers /v1/chat/completions and /v1/embeddings from a script.

        with ScriptedChat(["first answer", 500, Delayed("late", 5.0)]) as server:
            client = SomeClient(server.url)     # http://127.0.0.1:PORT/v1
        assert server.requests[0].body["model"] == "…"

    The script is any iterable (itertools.repeat for an endless one); when it ends, the server answers HTTP 500. With
    `port` a server can replace an earlier one.
    """

    def __init__(self, replies: Iterable[Reply] = (), *, port: int = 0) -> None:
        self._replies = iter(replies)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.requests: list[ScriptedRequest] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", port), partial(_ScriptedHandler, self))
        self._thread = threading.Thread(target=partial(self._server.serve_forever, poll_interval=0.005), daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, request: ScriptedRequest) -> tuple[int, bytes]:
        """Return the next reply of the script as status and body."""
        with self._lock:
            self.requests.append(request)
            reply: Reply = next(self._replies, (500, b"the script has ended"))
        while True:
            if isinstance(reply, Delayed):
                self._closing.wait(reply.seconds)
                reply = reply.reply
            elif callable(reply):
                reply = reply(request.body)
            else:
                return _rendered(reply)


def _rendered(reply: Reply) -> tuple[int, bytes]:
    match reply:
        case (int(status), bytes(body)):
            return status, body
        case int(status):
            return status, json.dumps({"error": {"message": f"scripted status {status}"}}).encode()
        case bytes(body):
            return 200, body
        case str(content):
            message = {"role": "assistant", "content": content}
            return 200, json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
        case list(vectors):
            return 200, json.dumps({"data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)]}).encode()
        case dict(body):
            return 200, json.dumps(body).encode()
        case _:
            return 500, f"not a reply a script can give: {reply!r}".encode()


class _ScriptedHandler(BaseHTTPRequestHandler):
    def __init__(self, chat: ScriptedChat, *args: object) -> None:
        self._chat = chat
        super().__init__(*args)  # type: ignore[arg-type]  # the server's own three arguments, passed on

    def do_POST(self) -> None:  # the name http.server looks for
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, body = 404, b"no such path"
        if self.path.partition("?")[0] in ("/v1/chat/completions", "/v1/embeddings"):
            status, body = self._chat.answer(ScriptedRequest(self.path, headers, json.loads(raw)))
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the client has given up, as intended in tests of time-outs

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
