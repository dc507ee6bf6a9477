"""Decide what happens to a new statement: it is added, merged, a replacement, or nothing new.

The cosine only proposes. Two texts merge when it is high and nothing that decides differs (MERGE-1, MERGE-3); one
replaces another when a reason can be told (MERGE-4) and its source is no worse (MERGE-5). In doubt both stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from holdfast.admit.compare import is_same
from holdfast.admit.supersede import replaces
from holdfast.admit.topics import reading_of
from holdfast.admit.values import ParsedStatement, Word, WordKind
from holdfast.model import Kind, Provenance
from holdfast.models.embedder import Thresholds
from holdfast.settings import MergeSettings
from holdfast.text.vocabulary import POSSESSIVES, word_set

_REWORDED = 0.78
"""Share of `same` from which two texts with the same deciding words, every one, are one claim. Measured on STS-B, MRPC
and SICK: from .90 down to .70 (static) 40 % more are merged correctly, and still no contradiction."""
_PARAPHRASE = 0.5  # cosine from which the reader is asked whether two statements say the same
_FLOOR = 0.0
"""Cosine a record must have to be replaced by a rule. The rules read words, so the search decides: 12 % of our labelled
replacements lie below .35 on the static model ("I moved to Ghent", "I live in Porto": .19)."""

# --- The value guard: whether two texts say the same, and if not, in which word they differ (MERGE-3).


class Likeness(StrEnum):
    """Relation of the first text to the second."""

    SAME = "same"
    MORE = "more"
    """It says all the second says, and something more that contradicts nothing."""
    LESS = "less"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Comparison:
    likeness: Likeness
    reason: str
    """In words, for the receipt: what differs, or that nothing does."""


LONGEST = 10_000
"""A claim is a sentence; a page of many sentences has no one value to compare, and must not hold the worker."""
_POSSESSORS = frozenset(POSSESSIVES.values())
_OPENERS = _POSSESSORS | {"a", "an", "the"}
MOST_EXTRA = 2
"""Words the more specific of two texts may add: with more, it says something else as well."""
# What may be added without another value, condition or doubt.
_HARMLESS = frozenset({WordKind.PLAIN})
# Statements that a narrower object makes narrower, not more specific: "I hate cheese", "I hate blue cheese".
_NARROWED = word_set(
    "hate dislike enjoy love prefer avoid allergic eat drink use call want need support speak know wear"
)
_ON_IN = ({"on", "onto", "upon"}, {"in", "into"})


def compare(first: str, second: str) -> Comparison:
    """Compare two texts that may say the same."""
    if first.strip() == second.strip() and first.strip():
        return Comparison(Likeness.SAME, "the same words")
    if max(len(first), len(second)) > LONGEST:
        return Comparison(Likeness.DIFFERENT, f"a text of more than {LONGEST:,} characters merges only with itself")
    return compare_readings(reading_of(first), reading_of(second))


def compare_readings(first: ParsedStatement, second: ParsedStatement) -> Comparison:
    """The same over texts that were read already."""
    if not first.words and not second.words:
        return Comparison(Likeness.DIFFERENT, "neither text says anything that could be compared")
    first, second = _one_is_a(first, second), _one_is_a(second, first)
    ours, theirs = Counter(first.keys), Counter(second.keys)
    only_first, only_second = _words_of(first, ours - theirs), _words_of(second, theirs - ours)
    if only_first and only_second:
        return Comparison(Likeness.DIFFERENT, _difference(only_first, only_second))
    if tense := _tense(first, second):
        return Comparison(Likeness.DIFFERENT, tense)
    if whose := _whose(first, second):
        return Comparison(Likeness.DIFFERENT, whose)
    if not only_first and not only_second:
        if order := _order(first.words, second.words):
            return Comparison(Likeness.DIFFERENT, order)
        return Comparison(Likeness.SAME, "no number, date, name, negation or other deciding word differs")
    more, less, extra = (first, second, only_first) if only_first else (second, first, only_second)
    if reason := _not_just_more(more, less, extra):
        return Comparison(Likeness.DIFFERENT, reason)
    said = ", ".join(repr(word.said) for word in extra)
    return Comparison(Likeness.MORE if only_first else Likeness.LESS, f"one only adds {said}")


def additions(reading: ParsedStatement) -> list[Word]:
    """Words that a text may have and another lack without contradicting it, up to MOST_EXTRA of them."""
    return [word for at, word in enumerate(reading.words) if word.kind in _HARMLESS and _modifies(reading, at)]


def is_loose_one(word: Word) -> bool:
    """Return True for a "one" that only means "a"."""
    return word.said.lower() == "one"


def _one_is_a(reading: ParsedStatement, other: ParsedStatement) -> ParsedStatement:
    """The text without a "one" that only means "a", as in "one man": unless the other text counts too."""
    if not any(is_loose_one(word) for word in reading.words) or "1" in other.keys:
        return reading
    single = {word.key for word in other.words if {"a", "an"} & set(word.lead)}
    kept = [
        word
        for word, after in zip(reading.words, (*reading.words[1:], None), strict=True)
        if not (is_loose_one(word) and after is not None and not after.lead and after.key in single)
    ]
    return ParsedStatement(tuple(kept), reading.tail)


def _words_of(reading: ParsedStatement, counts: Counter[str]) -> list[Word]:
    left = Counter(counts)
    found = []
    for word in reading.words:
        if left[word.key] > 0:
            left[word.key] -= 1
            found.append(word)
    return found


def _difference(first: list[Word], second: list[Word]) -> str:
    """The most telling pair of differing words."""
    order = list(WordKind)
    word = min((*first, *second), key=lambda word: order.index(word.kind))
    ours = [other.said for other in first if other.kind is word.kind] or [first[0].said]
    theirs = [other.said for other in second if other.kind is word.kind] or [second[0].said]
    return f"they differ in a {word.kind.value}: {ours[0]!r} and {theirs[0]!r}"


def _not_just_more(more: ParsedStatement, less: ParsedStatement, extra: list[Word]) -> str | None:
    """Why the longer text is not simply the more specific one; None when it is."""
    for word in extra:
        if word.kind not in _HARMLESS:
            return f"only one has the {word.kind.value} {word.said!r}"
    if len(extra) > MOST_EXTRA:
        return f"one says more: {', '.join(repr(word.said) for word in extra)}"
    keys = less.keys
    if any(key in _NARROWED for key in keys) or any(word.kind is WordKind.NEGATION for word in less.words):
        return f"only one has the word {extra[0].said!r}, which narrows what is said"
    places = {word.start for word in extra}
    rest = [word for word in more.words if word.start not in places]
    if order := _order(tuple(rest), less.words):
        return order
    for index, word in enumerate(more.words):
        if word.start in places and not _modifies(more, index):
            return f"only one has the word {word.said!r}"
    return None


def _modifies(reading: ParsedStatement, index: int) -> bool:
    """Return True if a word only describes the one after it: "a young child", but not "a child actor"."""
    word = reading.words[index]
    if word.key.endswith("ly"):
        return True
    if index + 1 >= len(reading.words):
        return False
    after = reading.words[index + 1]
    counted = not word.lead and index > 0 and reading.words[index - 1].kind is WordKind.NUMBER  # "two young boys"
    opened = counted or (word.lead[-1:] and word.lead[-1] in _OPENERS)
    return bool(opened) and not after.lead and after.kind in (WordKind.PLAIN, WordKind.NAME)


def _tense(first: ParsedStatement, second: ParsedStatement) -> str | None:
    """A verb in the past here and in the present there: who lived in Porto need not live there."""
    theirs: dict[str, dict[bool, str]] = {}
    for word in second.words:
        theirs.setdefault(word.key, {}).setdefault(word.past, word.said)
    for word in first.words:
        others = theirs.get(word.key)
        if others and word.kind is WordKind.PLAIN and word.past not in others:
            return f"they differ in tense: {word.said!r} and {others[not word.past]!r}"
    return None


def _whose(first: ParsedStatement, second: ParsedStatement) -> str | None:
    """A possessor or a place that both name, and name differently."""
    theirs: dict[str, Word] = {}
    for word in second.words:
        theirs.setdefault(word.key, word)
    seen: set[str] = set()
    for word in first.words:
        other = theirs.get(word.key)
        if other is None or word.key in seen:
            continue
        seen.add(word.key)
        ours_has, theirs_has = _POSSESSORS & set(word.lead), _POSSESSORS & set(other.lead)
        if ours_has and theirs_has and ours_has != theirs_has:
            return f"they differ in whose {word.said!r} it is"
        if word.kind in (WordKind.PLAIN, WordKind.NAME):
            on, inside = _ON_IN
            lead, other_lead = set(word.lead), set(other.lead)
            if (lead & on and other_lead & inside) or (lead & inside and other_lead & on):
                here, there = (" ".join((*found.lead, found.said)) for found in (word, other))
                return f"they differ in where: {here!r} and {there!r}"
    return None


def _order(first: tuple[Word, ...], second: tuple[Word, ...]) -> str | None:
    """Why a different order of the same words says something else; None when it does not."""
    for ours in {first, _active(first)}:
        for theirs in {second, _active(second)}:
            if _same_order(ours, theirs):
                return None
    return "the same words stand in another order"


def _same_order(first: tuple[Word, ...], second: tuple[Word, ...]) -> bool:
    """Return True if the words have the same order, but for one phrase that may be anywhere."""
    ours, theirs = [word.key for word in first], [word.key for word in second]
    if ours == theirs:
        return True
    start = next(i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
    end = next(i for i, (a, b) in enumerate(zip(reversed(ours), reversed(theirs), strict=True)) if a != b)
    middle, other = first[start : len(first) - end], second[start : len(second) - end]
    keys = [word.key for word in other]
    for cut in _cuts(middle, other):
        if [word.key for word in (*middle[cut:], *middle[:cut])] == keys:
            return _may_move(middle, other, cut)
    return False


def _cuts(middle: tuple[Word, ...], other: tuple[Word, ...]) -> list[int]:
    """Return the possible ends of the first block: before the first word of the other text. They are few."""
    places = [index for index, word in enumerate(middle) if word.key == other[0].key and index]
    return places[:_MOST_CUTS]


def _may_move(middle: tuple[Word, ...], other: tuple[Word, ...], cut: int) -> bool:
    left, right = middle[0], middle[cut]
    left_there, right_there = other[len(middle) - cut], other[0]
    if _movable(left, left_there) or _movable(right, right_there):
        return True  # "in January I …", "… in January"
    if {"and", "or"} & set(right.lead) and {"and", "or"} & set(left_there.lead):
        return True  # "a boy and a girl"
    if _equates(right) and _equates(left_there):
        return True  # "Imre is my best friend"
    if len(middle) == 2 and (_which_is(right) or _which_is(left_there)):
        return True  # "a dog which is black"
    of_there = "of" in right.lead and left_there.lead[:1] == ("s",)
    return of_there or ("of" in left_there.lead and right.lead[:1] == ("s",))  # "the name of my dog", "my dog's name"


def _which_is(word: Word) -> bool:
    return bool({"which", "who", "that"} & set(word.lead) and {"is", "are", "was", "were"} & set(word.lead))


def _active(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The passive as the active: "B is hit by A in C" as "A hit B in C"; any other sentence as it is."""
    agent = next((i for i, word in enumerate(words) if "by" in word.lead), 0)
    verb = next((i for i in range(1, agent) if _BE & set(words[i].lead)), 0)
    if not verb:
        return words
    end = next((i for i in range(agent + 1, len(words)) if _MOVABLE_LEADS & set(words[i].lead)), len(words))
    return (*words[agent:end], words[verb], *words[:verb], *words[verb + 1 : agent], *words[end:])


