"""Collections of openclaw-memory-libravdb and what they hold here: items with id, text and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.context.rule_files import Node, NodeKind
from holdfast.errors import InputError
from holdfast.gate.score import Signals
from holdfast.log.messages import keyed_id
from holdfast.model import Kind, Record, Turn, to_micros
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import COMPACTION, GLOBAL, Space
from holdfast.text.jsonio import plain

# --- collections
#
# session:ID            the turns of one session, and the summaries that replace old ones
# turns:USER            every turn of a user
# user:USER             a user's durable records
# global                what the operator keeps for everybody
# elevated:user:USER    the guidance that compaction kept word for word; elevated:session:ID that of one session
# authored:hard         the rule files that the server was started with; soft and variant likewise


class Layer(StrEnum):
    SESSION = "session"
    TURNS = "turns"
    USER = "user"
    GLOBAL = "global"
    ELEVATED_USER = "elevated:user"
    ELEVATED_SESSION = "elevated:session"
    AUTHORED = "authored"


@dataclass(frozen=True)
class Collection:
    layer: Layer
    name: str = ""
    """Name of the session or user, or the kind of rule."""

    @property
    def namespace(self) -> str | None:
        """The namespace it belongs to; None: that of the connection."""
        if self.layer is Layer.GLOBAL:
            return GLOBAL
        return self.name if self.layer in (Layer.TURNS, Layer.USER, Layer.ELEVATED_USER) else None

    def __str__(self) -> str:
        return f"{self.layer.value}:{self.name}" if self.name else self.layer.value


_NAMED = (Layer.ELEVATED_USER, Layer.ELEVATED_SESSION, Layer.SESSION, Layer.TURNS, Layer.USER, Layer.AUTHORED)


def read_collection(name: str) -> Collection:
    """Parse a name, exactly: `user:al` is not part of `user:alice`."""
    if name == GLOBAL:
        return Collection(Layer.GLOBAL)
    for layer in _NAMED:
        rest = name.removeprefix(f"{layer.value}:")
        if rest != name and rest:
            if layer is Layer.AUTHORED and rest not in set(NodeKind):
                raise InputError(f"there is no collection {name!r}: rules are authored:{', authored:'.join(NodeKind)}")
            return Collection(layer, rest)
    raise InputError(
        f"there is no collection {name!r}; there are session:ID, turns:USER, user:USER, global, elevated:user:USER, "
        "elevated:session:ID and authored:hard, authored:soft, authored:variant"
    )


RECORD_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.EPISODE, Kind.GUIDANCE)
"""The kinds in `user:`. Guidance from compaction is in `elevated:`, a summary with its session."""
_PAGE = 500  # rows read at a time


@dataclass(frozen=True)
class Stored:
    collection: Collection
    id: str
    """The host's own id if it gave one."""
    text: str
    metadata: Mapping[str, object]
    noun: str = field(default="", compare=False)
    """Our id of the turn or record."""


def of_turn(turn: Turn, collection: Collection) -> Stored:
    """Return a turn with the host's fields, which cannot override those that Holdfast sets."""
    signals = Signals(**turn.signals).to_metadata()
    metadata = {
        "type": "turn",
        "ts": to_micros(turn.at) // 1000,
        **turn.metadata,
        "role": turn.role.value,
        "sessionId": turn.session,
        "userId": turn.namespace,
        "origin": turn.origin.value,
        "provenance_class": turn.origin.value,
        "stability_weight": turn.stability,
        "at": plain(turn.at),
        "turn_id": turn.id,
        **signals,
    }
    return Stored(collection, turn.key or turn.id, turn.text, metadata, turn.id)


def of_record(record: Record, collection: Collection) -> Stored:
    given = record.metadata.get("given")
    metadata = {
        "ts": to_micros(record.at) // 1000,
        **(given if isinstance(given, Mapping) else {}),
        "type": record.kind.value,
        "userId": record.namespace,
        "provenance": record.provenance.value,
        "provenance_class": record.provenance.value,
        "confidence": record.confidence,
        "decay_rate": round(1.0 - record.confidence, 6),
        "evidence_count": record.evidence_count,
        "at": plain(record.at),
        "record_id": record.id,
        "source_turn_ids": list(record.turn_ids),
    }
    return Stored(collection, str(record.metadata.get("key") or record.id), record.text, metadata, record.id)


