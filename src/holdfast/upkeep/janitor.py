"""The janitor: lowers provenance and confidence of old records that were never retrieved; every run can be undone.

A record is due when it was never retrieved and is older than its provenance allows, counted from when it was last
stated or last lowered (KEEP-2). It goes one provenance down, and further down when it is due again there. Records that
the operator had remembered were meant to stay, and guidance is shown without a search, so neither is touched.
"""

from __future__ import annotations

import time
from calendar import monthrange
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

import numpy as np

from holdfast.errors import InputError, NotFound
from holdfast.index.blocks import prior_of, read_documents, words_stage
from holdfast.log.acts import Demotion, JanitorPayload, pack_janitor_run, week_of
from holdfast.model import Action, Entry, Kind, Provenance, to_micros
from holdfast.settings import JanitorSettings
from holdfast.store.rows import lower_trust
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import BLOCK, Changes, IdleRecord, Move, Space
from holdfast.text.time import before
from holdfast.upkeep.results import JanitorChange, JanitorResult

_FACTOR = 0.8  # of a confidence each time: a stated record (.9) comes to .72, about that of a confirmed one

_DAY = 86_400_000_000  # microseconds


def tidy(
    store: Store, namespace: str, settings: JanitorSettings, now: datetime, dry_run: bool = False, cull: bool = False
) -> JanitorResult:
    """Run the janitor; a second run in the same week changes nothing."""
    if not settings.count:
        raise InputError("retrievals are not counted (janitor.count is off), so no record can be called unused")
    start = time.perf_counter()
    run = week_of(now)
    spared: Counter[str] = Counter()
    with store.snapshot(namespace) as view:
        before = any(act.entry is Entry.JANITOR for act in view.acts(run))
        due = [] if before else list(_due(view, settings, now, cull, spared))
    did = "done before" if before else "nothing to do" if not due else "dry run" if dry_run else "tidied"
    if did == "tidied":
        act = Action(Entry.JANITOR, run, now, pack_janitor_run(_log_entry(due, _FACTOR)))
        if store.act(namespace, act, once=True):
            refresh_priors(store, namespace)
        else:  # another process was first
            did, due = "done before", []
    return _report(run, namespace, did, due, spared, start)


def undo(store: Store, namespace: str, run: str, now: datetime) -> JanitorResult:
    """Undo a run: every record gets its former values, and its age counts from now."""
    start = time.perf_counter()
    with store.snapshot(namespace) as view:
        runs = [act.subject for act in view.acts_of_kind(Entry.JANITOR)]
    if run not in runs:
        known = f"the latest are {', '.join(runs[-5:])}" if runs else "it has not run yet"
        raise NotFound(f"the janitor has no run {run!r} in this namespace; {known}")
    done = store.act(namespace, Action(Entry.JANITOR_UNDO, run, now), once=True)
    refresh_priors(store, namespace)
    return _report(run, namespace, "undone" if done else "undone before", [], Counter(), start)


def _report(
    run: str, namespace: str, did: str, due: list[JanitorChange], spared: Counter[str], start: float
) -> JanitorResult:
    culled = sum(one.new_provenance is None for one in due)
    seconds = round(time.perf_counter() - start, 3)
    kept = dict(sorted(spared.items()))
    return JanitorResult(run, namespace, did, len(due) - culled, culled, kept, tuple(due), seconds)


