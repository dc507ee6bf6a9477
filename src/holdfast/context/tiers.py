"""Candidates of each tier, with the reasons for and against them (CTX-1, CTX-3)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.secrets import masked_text
from holdfast.context.render import Item
from holdfast.context.rule_files import Node, NodeKind
from holdfast.errors import BadMessage
from holdfast.index.blocks import BlockCache, IndexSizes
from holdfast.index.candidates import Holders, Pool, read_table
from holdfast.index.vectors import exact
from holdfast.log.parts import split_content
from holdfast.model import Hit, Kind, Message, Origin, Provenance, Record, Role, Turn
from holdfast.models.embedder import Embedder
from holdfast.search.question import Ranking, embed_query, named_terms
from holdfast.search.retrieve import scan
from holdfast.settings import ContextSettings, Settings, tuned
from holdfast.store.rows import kind_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import COMPACTION, Space
from holdfast.text.words import query_terms, sentences, split_passages, terms


@dataclass(frozen=True)
class ContextSizes(ContextSettings):
    """The settings of a context and its fixed sizes and weights (docs/evidence/context.md)."""

    soft_share: float = 0.30  # share of the budget for the operator's guidelines (CTX-2)
    elevated_share: float = 0.15  # share for the user's rules: 400 tokens at least, but at most .4 of it (CTX-2)
    tail_tokens: int = 128  # a shorter tail is extended by one pair of turns (CTX-2)
    tail_chars: int = 20_000  # a longer turn of the tail is shown by its beginning and end: a tool's may have 10 MB
    candidates: int = 100  # hits that packing chooses among: at 30 tokens each a budget of 4,000 holds no more
    beside_hits: int = 10  # first hits whose neighbours are candidates too
    beside_turns: int = 2  # on either side
    beside: float = 3.0  # subtracted from the score for each turn between it and the hit; 1.0 costs 2 points of LoCoMo
    guidance: int = 64  # the user's rules that are looked at, the nearest to the question first
    length_cost: float = 1.0  # subtracted from the score each time a memory is e times as long as `length_free`
    length_free: int = 80
    """Tokens that cost nothing. Without it long answers push out the lines with the facts; chosen on all development
    questions of LoCoMo, LongMemEval and BEAM, and no worse on either half of them."""
    coverage: float = 0.3  # boost for each word of the question that is not covered yet: 1 question in 450 better
    excerpt_passages: int = 2  # passages that stand for a long turn that does not fit
    excerpt_ranks: int = 10  # first hits that may be shown so
    query_terms: int = 3  # a last message with fewer words ("and the second one?") is searched with the one before


# --- The host's messages as memory sees them: what is visible already, and what is asked.


_SPACES = re.compile(r"\s+")
_KEPT_CHARS = 1000
_SHORT = 16
"""A text below this must be a whole message to count as visible: "ok" is part of many."""
_BEFORE_CHARS = 300  # of an earlier message that a short question takes along
_SYSTEM = frozenset({"system", "developer"})


def plain(text: str) -> str:
    """Normalise a text for comparison: spaces and case do not count."""
    return _plain_again(text) if len(text) <= _KEPT_CHARS else _plain(text)


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()


_plain_again = lru_cache(maxsize=8192)(_plain)  # rules come again with every turn


class Conversation:
    """Messages are read, never changed. A part that is no text (an image) is not looked at."""

    def __init__(self, messages: Sequence[Message]) -> None:
        for number, message in enumerate(messages):
            if not isinstance(message, Mapping):
                raise BadMessage(
                    f"message {number} must be a mapping with role and content, not {type(message).__name__}"
                )
        self._messages = messages
        read = [_said(number, message) for number, message in enumerate(messages)]
        self._said = [(role, text) for role, text, _ in read]
        self._beside = [text for _, _, others in read for text in others]

    def with_frame(self, text: str) -> list[Message]:
        """The same messages with the frame behind the leading system messages.

        The host's own instructions stay first, for they are the widest prefix that a prompt cache can hold, and the
        frame comes before the conversation it is about.
        """
        leading = 0
        while leading < len(self._said) and self._said[leading][0] in _SYSTEM:
            leading += 1
        return [*self._messages[:leading], {"role": "system", "content": text}, *self._messages[leading:]]

    def shows(self, text: str, by_user: bool = False) -> bool:
        """Return True if the messages (of the user only, if asked) contain this text."""
        wholes, together = self._by_user if by_user else self._by_anyone
        if len(text) > 2 * len(together) + _KEPT_CHARS:  # longer than all of them
            return False
        wanted = plain(text)
        return wanted in wholes or (len(wanted) >= _SHORT and wanted in together)

    @cached_property
    def _by_anyone(self) -> tuple[frozenset[str], str]:
        return _shown([*(text for _, text in self._said), *self._beside])

    @cached_property
    def _by_user(self) -> tuple[frozenset[str], str]:
        return _shown([text for role, text in self._said if role in ("user", "human")])

    def query(self, enough: int, most_chars: int) -> str:
        """Return the query: the user's last message, and if it has too few words, the messages before it."""
        users = [text for role, text in self._said if role in ("user", "human") and text.strip()]
        if not users:
            others = [text for role, text in self._said if role not in _SYSTEM and text.strip()]
            users = others[-1:]
        if not users:
            return ""
        asked = _speakable(users[-1])[:most_chars]
        if len(users) > 1 and len(query_terms(asked, enough)) < enough:
            asked = f"{asked}\n{_speakable(users[-2])[:_BEFORE_CHARS]}"
        return asked


