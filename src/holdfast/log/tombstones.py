"""What stays of something that was erased: where it stood, and marks that know it again without telling what it was.

A mark is a keyed hash under the store's own secret. Whoever hands the same turn over again is recognised by it, so that
an erased turn does not come back with the next history, or with an old export; nobody can read it back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import cast

from holdfast.log.align import Place, digest
from holdfast.model import Metadata, NewTurn, Role, Turn
from holdfast.text.time import to_micros

_MARK_BYTES = 16
_WORD = re.compile(r"\w+")
_NEVER = datetime(1, 1, 1, tzinfo=UTC)
"""The time of an erased turn whose time was given, until a turn that is handed over shows that it is the same."""


class Marker:
    """Makes the marks of one namespace."""

    def __init__(self, secret: bytes, namespace: str) -> None:
        self._secret = secret
        self._namespace = namespace

    def whole(self) -> bytes:
        """Of the namespace itself."""
        return self._mark("namespace")

    def noun(self, noun_id: str) -> bytes:
        """Of a turn's or record's id."""
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
        """Of what a record says, whatever its signs and capitals."""
        return self._mark("statement", " ".join(_WORD.findall(text.casefold())))

    def _mark(self, what: str, *parts: str) -> bytes:
        mark = blake2b(key=self._secret, digest_size=_MARK_BYTES, person=what.encode())
        for part in (self._namespace, *parts):
            raw = part.encode()
            mark.update(len(raw).to_bytes(8, "big") + raw)
        return mark.digest()


@dataclass(frozen=True)
class Tombstone:
    """In the place of a turn or record that was erased. What it was is not in it."""

    noun: bytes
    session: bytes | None = None
    """This and the next five: of a turn."""
    index: int = 0
    role: Role | None = None
    said: bytes = b""
    timed: bytes | None = None
    """If the caller had given its time."""
    key: bytes | None = None
    statements: tuple[bytes, ...] = ()
    """Of a record: what must not be read out of turns again."""

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
    """The tombstone of a line; None for the line that says what an erase did."""
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


# A history that is handed over again ----------------------------------------------------------------------------------


def places_with_erased(
    places: Sequence[Place], erased: Sequence[Tombstone], turns: Sequence[NewTurn], marker: Marker, session: str
) -> list[Place]:
    """The session's places with those that were erased: a turn that comes again stands where it stood."""
    if not erased:
        return list(places)
    shown = {marker.said(session, turn.role, turn.text): turn for turn in turns}
    timed = {marker.timed(session, turn.role, turn.text, turn.at): turn.at for turn in turns if turn.at_given}
    found = []
    for one in erased:
        assert one.role is not None
        turn = shown.get(one.said)
        at = None if one.timed is None else timed.get(one.timed, _NEVER)
        mark = one.said if turn is None else digest(turn.role, turn.text)
        found.append(Place(one.index, mark, at, one.role, one.key is not None))
    return sorted([*places, *found], key=lambda place: place.index)


def erased_turn(tombstone: Tombstone, turn: NewTurn, namespace: str, session: str, seq: int, now: datetime) -> Turn:
    """What the caller handed over, under the id of its tombstone: it is known, and it is not kept."""
    return Turn(
        id=tombstone.id, namespace=namespace, session=session, index=tombstone.index, role=turn.role,
        origin=turn.origin, text=turn.text, at=turn.at, recorded_at=now, stability=turn.stability, seq=seq,
        key=turn.key, metadata=turn.metadata,
    )  # fmt: skip


# What a model said while it was shown an erased turn ------------------------------------------------------------------


def without(proposed: Metadata, erased_ids: frozenset[str], erased_words: frozenset[str]) -> Metadata:
    """A model's proposals (admit/llm.py) without those that rest on erased turns or use words of theirs.

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
    """Every string in a value of JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return " ".join(_all_text(one) for one in value.values())
    if isinstance(value, list | tuple):
        return " ".join(_all_text(one) for one in value)
    return ""
