"""Formatting for the pages: numbers, times, texts, cards of turns and records, and plots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from hashlib import blake2b

from jinja2 import pass_context
from markupsafe import Markup

from holdfast.admit.secrets import masked_text
from holdfast.insight.history import IN_PLACE
from holdfast.model import Decision, Record, Turn
from holdfast.results import Bin, DayStats
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import COMPACTION

_UNITS = ("bytes", "KB", "MB", "GB", "TB")
_STEP = 1024
_ID = re.compile(r"\b[rt]-[0-9a-f]{12,40}\b")


@dataclass(frozen=True)
class ShortText:
    """The beginning of a text."""

    text: str
    rest: int
    """Number of characters that are not shown."""


_MARGIN = 400
"""Characters behind the limit that are read for a secret that begins before it."""


def shorten(text: str, limit: int) -> ShortText:
    return ShortText(text[:limit], max(len(text) - limit, 0))


@pass_context
def _shorten(context: Mapping[str, object], text: str, limit: int) -> ShortText:
    """Return the beginning of a text; a secret that the limit cuts is masked whole."""
    shown = str(finalize(context, str(text[: limit + _MARGIN])))
    return ShortText(shown[:limit], max(len(text) - limit, 0))


@pass_context
def finalize(context: Mapping[str, object], value: object) -> object:
    """Mask secrets in everything that a page shows, unless it was asked to reveal them (TRUST-4)."""
    if not isinstance(value, str) or isinstance(value, Markup) or context.get("reveal"):
        return value
    return masked_text(value)


def has_secrets(text: str) -> bool:
    return masked_text(text) != text


def size(count: float) -> str:
    for unit in _UNITS:
        if count < _STEP or unit == _UNITS[-1]:
            break
        count /= _STEP
    return f"{count:,.0f} {unit}" if unit == _UNITS[0] else f"{count:,.1f} {unit}"


def plural(count: int, noun: str, several: str = "") -> str:
    """Format a count: 1 turn, 2 turns."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def anchor(noun_id: str) -> str:
    """Return an id that is valid in HTML and selectors."""
    return f"n-{blake2b(noun_id.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"


def split_ids(text: str) -> list[tuple[str, str | None]]:
    """Split a text at our ids, so that a page can link to them."""
    pieces: list[tuple[str, str | None]] = []
    end = 0
    for found in _ID.finditer(text):
        pieces += [(text[end : found.start()], None), (found[0], found[0])]
        end = found.end()
    return [*pieces, (text[end:], None)]


def _local(at: datetime) -> datetime:
    """Return a time in the zone of the server's computer, which is the reader's."""
    try:
        return at.astimezone()
    except (OverflowError, ValueError):  # the first or last day of the calendar
        return at


def _day(at: date) -> str:
    at = _local(at) if isinstance(at, datetime) else at
    return f"{at:%A} {at.day} {at:%B} {at.year}"


def _date(at: date) -> str:
    at = _local(at) if isinstance(at, datetime) else at
    return f"{at.day} {at:%b} {at.year}"


def _moment(at: datetime | None) -> str:
    return "never" if at is None else f"{_date(at)}, {_local(at):%H:%M %Z}"


def _clock(at: datetime) -> str:
    return f"{_local(at):%H:%M %Z}"


def _plain(name: object) -> str:
    """Write user_stated as `user stated`."""
    return str(name).replace("_", " ")


FILTERS = {
    "anchor": anchor,
    "clock": _clock,
    "date": _date,
    "day": _day,
    "has_secrets": has_secrets,
    "moment": _moment,
    "number": lambda count: f"{count:,}",
    "percent": lambda share: f"{share:.0%}",
    "plain": _plain,
    "plural": plural,
    "shorten": _shorten,
    "size": size,
    "split_ids": split_ids,
    "two": lambda value: f"{value:.2f}",
}


# --- cards

_SCORED = "gated"
"""The receipt of every judged turn; the pages show its score instead."""


@dataclass(frozen=True)
class RecordCard:
    record: Record
    state: str
    """live, replaced, forgotten, or hidden (its turns were forgotten)."""

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def is_digest(self) -> bool:
        return COMPACTION in self.record.metadata

    @property
    def in_place_of(self) -> tuple[str, str] | None:
        """The action that made it (actions.py), and the id of what it replaces."""
        given = self.record.metadata.get("given")
        known = given if isinstance(given, dict) else {}
        return next(((why, str(known[why])) for why in IN_PLACE if why in known), None)


@dataclass(frozen=True)
class TurnCard:
    turn: Turn
    forgotten: bool
    made: tuple[Record, ...]
    """Records made from it."""
    digests: tuple[Record, ...]
    """Digests that replace it."""
    outcomes: tuple[Decision, ...]
    """Decisions of the gates."""

    @property
    def id(self) -> str:
        return self.turn.id

    @property
    def judged(self) -> bool:
        return any(self.turn.signals.values())


