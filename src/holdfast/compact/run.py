"""Compacting a session: old turns leave its active view, for summaries and guidance that say where they come from.

The log keeps every turn. A compaction is one line of the log and one transaction with everything it makes; it is
written only if the session's cursor stands where it was read, so two processes never compact the same turns (COMP-4).
A long backlog goes in steps, each whole in itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from holdfast.compact.plan import Plan, make_plan
from holdfast.log.acts import CompactedRecord, CompactionPayload, compact_stage, pack_compaction
from holdfast.log.messages import new_id
from holdfast.model import Action, Entry, Kind, Record, Turn
from holdfast.models.chat import GuardedChat, open_chat
from holdfast.models.embedder import Embedder
from holdfast.models.tokens import TokenCounter, open_counter
from holdfast.results import Active, Compaction
from holdfast.rules.booster import Booster
from holdfast.settings import CompactSettings, Settings
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import COMPACTION, Move, Space
from holdfast.text.time import Clock

Progress = Callable[[int, int], None]
_COUNTED = 1000  # sessions whose count is kept in mind; a server has fewer that grow at once


def open_compactor(
    store: Store, namespace: str, embedder: Embedder | None, settings: Settings, clock: Clock
) -> Compactor:
    """With the chat model and the token counter that the settings name."""
    chat = open_chat(
        settings.chat.model, timeout_s=settings.compact.deadline_s, max_reply_chars=settings.chat.max_reply_chars,
        first_wait_s=settings.chat.retry_s, longest_wait_s=settings.chat.longest_retry_s,
    )  # fmt: skip
    return Compactor(store, namespace, embedder, chat, open_counter(settings.tokens), settings.compact, clock)


@dataclass
class _Tally:
    """What the steps of one run made together."""

    told: list[CompactedRecord] = field(default_factory=list)
    clusters: int = 0
    removed: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    notes: list[str] = field(default_factory=list)
    beaten: bool = False
    """Another process compacted the session meanwhile."""


@dataclass(frozen=True)
class _Waiting:
    """Turns that may leave the active view now, and where the session's cursor stands."""

    after: int
    upto: int
    turns: list[Turn]
    last: bool
    """There are no more behind them."""


