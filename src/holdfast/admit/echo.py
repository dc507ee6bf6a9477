"""Echoes: what was just recalled, or stands in a rule file, is not news when it is said again (ADMIT-4).

Near-verbatim only. A restatement with a new value ("we moved the standup to ten") holds a word that the passage it
repeats does not, and one with a "not" more or less turns it round: neither is an echo.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from holdfast.text.words import FUNCTION_WORDS, fold

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
    """Return True if one of the texts says this already, in nearly the same words and with the same values."""
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


# --- A list that says again what is remembered is a host's, whatever stands over it: nobody recites three of
# their facts.
#
# Some hosts put what they recalled before the user's words as plain lines. Taken for the user's they would count as
# evidence for themselves, bring back what was replaced meanwhile, and leave no room for what the user says under them.
# What else such a list holds is kept, for it may be the user's own with something new in it, unless a line bears a time
# or an id before it, as no user's does.


_ITEM = re.compile(r"[ \t]*(?:(?:[-*•–—+]|\d{1,3}[.)])[ \t]+|(?=\[[^\]\n]{1,80}\][ \t]*\S)|(?=\d{4}-\d\d-\d\d\b))")
_STAMP = re.compile(r"(?:\[[^\]\n]{1,80}\]|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)[ \t]*[:–—-]?[ \t]*")
_SCORE = re.compile(
    r"[\[(](?:score|similarity|relevance|confidence|source|saved|added|updated|date|\d{4}-\d\d-\d\d)\b"
    r"[^()\[\]\n]{0,60}[\])]\.?$",
    re.IGNORECASE,
)
"""Notes that a host adds after a line; any other bracket may hold news: "I live in Porto (until June)"."""


def holds_list(text: str, least: int) -> bool:
    """Return True if a list of the text is long enough to have been recalled by a host."""
    return text.count("\n") >= least - 1 and any(len(lines) >= least for lines in _lists(text))


def recited(
    text: str, statements: Sequence[str], remembered: Callable[[int], Sequence[str]], least: int
) -> frozenset[int]:
    """Return the numbers of the statements that a host recalled: those in a list that repeats the memory.

    All statements of a list must, or `least` of them; the reader takes most lines of such a list for somebody else's.
    `remembered` gives the records nearest to a statement, replaced ones too.
    """
    found: set[int] = set()
    for lines in _lists(text):
        held = _held(lines, statements) if len(lines) >= least else {}
        if not held:
            continue
        again = {
            number
            for many in held.values()
            for number in many
            if is_echo(_bare(statements[number]), remembered(number))
        }
        if sum(not again.isdisjoint(many) for many in held.values()) >= min(least, len(held)):
            stamped = (many for line, many in held.items() if _STAMP.match(_behind(_ITEM, lines[line])))
            found.update(again, *stamped)
    return frozenset(found)


def _lists(text: str) -> Iterator[list[str]]:
    """Runs of lines that are items, blank lines aside."""
    run: list[str] = []
    for line in (*text.split("\n"), "."):
        if _ITEM.match(line):
            run.append(line)
        elif line.strip() and not line.startswith(("  ", "\t")):  # what is indented goes on with its item
            if run:
                yield run
            run = []


def _held(lines: Sequence[str], statements: Sequence[str]) -> dict[int, list[int]]:
    """By line, the statements it holds; each stands in one."""
    held: defaultdict[int, list[int]] = defaultdict(list)
    for number, statement in enumerate(statements):
        line = next((at for at, line in enumerate(lines) if statement in line), None)
        if line is not None:
            held[line].append(number)
    return held


def _bare(statement: str) -> str:
    """Without what a host writes before and behind a line."""
    return _SCORE.sub("", _behind(_STAMP, statement)).rstrip()


def _behind(beginning: re.Pattern[str], text: str) -> str:
    found = beginning.match(text)
    return text[found.end() :] if found else text
