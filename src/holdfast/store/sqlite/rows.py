"""Rows of the tables as the nouns of the domain."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping

from holdfast.model import SIGNALS, Metadata, Origin, Provenance, Record, Turn
from holdfast.moments import from_micros
from holdfast.store.codes import KINDS, ROLES, lowered
from holdfast.store.sqlite.keys import number_of

__all__ = [
    "FROM_LOG",
    "RECORD_COLUMNS",
    "TURN_COLUMNS",
    "pack_metadata",
    "pack_signals",
    "read_record",
    "read_signals",
    "read_turn",
    "unpack_metadata",
]

_SIGNALS = struct.Struct(f"<{len(SIGNALS)}d")
TURN_COLUMNS = """log.pos, log.id, sessions.name, log.idx, log.role, log.origin, log.text, log.at, log.recorded_at,
    log.stability, log.key, log.metadata, signals.data"""
FROM_LOG = """FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
    LEFT JOIN signals ON signals.pos = log.pos"""
RECORD_COLUMNS = """records.pos, records.id, records.kind, records.text, records.provenance, records.confidence,
    records.evidence_count, records.at, records.valid_from, records.valid_to, records.superseded_by,
    (SELECT count FROM retrievals WHERE retrievals.ns = records.ns AND retrievals.subject = records.id),
    (SELECT last FROM retrievals WHERE retrievals.ns = records.ns AND retrievals.subject = records.id),
    records.metadata, records.notches, records.trust"""


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
        signals=read_signals(signals),
    )


def read_record(namespace: str, row: tuple[object, ...], turn_ids: Iterable[str], lower: bool = True) -> Record:
    """A row of RECORD_COLUMNS. `lower`: as the janitor left it, and not as it was said."""
    (_, record_id, kind, text, provenance, confidence, evidence, at, valid_from, valid_to, superseded_by,
     retrieved, last_retrieved, metadata, notches, trust) = row  # fmt: skip
    said = Provenance(str(provenance)), _float(confidence)
    vouched, sure = lowered(*said, _int(notches), _float(trust)) if lower else said
    return Record(
        id=str(record_id),
        namespace=namespace,
        kind=KINDS[_int(kind)],
        text=str(text),
        provenance=vouched,
        confidence=sure,
        evidence_count=_int(evidence),
        at=from_micros(_int(at)),
        valid_from=from_micros(_int(valid_from)),
        valid_to=None if valid_to is None else from_micros(_int(valid_to)),
        superseded_by=None if superseded_by is None else str(superseded_by),
        turn_ids=tuple(turn_ids),
        retrieval_count=_int(retrieved or 0),
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


def pack_signals(signals: Mapping[str, float]) -> bytes:
    return _SIGNALS.pack(*(signals.get(name, 0.0) for name in SIGNALS))


def read_signals(packed: object) -> Mapping[str, float]:
    """All twelve, 0 where absent (GATE-11)."""
    if isinstance(packed, bytes):
        return dict(zip(SIGNALS, _SIGNALS.unpack(packed), strict=True))
    absent = dict.fromkeys(SIGNALS, 0.0)
    return absent if packed is None else absent | json.loads(str(packed))  # JSON in older stores


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _float(value: object) -> float:
    assert isinstance(value, float | int)
    return float(value)