_BE = word_set("be is am are was were been being get gets got")
_MOST_CUTS = 4
_MOVABLE_LEADS = word_set("in on at for with by to")


def _movable(here: Word, there: Word) -> bool:
    """A phrase that its own preposition ties to the sentence may stand anywhere in it."""
    if here.kind is WordKind.DATE and there.kind is WordKind.DATE:
        return True
    if here.kind is WordKind.PLACE:
        return True
    return bool(_MOVABLE_LEADS & set(here.lead) & set(there.lead))


def _equates(word: Word) -> bool:
    return bool({"is", "are", "am", "was", "were", "s"} & set(word.lead)) and not _MOVABLE_LEADS & set(word.lead)


@dataclass(frozen=True, slots=True)
class Statement:
    """A candidate that passed the quality floor."""

    text: str
    kind: Kind
    provenance: Provenance
    confidence: float
    at: datetime
    turn_ids: tuple[str, ...] = ()
    evidence_count: int = 1
    supersedes: str | None = None
    """The record an extractor says it replaces. A proposal only (ADMIT-2)."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A live record of the same namespace, and how near it is."""

    id: str
    text: str
    cosine: float
    kind: Kind
    provenance: Provenance
    confidence: float
    evidence_count: int
    at: datetime
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Add:
    """Keep it as a record of its own."""

    reason: str
    beside: tuple[str, ...] = ()
    """Records it may replace: unsure, so both stay live."""
    revises: tuple[str, ...] = ()
    """Live records on the same matter that it is newer than: who asks about it wants this one first."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Make it one with a record; these are the record's values from now on."""

    into: str
    text: str
    kept: str
    """Source of the text: "new" or "old"."""
    provenance: Provenance
    confidence: float
    evidence_count: int
    turn_ids: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Supersede:
    """Add it, and retire these records in the same transaction."""

    old: tuple[str, ...]
    reason: str
    revises: tuple[str, ...] = ()
    """As in Add: older records on the same matter that stay live."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Nothing new; to be counted."""

    reason: str
    known_as: str
    """The record that says it already."""


