"""The first page: how much there is, whether all is well, and how the gates behaved."""

from __future__ import annotations

from datetime import timedelta

from starlette.responses import Response

from holdfast.insight import DayStats
from holdfast.moments import utc_now
from holdfast.serve.inspector.asked import Asked
from holdfast.serve.inspector.cards import turn_cards
from holdfast.serve.inspector.desk import Desk
from holdfast.serve.inspector.plots import by_time, histogram

__all__ = ["overview"]

_PERIODS = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("all", "all"))
_NEWEST = 5
"""Turns on the first page."""


def _refused(day: DayStats) -> int:
    return sum(day.refused.values())


_READINGS = (
    ("Turns judged", lambda day: day.turns),
    ("Promoted to records", lambda day: day.added + day.superseded),
    ("Merged", lambda day: day.merged + day.dropped),
    ("Refused", _refused),
)


def overview(desk: Desk, asked: Asked) -> Response:
    period = asked.chosen("days", [name for name, _ in _PERIODS]) or "all"
    since = None if period == "all" else utc_now() - timedelta(days=int(period))
    with desk.memory(asked) as memory:
        status = memory.status()
        stats = memory.stats(since)
        scores = memory.calibrate()
        with memory.view as view:
            newest = turn_cards(view, view.turns_page(_NEWEST))
        gate = memory.settings.gate
    return desk.page(
        "overview.html",
        asked,
        status=status,
        stats=stats,
        newest=newest,
        mode=gate.conversation,
        refusals=list(stats.total.refused.items()),
        periods=_PERIODS,
        period=period,
        plots=by_time(stats.days, _READINGS, desk.settings.days),
        scores=histogram(scores.distribution, gate.threshold, scores.turns),
    )