def _said(number: int, message: Message) -> tuple[str, str, list[str]]:
    """Return the role of a message, its own text, and the texts of its other parts."""
    try:
        role = str(message.get("role", "")).lower()
        content = message.get("content", message.get("parts"))
        if not content or isinstance(content, str):
            return role, str(content or ""), []
        speaker = Role.USER if role in ("user", "human") else Role.ASSISTANT
        parts = split_content(content, speaker, measure=False)
    except Exception as error:  # a mapping of the host's own, with its own mistakes
        raise BadMessage(f"message {number} cannot be read ({type(error).__name__}: {error})") from error
    return role, "\n".join(one.text for one in parts if one.own), [one.text for one in parts if not one.own]


def _shown(texts: Sequence[str]) -> tuple[frozenset[str], str]:
    parts = [plain(text) for text in texts]
    return frozenset(parts), "\0".join(parts)


def _speakable(text: str) -> str:
    """Without lone surrogates, which no index can look up."""
    return text.encode(errors="replace").decode()


# --- The user's rules: every live guidance record, the nearest to the question by its own cosine first (CTX-3).
#
# Search ranks by more than nearness and has a floor of its own; here the similarity alone decides.


_OTHERS = 4  # of the guidance that no compaction protected, with seed_guidance: it stands in the receipt alone
READ_CHARS = 20_000  # of a record for the words it shares, and of the turns that it comes from


@dataclass(frozen=True)
class Guidance:
    record: Record
    similarity: float | None
    """Cosine with the question; None without an embedder, or if the record has no vector yet."""
    shared: float
    """Share of the question's words that it contains, used if there is no cosine."""


