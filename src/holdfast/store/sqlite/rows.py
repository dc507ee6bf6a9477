"""Rows of the tables as the nouns of the domain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from holdfast.model import SIGNALS, Metadata, Origin, Provenance, Record, Turn
from holdfast.moments import from_micros
from holdfast.store.codes import KINDS, ROLES
from holdfast.store.sqlite.keys import number_of

__all__ = [
    "FROM_LOG",
    "RECORD_COLUMNS",
    "TURN_COLUMNS",
    "pack_metadata",
    "read_record",
    "read_turn",
    "unpack_metadata",
]

TURN_COLUMNS = """log.pos, log.id, sessions.name, log.idx, log.role, log.origin, log.text, log.at, log.recorded_at,
    log.stability, log.key, log.metadata, signals.data"""
FROM_LOG = """FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
    LEFT JOIN signals ON signals.pos = log.pos"""
RECORD_COLUMNS = """records.pos, records.id, records.kind, records.text, records.provenance, records.confidence,
    records.evidence_count, records.at, records.valid_from, records.valid_to, records.superseded_by,
    records.retrieval_count, records.last_retrieved_at, records.metadata"""


def read_turn(namespace: str, row: tuple[object, ...]) -> Turn:
    pos, turn_id, session, index, role, origin, text, at, recorded_at, stability, key, metadata, signals = row
    return Turn(
        id=str(turn_id),
        namespace=namespace,
        session=str(session),
        index=_int(index),
        role=ROLES[_int(role)],
        origin=Origin(str(origin)),
        text=str(text),
        at=from_micros(_int(at)),
        recorded_at=from_micros(_int(recorded_at)),
        stability=_float(stability),
        seq=number_of(_int(pos)),
        key=None if key is None else str(key),
        metadata=unpack_metadata(metadata),
        signals=_signals(signals),
    )


def read_record(namespace: str, row: tuple[object, ...], turn_ids: Iterable[str]) -> Record:
    (_, record_id, kind, text, provenance, confidence, evidence, at, valid_from, valid_to, superseded_by,
     retrieved, last_retrieved, metadata) = row  # fmt: skip
    return Record(
        id=str(record_id),
        namespace=namespace,
        kind=KINDS[_int(kind)],
        text=str(text),
        provenance=Provenance(str(provenance)),
        confidence=_float(confidence),
        evidence_count=_int(evidence),
        at=from_micros(_int(at)),
        valid_from=from_micros(_int(valid_from)),
        valid_to=None if valid_to is None else from_micros(_int(valid_to)),
        superseded_by=None if superseded_by is None else str(superseded_by),
        turn_ids=tuple(turn_ids),
        retrieval_count=_int(retrieved),
        last_retrieved_at=None if last_retrieved is None else from_micros(_int(last_retrieved)),
        metadata=unpack_metadata(metadata),
    )


def pack_metadata(metadata: Metadata) -> str | None:
    return json.dumps(metadata, ensure_ascii=False) if metadata else None


def unpack_metadata(packed: object) -> Mapping[str, object]:
    if packed is None:
        return {}
    unpacked = json.loads(str(packed))
    assert isinstance(unpacked, dict)
    return unpacked


def _signals(packed: object) -> Mapping[str, float]:
    """All twelve, 0 where absent (GATE-11)."""
    absent = dict.fromkeys(SIGNALS, 0.0)
    return absent if packed is None else absent | json.loads(str(packed))


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _float(value: object) -> float:
    assert isinstance(value, float | int)
    return float(value)
