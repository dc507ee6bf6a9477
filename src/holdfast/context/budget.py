"""Allotment of tokens to tiers (CTX-2): a pure function of candidates, a budget and a counter.

Rules and the tail's base come first and are never cut. The user's rules have a share of their own, whatever the tail
takes; then come guidelines and the tail's extension, and what remains is for recall. Everything is counted as it is
rendered, the frame's own lines too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heapreplace

from holdfast.context.render import COUNTED_MARK, ContextFrame, Item, render_item, render_notice
from holdfast.context.tiers import SHORTENED, ContextSizes, TierCandidate, excerpt, plain
from holdfast.index.blocks import IndexSizes
from holdfast.model import Considered, Tier
from holdfast.models.tokens import TokenCounter


class Pieces:
    """Tokens of what the renderer writes, piece by piece: no counter counts the whole for more than its lines."""

    def __init__(self, frame: ContextFrame, counter: TokenCounter) -> None:
        self.frame = frame
        self._counter = counter
        self.frame_tokens = self.count(frame.opening) + self.count(frame.closing)
        self._headings: dict[Tier, int] = {}
        self._bodies: dict[tuple[Tier, Item], int] = {}

    def count(self, text: str) -> int:
        """Count rendered text with the same mark for every session and store, so that the same items fit in each."""
        return self._counter.count(text.replace(self.frame.mark, COUNTED_MARK))

    def heading(self, tier: Tier) -> int:
        if tier not in self._headings:
            self._headings[tier] = self.count(self.frame.heading(tier))
        return self._headings[tier]

    def body(self, tier: Tier, item: Item) -> int:
        tokens = self._bodies.get((tier, item))
        if tokens is None:
            tokens = self._bodies[tier, item] = self.count(render_item(self.frame, tier, item))
        return tokens

    def know(self, tier: Tier, bodies: Mapping[Item, int]) -> None:
        """Tokens of items that were counted before."""
        self._bodies.update(((tier, item), tokens) for item, tokens in bodies.items())

    def notice(self, notice: str) -> int:
        return self.count(render_notice(self.frame, notice))

    def tier(self, tier: Tier, items: Sequence[Item]) -> int:
        """A whole part, as it is shown."""
        return self.heading(tier) + sum(self.body(tier, item) for item in items) if items else 0


Choose = Callable[[Sequence[TierCandidate], int, Pieces], Mapping[int, Item]]
"""Chooses the recalled candidates that fit into a number of tokens; returns them by number, as they are shown."""


@dataclass(frozen=True)
class TierDecision:
    tier: Tier
    candidate: TierCandidate
    included: bool
    reason: str
    receipt: Considered | None = None
    """Its line of the receipt, where that was made before."""


@dataclass(frozen=True)
class KnownRules:
    """Facts about the rules, computed when they change and not with every turn: there may be thousands."""

    hard_texts: Mapping[str, str]
    """Texts of the hard rules, with the id of the rule."""
    soft_texts: Mapping[str, Sequence[int]]
    """Texts of guidelines in the form that is compared, with the guidelines that say them."""
    behind: Sequence[TierDecision]
    """The decision on each guideline if the prefix ends before it and nothing else says it."""


def known_rules(hard: Iterable[Item], soft: Sequence[TierCandidate]) -> KnownRules:
    texts: dict[str, str] = {}
    for item in hard:
        texts.setdefault(plain(item.text), item.id)
    soft_texts: dict[str, list[int]] = {}
    behind = []
    for number, one in enumerate(soft):
        text = plain(one.item.text)
        soft_texts.setdefault(text, []).append(number)
        reason = one.reason if one.out else f"said by {texts[text]}" if text in texts else _BEHIND
        behind.append(TierDecision(Tier.SOFT, one, False, reason))
    return KnownRules(texts, soft_texts, behind)


_BEHIND = "behind the first guideline that did not fit"


@dataclass
class Allotment:
    """The items that go in, in the order they are shown, and the decision on every candidate."""

    tiers: dict[Tier, list[Item]] = field(default_factory=dict)
    limits: dict[Tier, int | None] = field(default_factory=dict)
    decided: list[TierDecision] = field(default_factory=list)
    """The verdicts that were reached one by one."""
    behind: list[TierDecision] = field(default_factory=list)
    """Those on guidelines behind the prefix: there may be thousands, most of them known before."""
    behind_at: int = 0
    """Their place among the others."""
    over: str | None = None
    """Parts that did not fit the budget, in words (CTX-4)."""
    left_out: str = ""
    """Number of the user's rules that did not fit, in words (RULE-2)."""

    @property
    def notices(self) -> list[str]:
        """The lines of the frame's own that tell it."""
        return [notice for notice in (self.left_out, self.over) if notice]

    @property
    def decisions(self) -> list[TierDecision]:
        return [*self.decided[: self.behind_at], *self.behind, *self.decided[self.behind_at :]]

    def give_way(self) -> bool:
        """Leave out what matters least, for a counter that counts more for the whole than for its lines."""
        extended = [one.candidate.item for one in self.decided if one.tier is Tier.TAIL and not one.candidate.base]
        for tier in (Tier.RECALLED, Tier.PROFILE, Tier.TAIL, Tier.SOFT, Tier.ELEVATED):
            items = self.tiers.get(tier)
            if items and (tier is not Tier.TAIL or items[0] in extended):
                gone = items.pop(0 if tier is Tier.TAIL else -1)
                self.decided = [_given_way(one, tier, gone) for one in self.decided]
                self.behind = [_given_way(one, tier, gone) for one in self.behind]
                return True
        return False