Verdict = Add | Merge | Supersede | Drop

_TRUST = {provenance: len(Provenance) - place for place, provenance in enumerate(Provenance)}
_DERIVED = frozenset({Kind.SUMMARY, Kind.EPISODE, Kind.TURN})
"""They tell what was said, not what holds: no claim merges into them or retires them."""


def trust(provenance: Provenance) -> int:
    """Return the trust in a source; more is better (MERGE-2's order)."""
    return _TRUST[provenance]


def decide(
    new: Statement,
    neighbours: Sequence[Neighbour],
    thresholds: Thresholds,
    settings: MergeSettings | None = None,
    replaced: frozenset[str] = frozenset(),
) -> Verdict:
    """Decide what happens to a new statement, given the nearest live records in any order.

    `replaced` are records that the statement's turn replaces in the reader's judgement.
    """
    settings = settings or MergeSettings()
    same = thresholds.same if settings.same is None else settings.same
    nearest = sorted(
        (near for near in neighbours if near.kind not in _DERIVED), key=lambda near: (-near.cosine, near.id)
    )
    if new.kind in _DERIVED or not nearest:
        return Add("nothing like it is remembered" if not nearest else "a summary stands for itself")
    guarded = ""
    for near in nearest:
        if near.cosine < same * _REWORDED:
            break
        comparison = compare(new.text, near.text)
        if near.cosine < same and comparison.likeness is not Likeness.SAME:
            continue
        if near.id not in replaced and (verdict := _merge(new, near, comparison)):
            return verdict
        guarded = guarded or f"close to {near.id} ({near.cosine:.2f}), but {comparison.reason}"
    for near in nearest:
        if near.id not in replaced and near.cosine >= _PARAPHRASE and is_same(near.text, new.text):
            comparison = Comparison(Likeness.SAME, "the same in other words")
            if verdict := _merge(new, near, comparison):
                return verdict
    kept = _retire(new, nearest, thresholds, settings, replaced) or Add(
        guarded or f"nothing remembered says it; the nearest is {nearest[0].id} ({nearest[0].cosine:.2f})"
    )
    return replace(kept, revises=_revised(new, nearest, kept, thresholds))


