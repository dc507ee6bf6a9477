"""The same matter with another amount or date, told as a change: "the doctor doubled my pills to 40 mg"."""

from __future__ import annotations

import re

from holdfast.admit.cues import changes, clauses
from holdfast.admit.frames import measure
from holdfast.admit.replacement import Replacement, reading_of, said
from holdfast.admit.topics import changed, other_person, topics, topics_of
from holdfast.admit.values import Reading, Word, WordKind
from holdfast.admit.vocabulary import word_set

__all__ = ["by_revision"]

_MOST_NEW_TOPICS = 3
"""Matters a change may bring in besides: who made it, and why. With more it is another sentence."""
_WHEN = (WordKind.DATE, WordKind.TIME)
_DOUBT = (WordKind.NEGATION, WordKind.HEDGE)
_MOVES = frozenset({"moved to", "changed to", "reached"})
_SHIFTED = re.compile(
    r"^(?:the|my|our|this) (?P<thing>[\w'’ -]{2,60}?) (?:has |have |is |was |been |got |had |to |be ){0,4}"
    r"(?:moved|moves|moving|postponed|rescheduled|pushed|shifted|delayed|put off|brought forward|changed)\b",
    re.IGNORECASE,
)
_ORDINAL = "th"


def by_revision(old: str, new: str) -> Replacement | None:
    """Why the new text revises an amount or a date of the old one; None when it does not."""
    if not changed(new):
        return None
    about, now_about = topics(old), topics(new)
    shared = about & now_about
    if not shared or other_person(about, now_about):
        return None
    for part in clauses(old):
        was = None if _told(part) else _values(reading_of(part), reading_of(new))
        for clause in clauses(new) if was else ():
            now = None if _doubted(clause) else _values(reading_of(clause), reading_of(part))
            if now is None or was is None or now[0] != was[0] or not _comparable(was[1], now[1]):
                continue
            if _repeated(was[1], reading_of(new)) or _repeated(now[1], reading_of(old)):
                continue  # both texts have it: nothing changed
            told = f"the same matter with another value: {said(was[1])!r} became {said(now[1])!r}"
            here = topics_of(reading_of(part))
            if here and here <= now_about and len(now_about - here) <= _MOST_NEW_TOPICS:
                return Replacement(True, told)
            if _moved_thing(clause, about) or (len(shared) > 1 and 2 * len(shared) >= len(about)):
                return Replacement(False, told, alone=True)
    return None


def _moved_thing(clause: str, about: frozenset[str]) -> bool:
    """Whether the clause says of one of these things that it moved: "the review has moved again"."""
    if shifted := _SHIFTED.match(clause):
        thing = topics_of(reading_of(f"x {shifted['thing']}")) - {"x"}
        return bool(thing) and thing <= about
    for change in changes(clause):
        thing = topics_of(reading_of(f"x {change.thing}")) if change.thing and change.how in _MOVES else frozenset()
        if thing and thing <= about:
            return True
    return False


def _told(part: str) -> bool:
    """What happened may happen twice, but for a change to a value; a denial has no value to revise."""
    if _doubted(part):
        return True
    return any(word.past for word in reading_of(part).words) and not any(
        change.to and change.thing for change in changes(part)
    )


def _doubted(part: str) -> bool:
    return any(word.kind in _DOUBT and word.key != "plan" for word in reading_of(part).words)


def _repeated(value: tuple[Word, ...], reading: Reading) -> bool:
    return {word.key for word in value} <= {word.key for word in reading.words}


def _values(reading: Reading, other: Reading) -> tuple[str, tuple[Word, ...]] | None:
    """The one amount of a clause, or else its time; where only the other has an amount, the time alone."""
    amounts = _amounts(reading)
    if amounts and _amounts(other):
        return ("amount", amounts) if len(amounts) == 1 else None
    times = tuple(word for place, word in enumerate(reading.words) if _is_time(reading.words, place))
    return ("time", times) if times else None


def _amounts(reading: Reading) -> tuple[Word, ...]:
    words = reading.words
    return tuple(
        word
        for place, word in enumerate(words)
        if word.kind is WordKind.NUMBER
        and not _is_time(words, place)
        and not (word.said.isdecimal() and _FIRST_YEAR <= int(word.said) <= _LAST_YEAR)
        and not word.key.endswith(_ORDINAL)
        and not (place and not word.lead and words[place - 1].kind is WordKind.NAME)  # QK 482, iOS 9
        and not (place and words[place - 1].key in _SPANS)
    )


_FIRST_YEAR, _LAST_YEAR = 1900, 2099  # a bare number between them is a year, no amount
_RELATIVE = frozenset({"today", "tomorrow", "yesterday", "tonight"})
_SPANS = word_set("last past next for ago every another")


def _is_time(words: tuple[Word, ...], place: int) -> bool:
    """A date or time, or the number that is the day of one: the 8th of "Tuesday the 8th"."""
    word = words[place]
    if word.kind in _WHEN:
        return word.key not in _RELATIVE
    if word.kind is WordKind.NUMBER and word.key.endswith(_ORDINAL) and "the" in word.lead:
        return place + 1 == len(words) or bool(words[place + 1].lead)  # "to the 23rd", but not "the second floor"
    beside = words[max(0, place - 1) : place] + words[place + 1 : place + 2]
    day = word.kind is WordKind.NUMBER and word.key.removesuffix(_ORDINAL).isdigit()
    return day and any(other.kind in _WHEN for other in beside)


def _comparable(was: tuple[Word, ...], now: tuple[Word, ...]) -> bool:
    """Amounts in one measure; a bare number may stand for any."""
    measures = {measure(word) for word in (*was, *now) if word.kind is WordKind.NUMBER} - {"", _ORDINAL}
    return len(measures) <= 1
