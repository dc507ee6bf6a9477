"""Memory: one short method per verb."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import cached_property
from typing import TYPE_CHECKING, Literal, overload

from holdfast.derive.courtesy import FOREGROUND
from holdfast.errors import BadText, InputError
from holdfast.log.align import align
from holdfast.log.ids import keyed_id, new_id
from holdfast.log.messages import check_text, read_message, read_metadata, read_turn
from holdfast.log.names import check_name
from holdfast.log.tombstones import Marker, erased_turn, places_with_erased
from holdfast.model import (
    Action,
    Decision,
    Entry,
    Exchange,
    Hits,
    Kind,
    Metadata,
    NewTurn,
    Provenance,
    Record,
    Session,
    Status,
    Turn,
    Why,
)
from holdfast.moments import Moment, read_moment
from holdfast.opened import Progress
from holdfast.recall.pool import words_stage
from holdfast.recall.recent import read_thread, recent_exchanges, recent_turns
from holdfast.recall.vectors import vectors_stage
from holdfast.store.nouns import Space
from holdfast.store.protocol import Snapshot
from holdfast.tended import Tended
from holdfast.version import __version__

if TYPE_CHECKING:
    from holdfast.context.assemble import Assembler
    from holdfast.context.result import Context
    from holdfast.gate.scalar import Signals
    from holdfast.insight import Active, Compaction, History, StandingSection, Stats, Themes

__all__ = ["DEFAULT_SESSION", "Memory", "Progress"]

_log = logging.getLogger("holdfast")

DEFAULT_SESSION = "default"
_ALL_TOKENS = 10**15  # no prompt has more, and a float holds it exactly


class Memory(Tended):
    """The memory of one namespace. Safe to use from many threads and, on one store, from many processes."""

    # --- the log

    def bootstrap(self, session: str = DEFAULT_SESSION, user: str | None = None) -> Session:
        """Create the namespace and session; calling it twice changes nothing. `user` must be whose memory this is."""
        if user is not None and user != self.namespace:
            raise InputError(
                f"this is the memory of {self.namespace!r}, not of {user!r}; open Memory(…, namespace={user!r}) for it"
            )
        self._store.bootstrap(self.namespace, self._session(session))
        with self._store.snapshot(self.namespace) as view:
            return Session(self.namespace, session, view.last_index(session) + 1)

    @overload
    def ingest(
        self, text: str, role: str = "user", session: str = DEFAULT_SESSION, at: Moment | None = None,
        key: str | None = None, origin: str | None = None, stability: float | None = None,
        heartbeat: Literal[False] = False, metadata: Metadata | None = None,
    ) -> Turn: ...  # fmt: skip
    @overload
    def ingest(
        self, text: str, role: str = "user", session: str = DEFAULT_SESSION, at: Moment | None = None,
        key: str | None = None, origin: str | None = None, stability: float | None = None,
        heartbeat: bool = False, metadata: Metadata | None = None,
    ) -> Turn | None: ...  # fmt: skip
    def ingest(
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
        """Keep one turn. When this returns, the turn is on disk; a heartbeat is not kept and gives None."""
        now = self._clock()
        turn = self._redacted(read_turn(
            text, role=role, at=at, key=key, origin=origin, stability=stability, metadata=metadata, now=now,
            settings=self._settings.log,
        ))  # fmt: skip
        self._session(session)
        if heartbeat:
            return None
        kept = self._store.append(self.namespace, session, [turn], now)
        assert kept is not None
        self._worker.wake()
        self._compacting.grew(session)
        _warn_of_other_text([turn], kept)
        return kept[0]

    def ingest_many(
        self,
        messages: Iterable[Mapping[str, object]],
        session: str = DEFAULT_SESSION,
        progress: Progress | None = None,
    ) -> list[Turn]:
        """Keep a conversation, or hand it over again: only what is new is added (LOG-7).

        Gives one turn for each message (heartbeats aside), whether it was new or known. All messages are checked
        before the first is written.
        """
        now = self._clock()
        self._session(session)
        read = [
            read_message(message, number=number, now=now, settings=self._settings.log)
            for number, message in enumerate(messages)
        ]
        turns = [self._redacted(turn) for turn in read if turn is not None]
        while True:
            kept = self._append_new(session, turns, progress)
            if kept is not None:
                _warn_of_other_text(turns, kept)
                return kept

    def _append_new(self, session: str, turns: Sequence[NewTurn], progress: Progress | None) -> list[Turn] | None:
        """Append what the session does not hold; None if another writer moved the session meanwhile."""
        with self._store.snapshot(self.namespace) as view:
            before = expect = view.last_index(session)
            # Keys are looked up by the log itself; only turns without one need the session's sequence.
            known: list[int | None] = [None] * len(turns)
            erased = {one.index: (seq, one) for seq, one in view.tombstones(session)}
            if any(turn.key is None for turn in turns):
                places = view.places(session)
                if erased:
                    marker = Marker(self._store.secret(), self.namespace)
                    places = places_with_erased(places, [one for _, one in erased.values()], turns, marker, session)
                known = align(places, turns)
            heard = _read_indexes(
                view, session, [index for index in known if index is not None and index not in erased]
            )
        fresh = [turn for turn, index in zip(turns, known, strict=True) if index is None]
        keyless = any(turn.key is None for turn in fresh)
        added: list[Turn] = []
        for start in range(0, len(fresh), self._settings.log.batch):
            part = fresh[start : start + self._settings.log.batch]
            kept = self._store.append(self.namespace, session, part, self._clock(), expect if keyless else None)
            if kept is None:
                return None
            expect = max(expect, *(turn.index for turn in kept))
            added.extend(kept)
            self._worker.wake()
            if progress is not None:
                progress(len(turns) - len(fresh) + len(added), len(turns))
        if progress is not None and not fresh:
            progress(len(turns), len(turns))
        if 0 <= before < expect:  # a session that was there has grown; a history that is new is not compacted at once
            self._compacting.grew(session)
        new = iter(added)
        now = self._clock()
        return [
            next(new)
            if index is None
            else heard.get(index) or erased_turn(erased[index][1], turn, self.namespace, session, erased[index][0], now)
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
    ) -> Hits:
        """What is known about this, best first; `.receipt` says how it was found."""
        from holdfast.recall.search import GLOBAL, Query, search  # who only writes does not load them

        now = self._clock()
        asked = Query(
            text=check_text("the question", query, self._settings.log),
            limit=self._limit(limit),
            kind=None if kind is None else _read_kind(kind),
            session=None if session is None else self._session(session),
            since=None if since is None else read_moment(since, now),
            until=None if until is None else read_moment(until, now),
            as_of=None if as_of is None else read_moment(as_of, now),
        )
        with FOREGROUND.call(), ExitStack() as open_views:
            names = [self.namespace] if self.namespace == GLOBAL else [self.namespace, GLOBAL]
            views = [(name, open_views.enter_context(self._store.snapshot(name))) for name in names]
            hits = search(views, asked, self._embedder, self._cache, self._settings, now)
        # Not those of `global`: whoever reads it must leave no trace there (INV-4).
        self._retrievals.note(hit.id for hit in hits if hit.namespace == self.namespace)
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
        """The newest turns, exchanges ("exchange") or records ("record", or one kind of them), by event time."""
        now = self._clock()
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
        """One conversation, in order; empty if there is none of that name."""
        with self._store.snapshot(self.namespace) as view:
            return list(read_thread(view, self._session(session)))

    def themes(
        self,
        since: Moment | None = "30 days ago",
        until: Moment | None = None,
        limit: int = 8,
        digest: bool | None = None,
    ) -> Themes:
        """What a time was about: groups of turns, the largest first, with words that name them and examples.

        With a chat model each is told in a sentence and all of them in a digest; `digest` forbids or demands it.
        """
        from holdfast.recall.themes import Period, find_themes

        now = self._clock()
        period = Period(
            None if since is None else read_moment(since, now), None if until is None else read_moment(until, now)
        )
        with self._store.snapshot(self.namespace) as view:
            found = find_themes(
                view, self.namespace, period, self._limit(limit), self._fingerprint, self._cache, self._settings
            )
        if digest is False or (digest is None and self._settings.chat.model == "none"):
            return found
        return self._digested(found)

    def _digested(self, found: Themes) -> Themes:
        from holdfast.models.chat import open_chat
        from holdfast.recall.theme_digest import digest

        chat = open_chat(self._settings.chat.model, timeout_s=self._settings.chat.timeout_s)
        if chat is None:
            raise InputError("a digest needs a chat model, and none is configured; set chat.model (URL#MODEL)")
        with closing(chat):
            return digest(found, chat, self._settings.themes.digest_s)

    # --- the context

    def context(
        self,
        messages: Sequence[Mapping[str, object]],
        session: str = DEFAULT_SESSION,
        budget: int = 4000,
        rules: Iterable[str | os.PathLike[str]] | str | os.PathLike[str] = (),
        memory_budget: int | None = None,
    ) -> Context:
        """The messages with what a model should know for them: rules, recent turns, guidance and memories.

        `budget` is the host's whole budget in tokens, of which a quarter is used, or `memory_budget` gives the tokens
        themselves. On any failure, and past the deadline, `.messages` is the list that was given and `.degraded` says
        why.
        """
        from holdfast.context.assemble import Request

        if not isinstance(messages, Sequence):  # what can be read only once would be gone when it is given back
            raise InputError(f"messages must be a list of messages, not {type(messages).__name__}")
        tokens = _tokens("budget", budget)
        share = int(self._settings.context.share * tokens)
        request = Request(
            messages,
            self._session(session),
            share if memory_budget is None else _tokens("memory_budget", memory_budget),
            _rule_files(rules),
            self._clock(),
        )
        with FOREGROUND.call():
            made = self._assembler.assemble(request)
        self._retrievals.note(made.recalled)
        return made

    @cached_property
    def _assembler(self) -> Assembler:
        from holdfast.context.assemble import Assembler  # its rooms take a while to load: only who uses them pays

        return Assembler(self._store, self.namespace, self._embedder, self._cache, self._settings)

    def standing(self, tokens: int | None = None) -> StandingSection:
        """What stands about this namespace, framed for a prompt, without a question: a light section (API-3)."""
        from holdfast.context.standing import standing_section
        from holdfast.models.tokens import open_counter

        budget = self._settings.context.standing_tokens if tokens is None else _tokens("tokens", tokens)
        counter = open_counter(self._settings.tokens)
        with self._store.snapshot(self.namespace) as view:
            return standing_section(view, self._store.secret(), self.namespace, budget, counter)

    @property
    def _context_degraded(self) -> str | None:
        return self._assembler.degraded if "_assembler" in self.__dict__ else None

    # --- the operator's acts

    def remember(
        self, text: str, kind: str = "fact", key: str | None = None, metadata: Metadata | None = None
    ) -> Record:
        """Keep an explicit memory: no gate judges it. A key that comes again gives the first record back."""
        known_kind = _read_kind(kind)
        if known_kind is Kind.TURN:
            raise InputError("a turn is ingested, not remembered; use ingest(), or another kind")
        if not check_text("the text of a record", text, self._settings.log).strip():
            raise BadText("there is nothing to remember in an empty text")
        now = self._clock()
        said: dict[str, object] = {
            "text": text,
            "kind": known_kind.value,
            "provenance": Provenance.USER_STATED.value,
            "confidence": 1.0,
        }
        if given := read_metadata(metadata, self._settings.log):
            said["given"] = given
        if key is not None:
            said["key"] = check_name("key", key, self._settings.log)
        record_id = new_id("r", now) if key is None else keyed_id("r", key)
        self._store.act_once(self.namespace, Action(Entry.REMEMBER, record_id, now, said))
        self._worker.wake()
        with self._store.snapshot(self.namespace) as view:
            record = view.record(record_id)
        assert record is not None
        return record

    def forget(self, noun_id: str, undo: bool = False) -> Decision:
        """Hide a turn or retire a record from recall. The log keeps it, and `undo` brings it back; erase destroys."""
        from holdfast.recall.why import explain_act, find

        with self._store.snapshot(self.namespace) as view:
            noun = find(view, check_text("an id", noun_id, self._settings.log))
            hidden = view.is_hidden(noun.id)
        now = self._clock()
        if hidden != undo:
            return Decision("unchanged", "it was not forgotten" if undo else "it was forgotten already", now)
        act = Action(Entry.UNFORGET if undo else Entry.FORGET, noun.id, now)
        self._store.act(self.namespace, act)
        return explain_act(act)

    # --- compaction

    def compact(self, session: str, force: bool = False, progress: Progress | None = None) -> Compaction:
        """Put digests in place of a session's old turns. Rules stay word for word, the log keeps every turn."""
        made = self._compacting.compactor.compact(self._known_session(session), force, progress=progress)
        self._worker.wake()
        return made

    def expand(self, noun_id: str) -> list[Turn]:
        """The turns that a summary, or any other record, was made of, in the order they were said."""
        from holdfast.recall.why import find

        with self._store.snapshot(self.namespace) as view:
            noun = find(view, check_text("an id", noun_id, self._settings.log))
            if isinstance(noun, Turn):
                return [noun]
            turns = [turn for turn_id in noun.turn_ids if (turn := view.turn(turn_id)) is not None]
        return sorted(turns, key=lambda turn: (turn.at, turn.seq))

    def active(self, session: str) -> Active:
        """What stands for a conversation now: digests and guidance in place of old turns, then the turns."""
        from holdfast.compact.active import read_active
        from holdfast.models.tokens import open_counter

        known = self._known_session(session)
        with self._store.snapshot(self.namespace) as view:
            return read_active(view, known, open_counter(self._settings.tokens))

    # --- what is known about itself

    def why(self, noun_id: str) -> Why:
        """Everything that was decided about a turn or record, in order."""
        from holdfast.recall.why import why

        with self._store.snapshot(self.namespace) as view:
            return why(view, check_text("an id", noun_id, self._settings.log), self._fingerprint, self._settings)

    def history(self, noun_id: str) -> History:
        """What a record replaced and what replaced it, oldest first; of a turn, the records it made."""
        from holdfast.recall.history import history

        with self._store.snapshot(self.namespace) as view:
            return history(view, check_text("an id", noun_id, self._settings.log))

    def gating_scalar(self, text: str) -> Signals:
        """How much a text that is not in the log would deserve durable memory, with every signal behind the score."""
        from holdfast.derive.gating import gating_scalar

        checked = check_text("the text", text, self._settings.log)
        with self._store.snapshot(self.namespace) as view:
            return gating_scalar(view, self.namespace, checked, self._embedder, self._settings, self._cache)

    def stats(self, since: Moment | None = None) -> Stats:
        """What the gates did with the user's turns, a day each (by the time they were said) and in total."""
        from holdfast.recall.stats import read_stats

        first = None if since is None else read_moment(since, self._clock())
        with self._store.snapshot(self.namespace) as view:
            return read_stats(view, first)

    def status(self) -> Status:
        """How much is kept, how far derived work has come, and what is degraded."""
        with self._store.snapshot(self.namespace) as view:
            counts = view.counts()
            erased, erased_at = view.erasures()
            done = 0 if self._fingerprint is None else view.cursor(vectors_stage(Space.TURN, self._fingerprint))
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
                embedder="none" if self._embedder is None else self._embedder.profile.name,
                fingerprint=self._fingerprint or "",
                degraded=self._worker.degraded or self._compacting.degraded or self._context_degraded,
                size_bytes=self._store.size(),
                version=__version__,
                behind=self._worker.behind(),
                erased=erased,
                erased_at=erased_at,
            )


