"""What an erase is about, and what it asks of an engine: plain reads and writes of a namespace, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.errors import NotFound
from holdfast.log.tombstones import Marker
from holdfast.model import Action
from holdfast.store.nouns import Scope

__all__ = ["Doomed", "DoomedTurn", "Ground", "find_doomed"]


@dataclass(frozen=True)
class DoomedTurn:
    seq: int
    id: str
    session: int
    session_name: str
    index: int
    role: int
    text: str
    at: int
    at_given: bool
    key: str | None
    metadata: str | None


@dataclass
class Doomed:
    """What an erase is about, found before anything is changed."""

    turns: list[DoomedTurn]
    records: dict[str, str] = field(default_factory=dict)
    """Id and text of records that come of the turns, or the record itself."""
    own: set[str] = field(default_factory=set)
    """Those of them whose id cannot come back: made by one of the turns, or by an act about it."""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(turn.id for turn in self.turns)


class Ground(Protocol):
    """One namespace inside a transaction. Places are places in its log."""

    namespace: str

    @property
    def marker(self) -> Marker: ...
    def is_there(self) -> bool: ...
    def last_seq(self) -> int: ...
    def turns(self, scope: Scope, noun: str) -> list[DoomedTurn]: ...
    def has_session(self, name: str) -> bool: ...
    def record_text(self, noun: str) -> str | None: ...
    def records(self) -> dict[str, str]:
        """Id and text of all."""
        ...

    def records_of(self, seqs: Iterable[int]) -> list[tuple[str, str, int, bool]]:
        """(id, text, the line it was born at, whether a compaction made it) of records that come of these turns."""
        ...

    def sources(self, noun: str) -> tuple[str, ...]:
        """Ids of the turns a record came from."""
        ...

    def is_hidden(self, noun: str) -> bool: ...
    def acts(self) -> list[tuple[int, str, str, str]]:
        """(place, subject, entry, payload) of every line that is no turn and no tombstone."""
        ...

    def remembered_at(self, noun: str) -> int | None: ...
    def session_numbers(self, name: str | None) -> dict[str, int]:
        """The session of this name, or all of them."""
        ...

    def has_turns(self, session: int) -> bool: ...
    def turns_after(self, session: int, index: int) -> set[int]: ...
    def texts_of(self, session: int) -> dict[str, str]:
        """Id and text of the turns of a session."""
        ...

    def proposals_of(self, turn_ids: Sequence[str]) -> list[tuple[int, str]]:
        """(place, payload) of what a model proposed for these turns."""
        ...

    def receipts_of(self, noun: str) -> list[str]:
        """The details of its receipts."""
        ...

    def put(self, lines: Iterable[tuple[int, Action]]) -> None:
        """These acts at these places, whatever stood there."""
        ...

    def drop_line(self, seq: int) -> None: ...
    def rewrite(self, seq: int, payload: str) -> None: ...
    def drop_vectors(self, seqs: set[int], heirs: set[int]) -> None:
        """Those of these turns and their passages, and of what admission read out of them and of their heirs."""
        ...

    def drop_all_derived(self) -> None:
        """Cursors, models, copies, counts and vectors of the whole namespace."""
        ...

    def drop_session(self, session: int) -> None: ...
    def drop_counts(self, record_ids: Iterable[str]) -> None: ...
    def clear_views(self) -> None: ...
    def drop_name(self) -> None: ...
    def note_unswept(self) -> None: ...


def find_doomed(ground: Ground, scope: Scope, noun: str) -> Doomed:
    """NotFound if there is no such namespace, session, turn or record."""
    if not ground.is_there():
        raise NotFound(f"there is nothing of the namespace {ground.namespace!r} in this store")
    if scope is Scope.RECORD:
        text = ground.record_text(noun)
        if text is None:
            raise NotFound(f"there is no record {noun!r} in this namespace")
        return Doomed([], {noun: text}, {noun})
    doomed = Doomed(ground.turns(scope, noun))
    if scope is Scope.TURN and not doomed.turns:
        raise NotFound(f"there is no turn {noun!r} in this namespace")
    if scope is Scope.SESSION and not ground.has_session(noun):
        raise NotFound(f"there is no session {noun!r} in this namespace")
    if scope is Scope.NAMESPACE:
        doomed.records = ground.records()
        doomed.own = set(doomed.records)
        return doomed
    seqs = {turn.seq for turn in doomed.turns}
    for record, text, born, compacted in ground.records_of(seqs):
        doomed.records[record] = text
        if born in seqs or compacted:
            doomed.own.add(record)
    return doomed
