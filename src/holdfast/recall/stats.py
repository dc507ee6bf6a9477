"""What the gates did, a day each and in total: read from the counters that admission writes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import date, datetime

from holdfast.insight import Admitted, DayStats, Stats
from holdfast.store.protocol import Snapshot

__all__ = ["read_stats"]

_WEEK = 7
_REFUSED = "refused: "
# Field of Admitted → name of the counter (derive/admission.py, derive/placing.py).
_COUNTERS = {
    "turns": "turns",
    "others_words": "others' words",
    "not_salient": "not salient",
    "below_threshold": "below the threshold",
    "nothing_durable": "nothing durable",
    "candidates": "candidates",
    "triggers": "triggers",
    "merged": "merged",
    "dropped": "dropped",
    "superseded": "superseded",
    "added": "added",
    "redundant_adds": "redundant adds",
}


def read_stats(view: Snapshot, since: datetime | None) -> Stats:
    days: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for day, name, count in view.counters(None if since is None else since.date().isoformat()):
        days[day][name] += count
    total = Admitted(**_numbers(sum(days.values(), Counter())), refused=_refused(sum(days.values(), Counter())))
    return Stats(
        days=tuple(DayStats(**_numbers(count), refused=_refused(count), day=day) for day, count in days.items()),
        total=total,
        records_per_turn=_share(total.added + total.superseded, total.turns),
        repeated=_share(total.merged + total.dropped, total.candidates),
        redundant_adds_per_week=_share(total.redundant_adds * _WEEK, _length(list(days))),
    )


def _numbers(count: Counter[str]) -> dict[str, int]:
    return {field: count[name] for field, name in _COUNTERS.items()}


def _refused(count: Counter[str]) -> Mapping[str, int]:
    """The most frequent reason first."""
    return {name.removeprefix(_REFUSED): number for name, number in count.most_common() if name.startswith(_REFUSED)}


def _length(days: list[str]) -> int:
    """Days from the first to the last, both counted."""
    return (date.fromisoformat(days[-1]) - date.fromisoformat(days[0])).days + 1 if days else 0


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
