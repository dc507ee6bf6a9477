"""Lines of the log, and the payloads of its acts: compactions, runs of the janitor, and tombstones of what was erased.

Payloads contain everything that the act made, so that a rebuild asks no model (INV-3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import cast

from holdfast.log.messages import TurnPlace, digest
from holdfast.model import Action, Kind, Metadata, NewTurn, Provenance, Role, Turn, to_micros


@dataclass(frozen=True)
class TurnLine:
    """A turn as it was given, with the place that the log gave it. What is derived from it is not part of it."""

    seq: int
    id: str
    session: str
    index: int
    recorded_at: datetime
    turn: NewTurn


@dataclass(frozen=True)
class ActLine:
    """An act of the operator, or the output of a model."""

    seq: int
    recorded_at: datetime
    action: Action


Line = TurnLine | ActLine

# --- Compactions.

PARTIAL = "partial"
"""The key in the metadata of guidance that keeps only the rules of its turn, and does not replace the turn."""
COLLECTION = "collection"
"""The key in the metadata of guidance for the collection that it belongs to."""


def elevated(namespace: str) -> str:
    """Return the collection of the guidance of a namespace (COMP-2)."""
    return f"elevated:user:{namespace}"


def compact_stage(session: str) -> str:
    """Return the stage of a session. Its cursor is one above the index up to which turns left the active view."""
    return f"compact:{session}"


@dataclass(frozen=True)
class CompactedRecord:
    """A record that a compaction makes: the summary of a cluster, or the guidance that a turn gave."""

    id: str
    kind: Kind
    text: str
    provenance: Provenance
    confidence: float
    turn_ids: tuple[str, ...]
    since: datetime
    until: datetime
    what: str
    reason: str
    """For the receipt."""
    details: Metadata = field(default_factory=dict)

    @property
    def replaces_turns(self) -> bool:
        """Return whether it replaces all of its turns; the guidance of a long turn replaces only the rules in it."""
        return PARTIAL not in self.details


@dataclass(frozen=True)
class CompactionPayload:
    session: str
    after: int
    """Cursor of the session before."""
    upto: int
    """Cursor of the session now."""
    cause: str
    records: tuple[CompactedRecord, ...]
    removed: int
    """The number of turns that left the active view."""

    @property
    def stage(self) -> str:
        return compact_stage(self.session)


def pack_compaction(made: CompactionPayload) -> Metadata:
    return {
        "session": made.session,
        "after": made.after,
        "upto": made.upto,
        "cause": made.cause,
        "removed": made.removed,
        "told": [
            {
                "id": one.id,
                "kind": one.kind.value,
                "text": one.text,
                "provenance": one.provenance.value,
                "confidence": one.confidence,
                "turns": list(one.turn_ids),
                "since": one.since.isoformat(),
                "until": one.until.isoformat(),
                "what": one.what,
                "reason": one.reason,
                "details": dict(one.details),
            }
            for one in made.records
        ],
    }


def read_compaction(payload: Metadata) -> CompactionPayload:
    return CompactionPayload(
        session=str(payload["session"]),
        after=int(str(payload["after"])),
        upto=int(str(payload["upto"])),
        cause=str(payload["cause"]),
        removed=int(str(payload["removed"])),
        records=tuple(_read_record(one) for one in cast("Sequence[Mapping[str, object]]", payload["told"])),
    )


def _read_record(said: Mapping[str, object]) -> CompactedRecord:
    return CompactedRecord(
        id=str(said["id"]),
        kind=Kind(str(said["kind"])),
        text=str(said["text"]),
        provenance=Provenance(str(said["provenance"])),
        confidence=float(str(said["confidence"])),
        turn_ids=tuple(str(one) for one in cast("Sequence[str]", said["turns"])),
        since=datetime.fromisoformat(str(said["since"])),
        until=datetime.fromisoformat(str(said["until"])),
        what=str(said["what"]),
        reason=str(said["reason"]),
        details=cast("Metadata", said["details"]),
    )


# --- Runs of the janitor.


def week_of(moment: datetime) -> str:
    """Return the week that a run belongs to, which is also its name: there is one run per week."""
    year, week, _ = moment.isocalendar()
    return f"{year}-W{week:02d}"


@dataclass(frozen=True)
class Demotion:
    """Records with the same provenance and confidence, which a run lowered for the same reason."""

    before: tuple[Provenance, float]
    after: tuple[Provenance, float]
    reason: str
    """For the receipts."""
    records: tuple[str, ...]


@dataclass(frozen=True)
class JanitorPayload:
    factor: float
    """Factor of the confidence of the lowered records."""
    demotions: tuple[Demotion, ...]
    culled: tuple[str, ...]
    reason: str
    """For the receipts of the culled records."""


def pack_janitor_run(made: JanitorPayload) -> Metadata:
    return {
        "factor": made.factor,
        "lowered": [
            {
                "was": {"provenance": one.before[0].value, "confidence": one.before[1]},
                "is": {"provenance": one.after[0].value, "confidence": one.after[1]},
                "told": one.reason,
                "records": list(one.records),
            }
            for one in made.demotions
        ],
        "culled": list(made.culled),
        "told": made.reason,
    }


def read_janitor_run(payload: Metadata) -> JanitorPayload:
    return JanitorPayload(
        factor=float(str(payload["factor"])),
        demotions=tuple(_read_demotion(one) for one in cast("Sequence[Mapping[str, object]]", payload["lowered"])),
        culled=tuple(str(one) for one in cast("Sequence[str]", payload["culled"])),
        reason=str(payload["told"]),
    )


def _read_demotion(said: Mapping[str, object]) -> Demotion:
    return Demotion(
        _read_trust(cast("Mapping[str, object]", said["was"])),
        _read_trust(cast("Mapping[str, object]", said["is"])),
        str(said["told"]),
        tuple(str(one) for one in cast("Sequence[str]", said["records"])),
    )


def _read_trust(said: Mapping[str, object]) -> tuple[Provenance, float]:
    return Provenance(str(said["provenance"])), float(str(said["confidence"]))


# --- Tombstones: what is left of something that was erased, so that it is recognised when it comes again with the next
# history or an old export. A mark is a keyed hash with the secret of the store: nobody can read back what it was.

_MARK_BYTES = 16
_WORD = re.compile(r"\w+")
_UNKNOWN_TIME = datetime(1, 1, 1, tzinfo=UTC)
"""The time of an erased turn whose time was given, if none of the new turns has the same."""


class Marker:
    """Makes the marks of one namespace."""

    def __init__(self, secret: bytes, namespace: str) -> None:
        self._secret = secret
        self._namespace = namespace

    def whole(self) -> bytes:
        """Mark the namespace itself."""
        return self._mark("namespace")

    def noun(self, noun_id: str) -> bytes:
        """Mark the id of a turn or record."""
        return self._mark("noun", noun_id)

    def session(self, session: str) -> bytes:
        return self._mark("session", session)

    def said(self, session: str, role: Role, text: str) -> bytes:
        return self._mark("said", session, role.value, text)

    def timed(self, session: str, role: Role, text: str, at: datetime) -> bytes:
        return self._mark("timed", session, role.value, text, str(to_micros(at)))

    def key(self, session: str, key: str) -> bytes:
        return self._mark("key", session, key)

    def statement(self, text: str) -> bytes:
        """Mark the text of a record, regardless of punctuation and case."""
        return self._mark("statement", " ".join(_WORD.findall(text.casefold())))

    def _mark(self, what: str, *parts: str) -> bytes:
        mark = blake2b(key=self._secret, digest_size=_MARK_BYTES, person=what.encode())
        for part in (self._namespace, *parts):
            raw = part.encode()
            mark.update(len(raw).to_bytes(8, "big") + raw)
        return mark.digest()


@dataclass(frozen=True)
class Tombstone:
    """Replaces a turn or record that was erased, without its content."""

    noun: bytes
    session: bytes | None = None
    """This and the next five fields: of a turn."""
    index: int = 0
    role: Role | None = None
    said: bytes = b""
    timed: bytes | None = None
    """If the caller had given its time."""
    key: bytes | None = None
    statements: tuple[bytes, ...] = ()
    """Of a record: what must not be extracted from turns again."""

    @property
    def id(self) -> str:
        return f"e-{self.noun.hex()[:21]}"


def pack_tombstone(tombstone: Tombstone) -> Metadata:
    if tombstone.session is None:
        return {
            "what": "record",
            "noun": tombstone.noun.hex(),
            "statements": [one.hex() for one in tombstone.statements],
        }
    assert tombstone.role is not None
    return {
        "what": "turn",
        "noun": tombstone.noun.hex(),
        "session": tombstone.session.hex(),
        "index": tombstone.index,
        "role": tombstone.role.value,
        "said": tombstone.said.hex(),
        "timed": None if tombstone.timed is None else tombstone.timed.hex(),
        "key": None if tombstone.key is None else tombstone.key.hex(),
    }


def read_tombstone(payload: Metadata) -> Tombstone | None:
    """Return the tombstone of a line; None for the line that reports what an erase did."""
    if payload["what"] == "record":
        marks = cast("Sequence[str]", payload["statements"])
        return Tombstone(_bytes(payload["noun"]), statements=tuple(bytes.fromhex(one) for one in marks))
    if payload["what"] == "turn":
        return Tombstone(
            _bytes(payload["noun"]),
            _bytes(payload["session"]),
            int(str(payload["index"])),
            Role(str(payload["role"])),
            _bytes(payload["said"]),
            None if payload["timed"] is None else _bytes(payload["timed"]),
            None if payload["key"] is None else _bytes(payload["key"]),
        )
    if payload["what"] != "erase":
        raise ValueError(f"an erase line cannot be about {payload['what']!r}")
    return None


def _bytes(mark: object) -> bytes:
    return bytes.fromhex(str(mark))


def places_with_erased(
    places: Sequence[TurnPlace], erased: Sequence[Tombstone], turns: Sequence[NewTurn], marker: Marker, session: str
) -> list[TurnPlace]:
    """Add the places of erased turns to those of a session: a turn that comes again aligns with its old place."""
    if not erased:
        return list(places)
    shown = {marker.said(session, turn.role, turn.text): turn for turn in turns}
    timed = {marker.timed(session, turn.role, turn.text, turn.at): turn.at for turn in turns if turn.at_given}
    found = []
    for one in erased:
        assert one.role is not None
        turn = shown.get(one.said)
        at = None if one.timed is None else timed.get(one.timed, _UNKNOWN_TIME)
        mark = one.said if turn is None else digest(turn.role, turn.text)
        found.append(TurnPlace(one.index, mark, at, one.role, one.key is not None))
    return sorted([*places, *found], key=lambda place: place.index)


def erased_turn(tombstone: Tombstone, turn: NewTurn, namespace: str, session: str, seq: int, now: datetime) -> Turn:
    """Return a turn that was erased before, with the id of its tombstone: it is recognised, but not stored."""
    return Turn(
        id=tombstone.id, namespace=namespace, session=session, index=tombstone.index, role=turn.role,
        origin=turn.origin, text=turn.text, at=turn.at, recorded_at=now, stability=turn.stability, seq=seq,
        key=turn.key, metadata=turn.metadata,
    )  # fmt: skip


def noted_turns(payload: Metadata) -> tuple[str, ...]:
    """Return the turns that a remembered note of an agent rests on; of any other memory none."""
    return tuple(cast("Sequence[str]", payload.get("turn_ids") or ()))


def without_erased(proposed: Metadata, erased_ids: frozenset[str], erased_words: frozenset[str]) -> Metadata:
    """Return a model's proposals (admit/llm.py) without those that rest on erased turns or use words of theirs.

    `erased_words`: those that nothing else the model was shown has.
    """

    def stays(said: Mapping[str, object]) -> bool:
        rests_on = frozenset(cast("Sequence[str]", said.get("turn_ids") or ()))
        words = frozenset(_WORD.findall(_all_text(said).casefold()))
        return not rests_on & erased_ids and not words & erased_words

    kept = dict(proposed)
    for part in ("candidates", "dropped"):
        said = cast("Sequence[Mapping[str, object]]", proposed.get(part) or ())
        if (stay := [one for one in said if stays(one)]) != list(said):
            kept[part] = stay
    return kept if kept != dict(proposed) else proposed


def _all_text(value: object) -> str:
    """Join every string in a value of JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return " ".join(_all_text(one) for one in value.values())
    if isinstance(value, list | tuple):
        return " ".join(_all_text(one) for one in value)
    return ""
