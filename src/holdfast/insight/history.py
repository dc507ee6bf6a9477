"""Explanations: why a turn or record is as it is, which records replaced which, and what the gates did per day."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime

from holdfast.gate.calibrate import curve_of, probability
from holdfast.index.blocks import IndexSizes
from holdfast.index.vectors import vectors_stage
from holdfast.insight.lookup import find
from holdfast.log.acts import compact_stage, noted_turns
from holdfast.model import Action, Decision, Entry, Kind, Record, Role, Turn, Why
from holdfast.results import Admitted, DayStats, History, Stats, Step, Version
from holdfast.settings import AdmitSettings, Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import ADMIT_STAGE, COMPACTION, Space

IN_PLACE = {
    "corrects": "it corrects {}, which was forgotten for it",
    "pins": "it keeps {} word for word, which was forgotten for it",
    "divides": "it is one of the statements that were taken for one in {}",
}
"""Metadata keys of `remember` for a record that replaces another, and their explanations."""
_ACTS = {
    Entry.REMEMBER: ("remembered", "at the operator's word; no gate judged it"),
    Entry.FORGET: ("forgotten", "by the operator; hidden from recall, kept in the log"),
    Entry.UNFORGET: ("restored", "by the operator; it is recalled again"),
}
_BY_OTHERS = {
    "agent": "by an agent; nothing that the user said in that session bears it out",
    "borne out": "by an agent in its own wording; the user's turns bear it out",
    "imported": "by another product, from which it was imported",
}
_WEEK = 7
_REFUSED = "refused: "
# Field of Admitted → name of the counter (admit/pipeline.py, admit/place.py).
_COUNTERS = {
    "turns": "turns", "others_words": "others' words", "not_salient": "not salient",
    "below_threshold": "below the threshold", "nothing_durable": "nothing durable", "candidates": "candidates",
    "triggers": "triggers", "merged": "merged", "dropped": "dropped", "superseded": "superseded", "added": "added",
    "redundant_adds": "redundant adds",
}  # fmt: skip


def explain_act(act: Action) -> Decision:
    """Return the decision that an act of the operator or a model records."""
    if act.entry is Entry.PROPOSE:
        return Decision("proposed", str(act.payload.get("told", "")), act.at)
    what, reason = _ACTS[act.entry]
    if act.entry is Entry.REMEMBER and (by := act.payload.get("by")) is not None:
        what, reason = "noted", _BY_OTHERS["borne out" if noted_turns(act.payload) else str(by)]
    given = act.payload.get("given")
    for key, explanation in IN_PLACE.items():
        if act.entry is Entry.REMEMBER and isinstance(given, Mapping) and key in given:
            reason = f"{reason}; {explanation.format(given[key])}"
    return Decision(what, reason, act.at)


def why(view: Snapshot, item_id: str, fingerprint: str | None, settings: Settings) -> Why:
    """Return every decision about a turn or record, in order, with its records or source turns."""
    item = find(view, item_id)
    if isinstance(item, Record):
        return Why(item.id, item.kind, item.text, None, _record_decisions(view, item), turns=_sources(view, item))
    records = view.records_of(item)
    decisions = [
        _kept(item),
        _indexed(item, tuned(settings, IndexSizes)),
        _embedded(view, item, fingerprint),
        *_judged(view, item, settings.admit),
        *_compacted(view, item, records),
        *(explain_act(act) for act in view.acts(item.id)),
    ]
    return Why(item.id, Kind.TURN, item.text, item.session, tuple(decisions), records=tuple(records))


def history(view: Snapshot, item_id: str) -> History:
    """Return the chain of records that replaced each other, or all records of a turn."""
    item = find(view, item_id)
    if isinstance(item, Record):
        return History(item.id, item.kind, _versions(view, _chain(view.successions(), item.id)))
    return History(item.id, Kind.TURN, _versions(view, [record.id for record in view.records_of(item)]))


def read_stats(view: Snapshot, since: datetime | None) -> Stats:
    """Sum the counters of admission, per day and in total."""
    days: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for day, name, count in view.counters(None if since is None else since.date().isoformat()):
        days[day][name] += count
    sums = sum(days.values(), Counter())
    total = Admitted(**_numbers(sums), refused=_refused(sums))
    return Stats(
        days=tuple(DayStats(**_numbers(count), refused=_refused(count), day=day) for day, count in days.items()),
        total=total,
        records_per_turn=_share(total.added + total.superseded, total.turns),
        repeated=_share(total.merged + total.dropped, total.candidates),
        redundant_adds_per_week=_share(total.redundant_adds * _WEEK, _days_between(list(days))),
    )


def _record_decisions(view: Snapshot, record: Record) -> tuple[Decision, ...]:
    """Return the decisions about a record in order: its creation, what was merged into it, its end."""
    decisions = [*(explain_act(act) for act in view.acts(record.id)), *view.receipts(record.id)]
    return tuple(sorted(decisions, key=lambda decision: decision.at or record.at))


def _sources(view: Snapshot, record: Record) -> tuple[Turn, ...]:
    return tuple(turn for turn_id in record.turn_ids if (turn := view.turn(turn_id)) is not None)


def _judged(view: Snapshot, turn: Turn, settings: AdmitSettings) -> list[Decision]:
    """Return the gate's decisions; every turn has at least one, also those that no gate reads."""
    if turn.role is not Role.USER:
        return [Decision("not gated", f"said by {turn.role.value}: only the user's own words become records")]
    if turn.seq <= view.cursor(ADMIT_STAGE):
        return [_scored(turn, curve_of(view)), *view.receipts(turn.id)]
    if not settings.enabled:
        return [Decision("not gated", "records are not made of turns here (admit.enabled is off)")]
    return [Decision("not gated yet", "waiting to be embedded, then judged")]