def _given_way(one: TierDecision, tier: Tier, gone: Item) -> TierDecision:
    if one.tier is not tier or one.candidate.item.id != gone.id:
        return one
    return replace(one, included=False, reason="no room: the whole counts for more than its lines", receipt=None)


_PROFILE_SHARE = 0.08
"""Of the budget, for the profile. CTX-1 allows .15, which costs 3 of 209 answers in contexts of 1,000 tokens; .08 costs
one."""
_RULE_TOKENS = 400  # minimum for the user's rules …
_RULE_SHARE = 0.4  # … and never more than this part of the budget (CTX-2)


def allot(
    candidates: Mapping[Tier, Sequence[TierCandidate]],
    hard: Sequence[Item],
    hard_tokens: int,
    budget: int,
    pieces: Pieces,
    choose: Choose,
    settings: ContextSizes,
    known: KnownRules | None = None,
) -> Allotment:
    """Share the budget between the tiers. `hard` rules are always in; `known` are facts about the rules, if cached."""
    soft = candidates.get(Tier.SOFT, ())
    known = known or known_rules(hard, soft)
    made = Allotment(limits={Tier.HARD: None})
    stated = _StatedTexts(known.hard_texts)
    base = [one for one in candidates.get(Tier.TAIL, ()) if one.base]
    made.tiers[Tier.HARD] = list(hard)
    made.tiers[Tier.TAIL] = _take_all(Tier.TAIL, base, stated, made)
    must = pieces.frame_tokens + hard_tokens + pieces.tier(Tier.TAIL, made.tiers[Tier.TAIL])
    bound = bool(hard or made.tiers[Tier.TAIL])
    limit = int(min(max(settings.elevated_share * budget, _RULE_TOKENS), _RULE_SHARE * budget))
    if not bound:
        limit = min(limit, budget - must)
    made.limits[Tier.ELEVATED] = max(limit, 0)
    must += _take_nearest(candidates.get(Tier.ELEVATED, ()), max(limit, 0), pieces, stated, made)
    left = budget - must
    if left < 0 and bound:
        made.over = (
            f"rules and recent turns take {must} of {budget} tokens; none of them was cut, and nothing is recalled"
        )
    limit = min(int(settings.soft_share * budget), left)
    made.limits[Tier.SOFT] = max(limit, 0)
    left -= _take_prefix(soft, limit, pieces, stated, made, known)
    before = [one for one in candidates.get(Tier.TAIL, ()) if not one.base]
    left -= _extend_tail(before, left, pieces, stated, made, settings)
    made.limits[Tier.TAIL] = None
    limit = max(min(int(_PROFILE_SHARE * budget), left), 0)
    made.limits[Tier.PROFILE] = limit
    left -= _take_profile(candidates.get(Tier.PROFILE, ()), limit, pieces, stated, made)
    made.limits[Tier.RECALLED] = max(left, 0)
    _take_chosen(candidates.get(Tier.RECALLED, ()), left, pieces, stated, made, choose)
    return made


