"""Check that a model's sentence is supported by the conversation, word by word.

A model may leave words out and change their form. It may not bring a number, date or name that nobody said, turn a
"not", a "used to" or a liking round, or take a question or a quotation for a statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from holdfast.admit.floor import Reason, judge
from holdfast.admit.values import Word, WordKind, read
from holdfast.text.words import fold, prose, sentences


@dataclass(frozen=True, slots=True)
class Grounding:
    """The support of a sentence by its source."""

    in_order: bool
    """The words come in the source's order; else who did what to whom cannot be told from words."""
    hedged: bool
    """The source says it with a "maybe", an "if" or a "might"."""
    complete: bool
    """Every word of content was said, not only most of them."""


_VALUES = (WordKind.NUMBER, WordKind.TIME, WordKind.DATE, WordKind.NAME)
_FRAME = frozenset({"user", "say", "tell", "mention", "state", "person"})
"""Words that a model adds around a statement: "the user mentioned that"."""
_ATTITUDES = frozenset(
    {"enjoy", "love", "hate", "dislike", "prefer", "want", "need", "stop", "start", "quit", "refuse"}
)
"""Words that turn a statement: one of them that nobody said is as bad as a wrong number."""
_UNMARKED = frozenset(
    {"dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "havent", "hasnt", "hadnt", "wont", "wouldnt",
     "couldnt", "shouldnt", "cant", "mustnt"}
)  # fmt: skip
"""Negations without their apostrophe."""
_IGNORED = (WordKind.PERSON, WordKind.PLACE, WordKind.SYMBOL, WordKind.NEGATION, WordKind.MODAL, WordKind.HEDGE)
_CLAUSE = re.compile(r"[.!?;:,\n()–—]+|\b(?:but|and|so|because|although|though|while|or|which)\b", re.IGNORECASE)
_QUOTED = re.compile(r"[\"“«]([^\"”»\n]{8,400})[\"”»]")
_NOT_SAID = (Reason.QUESTION, Reason.HYPOTHETICAL, Reason.REPORTED)
_MOST_OF_IT = 0.8
"""A clause that holds this share of a sentence is the one it was taken from."""
_IN_ORDER = 0.75


def ground(text: str, source: str, *, least_share: float, stated: bool = True) -> Grounding | None:
    """None if the source does not bear the sentence out. `stated`: a question or a quotation in it does not count."""
    claim = [word for word in read(text).words if word.kind not in _IGNORED and word.key not in _FRAME | _UNMARKED]
    own = prose(source)
    said = read(own).words
    found = _found(claim, {word.key for word in said}, own)
    if not claim or found is None or len(found) < least_share * len(claim):
        return None
    sentence, clause = _nearest(claim, own)
    if not _same_polarity(text, claim, clause, own) or _swaps_person(text, clause):
        return None
    if stated and (_is_no_statement(sentence) or _only_quoted(claim, own)):
        return None
    return Grounding(_in_order(found, said), _is_hedged(text, sentence), len(found) == len(claim))


def _found(claim: Sequence[Word], keys: set[str], source: str) -> list[Word] | None:
    """The words that the source has; None if one is missing that decides. Chat writes names in lower case."""
    spoken = set(re.findall(r"\w+", fold(source)))
    found = []
    for word in claim:
        if word.key in keys or (word.kind is WordKind.NAME and fold(word.said) in spoken):
            found.append(word)
        elif word.kind in _VALUES or word.key in _ATTITUDES:
            return None
    return found


def _nearest(claim: Sequence[Word], source: str) -> tuple[str, str]:
    """The sentence, and the clause in it, that share most with the claim."""
    best, most = ("", ""), (-1, -1)
    for sentence in sentences(source):
        whole = _shared(claim, sentence)
        for clause in filter(str.strip, _CLAUSE.split(sentence)):
            if (score := (_shared(claim, clause), whole)) > most:
                best, most = (sentence, clause), score
    return best


def _shared(claim: Sequence[Word], text: str) -> int:
    keys = {word.key for word in read(text).words}
    return sum(word.key in keys for word in claim)


def _same_polarity(text: str, claim: Sequence[Word], clause: str, source: str) -> bool:
    if _shared(claim, clause) >= _MOST_OF_IT * len(claim):
        return _turns(text) == _turns(clause)
    return _turns(text) <= _turns(source) if _turns(text) else not _turns(clause)


def _turns(text: str) -> set[str]:
    """Return the words that reverse a statement: "not", "used to"."""
    words = read(text).words
    turned = {"not" for word in words if word.kind is WordKind.NEGATION or word.key in _UNMARKED}
    return turned | {word.key for word in words if word.key == "used-to"}


def _swaps_person(text: str, clause: str) -> bool:
    """Return True if subject and object changed places: "my boss hates me" became "I hate my boss"."""
    keys = [word.key for word in read(clause).words]
    words = read(text).words
    for person, verb in pairwise(words):
        if person.kind is WordKind.PERSON and verb.kind is WordKind.PLAIN and {person.key, verb.key} <= set(keys):
            return keys.index(person.key) > keys.index(verb.key)
    return False


def _is_no_statement(sentence: str) -> bool:
    refusal = judge(sentence)
    return refusal is not None and refusal.reason in _NOT_SAID


def _only_quoted(claim: Sequence[Word], source: str) -> bool:
    quoted = " . ".join(_QUOTED.findall(source))
    unquoted = _QUOTED.sub(" ", source)
    inside = _shared(claim, quoted) if quoted else 0
    return inside >= _MOST_OF_IT * len(claim) and _shared(claim, unquoted) < inside


def _is_hedged(text: str, sentence: str) -> bool:
    words = (*read(text).words, *read(sentence).words)
    kinds = (WordKind.HEDGE, WordKind.CONDITION)
    return any((word.kind in kinds and word.key != "used-to") or word.key == "may" for word in words)


def _in_order(found: Sequence[Word], said: Sequence[Word]) -> bool:
    places: dict[str, list[int]] = {}
    for place, word in enumerate(said):
        places.setdefault(word.key, []).append(place)
    at, steps, forward = -1, 0, 0
    for word in found:
        here = places.get(word.key)
        if not here:
            continue
        later = next((place for place in here if place > at), None)
        steps += 1
        forward += later is not None
        at = later if later is not None else here[0]
    return forward >= _IN_ORDER * steps
