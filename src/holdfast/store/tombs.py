"""What was erased from a namespace, known again when it comes to it (log/tombstones.py), for every engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import datetime

from holdfast.log.tombstones import Marker, Tombstone, erased_turn
from holdfast.model import NewTurn, Turn
from holdfast.store.codes import ROLES

__all__ = ["TOMB_COLUMNS", "Tombs", "read_tomb"]

TOMB_COLUMNS = "seq, noun, session, idx, role, said, timed, key"


class Tombs(ABC):
    """Where nothing was erased, it costs the one look that found no marker to be needed."""

    def __init__(self, marker: Marker | None, namespace: str) -> None:
        self._marker = marker
        self._namespace = namespace

    def turn(self, turn: NewTurn, session: str, now: datetime) -> Turn | None:
        """The erased turn that this one is, by its key or, if its time was given, by role, text and time."""
        if self._marker is None:
            return None
        if turn.key is not None:
            found = self._by_key(self._marker.session(session), self._marker.key(session, turn.key))
        elif turn.at_given:
            mark = self._marker.timed(session, turn.role, turn.text, turn.at)
            found = self._by_time(self._marker.session(session), mark)
        else:
            return None
        return None if found is None else erased_turn(found[1], turn, self._namespace, session, found[0], now)

    def noun(self, noun_id: str) -> bool:
        """Whether a turn or record of this id was erased here."""
        return self._marker is not None and self._has_noun(self._marker.noun(noun_id))

    def stood_at(self, turn: NewTurn, session: str, index: int) -> bool:
        """Whether this very turn stood at this place of the session and was erased."""
        if self._marker is None:
            return False
        said = self._marker.said(session, turn.role, turn.text)
        return self._has_said(self._marker.session(session), index, said)

    @abstractmethod
    def _by_key(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None: ...
    @abstractmethod
    def _by_time(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None: ...
    @abstractmethod
    def _has_noun(self, mark: bytes) -> bool: ...
    @abstractmethod
    def _has_said(self, session: bytes, index: int, said: bytes) -> bool: ...


def read_tomb(row: tuple[object, ...]) -> tuple[int, Tombstone]:
    """A row of TOMB_COLUMNS, of a turn: its place in the log, and what stands there."""
    seq, noun, session, index, role, said, timed, key = row
    assert isinstance(seq, int) and isinstance(noun, bytes) and isinstance(session, bytes) and isinstance(said, bytes)
    assert isinstance(index, int) and isinstance(role, int)
    return seq, Tombstone(
        noun, session, index, ROLES[role], said, timed if isinstance(timed, bytes) else None,
        key if isinstance(key, bytes) else None,
    )  # fmt: skip
