"""What a question asks for besides its words: when, in which order, of which events, of how many things."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

__all__ = ["BEGINNING", "END", "Anchor", "Asked", "Order", "Recency", "Relation", "Window"]

BEGINNING, END = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
"""Where an open side ends ("until June"); a time beyond them was not meant as one."""

_CLOSE = timedelta(days=7)  # "when I was in Lisbon": people speak of it within days
_ANCHOR_CERTAINTY = 0.5  # the event was found by a search, and may be another one


class Relation(StrEnum):
    """How the asked time stands to an event."""

    BEFORE = "before"
    AFTER = "after"
    DURING = "during"
    SINCE = "since"
    UNTIL = "until"


class Order(StrEnum):
    """Which of several fitting turns is wanted: a hint for ties."""

    FIRST = "first"
    LATEST = "latest"
    CURRENT = "current"


class Recency(StrEnum):
    """Whether the recent is asked for."""

    NONE = "none"
    TIES = "ties"
    """With a topic: the newer of two equal turns comes first, no more (RECALL-7)."""
    ALONE = "alone"
    """Without a topic: `recent` answers, inside the windows if there are any."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time that the question names; the end is exclusive, `place` is where the phrase stands in the question."""

    start: datetime
    end: datetime
    certainty: float
    phrase: str
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Anchor:
    """An event that the asked time is told by: "after I started at Acme", "the week after the wedding".

    `distance` is how far from it ("two weeks after"), `reach` how long the stretch beside it is ("the week after").
    """

    relation: Relation
    words: str
    phrase: str
    place: tuple[int, int]
    distance: timedelta | None = None
    reach: timedelta | None = None

    def window(self, event: datetime, now: datetime) -> Window:
        """The asked time, once the event has been found at this moment."""
        day = timedelta(days=1)
        event, now = max(BEGINNING, min(event, END)), max(BEGINNING, min(now, END))
        if self.distance is not None:
            centre = event - self.distance if self.relation is Relation.BEFORE else event + self.distance
            slack = max(day, self.distance / 4)
            start, end = centre - slack, centre + slack
        elif self.relation in (Relation.BEFORE, Relation.UNTIL):
            start, end = (event - self.reach if self.reach else BEGINNING), event + day
        elif self.relation in (Relation.AFTER, Relation.SINCE):
            start, end = event, (event + self.reach + day if self.reach else max(now, event) + day)
        else:
            start, end = event - _CLOSE, event + _CLOSE
        start = max(BEGINNING, min(start, END - day))
        return Window(start, max(start + day, min(end, END)), _ANCHOR_CERTAINTY, self.phrase, self.place)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as read. Whatever was not understood is still in `topic`."""

    text: str
    topic: str
    """The question without its time words, for the legs; months, weekdays, seasons, years and feasts stay by name, for
    turns name them too."""
    windows: tuple[Window, ...] = ()
    """Times that are asked for; several mean any of them."""
    anchors: tuple[Anchor, ...] = ()
    sides: tuple[str, ...] = ()
    """Events that a comparison needs, each to be fetched on its own (and read on its own: it may name a time)."""
    parts: tuple[str, ...] = ()
    """The questions inside a question of several parts."""
    recency: Recency = Recency.NONE
    order: Order | None = None
    several: bool = False
    """More than one turn is needed: "how many", "list all", "every"."""
    ahead: bool = False
    """The question looks ahead: what is planned was said before the window, not inside it."""
    asks_when: bool = False
    """The answer is a time: "when did", "how long ago", "which month"."""