class Compactor:
    def __init__(
        self,
        store: Store,
        namespace: str,
        embedder: Embedder | None,
        chat: GuardedChat | None,
        counter: TokenCounter,
        settings: CompactSettings,
        clock: Clock,
    ) -> None:
        self._store = store
        self._namespace = namespace
        self._booster = Booster(embedder, settings)
        self._chat = chat
        self._counter = counter
        self._settings = settings
        self._clock = clock
        self._gate = threading.Lock()
        self._counted: dict[str, tuple[object, int, int]] = {}
        """By session its state, what was counted of it, and up to which turn: the next look reads on from there."""

    def compact(
        self, session: str, force: bool = False, cause: str = "asked", progress: Progress | None = None
    ) -> Compaction:
        """Compact what has grown old in a session; without `force` only if the budget is passed."""
        started = time.perf_counter()
        with self._store.snapshot(self._namespace) as view:
            if not force and (held := self._held(view, session)) <= self._settings.budget_tokens:
                why = f"{held} tokens since the last time, within the budget of {self._settings.budget_tokens}"
                return _result(session, _Tally(tokens_before=held, tokens_after=held), why, started)
            total = max(view.last_index(session) + 1 - self._settings.tail - view.cursor(compact_stage(session)), 0)
        tally = _Tally()
        done = 0

        def count(turns: int) -> None:
            nonlocal done
            done += turns
            if progress is not None:
                progress(min(done, total), total)

        while self._step(session, cause, tally, count):
            if tally.beaten and not force and not self.due(session):
                break  # what another process left is within the budget
        if progress is not None and total:
            progress(total, total)
        return _result(session, tally, self._reason(tally), started)

    def again(self, session: str, turn_ids: Sequence[str]) -> int:
        """Compact turns anew whose digest was erased together with one of its turns; how many records it made."""
        with self._store.snapshot(self._namespace) as view:
            forgotten = set(view.hidden(Space.TURN))
            found = [turn for turn_id in turn_ids if (turn := view.turn(turn_id)) is not None]
            turns = sorted((turn for turn in found if turn.seq not in forgotten), key=lambda turn: turn.index)
            stands = view.cursor(compact_stage(session))
            means = self._means(view)
        now = self._clock()
        plan = make_plan(turns, self._namespace, self._booster, self._chat, means, self._settings, now)
        if not plan.told:
            return 0
        made = CompactionPayload(session, stands, stands, "erased", plan.told, plan.removed)
        action = Action(Entry.COMPACT, new_id("k", now), now, pack_compaction(made))
        return len(plan.told) if self._store.compact(self._namespace, action, Move(made.stage, stands, stands)) else 0

    def due(self, session: str) -> bool:
        """Whether the active view has grown past its budget since the last time."""
        with self._store.snapshot(self._namespace) as view:
            return self._held(view, session) > self._settings.budget_tokens

    def _held(self, view: Snapshot, session: str) -> int:
        """Tokens of the turns that came since the last time; counted no further than the budget needs.

        The tail of that time is no growth: were it counted, four long turns would have every next one compacted alone.
        """
        done = view.cursor(compact_stage(session))
        held, at, step = 0, done + self._settings.tail - 1 if done else -1, self._settings.step
        state = (done, view.erasures())  # while both stand, what was counted stands too
        with self._gate:
            known = self._counted.pop(session, None)
        if known is not None and known[0] == state:
            _, held, at = known
        more = True
        while more and held <= self._settings.budget_tokens:
            turns = view.thread(session, at, step)
            held += sum(self._counter.count(turn.text) for turn in turns)
            at = turns[-1].index if turns else at
            more = len(turns) == step
        with self._gate:
            self._counted[session] = (state, held, at)
            if len(self._counted) > _COUNTED:
                del self._counted[next(iter(self._counted))]  # the one that was not looked at for longest
        return held

    def close(self) -> None:
        if self._chat is not None:
            self._chat.close()

    # --- one step

    def _step(self, session: str, cause: str, tally: _Tally, count: Callable[[int], None]) -> bool:
        """One transaction; whether there may be more to do."""
        with self._store.snapshot(self._namespace) as view:
            waiting = self._waiting(view, session)
            means = self._means(view)
        if not waiting.turns and waiting.last:
            return False
        now = self._clock()
        plan = make_plan(waiting.turns, self._namespace, self._booster, self._chat, means, self._settings, now, count)
        tally.notes += plan.notes
        if not plan.told and waiting.last and len(waiting.turns) < self._settings.size:
            return False  # they wait until there is more to say about them; not for ever, or each turn reads them again
        made = CompactionPayload(session, waiting.after, waiting.upto, cause, plan.told, plan.removed)
        action = Action(Entry.COMPACT, new_id("k", now), now, pack_compaction(made))
        if not self._store.compact(self._namespace, action, Move(made.stage, made.after, made.upto)):
            tally.beaten = True
            return True  # look again: another process was here
        self._add(tally, plan, waiting.turns)
        return not waiting.last

    def _waiting(self, view: Snapshot, session: str) -> _Waiting:
        after = view.cursor(compact_stage(session))
        newest = self._newest(view, session)
        there = view.thread(session, after - 1, self._settings.step)
        turns = [turn for turn in there if turn.index <= newest]
        upto = turns[-1].index + 1 if turns else after
        forgotten = set(view.hidden(Space.TURN)) if turns else set()
        last = upto > newest or len(turns) < self._settings.step
        return _Waiting(after, upto, [turn for turn in turns if turn.seq not in forgotten], last)

    def _newest(self, view: Snapshot, session: str) -> int:
        """The index of the last turn before the tail. Erased turns keep their places, and are no part of the tail."""
        number, end = view.session_number(session), view.last_index(session)
        if not self._settings.tail:
            return end
        tail = [] if number is None else view.numbers_before(number, end + 1, self._settings.tail)
        return view.turns(tail[:1])[tail[0]].index - 1 if len(tail) == self._settings.tail else -1

    def _means(self, view: Snapshot) -> list[float]:
        """Mean G of the namespace's summaries, the newest ones; only a chat model needs them."""
        if self._chat is None:
            return []
        summaries = view.recent_records(self._settings.compared, Kind.SUMMARY, None, None, None)
        return [float(cast("float", one.metadata["mean_g"])) for one in summaries if "mean_g" in one.metadata]

    def _add(self, tally: _Tally, plan: Plan, turns: list[Turn]) -> None:
        tally.told += plan.told
        tally.clusters += plan.clusters
        tally.removed += plan.removed
        tokens = {turn.id: self._counter.count(turn.text) for turn in turns}
        stood_for = {turn_id for told in plan.told if told.replaces_turns for turn_id in told.turn_ids}
        left = sum(count for turn_id, count in tokens.items() if turn_id not in stood_for)
        tally.tokens_before += sum(tokens.values())
        tally.tokens_after += left + sum(self._counter.count(told.text) for told in plan.told)

    def _reason(self, tally: _Tally) -> str:
        if tally.told:
            turns = "1 turn" if tally.removed == 1 else f"{tally.removed:,} turns"
            return f"{turns} left the active view; the log keeps them, expand shows them"
        if tally.beaten:
            return "another process compacted this session just now"
        return f"nothing is older than the last {self._settings.tail} turns, or no digest of it would be shorter"