def _due(
    view: Snapshot, settings: JanitorSettings, now: datetime, cull: bool, spared: Counter[str]
) -> Iterator[JanitorChange]:
    months = {
        Provenance.USER_STATED: settings.user_stated_months,
        Provenance.IMPORTED: settings.user_stated_months,
        Provenance.EPISODE_SUMMARY: settings.episode_summary_months,
        Provenance.AGENT_NOTED: settings.assistant_derived_months,
        Provenance.ASSISTANT_DERIVED: settings.assistant_derived_months,
        Provenance.TOOL_DERIVED: settings.tool_derived_months,
    }
    limits = {provenance: to_micros(_months_before(now, count)) for provenance, count in months.items()}
    arrived = to_micros(before(now, timedelta(days=settings.grace_days)))
    for one in view.idle_records():
        since = max(one.said, one.tended)
        reason = _spared(one, arrived)
        if reason is not None:
            spared[reason] += 1
        elif since < limits[one.provenance]:
            culled = cull and one.provenance is not Provenance.USER_STATED
            after = (None, None) if culled else lower_trust(one.provenance, one.confidence, 1, _FACTOR)
            why = _reason(one, months[one.provenance], (to_micros(now) - since) // _DAY)
            yield JanitorChange(one.id, one.kind, one.text, why, one.provenance, one.confidence, *after)
        else:
            spared["not old enough"] += 1


def _spared(one: IdleRecord, arrived: int) -> str | None:
    if one.explicit and one.provenance is Provenance.USER_STATED:
        return "remembered at the operator's word"
    if one.kind is Kind.GUIDANCE:
        return "guidance"
    if one.provenance is Provenance.AUTHORED:
        return "authored"
    return "new in the store" if one.came > arrived else None


def _reason(one: IdleRecord, months: int, days: int) -> str:
    since = "since it was last said" if one.tended < one.said else "since it was last tended"
    return f"never found, and {days} days {since}; for {one.provenance.value} the limit is {months} months"


def _log_entry(due: list[JanitorChange], factor: float) -> JanitorPayload:
    """Return the run as the log stores it: ids and numbers only, no text of the records."""
    alike: defaultdict[tuple[Provenance, float, Provenance, float, str], list[str]] = defaultdict(list)
    for one in due:
        if one.new_provenance is not None and one.new_confidence is not None:
            key = (one.provenance, one.confidence, one.new_provenance, one.new_confidence, one.why)
            alike[key].append(one.id)
    return JanitorPayload(
        factor=factor,
        demotions=tuple(
            Demotion(
                (was, sure), (now, less), f"{was.value} ({sure:g}) is {now.value} ({less:g}): {why}", tuple(records)
            )
            for (was, sure, now, less, why), records in alike.items()
        ),
        culled=tuple(one.id for one in due if one.new_provenance is None),
        reason="never found, too old for its provenance, and the janitor was told to cull; hidden, kept in the log",
    )


def _months_before(moment: datetime, months: int) -> datetime:
    """Return the same day that many months ago, the last day of that month, or the first day of the calendar."""
    year, month = divmod(moment.year * 12 + moment.month - 1 - months, 12)
    if year < 1:
        return datetime.min.replace(tzinfo=moment.tzinfo)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))


# --- Derived work: the trust in records that the word index holds follows the records, when the janitor lowers
# them.
#
# A document's row is appended again, with another prior: blocks only grow, and of two rows the later one counts.


def refresh_priors(store: Store, namespace: str) -> int:
    """Write the priors of records that are not what the index says; how many there were."""
    stage = words_stage(Space.RECORD)
    while True:
        with store.snapshot(namespace) as view:
            done, unchanged = view.cursor(stage), view.unchanged()
            changes, count = _changed(view, done)
        if not count or store.advance(namespace, [unchanged, Move(stage, done, done)], changes):
            return count


def _changed(view: Snapshot, done: int) -> tuple[Changes, int]:
    priors: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for document in view.documents(Space.RECORD, 0, done):
        if document.num <= done:
            block, offset = divmod(document.num, BLOCK)
            priors[block][offset] = prior_of(document)
    changes, count = Changes(), 0
    for ref in view.document_blocks(Space.RECORD):
        rows = read_documents(view.document_block(Space.RECORD, ref.block))
        latest = np.full(BLOCK, -1, np.int64)
        latest[rows["offset"]] = np.arange(len(rows))
        known = [offset for offset in priors[ref.block] if latest[offset] >= 0]
        new = rows[latest[np.array(known, np.int64)]].copy()
        was = new["prior"].copy()
        new["prior"] = [priors[ref.block][offset] for offset in known]
        new = new[new["prior"] != was]
        if len(new):
            changes.documents.append((Space.RECORD, ref.block, new.tobytes()))
            count += len(new)
    return changes, count
