"""The janitor: what nobody ever found is trusted less, a notch at a time, and can be raised again (KEEP-2).

A record is due when it was never retrieved and is older than its provenance allows, counted from when it was last said
or last lowered. It goes one notch down, and down the list again when it is due there: a year, half a year, a quarter.
What the operator had remembered was meant to stay, and guidance is shown without being looked for: that nobody searched
for either says nothing, so neither is touched.
"""

from __future__ import annotations

import time
from calendar import monthrange
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from holdfast.errors import InputError, NotFound
from holdfast.log.acts import Demotion, JanitorPayload, pack_janitor_run, week_of
from holdfast.model import Action, Entry, Kind, Provenance
from holdfast.results import Tended, Tidied
from holdfast.search.rank import refresh_priors
from holdfast.settings import JanitorSettings
from holdfast.store.rows import lower_trust
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import IdleRecord
from holdfast.text.time import to_micros

_DAY = 86_400_000_000  # microseconds


def tidy(
    store: Store, namespace: str, settings: JanitorSettings, now: datetime, dry_run: bool = False, cull: bool = False
) -> Tidied:
    """One run. There is one a week: a second one in the same week changes nothing more."""
    if not settings.count:
        raise InputError("what is found is not counted here (janitor.count is off), so nothing can be called unused")
    start = time.perf_counter()
    run = week_of(now)
    spared: Counter[str] = Counter()
    with store.snapshot(namespace) as view:
        before = any(act.entry is Entry.JANITOR for act in view.acts(run))
        due = [] if before else list(_due(view, settings, now, cull, spared))
    did = "done before" if before else "nothing to do" if not due else "dry run" if dry_run else "tidied"
    if did == "tidied":
        act = Action(Entry.JANITOR, run, now, pack_janitor_run(_as_line(due, settings.factor)))
        if store.act(namespace, act, once=True):
            refresh_priors(store, namespace)
        else:  # another process was first
            did, due = "done before", []
    return _report(run, namespace, did, due, spared, start)


def undo(store: Store, namespace: str, run: str, now: datetime) -> Tidied:
    """Take a run back: every record is as it was, and grows old from now on."""
    start = time.perf_counter()
    with store.snapshot(namespace) as view:
        runs = [act.subject for act in view.acts_of_kind(Entry.JANITOR)]
    if run not in runs:
        known = f"there are {', '.join(runs[-5:])}" if runs else "there was none yet"
        raise NotFound(f"there is no run {run!r} of the janitor in this namespace; {known}")
    done = store.act(namespace, Action(Entry.JANITOR_UNDO, run, now), once=True)
    refresh_priors(store, namespace)
    return _report(run, namespace, "undone" if done else "undone before", [], Counter(), start)


def _report(run: str, namespace: str, did: str, due: list[Tended], spared: Counter[str], start: float) -> Tidied:
    culled = sum(one.new_provenance is None for one in due)
    seconds = round(time.perf_counter() - start, 3)
    return Tidied(run, namespace, did, len(due) - culled, culled, dict(sorted(spared.items())), tuple(due), seconds)


def _due(
    view: Snapshot, settings: JanitorSettings, now: datetime, cull: bool, spared: Counter[str]
) -> Iterator[Tended]:
    months = {
        Provenance.USER_STATED: settings.user_stated_months,
        Provenance.EPISODE_SUMMARY: settings.episode_summary_months,
        Provenance.ASSISTANT_DERIVED: settings.assistant_derived_months,
        Provenance.TOOL_DERIVED: settings.tool_derived_months,
    }
    limits = {provenance: to_micros(_months_before(now, count)) for provenance, count in months.items()}
    arrived = to_micros(now - timedelta(days=settings.grace_days))
    for one in view.idle_records():
        since = max(one.said, one.tended)
        reason = _spared(one, arrived)
        if reason is not None:
            spared[reason] += 1
        elif since < limits[one.provenance]:
            told = _told(one, months[one.provenance], (to_micros(now) - since) // _DAY)
            yield _tended(one, told, settings.factor, cull and one.provenance is not Provenance.USER_STATED)
        else:
            spared["not old enough"] += 1


def _spared(one: IdleRecord, arrived: int) -> str | None:
    if one.explicit:
        return "remembered at the operator's word"
    if one.kind is Kind.GUIDANCE:
        return "guidance"
    if one.provenance is Provenance.AUTHORED:
        return "authored"
    return "new in the store" if one.came > arrived else None


def _told(one: IdleRecord, months: int, days: int) -> str:
    since = "since it was last said" if one.tended < one.said else "since it was last tended"
    return f"never found, and {days} days {since}; for {one.provenance.value} the limit is {months} months"


def _tended(one: IdleRecord, told: str, factor: float, cull: bool) -> Tended:
    after = (None, None) if cull else lower_trust(one.provenance, one.confidence, 1, factor)
    return Tended(one.id, one.kind, one.text, told, one.provenance, one.confidence, *after)


def _as_line(due: list[Tended], factor: float) -> JanitorPayload:
    """The run as the log keeps it. Ids and numbers only: what the records say stands in the turns."""
    alike: defaultdict[tuple[Provenance, float, Provenance, float, str], list[str]] = defaultdict(list)
    for one in due:
        if one.new_provenance is not None and one.new_confidence is not None:
            key = (one.provenance, one.confidence, one.new_provenance, one.new_confidence, one.why)
            alike[key].append(one.id)
    return JanitorPayload(
        factor=factor,
        demotions=tuple(
            Demotion((was, sure), (now, less), f"{_change(was, sure, now, less)}: {why}", tuple(records))
            for (was, sure, now, less, why), records in alike.items()
        ),
        culled=tuple(one.id for one in due if one.new_provenance is None),
        reason="never found, too old for its provenance, and the janitor was told to cull; hidden, kept in the log",
    )


def _change(was: Provenance, sure: float, now: Provenance, less: float) -> str:
    return f"{was.value} ({sure:g}) is {now.value} ({less:g})"


def _months_before(moment: datetime, months: int) -> datetime:
    """The same day so many months ago, or the last one of that month."""
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))