def near_guidance(
    view: Snapshot,
    namespace: str,
    question: str,
    embedder: Embedder | None,
    cache: BlockCache,
    settings: Settings,
    limit: int,
) -> list[Guidance]:
    """Return live guidance records, the nearest first, at most `limit`; without a question the newest first."""
    seed = settings.context.seed_guidance
    pool = read_table(view, namespace, Space.RECORD, cache, tuned(settings, IndexSizes).max_chars).pool
    there = pool.exists & (pool.sort == kind_number(Kind.GUIDANCE))
    for num in (*view.hidden(Space.RECORD), *(num for num, _ in view.retired())):
        there[num] = False
    nums = np.flatnonzero(there)
    asked = embed_query(question, None, embedder, tuned(settings, Ranking)) if question.strip() else None
    if not len(nums) or (seed and asked is None):
        return []
    most = limit if seed else 2 * limit  # a rule and the copy of it that a compaction protected count once
    protected = frozenset(view.protected()) if seed else None
    cosines: dict[int, float] = {}
    if asked is not None and asked.vector is not None and embedder is not None:
        mark = embedder.profile.fingerprint
        products, embedded = scan(view, namespace, Space.RECORD, pool.size, mark, asked.vector, cache, among=nums)
        known = nums[embedded]
        nearest = known[np.lexsort((-known, -pool.index[known].astype(np.int64), -products[embedded]))]
        cosines = exact(view, Space.RECORD, mark, asked.vector, _worth_reading(nearest.tolist(), protected, most))
        nums = nums[~embedded]
    # The newest by the line that made it: a rebuild numbers records otherwise.
    ranked = sorted(cosines, key=lambda num: (-cosines[num], -int(pool.index[num]), -num))
    newest = nums[np.lexsort((-nums, -pool.index[nums].astype(np.int64)))]
    silent = _worth_reading(newest.tolist(), protected, most - len(ranked))
    records = view.records([*ranked, *silent])
    words = frozenset(asked.terms if asked is not None else ())
    found = [Guidance(records[num], cosines[num], 0.0) for num in ranked if num in records]
    unheard = [Guidance(records[num], None, _shared(records[num], words)) for num in silent if num in records]
    found += unheard if seed else sorted(unheard, key=lambda one: -one.shared)
    repeated = frozenset[str]() if seed else repeated_rules(one.record for one in found)
    return [one for one in found if one.record.id not in repeated][:limit]


def _worth_reading(nums: list[int], protected: frozenset[int] | None, limit: int) -> list[int]:
    """Return the first ones. As the seeds have it: the first that compaction protected, and of the others a few."""
    if protected is not None:
        others = frozenset([num for num in nums if num not in protected][:_OTHERS])
        nums = [num for num in nums if num in protected or num in others]
    return nums[: max(limit, 0)]


def repeated_rules(found: Iterable[Record]) -> frozenset[str]:
    """Return ids of rules that others repeat: the copy that a compaction protected of a turn, where admission recorded
    all it says; else what admission recorded of the copy.
    """
    rules = list(found)
    by_turn = defaultdict[str, list[Record]](list)
    for record in rules:
        for turn_id in record.turn_ids if not is_protected(record) else ():
            by_turn[turn_id].append(record)
    repeated: set[str] = set()
    for copy in filter(is_protected, rules):
        beside = {plain(record.text): record.id for turn_id in copy.turn_ids for record in by_turn[turn_id]}
        if beside and all(any(plain(said) in text for text in beside) for said in sentences(copy.text)):
            repeated.add(copy.id)
        else:
            whole = plain(copy.text)
            repeated.update(record_id for text, record_id in beside.items() if text in whole)
    return frozenset(repeated)


def _shared(record: Record, words: frozenset[str]) -> float:
    return len(words.intersection(terms(record.text[:READ_CHARS]))) / len(words) if words else 0.0


OUTDATED = "outdated"
SHORTENED = "shortened"
_CUT = "\n[… {left:,} bytes left out …]\n"
_LOOKED_BACK = 16  # turns behind the tail's that are read: some may be forgotten or say nothing
_FURTHER = 8  # times as far, where that is not enough


