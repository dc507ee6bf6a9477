"""Memory: one short method per verb."""

from __future__ import annotations

import logging
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Literal, Self, TypeVar, overload

from holdfast.engine import Engine, Progress, open_guarded
from holdfast.errors import BadText, Closed, FlushTimeout, InputError, ModelError, NotFound, StoreError
from holdfast.index.blocks import words_stage
from holdfast.index.vectors import vectors_stage
from holdfast.insight.lookup import find, keyed_version, list_records, read_thread, recent_exchanges, recent_turns
from holdfast.log.acts import Marker, erased_turn, places_with_erased
from holdfast.log.messages import (
    align,
    check_name,
    check_text,
    keyed_id,
    new_id,
    read_message,
    read_metadata,
    read_turns,
    resolve_namespace,
)
from holdfast.log.parts import PART, Content
from holdfast.model import (
    Action,
    Clock,
    Decision,
    Entry,
    Exchange,
    Hits,
    Kind,
    Metadata,
    NewTurn,
    Origin,
    Provenance,
    Record,
    Session,
    Status,
    Turn,
    Why,
    to_micros,
    utc_now,
)
from holdfast.models.embedder import DeadlineEmbedder, Embedder, GuardedEmbedder
from holdfast.settings import Settings, load_settings, tuned
from holdfast.store.open import default_location, open_store
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import GLOBAL, Space
from holdfast.text.time import Moment, read_moment
from holdfast.version import __version__
from holdfast.worker.worker import FOREGROUND

if TYPE_CHECKING:
    from holdfast.admit.redact import Redaction
    from holdfast.context.profile import ProfilePage
    from holdfast.gate.calibrate import Label
    from holdfast.gate.score import Signals
    from holdfast.results import (
        ActiveView,
        Calibration,
        Compaction,
        Context,
        History,
        ImportResult,
        Pair,
        StandingSection,
        Stats,
        Themes,
        Tuning,
    )
    from holdfast.upkeep.findings import Diagnosis
    from holdfast.upkeep.results import (
        BackupResult,
        CopyResult,
        EraseResult,
        ExportResult,
        JanitorResult,
        RestoreResult,
    )

MAX_RESULTS = 1000  # of a search, or of a page of recent turns or of a thread
_INGEST_BATCH = 500  # turns per transaction: an interrupt loses at most this much progress, never an acknowledged turn
_EMBEDDER_S = 2.0  # that a search waits for the vector of its question
_STANDING_TOKENS = 500  # the frame takes 200, the rest is about ten short records

_log = logging.getLogger("holdfast")
_Place = TypeVar("_Place")

DEFAULT_SESSION = "default"
_ALL_TOKENS = 10**15  # no prompt has more, and a float holds it exactly