# --- one claim -------------------------------------------------------------------------------------------------------


def _merge(new: Statement, old: Neighbour, comparison: Comparison) -> Merge | Drop | None:
    """The two as one (MERGE-2); None where that would lose something."""
    if comparison.likeness is Likeness.DIFFERENT:
        return None
    ours, theirs = trust(new.provenance), trust(old.provenance)
    if ours < theirs and comparison.likeness is Likeness.MORE:
        return None  # the better source's text would stay, and what the new one adds would be lost
    wins = ours > theirs or (ours == theirs and _better_phrased(new.text, old.text, comparison.likeness))
    seen = set(new.turn_ids) <= set(old.turn_ids) and bool(new.turn_ids)
    surer = ours == theirs and new.confidence > old.confidence
    if not wins and not surer and seen:
        return Drop(f"{old.id} says it already, from the same turn", old.id)
    return Merge(
        into=old.id,
        text=new.text if wins else old.text,
        kept="new" if wins else "old",
        provenance=new.provenance if wins else old.provenance,
        confidence=new.confidence if ours > theirs or surer else old.confidence,
        # The same turn read twice is no second witness.
        evidence_count=old.evidence_count + (0 if seen else new.evidence_count),
        turn_ids=tuple(dict.fromkeys((*old.turn_ids, *new.turn_ids))),
        reason=f"{comparison.reason}; {_why_kept(wins, ours, theirs, comparison.likeness)}",
    )


