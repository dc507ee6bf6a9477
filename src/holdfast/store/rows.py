"""Rows as the nouns of the domain, for every engine: what is in a column, and in which order, is the same in all."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from datetime import datetime

from holdfast.log.lines import ActLine, Line, TurnLine
from holdfast.model import SIGNALS, Action, Entry, Metadata, NewTurn, Origin, Provenance, Record, Turn
from holdfast.moments import from_micros
from holdfast.store.codes import KINDS, ROLES, lowered

__all__ = [
    "kept_turn",
    "pack_metadata",
    "pack_signals",
    "read_line",
    "read_record",
    "read_score",
    "read_signals",
    "read_turn",
    "speaker_of",
    "unpack_metadata",
]

_SCORE, _G = struct.Struct("<d"), SIGNALS.index("g")
_SIGNALS = struct.Struct(f"<{len(SIGNALS)}d")


def read_turn(namespace: str, row: tuple[object, ...]) -> Turn:
    """A row of an engine's TURN_COLUMNS."""
    seq, turn_id, session, index, role, origin, text, at, recorded_at, stability, key, metadata, signals = row
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
        seq=_int(seq),
        key=None if key is None else str(key),
        metadata=unpack_metadata(metadata),
        signals=read_signals(signals),
    )


def read_record(namespace: str, row: tuple[object, ...], turn_ids: Iterable[str], lower: bool = True) -> Record:
    """A row of an engine's RECORD_COLUMNS. `lower`: as the janitor left it, and not as it was said."""
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


def read_line(row: tuple[object, ...]) -> Line:
    """A row of an engine's columns of whole lines."""
    seq, entry, noun, session, index, role, origin, at, at_given, recorded_at, stability, key, text, metadata = row
    assert isinstance(seq, int) and isinstance(at, int) and isinstance(recorded_at, int)
    said, recorded = from_micros(at), from_micros(recorded_at)
    if entry != Entry.TURN:
        return ActLine(seq, recorded, Action(Entry(str(entry)), str(noun), said, unpack_metadata(text)))
    assert isinstance(index, int) and isinstance(role, int) and isinstance(stability, float | int)
    turn = NewTurn(
        role=ROLES[role],
        origin=Origin(str(origin)),
        text=str(text),
        at=said,
        at_given=bool(at_given),
        stability=float(stability),
        key=None if key is None else str(key),
        metadata=unpack_metadata(metadata),
    )
    return TurnLine(seq, str(noun), str(session), index, recorded, turn)


def speaker_of(metadata: str | None) -> str:
    """The name the host gave the speaker; most turns have no metadata, and it is not read."""
    if not metadata or ('"speaker"' not in metadata and '"name"' not in metadata):
        return ""
    given = unpack_metadata(metadata)
    name = given.get("speaker") or given.get("name")
    return name if isinstance(name, str) else ""


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


def read_score(packed: object) -> float:
    """G alone: a namespace has one for every user turn, and reading all twelve takes several times as long."""
    if isinstance(packed, bytes):
        score: float = _SCORE.unpack_from(packed, _SCORE.size * _G)[0]
        return score
    return read_signals(packed)["g"]


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _float(value: object) -> float:
    assert isinstance(value, float | int)
    return float(value)


def kept_turn(
    turn: NewTurn, turn_id: str, namespace: str, session: str, index: int, seq: int, recorded_at: datetime
) -> Turn:
    """A turn as the log keeps it."""
    return Turn(
        id=turn_id,
        namespace=namespace,
        session=session,
        index=index,
        role=turn.role,
        origin=turn.origin,
        text=turn.text,
        at=turn.at,
        recorded_at=recorded_at,
        stability=turn.stability,
        seq=seq,
        key=turn.key,
        metadata=turn.metadata,
    )