@dataclass(frozen=True)
class TierCandidate:
    """One thing that a tier may hold."""

    item: Item
    reason: str
    """Why it is here; what keeps it out, if something does."""
    out: bool = False
    turn_ids: tuple[str, ...] = ()
    score: float = 0.0
    similarity: float = 0.0
    words: tuple[str, ...] = ()
    """Words of the question that it contains."""
    base: bool = False
    """Part of the tail that is never cut."""
    shortened: bool = False
    whole: bool = True
    """It says all that its turns say."""
    seq: int = 0
    """Its place in the log, which orders what was said at the same moment; 0 for what is no turn."""


def hard_and_soft(nodes: Sequence[Node]) -> tuple[list[TierCandidate], list[TierCandidate]]:
    """The operator's rules in source order; the same rule under the same heading counts once."""
    found: dict[NodeKind, list[TierCandidate]] = {NodeKind.HARD: [], NodeKind.SOFT: []}
    known: set[tuple[tuple[str, ...], str]] = set()
    titles = _titles(nodes)
    for node in nodes:
        if node.kind is NodeKind.VARIANT:
            continue
        item = Item(
            id=f"{node.digest[:8]}",
            text=_rule_text(node, titles),
            origin="authored",
            kind="rule" if node.kind is NodeKind.HARD else "guideline",
        )
        twice = (node.heading, node.digest) in known
        known.add((node.heading, node.digest))
        reason = "already among the rules" if twice else "a rule, never cut" if node.kind is NodeKind.HARD else ""
        found[node.kind].append(TierCandidate(item, reason, out=twice))
    return found[NodeKind.HARD], found[NodeKind.SOFT]


_BULLET = re.compile(r"\s*[-*+]\s+(?=\S)")
_QUOTE = re.compile(r"^[ \t]*> ?", re.MULTILINE)


def _titles(nodes: Sequence[Node]) -> frozenset[tuple[str, str]]:
    """Return the files' first headings that all rules of the file stand under: they tell no rule from another."""
    firsts = defaultdict[str, set[str]](set)
    for node in nodes:
        if node.kind is not NodeKind.VARIANT:
            firsts[node.path].add(node.heading[0] if node.heading else "")
    return frozenset((path, next(iter(first))) for path, first in firsts.items() if len(first) == 1)


def _rule_text(node: Node, titles: Set[tuple[str, str]]) -> str:
    """Return a rule without the marks of its list or quotation, behind the headings that say when it applies."""
    text = _BULLET.sub("", node.text, count=1) if _BULLET.match(node.text) else _QUOTE.sub("", node.text)
    headings = node.heading[1:] if node.heading and (node.path, node.heading[0]) in titles else node.heading
    return f"{' › '.join(headings)}: {text}" if headings else text