def _better_phrased(new: str, old: str, likeness: Likeness) -> bool:
    """Among equal sources: the more specific text, then the one with fewer words around the same content."""
    if likeness is not Likeness.SAME:
        return likeness is Likeness.MORE
    ours, theirs = len(reading_of(new).words), len(reading_of(old).words)
    return (ours, -len(new.split())) > (theirs, -len(old.split()))


def _why_kept(wins: bool, ours: int, theirs: int, likeness: Likeness) -> str:
    kept = "the new text is kept" if wins else "the text that was there is kept"
    if ours != theirs:
        return f"{kept}: its source is better"
    return f"{kept}: it is more specific" if likeness is not Likeness.SAME else kept


# --- another value ---------------------------------------------------------------------------------------------------


def _retire(
    new: Statement,
    nearest: list[Neighbour],
    thresholds: Thresholds,
    settings: MergeSettings,
    replaced: frozenset[str] = frozenset(),
) -> Supersede | Add | None:
    """The records that the statement replaces, or that it may replace; None when it replaces nothing."""
    retired: dict[str, str] = {}
    beside: dict[str, str] = {}
    findings = {near.id: replaces(new.text, near.text) for near in nearest if near.cosine >= _FLOOR}
    for near in nearest:
        found = findings.get(near.id)
        proposed = (new.supersedes == near.id and near.cosine >= thresholds.related) or near.id in replaced
        if found is None and not proposed:
            continue
        reason = found.reason if found else "its turn takes the place of what was said"
        if near.id not in replaced and not found:
            reason = "the extractor proposed it"
        certain = found is not None and found.sure
        if not (settings.supersede and (proposed or certain)):
            beside[near.id] = f"unsure whether it replaces it ({reason})"
        elif trust(new.provenance) < trust(near.provenance):
            beside[near.id] = f"{new.provenance.value} does not replace {near.provenance.value} ({reason})"
        elif new.at < near.at:
            beside[near.id] = f"it was said before that ({reason})"
        else:
            retired[near.id] = reason
    if retired:
        return Supersede(tuple(retired), "; ".join(f"{id}: {reason}" for id, reason in retired.items()))
    if beside:
        return Add("; ".join(f"kept beside {id}: {reason}" for id, reason in beside.items()), tuple(beside))
    return None


def _revised(
    new: Statement, nearest: list[Neighbour], verdict: Add | Supersede, thresholds: Thresholds
) -> tuple[str, ...]:
    """Records of no better source that stay live and are older news of the same matter."""
    retired = verdict.old if isinstance(verdict, Supersede) else ()
    beside = verdict.beside if isinstance(verdict, Add) else ()
    return tuple(
        near.id
        for near in nearest
        if near.id not in retired
        and near.at < new.at
        and trust(new.provenance) >= trust(near.provenance)
        and near.id in beside
    )
