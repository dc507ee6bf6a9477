"""Two sentences with one frame and one differing value: "The chairperson of X is A", "The chairperson of X is B"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.admit.values import Reading, Word, WordKind
from holdfast.admit.vocabulary import word_set

__all__ = ["BE", "Frame", "ValueType", "align", "measure", "same_key", "value_type", "without_moment"]


class ValueType(StrEnum):
    NUMBER = "number"
    WHEN = "time or date"
    NAME = "name"
    PLAIN = "word"
    NONE = "none"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class Frame:
    """What two sentences share, and the one span in which they differ."""

    before: tuple[Word, ...]
    after: tuple[Word, ...]
    old: tuple[Word, ...]
    new: tuple[Word, ...]


BE = word_set("be is am are was were been being s")
_FRESH = word_set("new current latest meanwhile instead only back completely")
"""Words by which a new value calls itself new; the frame is the same without them."""
_MOMENTARY = _FRESH | {"since"}
_MOST_VALUE_WORDS = 8
"""Longer spans are another sentence, not another value ("Tony Hall, Baron Hall of Birkenhead" has six words)."""
_SPEAKER = frozenset({"me", "us"})
_NAME_JOINTS = frozenset({"of", "the", "and"})
_VALUE_TYPES = {
    WordKind.NUMBER: ValueType.NUMBER,
    WordKind.TIME: ValueType.WHEN,
    WordKind.DATE: ValueType.WHEN,
    WordKind.NAME: ValueType.NAME,
    WordKind.PLAIN: ValueType.PLAIN,
}


def same_key(first: Word, second: Word) -> bool:
    """Equal words; I and we are one speaker here."""
    return first.key == second.key or (first.key in _SPEAKER and second.key in _SPEAKER)


def align(old: Reading, new: Reading) -> Frame | None:
    """The frame that both share, when exactly one span differs."""
    ours, theirs = old.words, without_moment(new, old)
    shorter, longer = sorted((len(ours), len(theirs)))
    start = 0
    while start < shorter and same_key(ours[start], theirs[start]):
        start += 1
    end = 0
    while end < shorter - start and same_key(ours[-1 - end], theirs[-1 - end]):
        end += 1
    if not (start or end) or longer - start - end > _MOST_VALUE_WORDS:
        return None  # nothing shared, or another sentence: what follows only lets the span grow
    while start and _inside_name(ours[start - 1], ours[start : start + 1], theirs[start : start + 1]):
        start -= 1
    while end and _inside_name(
        ours[-1 - end] if end < len(ours) else None, ours[len(ours) - end :][:1], ours[len(ours) - end :][:1]
    ):
        end -= 1
    frame = Frame(
        before=theirs[:start],
        after=theirs[len(theirs) - end :],
        old=ours[start : len(ours) - end],
        new=theirs[start : len(theirs) - end],
    )
    if not frame.old or not frame.new or not (frame.before or frame.after):
        return None
    if max(len(frame.old), len(frame.new)) > _MOST_VALUE_WORDS or _crosses(frame):
        return None
    return frame


def _inside_name(before: Word | None, *spans: tuple[Word, ...]) -> bool:
    """Whether the difference lies inside one name: Charles [Darwin], University of [Pisa]."""
    if before is None or before.kind is not WordKind.NAME:
        return False
    return all(not span or (span[0].kind is WordKind.NAME and set(span[0].lead) <= _NAME_JOINTS) for span in spans)


def _crosses(frame: Frame) -> bool:
    """Whether the span runs over more than a value: "of [Yale is located in the city of New Haven]"."""
    plain = [{word.key for word in span if word.kind is not WordKind.NAME} for span in (frame.old, frame.new)]
    if plain[0] & plain[1]:
        return True
    return any(set(word.lead) & (BE - {"s"}) for span in (frame.old, frame.new) for word in span[1:])


def value_type(span: tuple[Word, ...]) -> ValueType:
    """What kind of value a span is; a day of a month is a date, a name with small words a name."""
    types = {_type_of(word) for word in span}
    if types <= {ValueType.WHEN, ValueType.NUMBER} and ValueType.WHEN in types:
        return ValueType.WHEN
    if len(types) == 1:
        return types.pop()
    if types == {ValueType.NAME, ValueType.PLAIN}:
        return ValueType.NAME if span[0].kind is WordKind.NAME else ValueType.MIXED
    return ValueType.MIXED


def _type_of(word: Word) -> ValueType:
    if word.kind is WordKind.PLAIN and any(char.isdigit() for char in word.key):
        return ValueType.NAME  # v2, tide-stage.internal:8443
    return _VALUE_TYPES.get(word.kind, ValueType.NONE)


def measure(word: Word) -> str:
    """What a number counts, in the base unit of its dimension; empty for a bare number."""
    return word.key.lstrip("+-.0123456789")


def without_moment(new: Reading, old: Reading) -> tuple[Word, ...]:
    """The new sentence without the moment of the change ("since May", "yesterday"), where the old one has no date."""
    if new.words and new.words[-1].kind is not WordKind.DATE and _MOMENTARY.isdisjoint(new.keys):
        return new.words
    words = [word for word in new.words if word.key not in _FRESH or word.key in old.keys]
    if any(word.kind is WordKind.DATE or word.key == "since" for word in old.words):
        return tuple(words)
    since = next((i for i, word in enumerate(words) if word.key == "since" and i), None)
    if since is not None:
        words = words[:since]
    while len(words) > 1 and words[-1].kind is WordKind.DATE and not set(words[-1].lead) & BE:
        if words[-2].kind is WordKind.NUMBER and words[-2].key.isdigit():
            break  # the second of October is one date
        words.pop()
        if words[-1].key in ("last", "this", "next", "from", "since", "after") and len(words) > 1:
            words.pop()
    return tuple(words)
