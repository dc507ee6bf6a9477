"""AsyncMemory: the same verbs, awaited. Each runs in a thread, so the event loop never waits for a disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Literal, ParamSpec, Self, TypeVar, overload

from anyio import to_thread

from holdfast.gate.labels import Label
from holdfast.insight import Calibration, History, Pair, Stats, Tuning
from holdfast.memory import DEFAULT_SESSION, Memory, Progress
from holdfast.model import Decision, Exchange, Hits, Metadata, Record, Session, Status, Turn, Why
from holdfast.models.embedder import Embedder
from holdfast.moments import Clock, Moment, utc_now
from holdfast.settings import Settings

__all__ = ["AsyncMemory"]

Given = ParamSpec("Given")
Answer = TypeVar("Answer")


async def _in_thread(verb: Callable[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
    """Run to the end even if the caller is cancelled: a turn that is being written is written."""
    return await to_thread.run_sync(partial(verb, *given, **named))


class AsyncMemory:
    """The memory of one namespace, for asyncio and trio."""

    def __init__(
        self,
        location: str | os.PathLike[str] | None = None,
        namespace: str | None = None,
        *,
        session_key: str | None = None,
        agent: str | None = None,
        embedder: Embedder | str | None = None,
        settings: Settings | None = None,
        clock: Clock = utc_now,
    ) -> None:
        self._memory = Memory(
            location, namespace, session_key=session_key, agent=agent, embedder=embedder, settings=settings, clock=clock
        )
        self.namespace = self._memory.namespace

    async def bootstrap(self, session: str = DEFAULT_SESSION, user: str | None = None) -> Session:
        return await _in_thread(self._memory.bootstrap, session, user)

    async def ingest(
        self,
        text: str,
        role: str = "user",
        session: str = DEFAULT_SESSION,
        at: Moment | None = None,
        key: str | None = None,
        origin: str | None = None,
        stability: float | None = None,
        heartbeat: bool = False,
        metadata: Metadata | None = None,
    ) -> Turn | None:
        def verb() -> Turn | None:
            return self._memory.ingest(text, role, session, at, key, origin, stability, heartbeat, metadata)

        return await _in_thread(verb)

    async def ingest_many(
        self,
        messages: Iterable[Mapping[str, object]],
        session: str = DEFAULT_SESSION,
        progress: Progress | None = None,
    ) -> list[Turn]:
        return await _in_thread(self._memory.ingest_many, messages, session, progress)

    async def flush(self, timeout: float | None = None, progress: Progress | None = None) -> None:
        await _in_thread(self._memory.flush, timeout, progress)

    async def search(
        self,
        query: str,
        limit: int = 10,
        kind: str | None = None,
        session: str | None = None,
        since: Moment | None = None,
        until: Moment | None = None,
        as_of: Moment | None = None,
    ) -> Hits:
        return await _in_thread(self._memory.search, query, limit, kind, session, since, until, as_of)

    @overload
    async def recent(
        self, limit: int = 20, kind: Literal["turn"] = "turn", since: Moment | None = None,
        until: Moment | None = None, session: str | None = None,
    ) -> list[Turn]: ...  # fmt: skip
    @overload
    async def recent(
        self, limit: int = 20, *, kind: Literal["exchange"], since: Moment | None = None,
        until: Moment | None = None, session: str | None = None,
    ) -> list[Exchange]: ...  # fmt: skip
    @overload
    async def recent(
        self, limit: int = 20, kind: str = "turn", since: Moment | None = None,
        until: Moment | None = None, session: str | None = None,
    ) -> list[Turn] | list[Exchange] | list[Record]: ...  # fmt: skip
    async def recent(
        self,
        limit: int = 20,
        kind: str = "turn",
        since: Moment | None = None,
        until: Moment | None = None,
        session: str | None = None,
    ) -> list[Turn] | list[Exchange] | list[Record]:
        def verb() -> list[Turn] | list[Exchange] | list[Record]:
            return self._memory.recent(limit, kind, since, until, session)

        return await _in_thread(verb)

    async def thread(self, session: str) -> list[Turn]:
        return await _in_thread(self._memory.thread, session)

    async def remember(self, text: str, kind: str = "fact") -> Record:
        return await _in_thread(self._memory.remember, text, kind)

    async def forget(self, noun_id: str, undo: bool = False) -> Decision:
        return await _in_thread(self._memory.forget, noun_id, undo)

    async def why(self, noun_id: str) -> Why:
        return await _in_thread(self._memory.why, noun_id)

    async def history(self, noun_id: str) -> History:
        return await _in_thread(self._memory.history, noun_id)

    async def stats(self, since: Moment | None = None) -> Stats:
        return await _in_thread(self._memory.stats, since)

    async def calibrate(
        self, labels: Iterable[Mapping[str, object] | tuple[str | float, bool] | Label] | None = None
    ) -> Calibration:
        return await _in_thread(self._memory.calibrate, labels)

    async def tune_similarity(
        self,
        thresholds: Sequence[float] | None = None,
        sample: int = 20,
        judged: Iterable[Mapping[str, object] | Pair] | None = None,
    ) -> Tuning:
        return await _in_thread(self._memory.tune_similarity, thresholds, sample, judged)

    async def status(self) -> Status:
        return await _in_thread(self._memory.status)

    async def check(self) -> list[str]:
        return await _in_thread(self._memory.check)

    async def rebuild(self, progress: Progress | None = None) -> None:
        await _in_thread(self._memory.rebuild, progress)

    async def close(self) -> None:
        await _in_thread(self._memory.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