def of_node(node: Node, collection: Collection) -> Stored:
    metadata = {"type": "rule", "tier": node.kind.value, "path": node.path, "line": node.line, "provenance": "authored"}
    return Stored(collection, f"{node.path}:{node.line}", node.text, {**metadata, "heading": list(node.heading)})


def read_stored(view: Snapshot, collection: Collection) -> Iterator[Stored]:
    """Yield the visible items of a collection, oldest first."""
    match collection.layer:
        case Layer.SESSION:
            yield from (of_turn(turn, collection) for turn in _thread(view, collection.name))
            yield from (of_record(one, collection) for one in _made_of(view, collection.name, Kind.SUMMARY))
        case Layer.ELEVATED_SESSION:
            yield from (of_record(one, collection) for one in _made_of(view, collection.name, Kind.GUIDANCE))
        case Layer.TURNS:
            yield from (of_turn(turn, collection) for turn in _turns(view))
        case Layer.ELEVATED_USER:
            yield from (of_record(one, collection) for one in _records(view) if is_elevated(one))
        case Layer.USER | Layer.GLOBAL:
            yield from (
                of_record(one, collection)
                for one in _records(view)
                if one.kind in RECORD_KINDS and not is_elevated(one)
            )
        case Layer.AUTHORED:
            raise AssertionError("rules are in files, not in the store")


def everything(view: Snapshot, namespace: str) -> Iterator[Stored]:
    """Yield all turns and live records of a namespace, once each, with their collection."""
    for turn in _turns(view):
        yield of_turn(turn, Collection(Layer.SESSION, turn.session))
    for record in _records(view):
        if record.kind is Kind.SUMMARY and record.turn_ids:
            first = view.turn(record.turn_ids[0])
            yield of_record(record, Collection(Layer.SESSION, "" if first is None else first.session))
        else:
            layer = Layer.ELEVATED_USER if is_elevated(record) else Layer.USER
            yield of_record(record, Collection(layer, namespace))


def find(view: Snapshot, collection: Collection, wanted: str) -> Stored | None:
    """Return one item by its id, the host's or ours."""
    if collection.layer in (Layer.USER, Layer.GLOBAL, Layer.ELEVATED_USER):
        record = view.record(wanted) or view.record(keyed_id("r", wanted))
        return None if record is None else of_record(record, collection)
    return next((one for one in read_stored(view, collection) if wanted in (one.id, one.noun)), None)


def is_elevated(record: Record) -> bool:
    return record.kind is Kind.GUIDANCE and COMPACTION in record.metadata


def _thread(view: Snapshot, session: str) -> Iterator[Turn]:
    hidden, after = set(view.hidden(Space.TURN)), -1
    while turns := view.thread(session, after, _PAGE):
        after = turns[-1].index
        yield from (turn for turn in turns if turn.seq not in hidden)


def _turns(view: Snapshot) -> Iterator[Turn]:
    hidden, end = set(view.hidden(Space.TURN)), view.end()
    for start in range(1, end + 1, _PAGE):
        found = view.turns(range(start, min(start + _PAGE, end + 1)))
        yield from (found[seq] for seq in sorted(found) if seq not in hidden)


def _records(view: Snapshot) -> Iterator[Record]:
    gone = set(view.hidden(Space.RECORD)) | {num for num, _ in view.retired()}
    end = view.end(Space.RECORD)
    for start in range(1, end + 1, _PAGE):
        found = view.records(range(start, min(start + _PAGE, end + 1)))
        yield from (found[num] for num in sorted(found) if num not in gone)


def _made_of(view: Snapshot, session: str, kind: Kind) -> Iterator[Record]:
    """Yield what compaction made from a session, oldest first."""
    found = view.recent_records(1_000_000_000, kind, None, None, session)
    return (record for record in reversed(found) if COMPACTION in record.metadata)
