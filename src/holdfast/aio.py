"""AsyncMemory: the same verbs, awaited. Each runs in a thread, so the event loop never waits for a disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, ParamSpec, Self, TypeVar, overload

from anyio import to_thread

from holdfast.engine import Progress
from holdfast.gate.calibrate import Label
from holdfast.log.parts import Content
from holdfast.memory import DEFAULT_SESSION, Memory
from holdfast.model import Clock, Decision, Exchange, Hits, Metadata, Record, Session, Status, Turn, Why, utc_now
from holdfast.models.embedder import Embedder
from holdfast.results import ActiveView, Calibration, Compaction, History, Pair, StandingSection, Stats, Themes, Tuning
from holdfast.settings import Settings
from holdfast.text.time import Moment

if TYPE_CHECKING:
    from holdfast.context.profile import ProfilePage
    from holdfast.gate.score import Signals
    from holdfast.results import Context, ImportResult
    from holdfast.upkeep.findings import Diagnosis
    from holdfast.upkeep.results import (
        BackupResult,
        CopyResult,
        EraseResult,
        ExportResult,
        JanitorResult,
        RestoreResult,
    )

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

    def of(self, namespace: str) -> AsyncMemory:
        """Return the memory of another namespace on the same store; it shares everything that is open."""
        other = AsyncMemory.__new__(AsyncMemory)
        other._memory = self._memory.of(namespace)
        other.namespace = other._memory.namespace
        return other

    async def bootstrap(self, session: str = DEFAULT_SESSION, user: str | None = None) -> Session:
        return await _in_thread(self._memory.bootstrap, session, user)

    async def ingest(
        self,
        text: Content,
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
        self, messages: Iterable[Mapping[str, object]], session: str = DEFAULT_SESSION, progress: Progress | None = None
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
        rerank: bool = False,
    ) -> Hits:
        return await _in_thread(self._memory.search, query, limit, kind, session, since, until, as_of, rerank)

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

    async def themes(
        self,
        since: Moment | None = "30 days ago",
        until: Moment | None = None,
        limit: int = 8,
        digest: bool | None = None,
    ) -> Themes:
        return await _in_thread(self._memory.themes, since, until, limit, digest)

    async def compact(self, session: str, force: bool = False, progress: Progress | None = None) -> Compaction:
        return await _in_thread(self._memory.compact, session, force, progress)

    async def expand(self, noun_id: str) -> list[Turn]:
        return await _in_thread(self._memory.expand, noun_id)

    async def active(self, session: str) -> ActiveView:
        return await _in_thread(self._memory.active, session)

    async def context(
        self,
        messages: Sequence[Mapping[str, object]],
        session: str = DEFAULT_SESSION,
        budget: int = 1000,
        rules: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] = (),
        memory_budget: int | None = None,
        prompt_budget: int | None = None,
    ) -> Context:
        given = (messages, session, budget, rules, memory_budget, prompt_budget)
        return await _in_thread(self._memory.context, *given)

    async def standing(self, tokens: int | None = None) -> StandingSection:
        return await _in_thread(self._memory.standing, tokens)

    async def remember(
        self,
        text: str,
        kind: str = "fact",
        key: str | None = None,
        metadata: Metadata | None = None,
        origin: str = "user",
        session: str | None = None,
        at: Moment | None = None,
        upsert: bool = False,
    ) -> Record:
        return await _in_thread(self._memory.remember, text, kind, key, metadata, origin, session, at, upsert)

    async def update(
        self, noun_id: str, text: str | None = None, kind: str | None = None, origin: str = "user"
    ) -> Record:
        return await _in_thread(self._memory.update, noun_id, text, kind, origin)

    async def get(self, noun_id: str) -> Turn | Record:
        return await _in_thread(self._memory.get, noun_id)

    async def records(
        self,
        kind: str | None = None,
        about: str | None = None,
        query: str | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[Record]:
        return await _in_thread(self._memory.records, kind, about, query, limit, before)

    async def profile(self, tokens: int = 700, sensitive: bool = True) -> ProfilePage:
        return await _in_thread(self._memory.profile, tokens, sensitive)

    async def forget(self, noun_id: str, undo: bool = False) -> Decision:
        return await _in_thread(self._memory.forget, noun_id, undo)

    async def why(self, noun_id: str) -> Why:
        return await _in_thread(self._memory.why, noun_id)

    async def history(self, noun_id: str) -> History:
        return await _in_thread(self._memory.history, noun_id)

    async def gating_scalar(self, text: str) -> Signals:
        return await _in_thread(self._memory.gating_scalar, text)

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

    async def janitor(self, dry_run: bool = False, cull: bool = False, undo: str | None = None) -> JanitorResult:
        return await _in_thread(self._memory.janitor, dry_run, cull, undo)

    async def doctor(self, fix: bool = False, progress: Progress | None = None, *, alone: bool = False) -> Diagnosis:
        return await _in_thread(self._memory.doctor, fix, progress, alone=alone)

    @staticmethod
    async def audit(
        path: str | os.PathLike[str], embedder: Embedder | str | None = None, settings: Settings | None = None
    ) -> Diagnosis:
        return await _in_thread(Memory.audit, path, embedder, settings)

    async def export(self, path: str | os.PathLike[str] | BinaryIO, progress: Progress | None = None) -> ExportResult:
        return await _in_thread(self._memory.export, path, progress)

    async def import_file(
        self, path: str | os.PathLike[str] | BinaryIO, progress: Progress | None = None
    ) -> ImportResult:
        return await _in_thread(self._memory.import_file, path, progress)

    async def erase(
        self,
        session: str | None = None,
        namespace: bool = False,
        turn: str | None = None,
        record: str | None = None,
        prove: bool = False,
        progress: Progress | None = None,
        last: bool = False,
    ) -> EraseResult:
        return await _in_thread(self._memory.erase, session, namespace, turn, record, prove, progress, last)

    async def backup(self, path: str | os.PathLike[str], progress: Progress | None = None) -> BackupResult:
        return await _in_thread(self._memory.backup, path, progress)

    @staticmethod
    async def copy(
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        namespaces: Sequence[str] | None = None,
        progress: Progress | None = None,
        settings: Settings | None = None,
    ) -> CopyResult:
        return await _in_thread(Memory.copy, source, target, namespaces, progress, settings)

    @staticmethod
    async def restore(
        backup: str | os.PathLike[str],
        location: str | os.PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> RestoreResult:
        return await _in_thread(Memory.restore, backup, location, force, progress)

    async def close(self) -> None:
        await _in_thread(self._memory.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
