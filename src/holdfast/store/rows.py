"""Conversion between rows and objects: which columns a row has, in which order, and how values are packed."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import wraps
from itertools import groupby
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from holdfast.errors import StoreDamaged
from holdfast.log.acts import COLLECTION, ActLine, CompactedRecord, Line, Tombstone, TurnLine, elevated
from holdfast.log.messages import TurnPlace
from holdfast.model import (
    SIGNALS,
    Action,
    Entry,
    Kind,
    Metadata,
    NewTurn,
    Origin,
    Provenance,
    Record,
    Role,
    Turn,
    from_micros,
)
from holdfast.store.types import COMPACTION, BlockRef, Document, Heads, Row, Space

# Stored as numbers: only ever append.
ROLES = (Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL)
KINDS = (Kind.TURN, Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.GUIDANCE, Kind.SUMMARY, Kind.EPISODE)
SLOTS = 16
"""Embedding models whose vectors a namespace keeps; the seventeenth replaces the first."""
_LADDER = (
    Provenance.AUTHORED, Provenance.USER_STATED, Provenance.EPISODE_SUMMARY, Provenance.ASSISTANT_DERIVED,
    Provenance.TOOL_DERIVED,
)  # fmt: skip
"""Provenances in the order in which the janitor lowers a record. Stores count its notches: never change it."""
_RUNG = {one: place for place, one in enumerate(_LADDER)} | {Provenance.IMPORTED: 1, Provenance.AGENT_NOTED: 2}
_DIGITS = 6  # of a confidence: .9 times .8 is .72
_ROLE_NUMBER = {role: number for number, role in enumerate(ROLES)}
_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}


def role_number(role: Role) -> int:
    return _ROLE_NUMBER[role]


def kind_number(kind: Kind) -> int:
    return _KIND_NUMBER[kind]


def lower_trust(provenance: Provenance, confidence: float, notches: int, factor: float) -> tuple[Provenance, float]:
    """Return the provenance and confidence of a record that the janitor lowered by some notches."""
    if not notches:
        return provenance, confidence
    down = min(_RUNG[provenance] + notches, len(_LADDER) - 1)
    return _LADDER[down], round(confidence * factor, _DIGITS)


_SCORE, _G = struct.Struct("<d"), SIGNALS.index("g")
_SIGNALS = struct.Struct(f"<{len(SIGNALS)}d")


P = ParamSpec("P")
T = TypeVar("T")


def _checked(read: Callable[P, T]) -> Callable[P, T]:
    """Turn errors of a row that no version ever wrote into StoreDamaged."""

    @wraps(read)
    def checked(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return read(*arguments, **named)
        except (AssertionError, LookupError, TypeError, ValueError, OverflowError) as error:
            raise StoreDamaged(
                f"the store is damaged: a row cannot be read ({read.__name__}). Restore it from a backup"
            ) from error

    return checked


TEXT_COLUMN = 6  # of a turn


def with_text(row: Row, text: str) -> Row:
    """Return a row of TURNS (statements.py) with another text."""
    return (*row[:TEXT_COLUMN], text, *row[TEXT_COLUMN + 1 :])


@_checked
def read_document(row: Row, space: Space, turn: Row | None = None) -> Document:
    """Read a row of DOCUMENTS_OF (statements.py); of a passage with its text and (time, session, role) of its turn."""
    num, text, *rest = row
    assert isinstance(text, str)
    if space is Space.PASSAGE:
        assert turn is not None
        return Document(num, text, _int(turn[0]), _int(turn[1]), _int(rest[0]), _int(turn[2]), space=space)
    if space is Space.RECORD:
        at, born, sort, said, confidence, notches, trust = rest
        vouched = lower_trust(Provenance(said), _float(confidence), _int(notches), _float(trust))
        return Document(num, text, _int(at), 0, _int(born), _int(sort), "", space, *vouched)
    at, session, index, sort, metadata = rest
    return Document(num, text, _int(at), _int(session), _int(index), _int(sort), speaker_of(metadata), space)


@_checked
def read_turn(namespace: str, row: tuple[object, ...]) -> Turn:
    """Read a row of TURNS (statements.py)."""
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


@_checked
def read_record(namespace: str, row: tuple[object, ...], turn_ids: Iterable[str], lower: bool = True) -> Record:
    """Read the columns of a record (statements.py). `lower`: as the janitor left it, not as it was stated."""
    (_, record_id, kind, text, provenance, confidence, evidence, at, valid_from, valid_to, superseded_by,
     retrieved, last_retrieved, metadata, notches, trust) = row  # fmt: skip
    said = Provenance(str(provenance)), _float(confidence)
    vouched, sure = lower_trust(*said, _int(notches), _float(trust)) if lower else said
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


@_checked
def read_line(row: tuple[object, ...]) -> Line:
    """Read a row of LINES (statements.py)."""
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


@_checked
def read_place(row: tuple[Any, ...]) -> TurnPlace:
    """Read a row of PLACES (statements.py)."""
    index, said, at, given, role, has_key = row
    return TurnPlace(index, said, from_micros(at) if given else None, ROLES[role], bool(has_key))


def speaker_of(metadata: str | None) -> str:
    """Return the name that the host gave the speaker. Most turns have no metadata, and none is parsed."""
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
    """Return all twelve signals, 0 where absent (GATE-11)."""
    if isinstance(packed, bytes):
        return dict(zip(SIGNALS, _SIGNALS.unpack(packed), strict=True))
    absent = dict.fromkeys(SIGNALS, 0.0)
    return absent if packed is None else absent | json.loads(str(packed))  # JSON in older stores


def read_score(packed: object) -> float:
    """Return G alone: a namespace has one per user turn, and reading all twelve takes several times as long."""
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


def stored_turn(
    turn: NewTurn, turn_id: str, namespace: str, session: str, index: int, seq: int, recorded_at: datetime
) -> Turn:
    """Return a new turn as the log keeps it."""
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


@_checked
def read_tombstone_row(row: tuple[object, ...]) -> tuple[int, Tombstone]:
    """Read a row of TOMBSTONES (statements.py): the place of an erased turn in the log, and its tombstone."""
    seq, noun, session, index, role, said, timed, key = cast("tuple[Any, ...]", row)
    return seq, Tombstone(noun, session, index, ROLES[role], said, timed, key)


def read_heads(rows: Iterable[Row]) -> Heads:
    """Read the rows of HEADS (statements.py)."""
    heads = Heads()
    for what, name, one, other, third in sorted(rows, key=lambda row: (row[0], row[3])):  # blocks in order
        match what:
            case "end":
                heads.ends[name] = one or 0
            case "cursor":
                heads.cursors[name] = one
            case "documents":
                heads.documents[one].append(BlockRef(other, third))
            case "segments":
                heads.segments[divmod(one, SLOTS)].append(BlockRef(other, third))
            case "model":
                heads.slots[name] = one
            case "any":
                heads.some.add(name)
    return heads


# --- Records that acts of the log create.


def record_of_remember(action: Action) -> Record:
    said = cast("Mapping[str, str]", action.payload)
    # Only these: what a caller gave must not pose as what Holdfast notes on its own records.
    metadata = {name: said[name] for name in ("key", "given", "by") if name in said}
    at = from_micros(_int(action.payload["said"])) if "said" in said else action.at
    return Record(
        id=action.subject,
        namespace="",  # rows know it by number
        kind=Kind(said["kind"]),
        text=said["text"],
        provenance=Provenance(said["provenance"]),
        confidence=float(said["confidence"]),
        evidence_count=1,
        at=at,
        valid_from=at,
        metadata=metadata,
    )


def record_of_compaction(made: CompactedRecord, action: Action, namespace: str) -> Record:
    # The line may come from the log of another namespace, and names that one.
    own = {COLLECTION: elevated(namespace)} if COLLECTION in made.details else {}
    return Record(
        id=made.id,
        namespace="",  # rows know it by number
        kind=made.kind,
        text=made.text,
        provenance=made.provenance,
        confidence=made.confidence,
        evidence_count=len(made.turn_ids),
        at=made.until,
        valid_from=made.since,
        metadata={COMPACTION: action.subject, **made.details, **own},
    )


# --- Vectors are stored as float16 where that loses nothing; derived work rounds them so that it does. A float16 row
# has an odd length, because of a mark at its end. Other rows, and rows of older stores, are float32.

_FLOAT16_MARK = b"h"
_SHORTEST_VECTOR = 64
"""Bytes: anything shorter is not a vector but a number or two."""


def pack_vectors(vectors: Sequence[bytes]) -> list[bytes]:
    """Pack vectors of float32 for storage."""
    stored: list[bytes] = []
    for size, run in groupby(vectors, len):
        part = list(run)
        if size < _SHORTEST_VECTOR or size % 4:
            stored += part
            continue
        full = np.frombuffer(b"".join(part), "<f4").reshape(len(part), -1)
        with np.errstate(over="ignore"):  # too large for float16: it stays float32
            half = full.astype("<f2")
        exact = (half.astype("<f4") == full).all(axis=1)
        stored += [
            row.tobytes() + _FLOAT16_MARK if fits else one for row, fits, one in zip(half, exact, part, strict=True)
        ]
    return stored


def unpack_vectors(stored: Sequence[bytes]) -> list[bytes]:
    """Return stored vectors as float32."""
    vectors: list[bytes] = []
    for size, run in groupby(stored, len):
        part = list(run)
        if size % 2 == 0:
            vectors += part
            continue
        width = 2 * (size - 1)
        rows = np.frombuffer(b"".join(part), np.uint8).reshape(len(part), size)[:, :-1]
        joined = np.ascontiguousarray(rows).view("<f2").astype("<f4").tobytes()
        vectors += [joined[at : at + width] for at in range(0, len(joined), width)]
    return vectors
