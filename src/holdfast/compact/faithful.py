"""Whether a summary brings in anything that its sources do not hold: a number, a name, a date (COMP-5).

A value counts as held if the sources write it, in any notation (three is 3), or if it is the date of a turn or a day
that one of them speaks of ("yesterday"). In doubt it is not held: that costs a model's summary, never a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property

from holdfast.admit.sentences import sentences
from holdfast.admit.values import WordKind, read
from holdfast.compact.digest import speaker_of
from holdfast.model import Turn
from holdfast.spans import MONTH, MONTH_NUMBER, read_spans
from holdfast.words import FUNCTION_WORDS, fold, terms

__all__ = ["Sources", "unfaithful", "unheld"]

_WORD = re.compile(r"\w+")
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DAY_MONTH = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{MONTH})|(?P<first>{MONTH})\.? (?P<second>\d{{1,2}})"
    r"(?:st|nd|rd|th)?(?![:\d]))\b\.?(?:,? (?P<year>\d{4}))?",
    re.IGNORECASE,
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = re.compile(
    r"\b(?:the day (?:before yesterday|after tomorrow)|yesterday|tomorrow|today|tonight|last night"
    r"|(?:last|this|next) (?:week(?:end)?|month|year|spring|summer|autumn|fall|winter|\w+day)|(?:\w+ ){1,2}ago)\b",
    re.IGNORECASE,
)
_CAPITAL = re.compile(r"(?<![\w'’])[^\W\d_]*[A-ZÀ-ÖØ-Þ][\w-]*")
_VALUES = (WordKind.NUMBER, WordKind.TIME, WordKind.DATE)
_DOES = frozenset(
    {"is", "was", "has", "had", "are", "were", "will", "would", "can", "and", "also", "went", "got", "said", "says",
     "took", "made", "did", "does", "who", "whose"}
)  # fmt: skip
_OURS = frozenset({"user", "assistant", "tool", "system", "i"})
"""What a digest calls the speakers whose names nobody gave."""
_LONGEST_SPAN = timedelta(days=32)


class Sources:
    """Turns as what a summary of them may say."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns

    @cached_property
    def text(self) -> str:
        return fold("\n".join(f"{speaker_of(turn)}: {turn.text}" for turn in self._turns))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.text))

    @cached_property
    def terms(self) -> frozenset[str]:
        return frozenset(term for turn in self._turns for term in terms(turn.text))

    @cached_property
    def keys(self) -> frozenset[str]:
        """What the sources say in one notation."""
        return frozenset(key for turn in self._turns for key in read(turn.text).keys)

    @cached_property
    def days(self) -> frozenset[datetime]:
        """The days on which they were said, and those they speak of."""
        found: set[datetime] = set()
        for turn in self._turns:
            at = turn.at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
            found.add(at)
            for sentence in sentences(turn.text):
                for span in read_spans(sentence, turn.at):
                    if span.end - span.start <= _LONGEST_SPAN:
                        found |= {span.start + timedelta(days=day) for day in range((span.end - span.start).days)}
        return frozenset(found)

    def relative_unheld(self, text: str) -> list[str]:
        """Phrases like "yesterday" in a text that the sources do not have: away from their day they would be wrong."""
        return [found[0] for found in _RELATIVE.finditer(text) if not self.holds(found[0])]

    def holds(self, said: str) -> bool:
        """Whether the words stand in the sources, next to each other."""
        return re.search(rf"(?<!\w){re.escape(fold(said))}(?!\w)", self.text) is not None


def unfaithful(summary: str, sources: Sequence[Turn]) -> list[str]:
    """The numbers, names and dates of the summary that the sources do not hold, as the summary writes them."""
    return unheld(summary, Sources(sources))


def unheld(summary: str, sources: Sources) -> list[str]:
    """The same, of sources that were read already."""
    found: list[str] = []
    for sentence in (one for line in summary.splitlines() for one in sentences(line)):
        dates = [*_ISO.finditer(sentence), *_DAY_MONTH.finditer(sentence)]
        found += [date[0].rstrip(".") for date in dates if not _date_held(date, sources)]
        rest = _DAY_MONTH.sub(" ", _ISO.sub(" ", sentence))
        found += [*sources.relative_unheld(rest), *_values(rest, sources), *_names(rest, sources)]
    return list(dict.fromkeys(found))


def _date_held(found: re.Match[str], sources: Sources) -> bool:
    if sources.holds(found[0]):
        return True
    if found.re is _ISO:
        year, month, day = (int(part) for part in found.groups())
    else:
        month = MONTH_NUMBER[(found["month"] or found["first"]).lower()]
        day, year = int(found["day"] or found["second"]), int(found["year"] or 0)
    return any((one.month, one.day) == (month, day) and year in (0, one.year) for one in sources.days)


def _values(sentence: str, sources: Sources) -> Iterator[str]:
    for word in read(sentence).words:
        if (word.kind not in _VALUES and not any(map(str.isdigit, word.key))) or word.said.lower() == "one":
            continue
        parts = _WORD.findall(fold(word.said))  # "12 - 18" is no minus
        if sources.holds(" ".join(parts)) or (len(parts) == 1 and parts[0] in sources.words):
            continue
        if sources.holds(word.said) or word.key in sources.keys:
            continue
        if not _is_calendar(word.said, sources):
            yield word.said


def _is_calendar(said: str, sources: Sources) -> bool:
    """Whether it is the month, year or weekday of a day that the sources know."""
    word = fold(said)
    if word in MONTH_NUMBER:
        return any(day.month == MONTH_NUMBER[word] for day in sources.days)
    if word in _WEEKDAYS:
        return any(day.weekday() == _WEEKDAYS.index(word) for day in sources.days)
    return word.isdigit() and any(day.year == int(word) for day in sources.days)


def _names(sentence: str, sources: Sources) -> Iterator[str]:
    for found in _CAPITAL.finditer(sentence):
        said = found[0]
        word = fold(said)
        if word in sources.words or word in _OURS or word in FUNCTION_WORDS:
            continue
        if all(part in sources.words for part in _WORD.findall(word)) or _is_calendar(said, sources):
            continue
        before = sentence[: found.start()].rstrip(" \"'“‘(*-•")
        inside = bool(before) and not before.endswith((":", ";"))
        if inside or (not sources.terms.intersection(terms(said)) and _acts(sentence[found.end() :])):
            yield said


def _acts(after: str) -> bool:
    """Whether a first word is likely to be somebody: "Marta moved", "Marta's"; not "Planning a trip"."""
    if after[:2] in ("'s", "’s"):
        return True
    following = _WORD.search(after)
    verb = following[0].lower() if following else ""
    return verb in _DOES or (len(verb) > 3 and verb.endswith(("ed", "s"))) or after.lstrip()[:1].isupper()
