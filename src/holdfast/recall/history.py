"""History: what replaced what. The chain a record stands in, or the chains of the records that a turn speaks for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from holdfast.insight import History, Version
from holdfast.model import Kind, Record
from holdfast.recall.why import decisions_of, find
from holdfast.store.protocol import Snapshot

__all__ = ["history"]


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
