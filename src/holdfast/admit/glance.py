"""What a reader sees at a glance in each sentence of a turn: who it is about, its tense, names, numbers, times, its
manner, and how much of it is new in the conversation.

English. Words are looked up, not searched for, so reading is linear; none of the features decides alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.glance_shape import SHAPES, shape
from holdfast.admit.glance_words import EMPTY_OBJECTS, FIRST_PAIRS, FIRST_WORDS, LEADS, LIKING, PAIRS, WORDS
from holdfast.admit.sentences import sentences
from holdfast.models.static import shipped_vocabulary
from holdfast.words import FUNCTION_WORDS, terms

__all__ = ["FEATURES", "MOST_SENTENCES", "Glance", "glance"]

MOST_SENTENCES = 200
"""Of one turn: its beginning and its end. What is longer was pasted; its turn keeps the whole."""
_MOST_HEARD = 4000
"""Characters of an earlier turn that are read for what is not new; of a paste, its beginning."""
_COMMON, _KNOWN = 6000, 12_000
"""A word is uncommon, or rare, if it is not among so many of the vocabulary's first pieces: they stand by frequency."""
_LONG = math.log1p(6)
"""Content words of a sentence that tells more than its bare fact."""
_BRIEF = 6
"""Words of a turn that hardly says anything (the issue's own measure of small talk)."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_DIGIT = re.compile(r"\d+")
_IS = frozenset(("is", "are", "was", "were", "lives", "works", "moved"))
_NAME = re.compile(r"(?<=[a-z,;:')] )(?!I\b)[A-Z][a-z]+|\b[A-Z]{2,}\b")
# A name that calls somebody says nothing about them: "Thanks, Ida!", "Hey Ida,", "Ida, look".
_CALLED = re.compile(
    r"(?:, |^(?:hey|hi|hello|thanks|thank you|yeah|yep|wow|oh|morning|congrats|whoa|dear|good \w+),? )"
    r"(?-i:([A-Z][a-z]+))(?=[,!.?]|$)|^(?-i:([A-Z][a-z]+))(?=[,!])",
    re.IGNORECASE,
)

_FLAGS = tuple(dict.fromkeys([*WORDS, *PAIRS, *FIRST_WORDS, *FIRST_PAIRS]))
_BIT = {name: 1 << place for place, name in enumerate(_FLAGS)}
_FLAG_BYTES = (len(_FLAGS) + 7) // 8
_MADE = (
    "bias", "words", "content", "question", "exclaim", "own_past", "my_kin", "name", "called", "other_name", "answer",
    "first", "alone", "own_content", "you_not_own", "short", "long_own", "life_not_own", "reaction_own", "i_start",
    "you_start", "new", "new_share", "uncommon", "rare", "turn_answers", "turn_after_question", "turn_questions",
    "turn_brief", "my_is", "brief_tells", "am_a", "likes_a",
)  # fmt: skip
FEATURES: tuple[str, ...] = (*_MADE, *SHAPES, *_FLAGS)
_PLACE, _NEW, _TURN = (FEATURES.index(name) for name in ("answer", "new", "turn_answers"))
"""Where the columns begin that do not depend on the sentence alone: three, two and four of them."""
_KEPT = 4096
"""Sentences whose reading is kept, 3 KB each: those of a batch, for the index, the vectors and admission read them."""

_Numbers = NDArray[np.float64]

_Key = TypeVar("_Key")


def _bits(table: dict[str, frozenset[_Key]]) -> dict[_Key, int]:
    """The flags that each word or pair raises."""
    bits: dict[_Key, int] = {}
    for name, keys in table.items():
        for key in keys:
            bits[key] = bits.get(key, 0) | _BIT[name]
    return bits


_WORD_BITS, _PAIR_BITS = _bits(WORDS), _bits(PAIRS)
_FIRST_BITS, _FIRST_PAIR_BITS = _bits(FIRST_WORDS), _bits(FIRST_PAIRS)


@dataclass(frozen=True, slots=True)
class Glance:
    """A turn's sentences, and of each its features in the order of FEATURES: flags as 0 or 1, amounts as logarithms."""

    sentences: tuple[str, ...]
    features: _Numbers


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a sentence shows wherever it stands; the features of its place and turn are 0."""

    content: frozenset[str]
    features: _Numbers


def glance(text: str, answers_question: bool, before: Sequence[str]) -> Glance:
    """`before`: the texts of the conversation's earlier turns, oldest first, whoever said them."""
    found = sentences(text)
    if len(found) > MOST_SENTENCES:
        found = found[: MOST_SENTENCES // 2] + found[-MOST_SENTENCES // 2 :]
    heard: set[str] = set().union(*(_content(earlier[:_MOST_HEARD]) for earlier in before))
    turn = [
        float(answers_question),
        float(bool(before) and "?" in before[-1]),
        math.log1p(sum("?" in sentence for sentence in found)),
        float(len(text[:_MOST_HEARD].split()) <= _BRIEF),
    ]
    rows = np.empty((len(found), len(FEATURES)))
    for row, sentence in zip(rows, found, strict=True):
        seen = _read(sentence, turn[2] > 0)
        row[:] = seen.features
        new = len(seen.content - heard)
        heard |= seen.content
        row[_NEW : _NEW + 2] = math.log1p(new), new / (1 + len(seen.content))
    if found:
        rows[0, _PLACE : _PLACE + 3] = answers_question, True, len(found) == 1
    rows[:, _TURN : _TURN + len(turn)] = turn
    return Glance(tuple(found), rows)


@lru_cache(maxsize=_KEPT)
def _read(sentence: str, turn_asks: bool) -> _Seen:
    plain = sentence.replace("’", "'")
    words = _WORD.findall(plain.lower())
    numbers = _DIGIT.findall(plain)
    seen = _look_up(words) | (_BIT["number"] if numbers else 0)
    own, past, you = seen & (_BIT["i"] | _BIT["my"]), seen & _BIT["past"], seen & _BIT["you"]
    question = plain.rstrip("\"'”) ").endswith("?")
    content = math.log1p(sum(word not in FUNCTION_WORDS for word in words))
    begin = words[1:] if words and words[0] in LEADS else words
    names = _NAME.findall(plain)
    called = {one or other for one, other in _CALLED.findall(plain)}
    uncommon, rare = _how_rare(words, numbers)
    # "My sister's name is Ida", "our standup is at ten": an attribute and its value.
    my_is = float(bool(begin) and begin[0] in ("my", "our") and not _IS.isdisjoint(begin[2:5]))
    features = [
        1.0,
        math.log1p(len(words)),
        content,
        float(question),
        float(plain.endswith("!")),
        float(bool(past and own)),
        float(bool(seen & _BIT["kin"] and seen & _BIT["my"])),
        math.log1p(min(len(names), 3)),
        float(bool(called)),
        math.log1p(min(sum(name not in called for name in names), 3)),
        *(0.0, 0.0, 0.0),  # its place
        content if own and not question else 0.0,
        float(bool(you and not own)),
        float(len(words) <= 3),
        float(bool(own and content >= _LONG)),
        float(bool(seen & _BIT["life"] and not own)),
        float(bool(seen & _BIT["reaction"] and own)),
        float(bool(begin) and begin[0].partition("'")[0] in ("i", "we", "my", "our")),
        float(bool(begin) and begin[0].partition("'")[0] in ("you", "your")),
        *(0.0, 0.0),  # what is new in it
        math.log1p(len(uncommon)),
        math.log1p(len(rare)),
        *(0.0, 0.0, 0.0, 0.0),  # its turn
        my_is,
        float(bool(seen & _BIT["tells"] or my_is) and len(words) <= _BRIEF),
        *_is_and_likes(words),
        *shape(plain, uncommon, question, turn_asks),
    ]
    flags = np.unpackbits(np.frombuffer(seen.to_bytes(_FLAG_BYTES, "little"), np.uint8), bitorder="little")
    return _Seen(_content(sentence), np.concatenate([features, flags[: len(_FLAGS)]]))


def _is_and_likes(words: list[str]) -> tuple[float, float]:
    """Whether it says what somebody is ("I'm a nurse"), and what they like ("I love jazz")."""
    is_a = likes = False
    for first, second, third in zip(words, words[1:], words[2:], strict=False):
        if third not in EMPTY_OBJECTS:
            is_a = is_a or (first in ("i'm", "am") and second in ("a", "an"))
            likes = likes or (first == "i" and second in LIKING)
    return float(is_a), float(likes)


def _look_up(words: list[str]) -> int:
    """Which flags the words raise, as bits."""
    seen = 0
    for word in words:
        seen |= _WORD_BITS.get(word, 0)
        if len(word) > 4 and word.endswith("ed"):
            seen |= _BIT["past"]
    for pair in pairwise(words):
        seen |= _PAIR_BITS.get(pair, 0)
    if words:
        seen |= _FIRST_BITS.get(words[0], 0)
        seen |= _FIRST_PAIR_BITS.get((words[0], words[1]), 0) if len(words) > 1 else 0
    return seen


def _how_rare(words: list[str], numbers: list[str]) -> tuple[set[str], set[str]]:
    """The words that are not common, and those of them that are rare."""
    common, known = _frequent()
    uncommon = {word.partition("'")[0] for word in words} | set(numbers)
    uncommon -= common
    return uncommon, uncommon - known


@cache
def _frequent() -> tuple[frozenset[str], frozenset[str]]:
    pieces = shipped_vocabulary()
    return frozenset(pieces[:_COMMON]), frozenset(pieces[:_KNOWN])


@lru_cache(maxsize=2048)  # a conversation's turns are read again for each turn after them
def _content(text: str) -> frozenset[str]:
    """The terms of a text that say what it is about."""
    return frozenset(terms(text)) - _function_terms()


@cache
def _function_terms() -> frozenset[str]:
    return FUNCTION_WORDS.union(*(terms(word) for word in FUNCTION_WORDS))
