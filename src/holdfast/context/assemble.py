"""Assembly end to end: gather what each tier may hold, share out the budget, render, and say why (CTX-1 to CTX-9).

It is done by a thread of its own and waited for no longer than the deadline: after that, or on any failure, the host
has its messages back as they were (CTX-5). The embedder has a part of that time; without it recall goes on by words.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib import import_module
from operator import is_
from typing import TYPE_CHECKING

from holdfast.admit.secrets import masked_text
from holdfast.context.budget import Allotment, KnownRules, Packing, Pieces, TierDecision, allot, known_rules
from holdfast.context.render import FOLLOWED, ContextFrame, Item, render, skeleton
from holdfast.context.rule_files import Node, Nodes, Rules
from holdfast.context.tiers import (
    LONG_CHARS,
    ContextSizes,
    Conversation,
    TierCandidate,
    elevated,
    hard_and_soft,
    long_excerpts,
    near_guidance,
    neighbours,
    recalled,
    tail,
)
from holdfast.errors import HoldfastError, InputError
from holdfast.index.blocks import BlockCache, IndexSizes
from holdfast.index.candidates import read_pool
from holdfast.model import Considered, Context, ContextItem, ContextReceipt, Hits, Message, Stage, Tier, TierUse, Turn
from holdfast.models.embedder import Breaker, DeadlineEmbedder, DeadlineExecutor, Embedder
from holdfast.models.tokens import TokenCounter, open_counter
from holdfast.search.question import Ranking, read_question
from holdfast.search.retrieve import Query
from holdfast.search.search import search
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import GLOBAL, Space
from holdfast.text.words import query_terms

if TYPE_CHECKING:
    from holdfast.context.profile import ProfileEntry
    from holdfast.models.ask import AskModels

# --- The operator's rules as rendered in the frame, cached while the files do not change
# (CTX-7).
#
# Rules are escaped, counted and explained when they change, not with every turn nor for every session: 2,000 of them
# would take 140 ms.


_MOST_KEPT = 64  # sessions whose rules are kept ready …
_MOST_FILES = 16  # … and sets of files that they are read from
_SHOWN_CHARS = 160


@dataclass(frozen=True)
class RulesInFrame:
    hard: Sequence[Item]
    soft: Sequence[TierCandidate]
    prefix: str
    """The frame's words and the rules: the bytes that every block of the session begins with."""
    hard_tokens: int
    known: KnownRules
    bodies: Mapping[Item, int]
    """Tokens of the guidelines."""
    considered: Sequence[Considered]
    """The receipt's lines about the rules."""
    listed: Sequence[ContextItem]
    """Those that are shown, as the receipt lists them."""


class _RenderedRules:
    """Rules of the same files, as rendered in the frames of several sessions."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = list(nodes)
        self.made: dict[str, RulesInFrame] = {}
        """By the frame's mark."""
        self._seen = skeleton("\n".join(f"{node.path} {' '.join(node.heading)} {node.text}" for node in nodes)).lower()

    def like(self, frame: ContextFrame) -> RulesInFrame | None:
        """Return them as rendered in another frame, if they look the same in this one: a text that holds the
        frame's own mark is not.
        """
        if frame.mark in self._seen:
            return None
        return next((made for mark, made in self.made.items() if mark not in self._seen), None)