def _result(session: str, tally: _Tally, reason: str, started: float) -> Compaction:
    summaries = [told for told in tally.told if told.kind is Kind.SUMMARY]
    methods = {str(told.details["method"]) for told in summaries}
    return Compaction(
        session=session,
        did_compact=bool(tally.told),
        clusters_formed=tally.clusters,
        turns_removed=tally.removed,
        summary_method=methods.pop() if len(methods) == 1 else "mixed" if methods else "none",
        mean_confidence=round(sum(told.confidence for told in summaries) / len(summaries), 4) if summaries else 0.0,
        protected=len(tally.told) - len(summaries),
        reason=reason,
        tokens_before=tally.tokens_before,
        tokens_after=tally.tokens_after,
        summaries=tuple(told.id for told in summaries),
        guidance=tuple(told.id for told in tally.told if told.kind is Kind.GUIDANCE),
        notes=tuple(dict.fromkeys(tally.notes)),
        ms=round((time.perf_counter() - started) * 1000, 3),
    )


# --- The active view of a session: digests and guidance in place of old turns, then the turns as they were said.


_ALL = 1_000_000_000


def read_active(view: Snapshot, session: str, counter: TokenCounter) -> Active:
    """What stands for the whole conversation now; a summary of a forgotten turn is gone, its other turns are back."""
    done = view.cursor(compact_stage(session))
    forgotten = set(view.hidden(Space.TURN))
    left = view.uncompacted_turns(session, done - 1) if done else []
    turns = [turn for turn in [*left, *view.thread(session, done - 1, _ALL)] if turn.seq not in forgotten]
    summaries, guidance = (_made(view, session, kind) for kind in (Kind.SUMMARY, Kind.GUIDANCE))
    return Active(session, summaries, guidance, tuple(turns), _tokens(counter, summaries, guidance, turns))


def _made(view: Snapshot, session: str, kind: Kind) -> tuple[Record, ...]:
    """Oldest first."""
    found = view.recent_records(_ALL, kind, None, None, session)
    return tuple(record for record in reversed(found) if COMPACTION in record.metadata)


def _tokens(
    counter: TokenCounter, summaries: tuple[Record, ...], guidance: tuple[Record, ...], turns: list[Turn]
) -> int:
    texts = [*(record.text for record in (*summaries, *guidance)), *(turn.text for turn in turns)]
    return sum(counter.count(text) for text in texts)
