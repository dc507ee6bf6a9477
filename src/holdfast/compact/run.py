"""Compaction of a session: summaries and guidance replace old turns in its active view.

The log keeps every turn. A compaction is one log line and one transaction with everything it makes. It is written only
if the session's cursor has not moved since it was read, so two processes never compact the same turns (COMP-4). A long
backlog is compacted in several steps.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from holdfast.compact.plan import Plan, make_plan
from holdfast.compact.prepare import CompactSizes
from holdfast.log.acts import CompactedRecord, CompactionPayload, compact_stage, pack_compaction
from holdfast.log.messages import new_id
from holdfast.model import Action, Clock, Entry, Kind, Record, Turn
from holdfast.models.chat import ChatLimits, GuardedChat, open_chat
from holdfast.models.embedder import Embedder
from holdfast.models.tokens import TokenCounter, open_counter
from holdfast.results import ActiveView, Compaction
from holdfast.rules.booster import Booster
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import COMPACTION, Move, Space

Progress = Callable[[int, int], None]
_ALL = 1_000_000_000
_COUNTED = 1000  # sessions whose token count is cached; a server has fewer that grow at the same time
_COUNTED_CHARS = 20_000  # counted at a time


def open_compactor(
    store: Store, namespace: str, embedder: Embedder | None, settings: Settings, clock: Clock
) -> Compactor:
    """Open a compactor with the chat model and the token counter of the settings."""
    sizes, limits = tuned(settings, CompactSizes), tuned(settings, ChatLimits)
    chat = open_chat(limits.model, sizes.deadline_s, limits.max_reply_chars, limits.retry_s, limits.longest_retry_s)
    return Compactor(store, namespace, embedder, chat, open_counter(settings.tokens), sizes, clock)


@dataclass
class _Totals:
    """Results of all steps of one run."""

    records: list[CompactedRecord] = field(default_factory=list)
    clusters: int = 0
    removed: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    notes: list[str] = field(default_factory=list)
    conflict: bool = False
    """True if another process compacted the session in the meantime."""


@dataclass(frozen=True)
class _OldTurns:
    """Turns that may leave the active view in the next step, and the session's cursor before and after it."""

    after: int
    upto: int
    turns: list[Turn]
    last: bool
    """True if no more follow."""


