"""Events that a question tells its time by: "before the move", "the week after the wedding", "when I was in Lisbon"."""

from __future__ import annotations

import re
from datetime import timedelta

from holdfast.recall.when.asked import Anchor, Relation
from holdfast.recall.when.reading import NUMBER, count_of
from holdfast.words import FUNCTION_WORDS

__all__ = ["AUXILIARY", "read_anchors"]

AUXILIARY = r"(?:did|do|does|have|has|had|was|were|is|are|am|will|would|can|could|should)"
_MOST_CHARS = 160  # an event is told in a clause, not in a page
_MOST = 6
_FARTHEST = timedelta(days=36500)  # nobody remembers by what lies a century off

_DAYS = {"day": 1, "night": 1, "morning": 1, "evening": 1, "weekend": 7, "week": 7, "fortnight": 14, "month": 30,
         "year": 365, "decade": 3650, "monday": 7, "tuesday": 7, "wednesday": 7, "thursday": 7, "friday": 7,
         "saturday": 7, "sunday": 7}  # fmt: skip
_UNIT = "|".join(_DAYS)
_WAY = re.compile(
    rf"\b(?:(?:(?P<count>{NUMBER}|the|that) (?P<unit>{_UNIT})s?|right|just|shortly|soon|immediately|long) )?"
    r"(?P<way>before|prior to|after|following (?=the |my |our )|ever since|since|until|till|during|while|when"
    r"|as soon as|once (?=I |we |my |the )) ?\b",
    re.IGNORECASE,
)
_RELATION = {"before": Relation.BEFORE, "prior to": Relation.BEFORE, "after": Relation.AFTER,
             "following": Relation.AFTER, "as soon as": Relation.AFTER, "once": Relation.AFTER,
             "ever since": Relation.SINCE, "since": Relation.SINCE, "until": Relation.UNTIL, "till": Relation.UNTIL,
             "during": Relation.DURING, "while": Relation.DURING, "when": Relation.DURING}  # fmt: skip
# "look after", "named after", "day after day", "before or after" and "since when" tell no time by an event.
_IDIOM = re.compile(r"\b(?:look\w*|named|ask\w*|day|one|takes?|chas\w+|or|before|after|the|and) $", re.IGNORECASE)
_INVERTED = re.compile(rf"{AUXILIARY}\b|or\b|['’]", re.IGNORECASE)
_ASKED = re.compile(r"(?:how|what|which|who|where|why)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:I|we|you|he|she|they|it|someone|my|our|his|her|their|your|the|an?|[A-Z\0][^ ]*) ")
_STOP = re.compile(r"[?!;:,\n]|\. |\.$| and $| or $")
_AUXILIARY = re.compile(rf"\b{AUXILIARY}\b", re.IGNORECASE)
_TURN = re.compile(rf" (?:(?:what|where|who|which|how|why)\b|{AUXILIARY} (?:I|we|you|he|she|they|it|my|our|the|[A-Z]))")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_EMPTY = FUNCTION_WORDS | {"long", "day", "then", "yesterday", "today", "conversation", "last"}


def read_anchors(text: str, masked: str) -> tuple[Anchor, ...]:
    """The events, in order; `masked` is the text with its quotations and its windows blanked."""
    ways = list(_WAY.finditer(masked))[: 2 * _MOST]
    anchors: list[Anchor] = []
    for at, way in enumerate(ways):
        if _INVERTED.match(masked, way.end()) or _ASKED.match(masked, way.end()):
            continue
        if _IDIOM.search(masked[max(0, way.start() - 12) : way.start()]):
            continue
        end = ways[at + 1].start() if at + 1 < len(ways) else len(masked)
        end = _clause_end(masked, way, min(end, way.end() + _MOST_CHARS))
        words = text[way.end() : end].strip(" .,'’\"")
        name = way["way"].strip().lower()
        leading = not masked[: way.start()].strip()
        if name == "when" and (not _SUBJECT.match(masked, way.end()) or (leading and masked[end : end + 1] != ",")):
            continue  # "when cooking rice" is no event, and "When Ana has moved?" asks for the time
        if all(
            word.isdigit() or word.lower() in _EMPTY for word in _WORD.findall(masked[way.end() : end])
        ) and not _quoted(words):
            continue
        distance, reach = _distance(way)
        place = (way.start(), end)
        anchors.append(Anchor(_RELATION[name], words, text[slice(*place)].strip(), place, distance, reach))
    return tuple(anchors[:_MOST])


def _quoted(words: str) -> bool:
    return any(mark in words for mark in "\"'“‘")


def _clause_end(masked: str, way: re.Match[str], end: int) -> int:
    """Where the event's clause ends: at a stop, or where the question itself begins or goes on."""
    stop = _STOP.search(masked, way.end(), end)
    end = stop.start() if stop else end
    if not _AUXILIARY.search(masked, 0, way.start()):  # the question's own verb is still to come
        turn = _TURN.search(masked, way.end(), end)
        end = turn.start() if turn else end
    return end


def _distance(way: re.Match[str]) -> tuple[timedelta | None, timedelta | None]:
    if not way["unit"]:
        return None, None
    days, count = timedelta(days=_DAYS[way["unit"].lower()]), way["count"].lower()
    if count in ("the", "that"):
        return None, days
    least, most = count_of(count)
    distance = days * (least + most) / 2
    return (distance, None) if distance < _FARTHEST else (None, None)