class _StatedTexts:
    """Texts and turns that are in already: nothing is said twice (CTX-5)."""

    def __init__(self, rules: Mapping[str, str]) -> None:
        self._rules = rules
        self._turns: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        """Texts other than rules, with the id of the item."""

    def copy(self) -> _StatedTexts:
        other = _StatedTexts(self._rules)
        other._turns, other.texts = dict(self._turns), dict(self.texts)
        return other

    def add(self, one: TierCandidate) -> None:
        self.texts.setdefault(plain(one.item.text), one.item.id)
        for turn_id in one.turn_ids if one.whole else ():  # a part of a turn does not cover the rest of it
            self._turns.setdefault(turn_id, one.item.id)

    def by(self, candidate: TierCandidate) -> str | None:
        """Return the item that says it already, if any."""
        holders = {self._turns.get(turn_id) for turn_id in candidate.turn_ids}
        if holders and None not in holders:
            return next(iter(holders))
        text = plain(candidate.item.text)
        return self._rules.get(text) or self.texts.get(text)


def _take_all(tier: Tier, candidates: Sequence[TierCandidate], stated: _StatedTexts, made: Allotment) -> list[Item]:
    taken = []
    for one in candidates:
        if not one.out:
            taken.append(one.item)
            stated.add(one)
        made.decided.append(TierDecision(tier, one, not one.out, one.reason))
    return taken


def _take_nearest(
    candidates: Sequence[TierCandidate], limit: int, pieces: Pieces, stated: _StatedTexts, made: Allotment
) -> int:
    """The nearest first, as many as fit; shown in the order they were said, which changes least from turn to turn.

    Return the tokens of the part, with those of the line that says how many are missing.
    """
    verdicts, missing = _nearest_that_fit(candidates, limit, limit, pieces, stated.copy())
    spent = 0
    if missing and (line := pieces.notice(_did_not_fit(len(candidates)))) <= limit:
        verdicts, missing = _nearest_that_fit(candidates, limit - line, limit, pieces, stated.copy())
        spent, made.left_out = line, _did_not_fit(missing)
    taken = [verdict.candidate for verdict in verdicts if verdict.included]
    for one in taken:
        stated.add(one)
    made.decided += verdicts
    made.tiers[Tier.ELEVATED] = [one.item for one in _in_time(taken)]
    return spent + pieces.tier(Tier.ELEVATED, made.tiers[Tier.ELEVATED])


def _nearest_that_fit(
    candidates: Sequence[TierCandidate], room: int, limit: int, pieces: Pieces, stated: _StatedTexts
) -> tuple[list[TierDecision], int]:
    """Return the verdicts, and how many found no room."""
    verdicts, missing = [], 0
    room -= pieces.heading(Tier.ELEVATED)
    for one in candidates:
        reason, included = one.reason, False
        if not one.out and (known := stated.by(one)) is not None:
            reason = f"said by {known}"
        elif not one.out:
            tokens = pieces.body(Tier.ELEVATED, one.item)
            included = tokens <= room
            if included:
                room -= tokens
                stated.add(one)
            else:
                missing += 1
                reason = f"{reason}; no room in the {limit} tokens for the user's rules"
        verdicts.append(TierDecision(Tier.ELEVATED, one, included, reason))
    return verdicts, missing


def _did_not_fit(missing: int) -> str:
    return "1 more rule did not fit" if missing == 1 else f"{missing} more rules did not fit"