class RuleCache:
    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._kept: dict[tuple[str, ...], _RenderedRules] = {}
        """By the files that hold them."""

    def of(self, frame: ContextFrame, nodes: Sequence[Node], pieces: Pieces) -> RulesInFrame:
        files = tuple(dict.fromkeys(node.path for node in nodes))
        read = self._kept.get(files)
        if read is None or not _same(read.nodes, nodes):
            if len(self._kept) >= _MOST_FILES:
                self._kept.clear()
            read = self._kept[files] = _RenderedRules(nodes)
        made = read.made.get(frame.mark)
        if made is None:
            made = self._make(frame, nodes, pieces, read.like(frame))
            if len(read.made) >= _MOST_KEPT:
                read.made.clear()
            read.made[frame.mark] = made
        pieces.know(Tier.SOFT, made.bodies)
        return made

    def _make(
        self, frame: ContextFrame, nodes: Sequence[Node], pieces: Pieces, like: RulesInFrame | None
    ) -> RulesInFrame:
        hard, soft = ((), ()) if like else hard_and_soft(nodes)
        items = like.hard if like else [one.item for one in hard if not one.out]
        prefix = render(frame, {Tier.HARD: items}).removesuffix(frame.closing)
        if like:
            return replace(like, prefix=prefix)
        tokens = pieces.count(prefix[len(frame.opening) :]) if items else 0
        considered = [
            Considered(
                one.item.id, Tier.HARD.value, one.item.kind, one.item.origin, beginning(one.item),
                pieces.body(Tier.HARD, one.item), not one.out, one.reason,
            )
            for one in hard
        ]  # fmt: skip
        bodies = {one.item: pieces.body(Tier.SOFT, one.item) for one in soft}
        known = known_rules(items, soft)
        behind = [replace(one, receipt=receipt_line(one, bodies[one.candidate.item])) for one in known.behind]
        listed = items_of({Tier.HARD: items}, pieces)
        return RulesInFrame(items, soft, prefix, tokens, replace(known, behind=behind), bodies, considered, listed)


def receipt_line(decision: TierDecision, tokens: int) -> Considered:
    item, candidate = decision.candidate.item, decision.candidate
    return Considered(
        id=item.id,
        tier=decision.tier.value,
        kind=item.kind,
        origin=item.origin,
        text=beginning(item),
        tokens=tokens,
        included=decision.included,
        reason=decision.reason,
        at=item.at,
        score=candidate.score,
        similarity=round(candidate.similarity, 4),
        turn_ids=candidate.turn_ids,
    )


def beginning(item: Item) -> str:
    return item.text if len(item.text) <= _SHOWN_CHARS else item.text[: _SHOWN_CHARS - 1] + "…"


def _same(before: Sequence[Node], now: Sequence[Node]) -> bool:
    """Nodes of files that did not change are the same objects."""
    return len(before) == len(now) and all(map(is_, before, now))


# --- The receipt of an assembly: every candidate with its tier, cost and reason, and what each tier took (CTX-8).


_LONG_CHARS = 4000  # a candidate that is left out and longer than this is not escaped just to tell its tokens


def considered(made: Allotment, pieces: Pieces) -> list[Considered]:
    """Return the receipt's lines about every candidate except the rules, whose lines are cached."""
    return [decision.receipt or _line(decision, pieces) for decision in made.decisions]


