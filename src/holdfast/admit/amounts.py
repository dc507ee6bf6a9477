"""The same things with another amount or date, whatever words tie them: my rent is 800, I pay 900 in rent."""

from __future__ import annotations

from holdfast.admit.frames import measure, without_moment
from holdfast.admit.replacement import CONTENT, NOW, Replacement
from holdfast.admit.values import Reading, Word, WordKind
from holdfast.admit.vocabulary import word_set

__all__ = ["by_amount"]


def by_amount(old: Reading, new: Reading, clause: str) -> Replacement | None:
    """The same things with another amount or date, in whatever words tie them: my rent is 800, I pay 900 in rent."""
    new = Reading(without_moment(new, old))
    if any(word.past or word.kind in _UNSURE_KINDS for word in (*old.words, *new.words)):
        return None
    fresh = bool(NOW.search(clause))
    was, now = _split(old, fresh), _split(new, fresh)
    if was is None or now is None or was[0] != now[0] or was[1] == now[1] or not was[0]:
        return None
    return Replacement(True, f"the same with another value: {' '.join(was[2])!r} became {' '.join(now[2])!r}")


_UNSURE_KINDS = (
    WordKind.NEGATION,
    WordKind.MODAL,
    WordKind.HEDGE,
    WordKind.CONDITION,
    WordKind.QUANTIFIER,
    WordKind.PLACE,
)


def _split(reading: Reading, fresh: bool) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]] | None:
    """What a sentence is about (with the measure of its one value), and the value; None where there are several."""
    values = [word for word in reading.words if word.kind in (WordKind.NUMBER, WordKind.DATE, WordKind.TIME)]
    dates = [word for word in values if word.kind is not WordKind.NUMBER]
    if any(_part_of_name(reading, word) for word in values):
        return None
    if (
        not values
        or len(values) > 2
        or (len(values) == 2 and not dates)
        or any(word.key in _MOMENTS for word in values)
    ):
        return None
    if dates and not fresh and any(word.key in ("me", "us") or {"a", "an"} & set(word.lead) for word in reading.words):
        return None  # "I have an appointment on Monday": there may be two
    kind = "when" if dates else f"amount {measure(values[0])}"
    about = frozenset(word.key for word in reading.words if word not in values and word.key not in _AMOUNT_TIES)
    if not any(word.key in about and word.kind in CONTENT for word in reading.words):
        return None
    return about | {kind}, tuple(sorted(word.key for word in values)), tuple(word.said for word in values)


def _part_of_name(reading: Reading, word: Word) -> bool:
    """The 9 of "iOS 9" and the second of "second baseman" are no amounts."""
    if word.kind is not WordKind.NUMBER:
        return False
    place = reading.words.index(word)
    before = reading.words[place - 1] if place else None
    if word.key.endswith("th") or before is None or word.lead:
        return word.key.endswith("th")
    return before.kind is WordKind.NAME or before.key in _NUMBERED or (place == 1 and before.kind is WordKind.PLAIN)


_NUMBERED = word_set(
    "room port chapter page line version year level step day week unit flat apartment floor gate platform track season "
    "episode part phase grade class team group number"
)
_MOMENTS = frozenset({"yesterday", "today", "tomorrow", "tonight"})
_AMOUNT_TIES = word_set(
    "me us pay cost start amount come be take-place happen occur new current schedule set stand hold have now"
)
