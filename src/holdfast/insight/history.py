"""History: what replaced what. The chain a record stands in, or the chains of the records that a turn speaks for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime

from holdfast.errors import NotFound
from holdfast.gate.calibrate import curve_of, probability
from holdfast.index.vectors import vectors_stage
from holdfast.log.acts import compact_stage
from holdfast.model import Action, Decision, Entry, Kind, Record, Role, Turn, Why
from holdfast.results import Admitted, DayStats, History, Stats, Step, Version
from holdfast.settings import AdmitSettings, IndexSettings, Settings
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import ADMIT_STAGE, COMPACTION, Space

# --- Why: everything that was decided about a turn or a record, in the order it happened.


def find(view: Snapshot, noun_id: str) -> Turn | Record:
    """The turn or record of this id, or NotFound."""
    noun = view.turn(noun_id) or view.record(noun_id)
    if noun is None and (at := view.erased_at(noun_id)) is not None:
        raise NotFound(f"{noun_id!r} was erased on {at:%d %B %Y at %H:%M} UTC; nothing of it is kept")
    if noun is None:
        raise NotFound(f"there is no turn or record {noun_id!r} in this namespace")
    return noun


_ACTS = {
    Entry.REMEMBER: ("remembered", "at the operator's word; no gate judged it"),
    Entry.FORGET: ("forgotten", "by the operator; hidden from recall, kept in the log"),
    Entry.UNFORGET: ("restored", "by the operator; it is recalled again"),
}


IN_PLACE = {
    "corrects": "it corrects {}, which was forgotten for it",
    "pins": "it keeps {} word for word, which was forgotten for it",
    "divides": "it is one of the statements that were taken for one in {}",
}
"""What `remember` may be given in its metadata when a record takes the place of another, and how that is told."""


def explain_act(act: Action) -> Decision:
    if act.entry is Entry.PROPOSE:
        return Decision("proposed", str(act.payload.get("told", "")), act.at)
    what, reason = _ACTS[act.entry]
    given = act.payload.get("given")
    for key, told in IN_PLACE.items():
        if act.entry is Entry.REMEMBER and isinstance(given, Mapping) and key in given:
            reason = f"{reason}; {told.format(given[key])}"
    return Decision(what, reason, act.at)


def why(view: Snapshot, noun_id: str, fingerprint: str | None, settings: Settings) -> Why:
    noun = find(view, noun_id)
    if isinstance(noun, Record):
        turns = tuple(turn for turn_id in noun.turn_ids if (turn := view.turn(turn_id)) is not None)
        return Why(noun.id, noun.kind, noun.text, None, decisions_of(view, noun), turns=turns)
    records = view.records_of(noun)
    decisions = [
        _kept(noun),
        _indexed(noun, settings.index),
        _embedded(view, noun, fingerprint),
        *_judged(view, noun, settings.admit),
        *_compacted(view, noun, records),
        *(explain_act(act) for act in view.acts(noun.id)),
    ]
    return Why(noun.id, Kind.TURN, noun.text, noun.session, tuple(decisions), records=tuple(records))


def decisions_of(view: Snapshot, record: Record) -> tuple[Decision, ...]:
    """What was decided about a record, in the order it happened: how it came, what it took in, what ended it."""
    told = [*(explain_act(act) for act in view.acts(record.id)), *view.receipts(record.id)]
    return tuple(sorted(told, key=lambda decision: decision.at or record.at))


def _judged(view: Snapshot, turn: Turn, settings: AdmitSettings) -> list[Decision]:
    """What the gate made of it; every turn has an answer, also one that no gate ever sees."""
    if turn.role is not Role.USER:
        return [Decision("not gated", f"said by {turn.role.value}: only the user's own words become records")]
    if turn.seq <= view.cursor(ADMIT_STAGE):
        return [_scored(turn, curve_of(view)), *view.receipts(turn.id)]
    if not settings.enabled:
        return [Decision("not gated", "records are not made of turns here (admit.enabled is off)")]
    return [Decision("not gated yet", "waiting to be embedded, then judged")]


def _scored(turn: Turn, curve: Sequence[Step]) -> Decision:
    said = turn.signals
    talk = f"novelty {said['h']:.2f}, repetition {said['r']:.2f}, structure {said['d']:.2f}"
    work = f"specificity {said['p']:.2f}, action {said['a']:.2f}, structure {said['dtech']:.2f}"
    reason = f"G {said['g']:.2f} ({talk})"
    if said["t"] > 0:
        reason = (
            f"G {said['g']:.2f}, technical by {said['t']:.2f}: as talk {said['gconv']:.2f} ({talk}), "
            f"as work {said['gtech']:.2f} ({work})"
        )
    if curve:
        reason += f"; by your labels {probability(curve, said['g']):.0%} of such turns are useful"
    return Decision("scored", reason)


def _compacted(view: Snapshot, turn: Turn, records: Sequence[Record]) -> Iterator[Decision]:
    """Whether it left the active view of its session, and what stands for it there."""
    made = [record for record in records if COMPACTION in record.metadata]
    gone = {record.id for record in made if not view.is_live(record)}
    for record in made:
        at = next((decision.at for decision in view.receipts(record.id)), None)
        if record.kind is Kind.GUIDANCE:
            what, told = "protected", f"its rules are kept word for word as {record.id}"
        else:
            what, told = "summarised", f"with {len(record.turn_ids) - 1} other turns in {record.id}; expand shows them"
        if record.id in gone:
            told += "; that is forgotten now, so the turn is in the active view again"
        yield Decision(what, told, at, {"record": record.id})
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


def _indexed(turn: Turn, settings: IndexSettings) -> Decision:
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


def history(view: Snapshot, noun_id: str) -> History:
    noun = find(view, noun_id)
    if isinstance(noun, Record):
        return History(noun.id, noun.kind, _versions(view, _chain(view.successions(), noun.id)))
    made = [record.id for record in view.records_of(noun)]
    return History(noun.id, Kind.TURN, _versions(view, made))


def _chain(successions: Mapping[str, str], record_id: str) -> list[str]:
    """The record with all it came from and all that came of it; each old one before what replaced it."""
    older: defaultdict[str, list[str]] = defaultdict(list)
    for old, new in sorted(successions.items()):  # in which order rows come is the engine's to choose
        older[new].append(old)
    chain = [record_id]
    for one in chain:  # it grows while it is read
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
        sources = tuple(turn for turn_id in record.turn_ids if (turn := view.turn(turn_id)) is not None)
        versions.append(Version(record, view.is_live(record), sources, decisions_of(view, record)))
    return tuple(sorted(versions, key=lambda version: version.record.valid_from))  # of equals the older stays first


# --- What the gates did, a day each and in total: read from the counters that admission writes.


_WEEK = 7
_REFUSED = "refused: "
# Field of Admitted → name of the counter (admit/pipeline.py, admit/place.py).
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