def _line(verdict: TierDecision, pieces: Pieces) -> Considered:
    item = verdict.candidate.item
    counted = verdict.included or len(item.text) <= _LONG_CHARS
    return receipt_line(verdict, pieces.body(verdict.tier, item) if counted else len(item.text) // 4)


def items_of(tiers: Mapping[Tier, Sequence[Item]], pieces: Pieces, after: int = 0) -> tuple[ContextItem, ...]:
    """List what a context shows, in its order, with references that continue after those before."""
    shown = [(tier, item) for tier in Tier for item in tiers.get(tier, ())]
    return tuple(
        ContextItem(f"m{ref}", item.id, tier.value, tier in FOLLOWED, item.text, pieces.body(tier, item))
        for ref, (tier, item) in enumerate(shown, after + 1)
    )


def tier_uses(made: Allotment, rendered: RulesInFrame, pieces: Pieces) -> tuple[TierUse, ...]:
    uses = [TierUse(Tier.HARD.value, len(rendered.considered), len(rendered.hard), rendered.hard_tokens, None)]
    candidates = Counter(decision.tier for decision in made.decided)
    candidates[Tier.SOFT] += len(made.behind)
    for tier in (Tier.TAIL, Tier.SOFT, Tier.ELEVATED, Tier.PROFILE, Tier.RECALLED):
        items = made.tiers.get(tier, [])
        uses.append(TierUse(tier.value, candidates[tier], len(items), pieces.tier(tier, items), made.limits.get(tier)))
    return tuple(uses)


_log = logging.getLogger("holdfast.context")

_RECALLED_WHOLE = 12  # records
_IN_TIME = 0.9  # of the deadline the work may take: the rest is for giving the answer
RERANK_CONTEXTS_S = 0.0  # seconds that reranking may take of a context's deadline; 0: contexts are not reranked
_PACKING_S = 0.05  # left for what comes after the search
_LONGEST_WAIT_S = 10.0  # what hung is tried again after this at the latest
_TOKENS_A_CANDIDATE = 12  # an item takes 20 at least, so there are half as many again as fit
_FEWEST = 20
_TYPICAL = "What did I say last week about the door code 4711 and the password of my account?"
_LOADING_S = 1.0  # more for the first context of a process: with eight busy processes on two cores all were empty
_COUNTED_CHARS = 20_000  # rules that are longer are counted once, not with every turn


@dataclass(frozen=True)
class Request:
    namespace: str
    messages: Sequence[Message]
    session: str
    budget: int
    """τ, in tokens."""
    rules: tuple[str, ...]
    now: datetime


class Assembler:
    """Assembles contexts for all memories of an engine. Safe to share between threads."""

    def __init__(
        self, store: Store, embedder: Embedder | None, cache: BlockCache, settings: Settings, ask: AskModels | None
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._ask = ask
        self._cache = cache
        self._settings = settings
        self._counter: TokenCounter = open_counter(settings.tokens)
        self._rules = Rules()
        self._rule_cache = RuleCache(self._counter)
        self._secret: bytes | None = None
        self._profiles: dict[str, tuple[tuple[object, ...], list[ProfileEntry]]] = {}  # by namespace, with its state
        self._executor = DeadlineExecutor("memory")
        self._breaker = Breaker("memory", longest_wait_s=_LONGEST_WAIT_S)
        self._loading_s = _LOADING_S
        # Patterns that take longer to load than a turn may: the clock of the first context starts after that.
        for name in ("admit.supersede", "admit.spoken_secrets", "context.profile"):
            import_module(f"holdfast.{name}")
        masked_text(_TYPICAL)
        read_question(_TYPICAL, datetime.now(UTC))
        self._counter.count(_TYPICAL)
        self._embedder_executor = DeadlineExecutor("embedder")
        self._embedder_breaker = Breaker("the embedder of contexts", longest_wait_s=_LONGEST_WAIT_S)
        self._ask_breaker = Breaker("the ask model of contexts", longest_wait_s=_LONGEST_WAIT_S)

    @property
    def degraded(self) -> str | None:
        return self._breaker.degraded or self._embedder_breaker.degraded

    def assemble(self, request: Request) -> Context:
        """The context, or the messages as they were with the reason; a mistake of the caller's is an InputError."""
        started = time.perf_counter()
        conversation = Conversation(request.messages)
        seconds, self._loading_s = self._settings.context.deadline_s * _IN_TIME + self._loading_s, 0.0
        try:
            return self._breaker.call(
                lambda: self._executor.run(lambda: self._assemble(request, conversation, started), seconds)
            )
        except InputError:  # a rule file that is not there: the operator must know
            raise
        except HoldfastError as error:
            return self.untouched(request, str(error), started)
        except Exception as error:  # a bug of ours must not take the host's reply
            _log.exception("%s: assembling the context failed", request.namespace)
            return self.untouched(request, f"{type(error).__name__}: {error}", started)

    def warm_up(self, request: Request) -> None:
        """Assemble once without a deadline: the first turn of a long-lived process finds everything loaded."""
        if self._ask:  # here, not in a thread with a deadline: a process that ends while one loads is aborted
            self._ask.encoder.embed([_TYPICAL])
        self._assemble(request, Conversation(request.messages), time.perf_counter())

    def untouched(self, request: Request, why: str, started: float | None = None) -> Context:
        """Return the messages as they were, with the reason."""
        started = time.perf_counter() if started is None else started
        reason = f"nothing was added: {why}"
        receipt = ContextReceipt(
            "context", reason, ms=_ms_since(started), degraded=reason, budget=request.budget, counter=self._counter.name
        )
        return Context(request.messages, "", 0, receipt)

    # --- in its own thread

    def _assemble(self, request: Request, conversation: Conversation, started: float) -> Context:
        steps = _Steps(started)
        nodes = self._rules.read(request.rules) if request.rules else Nodes()
        frame = self._frame(request.namespace, request.session)
        pieces = Pieces(frame, self._counter)
        rendered = self._rule_cache.of(frame, nodes, pieces)
        steps.add("rules", len(rendered.hard) + len(rendered.soft), "hard and soft nodes of the rule files")
        sizes, ranking = tuned(self._settings, ContextSizes), tuned(self._settings, Ranking)
        query = conversation.query(sizes.query_terms, ranking.question_chars)
        bounded = None if self._embedder is None else self._bounded(self._embedder, self._embedder_breaker)
        with ExitStack() as views:
            view = views.enter_context(self._store.snapshot(request.namespace))
            tiers = {Tier.SOFT: rendered.soft, Tier.TAIL: tail(view, request.session, conversation, self._settings)}
            steps.add("recent", len(tiers[Tier.TAIL]))
            near = near_guidance(view, request.namespace, query, bounded, self._cache, self._settings, sizes.guidance)
            tiers[Tier.ELEVATED] = elevated(near, view, conversation, self._embedder, self._settings)
            steps.add("guidance", len(near))
            entries = self._entries(request, view)
            turns: dict[str, Turn] = {}
            hits = self._search(query, request, view, views, bounded, turns, started)
            beside = neighbours(view, hits, turns, conversation, sizes)
            own = {turn.id: turn for turn in turns.values() if turn.namespace == request.namespace}
            words = frozenset(query_terms(query, ranking.question_terms))
            index = tuned(self._settings, IndexSizes)
            passages = read_pool(view, request.namespace, Space.PASSAGE, self._cache, index.max_chars)
            excerpts = long_excerpts(turns.values(), view, passages, words, index)
        tiers[Tier.RECALLED] = [*recalled(hits, own, conversation, excerpts), *beside]
        steps.add("recalled", len(hits), hits.receipt.reason)
        if entries:
            from holdfast.context.profile import profile_candidates, without_confidences

            tiers[Tier.RECALLED] = without_confidences(tiers[Tier.RECALLED], query)
            tiers[Tier.PROFILE] = profile_candidates(entries, query, conversation, hits)
        steps.add("profile", len(tiers.get(Tier.PROFILE, ())))
        packing = Packing(words, sizes, index)
        made = allot(tiers, rendered.hard, rendered.hard_tokens, request.budget, pieces, packing, sizes, rendered.known)
        text, tokens = self._render(frame, made, rendered, request.budget)
        steps.add("packed", sum(map(len, made.tiers.values())), f"{tokens} of {request.budget} tokens")
        degraded = "; ".join(filter(None, (made.over, _shortened(made), hits.receipt.degraded, *nodes.notices))) or None
        receipt = ContextReceipt(
            "context",
            _reason(made, tokens, request.budget),
            tuple(steps.stages),
            _ms_since(started),
            degraded,
            budget=request.budget,
            tokens=tokens,
            frame_tokens=pieces.frame_tokens,
            counter=self._counter.name,
            query=masked_text(query),
            tiers=tier_uses(made, rendered, pieces),
            candidates=(*rendered.considered, *considered(made, pieces)),
            notices=(*nodes.notices, *filter(None, [made.left_out])),
            items=(*rendered.listed, *items_of(_without_rules(made), pieces, len(rendered.listed))) if text else (),
        )
        messages = conversation.with_frame(text) if text else list(request.messages)
        return Context(messages, text, tokens, receipt)

    def _frame(self, namespace: str, session: str) -> ContextFrame:
        if self._secret is None:
            self._secret = self._store.secret()
        return ContextFrame.of(self._secret, session, namespace)

    def _entries(self, request: Request, view: Snapshot) -> list[ProfileEntry]:
        """Return facts for the profile, cached by records and day; none if there are so few that recall shows all."""
        if view.end(Space.RECORD) <= _RECALLED_WHOLE:
            return []
        from holdfast.context.profile import read_entries

        state = (view.end(Space.RECORD), len(view.retired()), len(view.hidden(Space.RECORD)), request.now.date())
        kept = self._profiles.get(request.namespace)
        if kept is None or kept[0] != state:
            if len(self._profiles) >= _MOST_KEPT:
                self._profiles.clear()
            kept = self._profiles[request.namespace] = (state, read_entries(view, request.now))
        return kept[1]

    def _bounded(self, embedder: Embedder, breaker: Breaker) -> DeadlineEmbedder:
        return DeadlineEmbedder(embedder, self._embedder_executor, breaker, self._settings.context.embedder_s)

    def _search(
        self,
        query: str,
        request: Request,
        view: Snapshot,
        views: ExitStack,
        embedder: Embedder | None,
        turns: dict[str, Turn],
        started: float,
    ) -> Hits:
        named = [(request.namespace, view)]
        if request.namespace != GLOBAL:
            named.append((GLOBAL, views.enter_context(self._store.snapshot(GLOBAL))))
        most = min(max(request.budget // _TOKENS_A_CANDIDATE, _FEWEST), tuned(self._settings, ContextSizes).candidates)
        ask = self._ask and replace(self._ask, encoder=self._bounded(self._ask.encoder, self._ask_breaker))
        left = self._settings.context.deadline_s * _IN_TIME - (time.perf_counter() - started) - _PACKING_S
        rerank_s = min(RERANK_CONTEXTS_S, max(left, 0.0))
        wanted = Query(query, limit=most, current=request.session, chars=LONG_CHARS + 1, rerank_s=rerank_s)
        return search(named, wanted, embedder, self._cache, self._settings, request.now, turns, ask)

    def _render(self, frame: ContextFrame, made: Allotment, rendered: RulesInFrame, budget: int) -> tuple[str, int]:
        """The block and its tokens. A counter for which lines do not add up is obeyed too: recall gives way."""
        while any(made.tiers.values()):
            rest = render(frame, _without_rules(made), made.notices)[len(frame.opening) :]
            if len(rendered.prefix) > _COUNTED_CHARS:
                tokens = self._counter.count(frame.opening) + rendered.hard_tokens + self._counter.count(rest)
            else:
                tokens = self._counter.count(rendered.prefix + rest)
            if tokens <= budget or made.over or not made.give_way():
                return rendered.prefix + rest, tokens
        return "", 0


def _without_rules(made: Allotment) -> dict[Tier, list[Item]]:
    """The tiers behind the operator's rules, which are rendered once for all turns."""
    return {tier: items for tier, items in made.tiers.items() if tier is not Tier.HARD}


class _Steps:
    """Steps of an assembly, with their counts and times."""

    def __init__(self, started: float) -> None:
        self._last = started
        self.stages: list[Stage] = []

    def add(self, name: str, count: int, note: str = "") -> None:
        now = time.perf_counter()
        self.stages.append(Stage(name, count, round((now - self._last) * 1000, 3), note))
        self._last = now


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _shortened(made: Allotment) -> str | None:
    cut = [
        decision.candidate.item.id for decision in made.decided if decision.included and decision.candidate.shortened
    ]
    return f"shown by its beginning and end, for it is very long: {', '.join(cut)}" if cut else None


def _reason(made: Allotment, tokens: int, budget: int) -> str:
    if not tokens:
        return "there is nothing to add"
    held = ", ".join(f"{len(items)} {tier.value}" for tier, items in made.tiers.items() if items)
    return f"{held}; {tokens} of {budget} tokens"