class Compactor:
    """Compacts the sessions of one namespace."""

    def __init__(
        self,
        store: Store,
        namespace: str,
        embedder: Embedder | None,
        chat: GuardedChat | None,
        counter: TokenCounter,
        settings: CompactSizes,
        clock: Clock,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._booster = Booster(embedder)
        self._chat = chat
        self._counter = counter
        self._settings = settings
        self._clock = clock
        self._lock = threading.Lock()
        self._counted: dict[str, tuple[object, int, int]] = {}
        """State, tokens and last counted turn by session; the next count continues there."""

    def compact(
        self, session: str, force: bool = False, cause: str = "asked", progress: Progress | None = None
    ) -> Compaction:
        """Compact the old turns of a session; without `force` only if it is over its budget."""
        started = time.perf_counter()
        with self._store.snapshot(self._namespace) as view:
            if not force and (tokens := self._new_tokens(view, session)) <= self._settings.budget_tokens:
                why = f"{tokens} tokens since the last time, within the budget of {self._settings.budget_tokens}"
                return _result(session, _Totals(tokens_before=tokens, tokens_after=tokens), why, started)
            total = max(view.last_index(session) + 1 - self._settings.tail - view.cursor(compact_stage(session)), 0)
        totals = _Totals()
        done = 0

        def count(turns: int) -> None:
            nonlocal done
            done += turns
            if progress is not None:
                progress(min(done, total), total)

        while self._step(session, cause, totals, count):
            if totals.conflict and not force and not self.due(session):
                break  # what the other process left is within the budget
        if progress is not None and total:
            progress(total, total)
        return _result(session, totals, self._reason(totals), started)

    def recompact(self, session: str, turn_ids: Sequence[str]) -> int:
        """Compact turns again whose summary was erased with one of its turns; returns the number of records made."""
        with self._store.snapshot(self._namespace) as view:
            forgotten = set(view.hidden(Space.TURN))
            found = [turn for turn_id in turn_ids if (turn := view.turn(turn_id)) is not None]
            turns = sorted((turn for turn in found if turn.seq not in forgotten), key=lambda turn: turn.index)
            cursor = view.cursor(compact_stage(session))
            means = self._means(view)
        now = self._clock()
        plan = make_plan(turns, self._namespace, self._booster, self._chat, means, self._settings, now)
        if not plan.records:
            return 0
        made = CompactionPayload(session, cursor, cursor, "erased", plan.records, plan.removed)
        action = Action(Entry.COMPACT, new_id("k", now), now, pack_compaction(made))
        done = self._store.compact(self._namespace, action, Move(made.stage, cursor, cursor))
        return len(plan.records) if done else 0

    def due(self, session: str) -> bool:
        """Return True if the active view has outgrown its budget since the last compaction."""
        with self._store.snapshot(self._namespace) as view:
            return self._new_tokens(view, session) > self._settings.budget_tokens

    def close(self) -> None:
        if self._chat is not None:
            self._chat.close()

    def _new_tokens(self, view: Snapshot, session: str) -> int:
        """Count the tokens of turns since the last compaction, no further than the budget needs.

        The tail of that time does not count as growth: otherwise four long turns would cause every following turn to
        be compacted alone.
        """
        done = view.cursor(compact_stage(session))
        tokens, at, step = 0, done + self._settings.tail - 1 if done else -1, self._settings.step
        state = (done, view.erasures())  # the cached count is valid until one of them changes
        with self._lock:
            known = self._counted.pop(session, None)
        if known is not None and known[0] == state:
            _, tokens, at = known
        more = True
        while more and tokens <= self._settings.budget_tokens:
            turns = view.thread(session, at, step)
            for turn in turns:
                tokens += self._tokens_up_to(turn.text, self._settings.budget_tokens - tokens)
            at = turns[-1].index if turns else at
            more = len(turns) == step
        with self._lock:
            self._counted[session] = (state, tokens, at)
            if len(self._counted) > _COUNTED:
                del self._counted[next(iter(self._counted))]  # the least recently used
        return tokens

    def _tokens_up_to(self, text: str, most: int) -> int:
        """Count tokens until there are more than `most`, so that a turn of 20 MB does not hold up other threads."""
        tokens = 0
        for start in range(0, len(text), _COUNTED_CHARS):
            if tokens > most:
                break
            tokens += self._counter.count(text[start : start + _COUNTED_CHARS])
        return tokens

    def _step(self, session: str, cause: str, totals: _Totals, count: Callable[[int], None]) -> bool:
        """Run one transaction; returns False when nothing is left to do."""
        with self._store.snapshot(self._namespace) as view:
            old = self._old_turns(view, session)
            means = self._means(view)
        if not old.turns and old.last:
            return False
        now = self._clock()
        plan = make_plan(old.turns, self._namespace, self._booster, self._chat, means, self._settings, now, count)
        totals.notes += plan.notes
        if not plan.records and old.last and len(old.turns) < self._settings.size:
            return False  # they wait for more turns, but only up to a cluster, or each new turn would read them again
        made = CompactionPayload(session, old.after, old.upto, cause, plan.records, plan.removed)
        action = Action(Entry.COMPACT, new_id("k", now), now, pack_compaction(made))
        if not self._store.compact(self._namespace, action, Move(made.stage, made.after, made.upto)):
            totals.conflict = True
            return True
        self._add(totals, plan, old.turns)
        return not old.last

    def _old_turns(self, view: Snapshot, session: str) -> _OldTurns:
        after = view.cursor(compact_stage(session))
        newest = self._last_before_tail(view, session)
        page = view.thread(session, after - 1, self._settings.step)
        turns = [turn for turn in page if turn.index <= newest]
        upto = turns[-1].index + 1 if turns else after
        forgotten = set(view.hidden(Space.TURN)) if turns else set()
        last = upto > newest or len(turns) < self._settings.step
        return _OldTurns(after, upto, [turn for turn in turns if turn.seq not in forgotten], last)

    def _last_before_tail(self, view: Snapshot, session: str) -> int:
        """Return the index of the last turn before the tail. Erased turns leave gaps and do not count for the tail."""
        number, end = view.session_number(session), view.last_index(session)
        if not self._settings.tail:
            return end
        tail = [] if number is None else view.numbers_before(number, end + 1, self._settings.tail)
        return view.turns(tail[:1])[tail[0]].index - 1 if len(tail) == self._settings.tail else -1

    def _means(self, view: Snapshot) -> list[float]:
        """Return the mean G of the namespace's newest summaries; only needed with a chat model."""
        if self._chat is None:
            return []
        summaries = view.recent_records(self._settings.compared, Kind.SUMMARY, None, None, None)
        return [float(cast("float", one.metadata["mean_g"])) for one in summaries if "mean_g" in one.metadata]

    def _add(self, totals: _Totals, plan: Plan, turns: list[Turn]) -> None:
        totals.records += plan.records
        totals.clusters += plan.clusters
        totals.removed += plan.removed
        tokens = {turn.id: self._counter.count(turn.text) for turn in turns}
        replaced = {turn_id for record in plan.records if record.replaces_turns for turn_id in record.turn_ids}
        left = sum(count for turn_id, count in tokens.items() if turn_id not in replaced)
        totals.tokens_before += sum(tokens.values())
        totals.tokens_after += left + sum(self._counter.count(record.text) for record in plan.records)

    def _reason(self, totals: _Totals) -> str:
        if totals.records:
            turns = "1 turn" if totals.removed == 1 else f"{totals.removed:,} turns"
            return f"{turns} left the active view; the log keeps them, expand shows them"
        if totals.conflict:
            return "another process compacted this session just now"
        return f"nothing is older than the last {self._settings.tail} turns, or no digest of it would be shorter"


def _result(session: str, totals: _Totals, reason: str, started: float) -> Compaction:
    summaries = [record for record in totals.records if record.kind is Kind.SUMMARY]
    methods = {str(record.details["method"]) for record in summaries}
    confidence = sum(record.confidence for record in summaries) / len(summaries) if summaries else 0.0
    return Compaction(
        session=session,
        did_compact=bool(totals.records),
        clusters_formed=totals.clusters,
        turns_removed=totals.removed,
        summary_method=methods.pop() if len(methods) == 1 else "mixed" if methods else "none",
        mean_confidence=round(confidence, 4),
        protected=len(totals.records) - len(summaries),
        reason=reason,
        tokens_before=totals.tokens_before,
        tokens_after=totals.tokens_after,
        summaries=tuple(record.id for record in summaries),
        guidance=tuple(record.id for record in totals.records if record.kind is Kind.GUIDANCE),
        notes=tuple(dict.fromkeys(totals.notes)),
        ms=round((time.perf_counter() - started) * 1000, 3),
    )


def read_active(view: Snapshot, session: str, counter: TokenCounter) -> ActiveView:
    """Return the active view of a session: summaries and guidance, then the turns that they do not replace.

    If a turn was forgotten, the summary of it is gone and its other turns are back.
    """
    done = view.cursor(compact_stage(session))
    forgotten = set(view.hidden(Space.TURN))
    left = view.uncompacted_turns(session, done - 1) if done else []
    turns = [turn for turn in [*left, *view.thread(session, done - 1, _ALL)] if turn.seq not in forgotten]
    summaries, guidance = (_compaction_records(view, session, kind) for kind in (Kind.SUMMARY, Kind.GUIDANCE))
    texts = [*(record.text for record in (*summaries, *guidance)), *(turn.text for turn in turns)]
    return ActiveView(session, summaries, guidance, tuple(turns), sum(map(counter.count, texts)))


def _compaction_records(view: Snapshot, session: str, kind: Kind) -> tuple[Record, ...]:
    """Return the records that compactions made, oldest first."""
    found = view.recent_records(_ALL, kind, None, None, session)
    return tuple(record for record in reversed(found) if COMPACTION in record.metadata)