def _scored(turn: Turn, curve: Sequence[Step]) -> Decision:
    score = turn.signals
    talk = f"novelty {score['h']:.2f}, repetition {score['r']:.2f}, structure {score['d']:.2f}"
    work = f"specificity {score['p']:.2f}, action {score['a']:.2f}, structure {score['dtech']:.2f}"
    reason = f"G {score['g']:.2f} ({talk})"
    if score["t"] > 0:
        reason = (
            f"G {score['g']:.2f}, technical by {score['t']:.2f}: as talk {score['gconv']:.2f} ({talk}), "
            f"as work {score['gtech']:.2f} ({work})"
        )
    if curve:
        reason += f"; by your labels {probability(curve, score['g']):.0%} of such turns are useful"
    return Decision("scored", reason)


def _compacted(view: Snapshot, turn: Turn, records: Sequence[Record]) -> Iterator[Decision]:
    """Yield whether the turn left the active view of its session, and what replaces it there."""
    made = [record for record in records if COMPACTION in record.metadata]
    gone = {record.id for record in made if not view.is_live(record)}
    for record in made:
        at = next((decision.at for decision in view.receipts(record.id)), None)
        if record.kind is Kind.GUIDANCE:
            what, reason = "protected", f"its rules are kept word for word as {record.id}"
        else:
            what, reason = (
                "summarised",
                f"with {len(record.turn_ids) - 1} other turns in {record.id}; expand shows them",
            )
        if record.id in gone:
            reason += "; that is forgotten now, so the turn is in the active view again"
        yield Decision(what, reason, at, {"record": record.id})
    if not made and turn.index < view.cursor(compact_stage(turn.session)):
        yield Decision("left as it is", "a compaction passed it and no digest of it was shorter: it stays active")


def _kept(turn: Turn) -> Decision:
    return Decision(
        "kept",
        f"turn {turn.index} of session {turn.session!r}, said by {turn.role.value} (origin {turn.origin.value}), "
        f"stability {turn.stability:g}; only erase removes it",
        turn.recorded_at,
        {"seq": turn.seq, **({"key": turn.key} if turn.key else {})},
    )


def _indexed(turn: Turn, settings: IndexSizes) -> Decision:
    if len(turn.text) > settings.max_chars:
        return Decision(
            "found by words", f"its first {settings.max_chars:,} characters are indexed, of {len(turn.text):,}"
        )
    return Decision("found by words", "by every word of it, from the moment it was kept")


def _embedded(view: Snapshot, turn: Turn, fingerprint: str | None) -> Decision:
    if fingerprint is None:
        return Decision("not found by meaning", "no embedder is configured")
    if turn.seq > view.cursor(vectors_stage(Space.TURN, fingerprint)):
        return Decision("not found by meaning yet", "waiting to be embedded", None, {"embedder": fingerprint})
    stored = view.vectors(Space.TURN, fingerprint, [turn.seq])
    if not stored or not any(stored[0][1]):
        return Decision(
            "not found by meaning", "nothing in it that the embedder knows", None, {"embedder": fingerprint}
        )
    return Decision("found by meaning", "embedded", None, {"embedder": fingerprint})


def _chain(successions: Mapping[str, str], record_id: str) -> list[str]:
    """Return the record with all its predecessors and successors, each old one before its replacement."""
    older: defaultdict[str, list[str]] = defaultdict(list)
    for old, new in sorted(successions.items()):  # the order of rows depends on the engine
        older[new].append(old)
    chain = [record_id]
    for one in chain:  # grows during iteration
        chain.extend(old for old in older[one] if old not in chain)
    chain.reverse()
    while (after := successions.get(chain[-1])) is not None and after not in chain:
        chain.append(after)
    return chain


def _versions(view: Snapshot, record_ids: Iterable[str]) -> tuple[Version, ...]:
    versions = []
    for record_id in record_ids:
        record = view.record(record_id)
        if record is None:
            continue
        live = view.is_live(record)
        versions.append(Version(record, live, _sources(view, record), _record_decisions(view, record)))
    return tuple(
        sorted(versions, key=lambda version: version.record.valid_from)
    )  # stable: of equals the older stays first


def _numbers(count: Counter[str]) -> dict[str, int]:
    return {field: count[name] for field, name in _COUNTERS.items()}


def _refused(count: Counter[str]) -> Mapping[str, int]:
    """Return refusals by reason, most frequent first."""
    return {name.removeprefix(_REFUSED): number for name, number in count.most_common() if name.startswith(_REFUSED)}


def _days_between(days: list[str]) -> int:
    """Return the number of days from the first to the last, inclusive."""
    return (date.fromisoformat(days[-1]) - date.fromisoformat(days[0])).days + 1 if days else 0


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