def _take_prefix(
    candidates: Sequence[TierCandidate],
    limit: int,
    pieces: Pieces,
    stated: _StatedTexts,
    made: Allotment,
    rules: KnownRules,
) -> int:
    """Take the longest prefix in source order: the first that does not fit ends it, however short the next one is."""
    taken: list[Item] = []
    spent, ended = 0, False
    for number, one in enumerate(candidates):
        if ended:
            made.behind, made.behind_at = _behind(rules, number, stated), len(made.decided)
            break
        known = stated.by(one)
        included = False
        if one.out or known is not None:
            reason = one.reason if one.out else f"said by {known}"
        else:
            tokens = spent + pieces.body(Tier.SOFT, one.item) + (0 if taken else pieces.heading(Tier.SOFT))
            included = tokens <= limit
            ended = not included
            reason = (
                "in source order, within its share"
                if included
                else f"no room in the {max(limit, 0)} tokens left for it"
            )
        if included:
            taken.append(one.item)
            spent = tokens
            stated.add(one)
        made.decided.append(TierDecision(Tier.SOFT, one, included, reason))
    made.tiers[Tier.SOFT] = taken
    return spent


def _behind(rules: KnownRules, number: int, stated: _StatedTexts) -> list[TierDecision]:
    """The verdicts on guidelines from this one on, after the prefix has ended."""
    behind = list(rules.behind[number:])
    for text, sayer in stated.texts.items():
        for place in rules.soft_texts.get(text, ()):
            if place >= number and rules.behind[place].reason == _BEHIND:
                behind[place - number] = replace(rules.behind[place], reason=f"said by {sayer}", receipt=None)
    return behind


def _extend_tail(
    before: Sequence[TierCandidate],
    left: int,
    pieces: Pieces,
    stated: _StatedTexts,
    made: Allotment,
    settings: ContextSizes,
) -> int:
    """Add one pair where the base is short: an answer with its question, never more."""
    base = made.tiers[Tier.TAIL]
    spent = pieces.tier(Tier.TAIL, base)
    pair = [one for one in before if not one.out]
    tokens = pieces.tier(Tier.TAIL, [*(one.item for one in pair), *base]) if pair else spent
    if made.over or not base:
        reason = "no room" if made.over else "the tail is visible in the messages"
    elif spent >= settings.tail_tokens:
        reason = f"the last turns have {settings.tail_tokens} tokens without it"
    else:
        reason = "no room" if tokens - spent > left else ""
    for one in before:
        said = one.reason if one.out else reason or f"the last turns have fewer than {settings.tail_tokens} tokens"
        made.decided.append(TierDecision(Tier.TAIL, one, not one.out and not reason, said))
    if reason or not pair:
        return 0
    for one in pair:
        stated.add(one)
    made.tiers[Tier.TAIL] = [*(one.item for one in pair), *base]
    return tokens - spent


def _take_profile(
    candidates: Sequence[TierCandidate], limit: int, pieces: Pieces, stated: _StatedTexts, made: Allotment
) -> int:
    """Take facts in their order while they fit; return the tokens of the part. Facts that do not fit leave no line."""
    taken: list[Item] = []
    spent = pieces.heading(Tier.PROFILE)
    for one in candidates:
        cost = pieces.body(Tier.PROFILE, one.item)
        if one.out or stated.by(one) is not None or spent + cost > limit:
            continue
        spent += cost
        taken.append(one.item)
        stated.add(one)
        made.decided.append(TierDecision(Tier.PROFILE, one, True, one.reason))
    made.tiers[Tier.PROFILE] = taken
    return spent if taken else 0