def record_cards(view: Snapshot, records: Iterable[Record]) -> list[RecordCard]:
    return [RecordCard(record, _state(view, record)) for record in records]


def _state(view: Snapshot, record: Record) -> str:
    if view.is_hidden(record.id):
        return "forgotten"
    if record.superseded_by is not None:
        return "replaced"
    return "live" if view.is_live(record) else "hidden"


def turn_cards(view: Snapshot, turns: Iterable[Turn]) -> list[TurnCard]:
    return [_turn_card(view, turn) for turn in turns]


def _turn_card(view: Snapshot, turn: Turn) -> TurnCard:
    records = view.records_of(turn)
    return TurnCard(
        turn,
        view.is_hidden(turn.id),
        tuple(record for record in records if COMPACTION not in record.metadata),
        tuple(record for record in records if COMPACTION in record.metadata),
        tuple(decision for decision in view.receipts(turn.id) if decision.what != _SCORED),
    )


def card_of(view: Snapshot, noun_id: str) -> RecordCard | TurnCard | None:
    """Return the turn or record with this id, as it is now."""
    if (turn := view.turn(noun_id)) is not None:
        return turn_cards(view, [turn])[0]
    if (record := view.record(noun_id)) is not None:
        return record_cards(view, [record])[0]
    return None


# --- plots, as the numbers of an SVG

WIDTH, HEIGHT = 640, 96
_GAP = 0.18  # share of a bar's width
_MIN_HEIGHT = 1.5  # of a bar that counts anything
_SPANS = ((1, "day"), (7, "week"), (30, "30 days"), (365, "year"))


@dataclass(frozen=True)
class Bar:
    x: float
    y: float
    width: float
    height: float
    label: str
    count: int


@dataclass(frozen=True)
class Plot:
    title: str
    about: str
    """The plot in one sentence, for people who cannot see it."""
    bars: tuple[Bar, ...]
    total: int
    most: int
    first: str
    last: str
    """Labels at the two ends of the axis."""
    mark: float | None = None
    """Position of a vertical line, if any."""
    mark_label: str = ""

    width: int = WIDTH
    height: int = HEIGHT


def _bars(counts: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    most = max((count for _, count in counts), default=0)
    room = WIDTH / max(len(counts), 1)
    bars = []
    for number, (label, count) in enumerate(counts):
        tall = max(count / most * (HEIGHT - 2), _MIN_HEIGHT) if count else 0.0
        bars.append(
            Bar(round(number * room + room * _GAP / 2, 2), round(HEIGHT - tall, 2), round(room * (1 - _GAP), 2),
                round(tall, 2), label, count)
        )  # fmt: skip
    return tuple(bars)


def histogram(bins: Sequence[Bin], threshold: float, turns: int) -> Plot:
    """Plot the distribution of gate scores, with a line at the threshold."""
    step = bins[1].low - bins[0].low if len(bins) > 1 else 1.0
    counts = [(f"{one.low:.2f} to {one.low + step:.2f}", one.turns) for one in bins]
    above = sum(one.turns for one in bins if one.low >= threshold - step / 2)
    about = (
        f"{turns:,} turns were scored; about {above / turns:.0%} of them at or above the threshold of {threshold:.2f}."
        if turns
        else "No turn has been scored yet."
    )
    return Plot(
        "Gate scores", about, _bars(counts), turns, max((one.turns for one in bins), default=0), "G 0", "1",
        round(threshold * WIDTH, 2), f"threshold {threshold:.2f}",
    )  # fmt: skip


def by_time(
    days: Sequence[DayStats], counts_of: Sequence[tuple[str, Callable[[DayStats], int]]], max_bars: int
) -> list[Plot]:
    """Make one plot per count over the same days; more days than bars are grouped."""
    if not days:
        return [Plot(title, "Nothing has been judged yet.", (), 0, 0, "", "") for title, _ in counts_of]
    first, last = date.fromisoformat(days[0].day), date.fromisoformat(days[-1].day)
    length = (last - first).days + 1
    span, noun = next(((span, noun) for span, noun in _SPANS if length <= max_bars * span), _SPANS[-1])
    plots = []
    for title, count_of in counts_of:
        counts = [0] * -(-length // span)
        for day in days:
            counts[(date.fromisoformat(day.day) - first).days // span] += count_of(day)
        named = [(_named(first + timedelta(days=number * span), span), count) for number, count in enumerate(counts)]
        peak = max(named, key=lambda one: one[1])
        about = f"{sum(counts):,} from {first:%d %B %Y} to {last:%d %B %Y}; at most {peak[1]:,} per {noun} ({peak[0]})."
        plots.append(
            Plot(title, about, _bars(named), sum(counts), peak[1], f"{first:%d %b %Y}", f"{last:%d %b %Y}")
        )  # fmt: skip
    return plots


def _named(first: date, span: int) -> str:
    return f"{first:%d %B %Y}" if span == 1 else f"{span} days from {first:%d %B %Y}"
