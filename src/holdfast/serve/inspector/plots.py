"""Plots as numbers of an SVG: the templates draw them, style sheets colour them, and a table says the same in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from holdfast.insight import Bin, DayStats

__all__ = ["Bar", "Plot", "by_time", "histogram"]

WIDTH, HEIGHT = 640, 96
_GAP = 0.18
"""Of a bar's room."""
_LEAST = 1.5
"""What is there can be seen, however little it is."""
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
    """The whole plot in a sentence, for who does not see it."""
    bars: tuple[Bar, ...]
    total: int
    most: int
    first: str
    last: str
    """What stands at the two ends of the axis."""
    mark: float | None = None
    """Where a line stands, in the plot's own width."""
    mark_label: str = ""

    width: int = WIDTH
    height: int = HEIGHT


def _bars(counts: Sequence[tuple[str, int]]) -> tuple[Bar, ...]:
    most = max((count for _, count in counts), default=0)
    room = WIDTH / max(len(counts), 1)
    bars = []
    for number, (label, count) in enumerate(counts):
        tall = max(count / most * (HEIGHT - 2), _LEAST) if count else 0.0
        bars.append(
            Bar(round(number * room + room * _GAP / 2, 2), round(HEIGHT - tall, 2), round(room * (1 - _GAP), 2),
                round(tall, 2), label, count)
        )  # fmt: skip
    return tuple(bars)


def histogram(bins: Sequence[Bin], threshold: float, turns: int) -> Plot:
    """How the gate's scores lie, with a line at the threshold."""
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
    days: Sequence[DayStats], readings: Sequence[tuple[str, Callable[[DayStats], int]]], most: int
) -> list[Plot]:
    """One plot for each reading over the same days; so many that they would be hairs are put together."""
    if not days:
        return [Plot(title, "Nothing has been judged yet.", (), 0, 0, "", "") for title, _ in readings]
    first, last = date.fromisoformat(days[0].day), date.fromisoformat(days[-1].day)
    length = (last - first).days + 1
    span, noun = next(((span, noun) for span, noun in _SPANS if length <= most * span), _SPANS[-1])
    plots = []
    for title, reading in readings:
        counts = [0] * -(-length // span)
        for day in days:
            counts[(date.fromisoformat(day.day) - first).days // span] += reading(day)
        named = [(_named(first + timedelta(days=number * span), span), count) for number, count in enumerate(counts)]
        peak = max(named, key=lambda one: one[1])
        about = f"{sum(counts):,} from {first:%d %B %Y} to {last:%d %B %Y}; at most {peak[1]:,} a {noun} ({peak[0]})."
        plots.append(
            Plot(title, about, _bars(named), sum(counts), peak[1], f"{first:%d %b %Y}", f"{last:%d %b %Y}")
        )  # fmt: skip
    return plots


def _named(first: date, span: int) -> str:
    return f"{first:%d %B %Y}" if span == 1 else f"{span} days from {first:%d %B %Y}"