def _read_indexes(view: Snapshot, session: str, indexes: Sequence[int]) -> dict[int, Turn]:
    """The session's turns of these indexes, forgotten or not."""
    if not indexes:
        return {}
    first, last = min(indexes), max(indexes)
    return {turn.index: turn for turn in view.thread(session, first - 1, last - first + 1)}


def _rule_files(rules: Iterable[str | os.PathLike[str]] | str | os.PathLike[str]) -> tuple[str, ...]:
    named = [rules] if isinstance(rules, str | os.PathLike) else rules
    try:
        return tuple(os.fspath(path) for path in named)
    except TypeError as error:
        raise InputError(f"rules must be a path of a rule file, or a list of them, not {rules!r:.80}") from error


def _tokens(what: str, tokens: int) -> int:
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise InputError(f"{what} must be a whole number of tokens from 1, not {tokens!r}")
    return min(tokens, _ALL_TOKENS)


def _read_kind(kind: str, *also: str) -> Kind:
    """What is also allowed, and was looked at before, is named in the error."""
    if kind not in set(Kind):
        raise InputError(f"unknown kind {kind!r}: use one of {', '.join((*Kind, *also))}")
    return Kind(kind)


def _warn_of_other_text(turns: Sequence[NewTurn], kept: Sequence[Turn]) -> None:
    """A key that comes back with another text keeps the first (LOG-4); the caller should know."""
    for turn, known in zip(turns, kept, strict=True):
        if turn.key is not None and known.text != turn.text:
            _log.warning(
                "key %r of session %r came again with another text; the first is kept", turn.key, known.session
            )