class Memory:
    """The memory of one namespace. Safe to use from many threads and, on one store, from many processes."""

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
        known = settings or load_settings()
        name = resolve_namespace(
            namespace, session_key=session_key, agent=agent, default=known.namespace, settings=known.log
        )
        place = default_location() if location is None else location
        place = place if isinstance(place, str) else _path("location", place)
        self._start(Engine.share(place, embedder, known, clock), name)

    def _start(self, engine: Engine, namespace: str) -> None:
        self.namespace = namespace
        self._shared, self._pid = engine, os.getpid()
        # A process that ends without close() must not die with the worker inside SQLite.
        self._release = weakref.finalize(self, engine.release)
        engine.worker.catch_up(namespace)

    def of(self, namespace: str) -> Memory:
        """Return the memory of another namespace on the same store; it shares everything that is open."""
        name = check_name("namespace", namespace, self._settings.log)
        other = Memory.__new__(Memory)
        other._start(self._engine.use(), name)
        return other

    def flush(self, timeout: float | None = None, progress: Progress | None = None) -> None:
        """Wait until derived work has caught up with the log and retrievals are counted."""
        self._engine.flush(self.namespace, timeout, progress)

    def close(self) -> None:
        """Release the store; the last memory that uses it stops the background work. May be called twice."""
        if self._release.alive and self._pid == os.getpid():
            self._shared.retrievals.write(self.namespace)
        self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({self._shared.store.location!r}, namespace={self.namespace!r})"

    @property
    def settings(self) -> Settings:
        """The settings it was opened with."""
        return self._shared.settings

    @property
    def view(self) -> AbstractContextManager[Snapshot]:
        """Yield a consistent view of the namespace, for interfaces that list everything."""
        return self._store.snapshot(self.namespace)

    # --- the engine's parts

    @property
    def _engine(self) -> Engine:
        if not self._release.alive:
            raise Closed("this memory was closed; open it again to use it")
        if self._pid != os.getpid():  # a fork has neither the threads nor the locks of what it inherits
            self._release.detach()
            self._start(self._shared.reopen(), self.namespace)
        return self._shared

    @property
    def _store(self) -> Store:
        return self._engine.store

    @property
    def _settings(self) -> Settings:
        return self._shared.settings

    # --- what verbs are given, checked

    @property
    def _redaction(self) -> Redaction | None:
        if not self._settings.log.redact_secrets:
            return None
        from holdfast.admit.redact import redaction_of

        return redaction_of(self._store, self._settings)

    def _session(self, session: str) -> str:
        return self._name("session", session)

    def _name(self, what: str, name: str) -> str:
        """Return a checked name, without secrets if these are redacted."""
        checked, redaction = check_name(what, name, self._settings.log), self._redaction
        return checked if redaction is None else redaction.name(checked)

    def _known_session(self, session: str) -> str:
        with self._store.snapshot(self.namespace) as view:
            if view.session_number(known := self._session(session)) is None:
                raise NotFound(f"there is no session {session!r} in this namespace")
        return known

    def _sample(self, sample: int) -> int:
        if isinstance(sample, bool) or not isinstance(sample, int) or sample < 0:
            raise InputError(f"sample must be a whole number from 0, not {sample!r}")
        return sample

    def _limit(self, limit: int) -> int:
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_RESULTS:
            raise InputError(f"limit must be a whole number from 1 to {MAX_RESULTS}, not {limit!r}")
        return limit

    # --- the log

    def bootstrap(self, session: str = DEFAULT_SESSION, user: str | None = None) -> Session:
        """Create the namespace and session; a second call changes nothing. `user` must be the owner of this memory."""
        if user is not None and user != self.namespace:
            raise InputError(
                f"this is the memory of {self.namespace!r}, not of {user!r}; open Memory(…, namespace={user!r}) for it"
            )
        session = self._session(session)
        self._store.bootstrap(self.namespace, session)
        with self._store.snapshot(self.namespace) as view:
            return Session(self.namespace, session, view.last_index(session) + 1)

    @overload
    def ingest(
        self, text: Content, role: str = "user", session: str = DEFAULT_SESSION, at: Moment | None = None,
        key: str | None = None, origin: str | None = None, stability: float | None = None,
        heartbeat: Literal[False] = False, metadata: Metadata | None = None,
    ) -> Turn: ...  # fmt: skip
    @overload
    def ingest(
        self, text: Content, role: str = "user", session: str = DEFAULT_SESSION, at: Moment | None = None,
        key: str | None = None, origin: str | None = None, stability: float | None = None,
        heartbeat: bool = False, metadata: Metadata | None = None,
    ) -> Turn | None: ...  # fmt: skip
    def ingest(
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
        """Store one message. When this returns, it is on disk; a heartbeat is not stored and returns None.

        A list of content parts becomes several turns, all or none of them: the message's own text, and every tool
        result, document or file (docs/reference/content.md). Returns the turn of the own text, or the first if there is
        none; `ingest_many` returns them all.
        """
        now = self._shared.clock()
        read = read_turns(
            text, role=role, at=at, key=key, origin=origin, stability=stability, metadata=metadata, now=now,
            settings=self._settings.log,
        )  # fmt: skip
        redaction = self._redaction
        turns = [redaction.turn(turn) for turn in read] if redaction else list(read)
        session = self._session(session)
        if heartbeat:
            return None
        kept = self._store.append(self.namespace, session, turns, now)
        assert kept is not None
        self._engine.worker.wake(self.namespace)
        self._engine.compaction.grew(self.namespace, session)
        _warn_of_other_text(turns, kept)
        return next((one for one in kept if PART not in one.metadata), kept[0])

    def ingest_many(
        self, messages: Iterable[Mapping[str, object]], session: str = DEFAULT_SESSION, progress: Progress | None = None
    ) -> list[Turn]:
        """Store a conversation; if it was stored before, only new turns are added (LOG-7).

        Gives the turns of each message in order (none for a heartbeat), whether they were new or known: one for a
        message of plain text, one for each other content part (docs/reference/content.md). All messages are checked
        before the first is written.
        """
        if not isinstance(messages, Iterable):
            raise InputError(f"messages must be a list of messages, not {type(messages).__name__}")
        now = self._shared.clock()
        session = self._session(session)
        read = [
            read_message(message, number=number, now=now, settings=self._settings.log)
            for number, message in enumerate(messages)
        ]
        redaction = self._redaction
        turns = [redaction.turn(turn) if redaction else turn for many in read for turn in many]
        while True:
            kept = self._append_new(session, turns, progress)
            if kept is not None:
                _warn_of_other_text(turns, kept)
                return kept

    def _append_new(self, session: str, turns: Sequence[NewTurn], progress: Progress | None) -> list[Turn] | None:
        """Append the turns that are new; return None if another writer changed the session meanwhile."""
        with self._store.snapshot(self.namespace) as view:
            before = expect = view.last_index(session)
            # Keys are looked up by the log itself; only turns without one need the session's sequence.
            known: list[int | None] = [None] * len(turns)
            erased = {one.index: (seq, one) for seq, one in view.tombstones(session)}
            if any(turn.key is None for turn in turns):
                places = view.places(session, None if erased else turns)
                if erased:
                    marker = Marker(self._store.secret(), self.namespace)
                    places = places_with_erased(places, [one for _, one in erased.values()], turns, marker, session)
                known = align(places, turns)
            stored = _read_indexes(
                view, session, [index for index in known if index is not None and index not in erased]
            )
        fresh = [turn for turn, index in zip(turns, known, strict=True) if index is None]
        keyless = any(turn.key is None for turn in fresh)
        added: list[Turn] = []
        for start in range(0, len(fresh), _INGEST_BATCH):
            part = fresh[start : start + _INGEST_BATCH]
            kept = self._store.append(self.namespace, session, part, self._shared.clock(), expect if keyless else None)
            if kept is None:
                return None
            expect = max(expect, *(turn.index for turn in kept))
            added.extend(kept)
            self._engine.worker.wake(self.namespace)
            if progress is not None:
                progress(len(turns) - len(fresh) + len(added), len(turns))
        if progress is not None and not fresh:
            progress(len(turns), len(turns))
        if 0 <= before < expect:  # a session that was there has grown; a history that is new is not compacted at once
            self._engine.compaction.grew(self.namespace, session)
        new = iter(added)
        now = self._shared.clock()
        return [
            next(new)
            if index is None
            else stored.get(index)
            or erased_turn(erased[index][1], turn, self.namespace, session, erased[index][0], now)
            for turn, index in zip(turns, known, strict=True)
        ]

    # --- recall

    def search(
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
        """Return the best hits, best first; `.receipt` explains them. `rerank` reads the first 20 once more (.15 s)."""
        with FOREGROUND.call():  # loading the modules too: derived work must not take that long for itself
            from holdfast.search.retrieve import Query
            from holdfast.search.search import search  # who only writes does not load them

        now = self._shared.clock()
        engine = self._engine
        seconds = 0.0
        if rerank:
            from holdfast.search.rerank import rerank_seconds

            seconds = rerank_seconds(engine.ask)
        asked = Query(
            text=check_text("the question", query, self._settings.log),
            limit=self._limit(limit),
            kind=None if kind is None else _read_kind(kind),
            session=None if session is None else self._session(session),
            since=None if since is None else read_moment(since, now),
            until=None if until is None else read_moment(until, now),
            as_of=None if as_of is None else read_moment(as_of, now),
            rerank_s=seconds,
        )
        # Without a vector in time the search goes on by words.
        given = self._engine.embedder
        bounded = None if given is None else DeadlineEmbedder(given, *self._engine.asking, _EMBEDDER_S)
        with FOREGROUND.call(), ExitStack() as open_views:
            names = [self.namespace] if self.namespace == GLOBAL else [self.namespace, GLOBAL]
            views = [(name, open_views.enter_context(self._store.snapshot(name))) for name in names]
            hits = search(views, asked, bounded, engine.cache, self._settings, now, ask=engine.ask)
        # Not those of `global`: reading it must leave no trace there (INV-4).
        self._engine.retrievals.note(self.namespace, [hit.id for hit in hits if hit.namespace == self.namespace])
        return hits

    @overload
    def recent(
        self, limit: int = 20, kind: Literal["turn"] = "turn", since: Moment | None = None,
        until: Moment | None = None, session: str | None = None,
    ) -> list[Turn]: ...  # fmt: skip
    @overload
    def recent(
        self, limit: int = 20, *, kind: Literal["exchange"], since: Moment | None = None,
        until: Moment | None = None, session: str | None = None,
    ) -> list[Exchange]: ...  # fmt: skip
    @overload
    def recent(
        self, limit: int = 20, kind: str = "turn", since: Moment | None = None,
        until: Moment | None = None, session: str | None = None,
    ) -> list[Turn] | list[Exchange] | list[Record]: ...  # fmt: skip
    def recent(
        self,
        limit: int = 20,
        kind: str = "turn",
        since: Moment | None = None,
        until: Moment | None = None,
        session: str | None = None,
    ) -> list[Turn] | list[Exchange] | list[Record]:
        """Return the newest turns, exchanges ("exchange") or records ("record", or a kind of record), by event time."""
        now = self._shared.clock()
        first = None if since is None else read_moment(since, now)
        last = None if until is None else read_moment(until, now)
        most = self._limit(limit)
        session = None if session is None else self._session(session)
        with self._store.snapshot(self.namespace) as view:
            if kind == "exchange":
                return recent_exchanges(view, most, first, last, session)
            if kind == Kind.TURN:
                return recent_turns(view, most, first, last, session)
            records = None if kind == "record" else _read_kind(kind, "exchange", "record")
            return view.recent_records(most, records, first, last, session)

    def thread(self, session: str) -> list[Turn]:
        """Return one conversation in order; empty if there is no session of that name."""
        with self._store.snapshot(self.namespace) as view:
            return list(read_thread(view, self._session(session)))

    def themes(
        self,
        since: Moment | None = "30 days ago",
        until: Moment | None = None,
        limit: int = 8,
        digest: bool | None = None,
    ) -> Themes:
        """Group the turns of a period by theme, largest first, with words that name each theme and examples.

        With a chat model each theme gets a sentence and all of them a digest; `digest` forbids or demands it.
        """
        from holdfast.insight.themes import Period, find_themes

        now = self._shared.clock()
        period = Period(
            None if since is None else read_moment(since, now), None if until is None else read_moment(until, now)
        )
        with self._store.snapshot(self.namespace) as view:
            engine, most = self._engine, self._limit(limit)
            found = find_themes(view, self.namespace, period, most, engine.fingerprint, engine.cache, self._settings)
        if digest is False or (digest is None and self._settings.chat.model == "none"):
            return found
        return self._digested(found)

    def _digested(self, found: Themes) -> Themes:
        from holdfast.insight.clusters import ThemeSizes
        from holdfast.insight.themes import add_digest
        from holdfast.models.chat import open_chat

        chat = open_chat(self._settings.chat.model, timeout_s=self._settings.chat.timeout_s)
        if chat is None:
            raise InputError("a digest needs a chat model, and none is configured; set chat.model (URL#MODEL)")
        with closing(chat):
            return add_digest(found, chat, tuned(self._settings, ThemeSizes).digest_s)

    # --- the context

    def context(
        self,
        messages: Sequence[Mapping[str, object]],
        session: str = DEFAULT_SESSION,
        budget: int = 1000,
        rules: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] = (),
        memory_budget: int | None = None,
        prompt_budget: int | None = None,
    ) -> Context:
        """Add what a model should know to the messages: rules, recent turns, guidance and memories.

        `budget` is the number of tokens for all of it; `memory_budget` is another name for it. `prompt_budget` is the
        host's whole budget instead, of which a quarter is used. On any failure, and past the deadline, `.messages` is
        the list that was given and `.degraded` says why.
        """
        from holdfast.context.assemble import Request

        if not isinstance(messages, Sequence):  # what can be read only once would be gone when it is given back
            raise InputError(f"messages must be a list of messages, not {type(messages).__name__}")
        if memory_budget is not None and prompt_budget is not None:
            raise InputError("memory_budget and prompt_budget are two ways to set the same budget; give one of them")
        tokens = _tokens("budget", budget) if memory_budget is None else _tokens("memory_budget", memory_budget)
        if prompt_budget is not None:
            tokens = int(self._settings.context.share * _tokens("prompt_budget", prompt_budget))
        request = Request(
            self.namespace, messages, self._session(session), tokens, _rule_files(rules), self._shared.clock()
        )
        if not self._release.alive:
            return self._shared.assembler.untouched(request, "this memory was closed; open it again to use it")
        with FOREGROUND.call():
            made = self._engine.assembler.assemble(request)
        self._engine.retrievals.note(self.namespace, made.recalled)
        return made

    def standing(self, tokens: int | None = None) -> StandingSection:
        """Return a short prompt section about this namespace, without a question (API-3)."""
        from holdfast.context.standing import standing_section
        from holdfast.models.tokens import open_counter

        budget = _STANDING_TOKENS if tokens is None else _tokens("tokens", tokens)
        counter = open_counter(self._settings.tokens)
        with self._store.snapshot(self.namespace) as view:
            return standing_section(view, self._store.secret(), self.namespace, budget, counter)

    def profile(self, tokens: int = 700, sensitive: bool = True) -> ProfilePage:
        """Return a page about the owner of this memory by its current records, grouped, with the standing rules."""
        from holdfast.context.profile import make_profile, read_entries
        from holdfast.models.tokens import open_counter

        budget, counter = _tokens("tokens", tokens), open_counter(self._settings.tokens)
        with self._store.snapshot(self.namespace) as view:
            entries = read_entries(view, self._shared.clock())
        return make_profile(entries, self.namespace, budget, sensitive, counter)

    # --- the operator's acts

    def remember(
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
        """Store an explicit memory, without a gate. A key that was used before returns its record, or with `upsert`
        gets the new text.

        `origin` says who wrote it: the user, an `agent`, or another product (`imported`). What an agent writes is a
        record of the user's turns in that session (default: the last one) if they bear it out, else the agent's own
        note. Neither it nor what was imported is ever guidance (TRUST-2). `at` is when it was said (default: now).
        """
        known_kind = _read_kind(kind)
        if known_kind is Kind.TURN:
            raise InputError("a turn is ingested, not remembered; use ingest(), or another kind")
        if not check_text("the text of a record", text, self._settings.log).strip():
            raise BadText("there is nothing to remember in an empty text")
        now = self._shared.clock()
        text = redaction.masked(text) if (redaction := self._redaction) else text
        said: dict[str, object] = {
            "text": text,
            "kind": known_kind.value,
            "provenance": Provenance.USER_STATED.value,
            "confidence": 1.0,
        }
        if origin != Origin.USER:
            said |= self._written_by(origin, text, known_kind, session)
        if at is not None:
            said["said"] = to_micros(read_moment(at, now))
        if given := read_metadata(metadata, self._settings.log):
            said["given"] = redaction.masked(given) if redaction else given
        if key is not None:
            said["key"] = key = self._name("key", key)
        # Nobody else's key may stand in the way of the user's.
        own_key = key if key is None or origin == Origin.USER else f"{origin}\0{key}"
        record_id = new_id("r", now) if own_key is None else keyed_id("r", own_key)
        older: Record | None = None
        if upsert:
            if own_key is None:
                raise InputError("upsert needs the key of the record that is to be replaced")
            with self._store.snapshot(self.namespace) as view:
                record_id, older = keyed_version(view, own_key, text)
            if older is not None:
                said["given"] = {**read_metadata(metadata, self._settings.log), "corrects": older.id}
        self._store.act(self.namespace, Action(Entry.REMEMBER, record_id, now, said), once=True)
        self._engine.worker.wake(self.namespace)
        with self._store.snapshot(self.namespace) as view:
            record = view.record(record_id)
        assert record is not None
        if older is not None:
            self.forget(older.id)
        return record

    def update(self, noun_id: str, text: str | None = None, kind: str | None = None, origin: str = "user") -> Record:
        """Correct a record, or confirm it as it stands: the old one is forgotten for one in the user's own name."""
        old = self.get(noun_id)
        if isinstance(old, Turn):
            raise InputError(f"{noun_id} is a turn, which is kept as it was said; forget it, or remember a new text")
        new_kind = old.kind.value if kind is None else _read_kind(kind).value
        if isinstance(text, str) and (text.strip(), new_kind) == (old.text.strip(), old.kind.value):
            text = None
        given = {"corrects": old.id} if text is not None or kind is not None else {"pins": old.id}
        made = self.remember(old.text if text is None else text, new_kind, metadata=given, origin=origin)
        self.forget(old.id)
        return made

    def get(self, noun_id: str) -> Turn | Record:
        """Return one turn or record by its id, also one that was replaced or forgotten."""
        with self._store.snapshot(self.namespace) as view:
            return find(view, check_text("an id", noun_id, self._settings.log))

    def records(
        self,
        kind: str | None = None,
        about: str | None = None,
        query: str | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[Record]:
        """List the current records that name `about` and contain all words of `query`, newest first, page by page."""
        behind = None if before is None else check_text("an id", before, self._settings.log)
        known_kind, most = None if kind is None else _read_kind(kind), self._limit(limit)
        with self._store.snapshot(self.namespace) as view:
            return list_records(view, known_kind, about, query, most, behind)

    def _written_by(self, origin: str, text: str, kind: Kind, session: str | None) -> dict[str, object]:
        """Return what another's memory is stored as, instead of the user's."""
        if origin not in (Origin.AGENT, Origin.IMPORTED):
            raise InputError(f"unknown origin {origin!r} of a memory: use user, agent or imported")
        from holdfast.admit.extract import AdmitWeights

        admit = tuned(self._settings, AdmitWeights)
        plain = Kind.PREFERENCE if kind is Kind.GUIDANCE else kind
        said: dict[str, object] = {"kind": plain.value, "by": str(origin)}
        if origin == Origin.IMPORTED:
            return said | {"provenance": Provenance.IMPORTED.value, "confidence": admit.confidence_confirmed}
        from holdfast.admit.notes import ground_note

        with self._store.snapshot(self.namespace) as view:
            known = None if session is None else self._session(session)
            grounded = ground_note(view, text, plain, known, admit)
            if grounded is None:
                return said | {"provenance": Provenance.AGENT_NOTED.value, "confidence": admit.confidence_implied}
            last = max(turn.at for turn in view.turns_by_id(grounded.turn_ids).values())
        return said | {
            "provenance": grounded.provenance.value,
            "confidence": grounded.confidence,
            "turn_ids": list(grounded.turn_ids),
            "said": to_micros(last),
        }

    def forget(self, noun_id: str, undo: bool = False) -> Decision:
        """Hide a turn or a record from search. The log keeps it, and `undo` brings it back; `erase` destroys it."""
        from holdfast.insight.history import explain_act

        with self._store.snapshot(self.namespace) as view:
            noun = find(view, check_text("an id", noun_id, self._settings.log))
            hidden = view.is_hidden(noun.id)
        now = self._shared.clock()
        if hidden != undo:
            return Decision("unchanged", "it was not forgotten" if undo else "it was forgotten already", now)
        act = Action(Entry.UNFORGET if undo else Entry.FORGET, noun.id, now)
        self._store.act(self.namespace, act)
        return explain_act(act)

    # --- compaction

    def compact(self, session: str, force: bool = False, progress: Progress | None = None) -> Compaction:
        """Replace a session's old turns by digests. Rules are kept word for word, and the log keeps every turn."""
        made = self._engine.compaction.of(self.namespace).compact(
            self._known_session(session), force, progress=progress
        )
        self._engine.worker.wake(self.namespace)
        return made

    def expand(self, noun_id: str) -> list[Turn]:
        """Return the turns that a summary or another record was made from, in order."""
        with self._store.snapshot(self.namespace) as view:
            noun = find(view, check_text("an id", noun_id, self._settings.log))
            if isinstance(noun, Turn):
                return [noun]
            turns = [turn for turn_id in noun.turn_ids if (turn := view.turn(turn_id)) is not None]
        return sorted(turns, key=lambda turn: (turn.at, turn.seq))

    def active(self, session: str) -> ActiveView:
        """Return a compacted conversation: digests and guidance in place of old turns, then the recent turns."""
        from holdfast.compact.run import read_active
        from holdfast.models.tokens import open_counter

        known = self._known_session(session)
        with self._store.snapshot(self.namespace) as view:
            return read_active(view, known, open_counter(self._settings.tokens))

    # --- what is known about itself

    def why(self, noun_id: str) -> Why:
        """Return every decision about a turn or record, in order."""
        from holdfast.insight.history import why

        with self._store.snapshot(self.namespace) as view:
            return why(view, check_text("an id", noun_id, self._settings.log), self._engine.fingerprint, self._settings)

    def history(self, noun_id: str) -> History:
        """Return what a record replaced and what replaced it, oldest first; for a turn, the records made from it."""
        from holdfast.insight.history import history

        with self._store.snapshot(self.namespace) as view:
            return history(view, check_text("an id", noun_id, self._settings.log))

    def gating_scalar(self, text: str) -> Signals:
        """Score how much a text deserves durable memory, with every signal; the text is not stored."""
        from holdfast.admit.pipeline import gating_scalar

        checked = check_text("the text", text, self._settings.log)
        with self._store.snapshot(self.namespace) as view:
            return gating_scalar(
                view, self.namespace, checked, self._engine.embedder, self._settings, self._engine.cache
            )

    def stats(self, since: Moment | None = None) -> Stats:
        """Return the gates' decisions on the user's turns, per day and in total."""
        from holdfast.insight.history import read_stats

        first = None if since is None else read_moment(since, self._shared.clock())
        with self._store.snapshot(self.namespace) as view:
            return read_stats(view, first)

    def status(self) -> Status:
        """Return how much is stored, how far derived work has come, and what is degraded."""
        with self._store.snapshot(self.namespace) as view:
            counts = view.counts()
            erased, erased_at = view.erasures()
            ask = self._engine.ask
            done = (
                0
                if self._engine.fingerprint is None
                else view.cursor(vectors_stage(Space.TURN, self._engine.fingerprint))
            )
            return Status(
                store=self._store.location,
                engine=self._store.engine,
                schema=self._store.schema,
                namespace=self.namespace,
                sessions=counts.sessions,
                turns=counts.turns,
                records=counts.records,
                summaries=counts.summaries,
                guidance=counts.guidance,
                hidden=counts.hidden,
                log_end=view.end(),
                words_done=view.cursor(words_stage(Space.TURN)),
                vectors_done=done,
                embedder="none" if self._engine.embedder is None else self._engine.embedder.profile.name,
                fingerprint=self._engine.fingerprint or "",
                degraded=self._engine.degraded(self.namespace),
                size_bytes=self._store.size(),
                version=__version__,
                behind=self._engine.worker.behind(self.namespace),
                erased=erased,
                erased_at=erased_at,
                ask="" if ask is None else ask.encoder.profile.fingerprint,
                ask_behind=self._engine.worker.ask_behind(self.namespace),
            )

    # --- its thresholds, on one's own data

    def calibrate(
        self, labels: Iterable[Mapping[str, object] | tuple[str | float, bool] | Label] | None = None
    ) -> Calibration:
        """Fit P(useful | G) and a threshold to labels: {"turn": ID, "useful": true}, or "g" for "turn", or pairs.

        It is stored in the log and changes nothing by itself: the threshold is the setting gate.threshold. Without
        labels: how the scores lie, and what was stored last.
        """
        from holdfast.gate.calibrate import as_act, calibrate, read_labels, stored_calibration

        with self._store.snapshot(self.namespace) as view:
            if labels is None:
                return stored_calibration(view)
            now = self._shared.clock()
            made = calibrate(view, read_labels(labels), self._settings.gate.threshold, now)
        self._store.act(self.namespace, as_act(made, now))
        return made

    def tune_similarity(
        self,
        thresholds: Sequence[float] | None = None,
        sample: int = 20,
        judged: Iterable[Mapping[str, object] | Pair] | None = None,
    ) -> Tuning:
        """Report how often each similarity threshold would fire, with pairs to judge; judged pairs give its error."""
        if self._engine.embedder is None:
            raise InputError("tuning the similarity threshold needs an embedder, and this memory has none")
        from holdfast.admit.tuning import tune  # the rooms of admission take 100 ms to load: only who uses them pays

        with self._store.snapshot(self.namespace) as view:
            return tune(view, self._engine.embedder.profile, thresholds, self._sample(sample), judged, self._settings)

    # --- looking after it

    def check(self) -> list[str]:
        """Run the store's integrity check and return the faults it finds."""
        return self._store.check()

    def rebuild(self, progress: Progress | None = None) -> None:
        """Drop every view of this namespace and derive it again from the log; answers stay the same (INV-3)."""
        self._store.clear_views(self.namespace)
        self._engine.worker.flush(self.namespace, None, progress)

    def janitor(self, dry_run: bool = False, cull: bool = False, undo: str | None = None) -> JanitorResult:
        """Lower the confidence of records that were never retrieved (docs/how-to/upkeep.md); `undo` reverts a run.

        With `cull` what is not the user's own word is hidden instead, as `forget` does; nothing is destroyed.
        """
        from holdfast.upkeep import janitor

        self._engine.retrievals.write(self.namespace)
        if undo is not None:
            run = check_text("the name of a run", undo, self._settings.log)
            return janitor.undo(self._store, self.namespace, run, self._shared.clock())
        return janitor.tidy(self._store, self.namespace, self._settings.janitor, self._shared.clock(), dry_run, cull)

    def doctor(self, fix: bool = False, progress: Progress | None = None, *, alone: bool = False) -> Diagnosis:
        """Check the health of this namespace: copies, junk, loops, secrets, orphans, drift (docs/how-to/upkeep.md).

        With `fix`, damaged views are dropped and derived again from the log; no turn and no act is touched. With
        `alone` the store's integrity is left out, which is about other namespaces too.
        """
        from holdfast.upkeep.doctor import examine, fixed_checks, repair

        found = examine(*self._patient(), self._shared.clock(), self._catch_up(), alone)
        if not fix or not any(one.count and one.fixable for one in found.findings):
            return found
        repair(self._store, self.namespace, found, self._engine.fingerprint)
        self._engine.worker.flush(self.namespace, None, progress)
        after = examine(*self._patient(), self._shared.clock(), self._engine.worker.behind(self.namespace), alone)
        return replace(after, fixed=fixed_checks(found, after))

    def _patient(self) -> tuple[Store, str, GuardedEmbedder | None, Settings]:
        return self._store, self.namespace, self._engine.embedder, self._settings

    def _catch_up(self) -> int:
        """Wait a while for derived work; return how far it is behind then."""
        try:
            from holdfast.upkeep.findings import DoctorSizes

            self.flush(tuned(self._settings, DoctorSizes).wait_s)
        except (FlushTimeout, ModelError):  # the doctor says so, with what else there is to say
            return self._engine.worker.behind(self.namespace)
        return 0

    @staticmethod
    def audit(
        path: str | os.PathLike[str], embedder: Embedder | str | None = None, settings: Settings | None = None
    ) -> Diagnosis:
        """Check the memories of another system: mem0, MEMORY.md and CLAUDE.md, MCP's reference memory."""
        from holdfast.upkeep.doctor import audit_file

        known = settings or load_settings()
        guarded = open_guarded(known.embedder.profile if embedder is None else embedder, known)
        return audit_file(_path("path", path), guarded, known, utc_now())

    def export(self, path: str | os.PathLike[str] | BinaryIO, progress: Progress | None = None) -> ExportResult:
        """Write this namespace's log to a JSONL file: every turn and act, in order (docs/how-to/transfer.md)."""
        from holdfast.upkeep.transfer import export_log

        target = _path("path", path, "write")
        return export_log(self._store, self.namespace, target, self._shared.clock(), progress)

    def import_file(self, path: str | os.PathLike[str] | BinaryIO, progress: Progress | None = None) -> ImportResult:
        """Import the log of an export: all of it or nothing, and only what is not here yet."""
        from holdfast.upkeep.transfer import import_log

        source = _path("path", path, "read")
        made = import_log(self._store, self.namespace, source, self._settings, self._redaction, progress)
        self._engine.worker.wake(self.namespace)
        return made

    def erase(
        self,
        session: str | None = None,
        namespace: bool = False,
        turn: str | None = None,
        record: str | None = None,
        prove: bool = False,
        progress: Progress | None = None,
        last: bool = False,
    ) -> EraseResult:
        """Destroy a session, a turn, a record or all of this namespace, with everything derived from it.

        With `last` only the last turn of the session.

        By exact name, for good: the log, the views and the bytes in the files. `prove` searches them for what was
        there. What stays is a tombstone without content, so that it does not come back with the next history.
        """
        from holdfast.upkeep.erase import erase, read_scope

        if last:
            turn, session = self._last_turn(session, turn), None
        scope, noun = read_scope(session, namespace, turn, record)
        if session is not None and self._redaction:
            with self._store.snapshot(self.namespace) as view:  # it may be older than the redaction
                noun = noun if view.session_number(noun) is not None else self._session(noun)
        noun = noun if namespace else check_text(f"the {scope.value}", noun, self._settings.log)
        self._engine.retrievals.write(self.namespace)

        def settle(bared: Mapping[str, tuple[str, ...]]) -> tuple[int, str | None]:
            self._engine.cache.clear()
            try:
                self._engine.worker.flush(self.namespace, None, progress)
                compactor = self._engine.compaction.of(self.namespace)
                remade = sum(compactor.recompact(name, ids) for name, ids in bared.items())
                self._engine.worker.flush(self.namespace, None)
            except (ModelError, StoreError) as error:  # it is erased all the same
                return 0, str(error)
            return remade, None

        return erase(self._store, self.namespace, scope, noun, self._shared.clock(), settle, prove)

    def _last_turn(self, session: str | None, turn: str | None) -> str:
        if session is None or turn is not None:
            raise InputError("last erases the last turn of a session: give session=NAME with it, and no turn")
        turns = self.thread(self._known_session(session))
        if not turns:
            raise NotFound(f"the session {session!r} has no turn")
        return turns[-1].id

    def backup(self, path: str | os.PathLike[str], progress: Progress | None = None) -> BackupResult:
        """Copy the whole store, every namespace in it, while others write; the copy is checked."""
        from holdfast.upkeep.backup import back_up

        return back_up(self._store, _path("path", path), progress)

    @staticmethod
    def copy(
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        namespaces: Sequence[str] | None = None,
        progress: Progress | None = None,
        settings: Settings | None = None,
    ) -> CopyResult:
        """Copy the logs of these namespaces, or of all, into another store of any engine; again, it adds what is new.

        Views are derived in the target store, when a namespace is opened there.
        """
        from holdfast.admit.redact import redaction_of
        from holdfast.upkeep.transfer import chosen_namespaces, copy_namespaces

        known = settings or load_settings()
        place, target = os.fspath(_path("source", source)), _path("target", target)
        if "://" not in place and not os.path.exists(place):
            raise InputError(f"there is no store at {place} to copy from")
        with closing(open_store(source, known.store)) as here:
            chosen = chosen_namespaces(here, namespaces)  # before the target is made: a mistyped name leaves nothing
            with closing(open_store(target, known.store)) as there:
                return copy_namespaces(here, there, chosen, redaction_of(there, known), progress)

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        location: str | os.PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> RestoreResult:
        """Replace the store by a checked copy of a backup; with `force` an existing store is renamed and kept."""
        from holdfast.upkeep.backup import restore

        place = default_location() if location is None else _path("location", location)
        return restore(_path("backup", backup), place, load_settings().store, utc_now(), force, progress)


def _read_indexes(view: Snapshot, session: str, indexes: Sequence[int]) -> dict[int, Turn]:
    """Return the session's turns with these indexes, forgotten or not."""
    found: dict[int, Turn] = {}
    wanted = sorted(indexes)
    while wanted:  # a system prompt may be at the beginning, and the rest at the end
        count = next((n for n in range(1, len(wanted)) if wanted[n] - wanted[n - 1] > _INGEST_BATCH), len(wanted))
        part, wanted = wanted[:count], wanted[count:]
        found |= {turn.index: turn for turn in view.thread(session, part[0] - 1, part[-1] - part[0] + 1)}
    return found


def _rule_files(rules: Iterable[str | os.PathLike[str]] | str | os.PathLike[str]) -> tuple[str, ...]:
    named = [rules] if isinstance(rules, str | os.PathLike) else rules
    try:
        return tuple(os.fspath(path) for path in named)
    except TypeError as error:
        raise InputError(f"rules must be a path of a rule file, or a list of them, not {rules!r:.80}") from error


def _path(what: str, path: _Place, stream: str = "") -> _Place:
    """Return a path that was given, or a stream with that method."""
    try:
        if b"\0" not in os.fsencode(path) if isinstance(path, str | os.PathLike) else hasattr(path, stream):
            return path
    except UnicodeEncodeError:
        pass  # half of a character
    raise InputError(f"{what} must be a path, given as text or a Path, not {path!r:.80}")


def _tokens(what: str, tokens: int) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise InputError(f"{what} must be a whole number of tokens from 1, not {tokens!r}")
    return min(tokens, _ALL_TOKENS)


def _read_kind(kind: str, *also: str) -> Kind:
    """Convert a name to a kind; the error also names `also`, which the caller has checked before."""
    if not isinstance(kind, str) or kind not in set(Kind):
        raise InputError(f"unknown kind {kind!r}: use one of {', '.join((*Kind, *also))}")
    return Kind(kind)


def _warn_of_other_text(turns: Sequence[NewTurn], kept: Sequence[Turn]) -> None:
    """Warn about a key that came again with another text: the first text is kept (LOG-4)."""
    for turn, known in zip(turns, kept, strict=True):
        if turn.key is not None and known.text != turn.text:
            _log.warning(
                "key %r of session %r came again with another text; the first is kept", turn.key, known.session
            )


def warm_up(memory: Memory, rules: Iterable[str] = ()) -> None:
    """Load what the first context of a process needs. Servers do this when they open; it has no deadline."""
    from holdfast.context.assemble import Request

    asked = [{"role": "user", "content": "ready?"}]
    request = Request(memory.namespace, asked, DEFAULT_SESSION, 1000, tuple(rules), memory._shared.clock())
    memory._engine.assembler.warm_up(request)