def tail(view: Snapshot, session: str, conversation: Conversation, settings: Settings) -> list[TierCandidate]:
    """The session's last turns in order: the base, and before it one pair that may extend it.

    What the host's messages show is part of the tail already, and is not said again.
    """
    chosen = tuned(settings, ContextSizes)
    wanted = chosen.tail_turns + 2
    forgotten = set(view.hidden(Space.TURN))
    end, back = view.last_index(session), wanted + _LOOKED_BACK
    while True:
        thread = view.thread(session, end - back, back, chosen.tail_chars + 1)
        turns = [turn for turn in thread if turn.seq not in forgotten]
        last = [turn for turn in turns if turn.text.strip()][-wanted:]
        if len(last) == wanted or back > end:
            break
        back *= _FURTHER
    found = []
    for back, turn in zip(range(len(last), 0, -1), last, strict=True):
        visible = conversation.shows(turn.text)
        base = back <= chosen.tail_turns
        reason = "visible in the messages" if visible else f"one of the last {chosen.tail_turns} turns" if base else ""
        cut = len(turn.text) > chosen.tail_chars
        text = _ends(turn, view, chosen.tail_chars // 2) if cut else turn.text
        item = _turn_item(turn, text, "shortened turn" if cut else "turn", SHORTENED if cut else "")
        found.append(TierCandidate(item, reason, visible, (turn.id,), base=base, shortened=cut, whole=not cut))
    return found


def elevated(
    found: Sequence[Guidance], view: Snapshot, conversation: Conversation, embedder: Embedder | None, settings: Settings
) -> list[TierCandidate]:
    """Return the user's standing rules that still hold, nearest to the question first (RULE-1)."""
    related = embedder.profile.thresholds.related if embedder is not None else 0.0
    read = view.turns_by_id([turn_id for one in found for turn_id in one.record.turn_ids], READ_CHARS)
    made = []
    for one in found:
        record = one.record
        turns = [read[turn_id] for turn_id in record.turn_ids if turn_id in read]
        text = masked_text(with_lead(record.text, record.metadata.get("lead")))
        item = Item(record.id, text, "user", "guidance", record.at)
        why_not = _why_not_elevated(one, turns, view, conversation)
        if not why_not and settings.context.seed_guidance:
            why_not = _why_not_by_the_seeds(one, related, settings)
        reason = "a rule of the user's" + ("" if one.similarity is None else f", similarity {one.similarity:.2f}")
        # Of a page only its rules are kept.
        whole = all(plain(turn.text) == plain(record.text) for turn in turns)
        near = one.similarity or 0.0
        made.append(
            TierCandidate(item, why_not or reason, bool(why_not), record.turn_ids, similarity=near, whole=whole)
        )
    return made


def with_lead(text: str, lead: object) -> str:
    """Return a record's text behind the sentence that it needs to be understood."""
    return f"{lead} {text}" if lead else text


def _why_not_elevated(one: Guidance, turns: Sequence[Turn], view: Snapshot, conversation: Conversation) -> str:
    record = one.record
    if not is_own_word(record, turns):
        return "it is not the user's own word"
    if gone := why_gone(record, turns, view):
        return gone
    if conversation.shows(record.text, by_user=True):
        return "visible in the messages"
    return ""


def _why_not_by_the_seeds(one: Guidance, related: float, settings: Settings) -> str:
    if not is_protected(one.record):
        return "no compaction protected it"
    if one.similarity is None:
        silent = one.shared < tuned(settings, Ranking).floor_share
        return f"meaning is silent, and it holds {one.shared:.0%} of the question's words" if silent else ""
    return f"similarity {one.similarity:.2f} is not above {related:g}" if one.similarity <= related else ""


def is_protected(record: Record) -> bool:
    """Return True if a compaction kept it word for word."""
    return record.kind is Kind.GUIDANCE and COMPACTION in record.metadata


def is_own_word(record: Record, turns: Sequence[Turn]) -> bool:
    """Compaction protects the user's own channel alone. Looked at again: an import may have been written by anyone."""
    return record.provenance is Provenance.USER_STATED and all(turn.origin is Origin.USER for turn in turns)


def why_gone(record: Record, turns: Sequence[Turn], view: Snapshot) -> str:
    """Why guidance that these turns gave holds no longer; empty while it does."""
    if len(turns) < len(record.turn_ids) or any(view.is_hidden(turn.id) for turn in turns):
        return "its turn was forgotten"
    if is_protected(record) and _is_withdrawn(record, turns, view):
        return "the rule that it is a copy of was forgotten"
    return "a later statement took its place" if _is_replaced(turns, view) else ""


def _is_withdrawn(copy: Record, turns: Sequence[Turn], view: Snapshot) -> bool:
    """Return True if every rule that admission recorded from the same words was forgotten."""
    text = plain(copy.text)
    rules = [rule for rule in _rules_of(turns, view) if plain(rule.text) in text]
    return bool(rules) and all(view.is_hidden(rule.id) for rule in rules)


def _is_replaced(turns: Sequence[Turn], view: Snapshot) -> bool:
    """Return True if the rule was replaced, not only another statement of the same turn."""
    said = {turn.seq for turn in turns}
    if not any(older in said for older, _ in view.successors(sorted(said))):
        return False
    rules = _rules_of(turns, view)
    return not rules or any(rule.superseded_by is not None for rule in rules)


def _rules_of(turns: Sequence[Turn], view: Snapshot) -> list[Record]:
    """Return the guidance that admission recorded of turns."""
    records = (record for turn in turns for record in view.records_of(turn) if COMPACTION not in record.metadata)
    return [record for record in records if record.kind is Kind.GUIDANCE]


def recalled(
    hits: Sequence[Hit], turns: Mapping[str, Turn], conversation: Conversation, excerpts: Mapping[str, str]
) -> list[TierCandidate]:
    """Hits in the order of search. `turns` are those that were read of them, for their origin and speaker; `excerpts`
    has the passages of very long turns that are worth showing.
    """
    made = []
    for rank, hit in enumerate(hits, 1):
        turn, shortened = turns.get(hit.id), False
        outdated, note = ("outdated ", OUTDATED) if hit.outdated_by else ("", "")
        if turn is not None:
            text = excerpts.get(turn.id, turn.text)
            if shortened := text != turn.text:
                outdated, note = f"excerpt of {outdated}", f"{note}, {SHORTENED}" if note else SHORTENED
            item = _turn_item(turn, text, f"{outdated}turn", note)
        else:
            text = masked_text(with_lead(excerpts.get(hit.id, hit.text), hit.lead))
            kind = f"{outdated}{hit.kind.value}"
            item = Item(hit.id, text, hit.provenance.value, kind, hit.at, masked_text(hit.speaker), note)
        reason, out = f"found, rank {rank}", True
        if conversation.shows(hit.text):
            reason = "visible in the messages"
        elif turn is not None and not hit.words and _is_filler(turn.text):
            reason = "a greeting, thanks or a filler"
        else:
            out = False
        seq = 0 if turn is None else turn.seq
        made.append(
            TierCandidate(
                item, reason, out, hit.turn_ids, hit.score, hit.semantic, hit.words, whole=not shortened, seq=seq
            )
        )
    return made


_FILLER_TERMS = 3  # a turn with fewer words, and without a name or a number, is a greeting, thanks or a filler


def _is_filler(text: str) -> bool:
    few = len(query_terms(text[:READ_CHARS], _FILLER_TERMS)) < _FILLER_TERMS
    return few and not named_terms(text.partition(" ")[2])


def neighbours(
    view: Snapshot, hits: Sequence[Hit], turns: Mapping[str, Turn], conversation: Conversation, sizes: ContextSizes
) -> list[TierCandidate]:
    """Return the turns next to the first hits: an answer is often given, or understood, next to what was found."""
    found = {hit.id for hit in hits}
    hidden, span = set(view.hidden(Space.TURN)), sizes.beside_turns
    best: dict[str, tuple[float, int, Turn]] = {}
    for rank, hit in enumerate(hits[: sizes.beside_hits], 1):
        turn = turns.get(hit.id)
        if turn is None:
            continue
        for other in view.thread(turn.session, turn.index - span - 1, 2 * span + 1, _KEPT_CHARS + 1):
            score = hit.score - sizes.beside * abs(other.index - turn.index)
            known = best.get(other.id)
            if other.id in found or other.seq in hidden or (known is not None and known[0] >= score):
                continue
            best[other.id] = (score, rank, other)
    return [
        TierCandidate(
            _turn_item(turn, turn.text, "turn", ""), f"next to what was found, rank {rank}", False, (turn.id,), score,
            seq=turn.seq,
        )
        for score, rank, turn in sorted(best.values(), key=lambda one: -one[0])
        if len(turn.text) <= _KEPT_CHARS and not _is_filler(turn.text) and not conversation.shows(turn.text)
    ]  # fmt: skip


def _turn_item(turn: Turn, text: str, kind: str, note: str) -> Item:
    name = turn.metadata.get("speaker") or turn.metadata.get("name")
    speaker = masked_text(name) if isinstance(name, str) else ""
    return Item(turn.id, masked_text(text), turn.origin.value, kind, turn.at, speaker, note)


def _ends(turn: Turn, view: Snapshot, chars: int) -> str:
    """Return the beginning and the end of a long turn, of which the beginning was read."""
    start = turn.text[:chars]
    end, size = view.ending(turn, chars)
    return start + _CUT.format(left=size - len((start + end).encode())) + end


# --- A long text by the passages that a question is about: one page would take the place of ten memories.


ELLIPSIS = "…"
_EXCERPT_CHARS = 100_000  # of a text: what is longer is a document, and cutting it takes longer than a turn may
LONG_CHARS = 20_000  # a text above this is shown by passages, whatever room there is …
_LONG_PASSAGES = 8  # … by this number of them


_TELLING = 0.5  # a passage with less than this part of the best one's words is left out: it only fills


@lru_cache(maxsize=16)  # a long text comes again with every turn of its session
def _passages(text: str, size: int, least: int) -> tuple[Sequence[tuple[int, int]], Sequence[frozenset[str]]]:
    """Return where the passages of a text stand, and the terms of each."""
    cuts = split_passages(text, size, least)
    return cuts, [frozenset(terms(text[start:stop])) for start, stop in cuts]


def long_excerpts(
    turns: Iterable[Turn], view: Snapshot, passages: Pool, words: Set[str], settings: IndexSizes
) -> dict[str, str]:
    """Return the best passages of very long turns, of which no more than the beginning was read, by turn.

    `passages` are those of the view's namespace.
    """
    made, holders = {}, Holders(view, passages)
    for turn in (one for one in turns if len(one.text) > LONG_CHARS):
        nums = passages.cuts.of(turn.seq)
        if turn.namespace != view.namespace or not len(nums):  # it is not cut yet
            made[turn.id] = excerpt(turn.text, words, _LONG_PASSAGES, settings)
            continue
        inside = [found[(found >= nums[0]) & (found <= nums[-1])] for found, _ in holders.of(sorted(words))]
        held = [np.searchsorted(nums, found) for found in inside]
        best = _best(len(nums), held, _LONG_PASSAGES)
        made[turn.id] = _with_gaps(best, view.passages([nums[number] for number in best]), len(nums))
    return made


def excerpt(text: str, words: Set[str], passages: int, settings: IndexSizes) -> str:
    """Return some of its passages in order, with marks where something is left out; the whole text if it is short."""
    beginning = text[:_EXCERPT_CHARS]
    cuts, contents = _passages(beginning, settings.passage_words, settings.passages_from)
    if len(cuts) <= passages:
        return text
    held = [[number for number, one in enumerate(contents) if word in one] for word in sorted(words)]
    best = _best(len(cuts), held, passages)
    count = len(cuts) if len(text) < _EXCERPT_CHARS else len(cuts) + 1
    return _with_gaps(best, [text[slice(*cuts[number])] for number in best], count)


def _best(count: int, held: Sequence[Sequence[int] | NDArray[np.int64]], most: int) -> list[int]:
    """Return the best of `count` passages, in order; for each word of the question, `held` has those that contain it.

    A word that few of them contain says more about which one is meant.
    """
    worth = np.zeros(count)
    for numbers in held:
        worth[numbers] += 1 / max(len(numbers), 1)
    ranked = np.argsort(-worth, kind="stable")[:most]
    return sorted(ranked[worth[ranked] >= _TELLING * worth[ranked[0]]].tolist())


def _with_gaps(numbers: Sequence[int], texts: Sequence[str], count: int) -> str:
    """Join passages, with a mark wherever some are left out."""
    parts: list[str] = []
    after = 0
    for number, text in zip(numbers, texts, strict=True):
        parts += [ELLIPSIS, text] if number != after else [text]
        after = number + 1
    return " ".join([*parts, ELLIPSIS] if after < count else parts)