def _take_chosen(
    candidates: Sequence[TierCandidate],
    left: int,
    pieces: Pieces,
    stated: _StatedTexts,
    made: Allotment,
    choose: Choose,
) -> None:
    open_ones: list[int] = []
    reasons: dict[int, str] = {}
    for number, one in enumerate(candidates):
        known = None if one.out else stated.by(one)
        if one.out:
            reasons[number] = one.reason
        elif known is not None:
            reasons[number] = f"said by {known}"
        else:
            open_ones.append(number)
            stated.add(one)
    room = left - pieces.heading(Tier.RECALLED)
    chosen = choose([candidates[number] for number in open_ones], room, pieces) if room > 0 else {}
    shown = {open_ones[number]: item for number, item in chosen.items()}
    for number, one in enumerate(candidates):
        included = number in shown
        reason = reasons.get(number) or (one.reason if included else f"{one.reason}; no room in {max(left, 0)} tokens")
        if included and shown[number].text != one.item.text:
            reason += ", as an excerpt"
            one = replace(one, item=shown[number])
        made.decided.append(TierDecision(Tier.RECALLED, one, included, reason))
    made.tiers[Tier.RECALLED] = [
        one.item for one in _in_time([replace(candidates[number], item=item) for number, item in shown.items()])
    ]


def _in_time(candidates: Sequence[TierCandidate]) -> list[TierCandidate]:
    """As it was said: items that stay from turn to turn keep their order, the same in every store (ids are random)."""
    return sorted(candidates, key=lambda one: (one.item.at is not None, one.item.at, one.seq, one.item.text))


# --- Which memories fit: by score, what is short before what is long, what tells something new before what
# repeats.


_COUNTED_CHARS = 20_000  # a longer text's tokens are guessed for its worth: it will not fit whole
_CHARS_A_TOKEN = 4


@dataclass(frozen=True)
class Packing:
    """Choice of recalled candidates for one question."""

    words: Set[str]
    """Its terms."""
    settings: ContextSizes
    index: IndexSizes

    def __call__(self, candidates: Sequence[TierCandidate], room: int, pieces: Pieces) -> Mapping[int, Item]:
        """Take as many as fit, by worth: the score less the cost of the tokens. One that does not fit is left out."""
        shown: dict[int, Item] = {}
        for rank, item in self._by_worth(candidates, pieces):
            chosen = self._that_fits(item, rank, room, pieces)
            if chosen is not None:
                shown[rank] = chosen
                room -= pieces.body(Tier.RECALLED, chosen)
        return shown

    def _by_worth(self, candidates: Sequence[TierCandidate], pieces: Pieces) -> Iterator[tuple[int, Item]]:
        """Return them with their rank, best first; a word of the question that none before has raises the score."""
        worth = [self._worth(one, pieces) for one in candidates]
        stated: set[str] = set()
        waiting = [(-worth[rank] - self._news(one, stated), rank) for rank, one in enumerate(candidates)]
        heapify(waiting)
        while waiting:
            _, best = waiting[0]
            now = (-worth[best] - self._news(candidates[best], stated), best)
            heapreplace(waiting, now)  # news only fade: who is still first with today's is the best
            if waiting[0] == now:
                heappop(waiting)
                stated.update(candidates[best].words)
                yield best, candidates[best].item

    def _news(self, candidate: TierCandidate, stated: Set[str]) -> float:
        return self.settings.coverage * sum(word not in stated for word in candidate.words)

    def _worth(self, candidate: TierCandidate, pieces: Pieces) -> float:
        length = len(candidate.item.text)
        tokens = pieces.body(Tier.RECALLED, candidate.item) if length <= _COUNTED_CHARS else length // _CHARS_A_TOKEN
        return candidate.score - self.settings.length_cost * max(math.log(tokens / self.settings.length_free), 0.0)

    def _that_fits(self, item: Item, rank: int, room: int, pieces: Pieces) -> Item | None:
        """The item, or of one that was found among the first its best passages, if they fit."""
        if len(item.text) <= _CHARS_A_TOKEN * 4 * room and pieces.body(Tier.RECALLED, item) <= room:
            return item
        if rank >= self.settings.excerpt_ranks:
            return None
        text = excerpt(item.text, self.words, self.settings.excerpt_passages, self.index)
        noted = f"{item.note}, {SHORTENED}" if item.note else SHORTENED
        cut = replace(item, text=text, kind=f"excerpt of {item.kind}", note=noted)
        return cut if text != item.text and pieces.body(Tier.RECALLED, cut) <= room else None
