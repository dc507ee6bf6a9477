"""Echoes: what was just recalled, or stands in a rule file, is not news when it is said again (ADMIT-4).

Near-verbatim only. A restatement with a new value ("we moved the standup to ten") holds a word that the passage it
repeats does not, and one with a "not" more or less turns it round: neither is an echo.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from holdfast.words import FUNCTION_WORDS, fold

__all__ = ["is_echo"]

_TOKEN = re.compile(r"[^\W_]+(?:['.,:/-][^\W_]+)*")
_SHINGLE = 3
"""Words in a row: two meet by chance in any two texts of a topic, four are lost with every changed word."""
_SHARE = 0.6
"""Of the shingles. One changed function word in a sentence of ten costs three of eight."""
_PERSONS = {
    "you": "i", "u": "i", "user": "i", "your": "my", "user's": "my", "users": "my", "yours": "mine",
    "you're": "i'm", "you've": "i've", "you'll": "i'll", "you'd": "i'd", "are": "am", "is": "am", "has": "have",
}  # fmt: skip
"""The one who says it is "I" to themselves and "you" or "the user" in what was recalled."""
_DECISIVE = frozenset(
    {"not", "no", "never", "without", "nor", "only", "before", "after", "until", "off", "on", "under", "over"}
)
"""Function words that a statement may turn on."""
_MOST_CHARS = 200_000
"""Of one source; a larger rule file is read this far."""
_MOST_REMEMBERED = 10_000
"""Characters of a source whose words are kept for the next question."""


def is_echo(text: str, recent_texts: Sequence[str]) -> bool:
    """Whether one of the texts says this already, in nearly the same words and with the same values."""
    words = _words(text)
    decisive = {word for word in words if word not in FUNCTION_WORDS or _turns(word)}
    return bool(words) and any(_holds(_source(source[:_MOST_CHARS]), words, decisive) for source in recent_texts)


@dataclass(frozen=True, slots=True)
class _Source:
    words: list[str]
    distinct: frozenset[str]


def _holds(known: _Source, words: list[str], decisive: set[str]) -> bool:
    if len(words) < _SHINGLE:
        return words == known.words
    if not decisive <= known.distinct:  # told by most sources at once
        return False
    places = {shingle: place for place, shingle in reversed(list(enumerate(_in_a_row(known.words))))}
    found = [places.get(shingle) for shingle in _in_a_row(words)]
    met = [place for place in found if place is not None]
    if len(met) < _SHARE * len(found):
        return False
    passage = known.words[min(met) : max(met) + _SHINGLE]
    return decisive <= set(passage) and _negations(passage) == _negations(words)


def _source(text: str) -> _Source:
    return _remembered(text) if len(text) <= _MOST_REMEMBERED else _read(text)


def _read(text: str) -> _Source:
    words = _words(text)
    return _Source(words, frozenset(words))


_remembered = lru_cache(maxsize=64)(_read)  # what the assistant said is asked of every sentence in the turns after it


def _words(text: str) -> list[str]:
    folded = fold(text.replace("’", "'")).replace("the user", "user")
    return [_PERSONS.get(word, word).removesuffix("'s") for word in _TOKEN.findall(folded)]


def _in_a_row(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)


def _turns(word: str) -> bool:
    return word in _DECISIVE or word.endswith("n't")


def _negations(words: list[str]) -> int:
    return sum(word in ("not", "no", "never") or word.endswith("n't") for word in words)
