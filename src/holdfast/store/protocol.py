"""The seam to a database: what an engine must do, and nothing it may decide.

An engine keeps the log and the views derived from it, each key beginning with the namespace, so that one namespace
never touches another's rows and a server engine can shard by it. Blocks and segments are opaque bytes here; their
layout belongs to index/blocks.py. A view changes only together with the cursor that says how far it has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from holdfast.log.acts import Line
from holdfast.log.align import Place
from holdfast.log.tombstones import Tombstone
from holdfast.model import Action, Decision, Entry, Kind, Metadata, NewTurn, Provenance, Record, Turn
from holdfast.store.types import (
    BlockRef,
    Changes,
    Content,
    Counts,
    Document,
    Held,
    Idle,
    Move,
    Scope,
    Server,
    SessionSpan,
    Space,
    Standing,
    Swept,
    TakenOver,
)


class Snapshot(Protocol):
    """One namespace as it stood at one moment."""

    def end(self, space: Space = Space.TURN) -> int:
        """The highest number in use: for turns, the end of the log."""
        ...

    def lines(self) -> Iterator[Line]:
        """The whole log in order, a line at a time."""
        ...

    def line_counts(self) -> dict[str, int]:
        """How many lines of each kind the log has, by the kind's name."""
        ...

    def cursor(self, stage: str) -> int: ...
    def counts(self) -> Counts: ...
    def documents(self, space: Space, after: int, limit: int) -> list[Document]: ...

    def numbers_before(self, session: int, index: int, limit: int) -> list[int]:
        """The last turns of a session before a place in it, oldest first."""
        ...

    def session_number(self, session: str) -> int | None: ...
    def places(self, session: str) -> list[Place]: ...
    def tombstones(self, session: str) -> list[tuple[int, Tombstone]]:
        """The session's turns that were erased: place in the log, and what stands there."""
        ...

    def erasures(self) -> tuple[int, datetime | None]:
        """How many turns and records were erased here, and when last."""
        ...

    def erased_at(self, noun_id: str) -> datetime | None:
        """When the turn or record of this id was erased; None if it was not."""
        ...

    def is_refused(self, text: str) -> bool:
        """Whether a record that said this was erased: it is not read out of turns again."""
        ...

    def last_index(self, session: str) -> int:
        """The highest index the session ever gave, -1 before its first turn; erased turns keep theirs."""
        ...

    def turn(self, turn_id: str) -> Turn | None: ...
    def turns(self, seqs: Sequence[int]) -> dict[int, Turn]: ...
    def turns_named(self, turn_ids: Sequence[str]) -> dict[str, Turn]: ...
    def thread(self, session: str, after: int, limit: int) -> list[Turn]: ...
    def recent_turns(
        self, limit: int, since: datetime | None, until: datetime | None, session: str | None
    ) -> Iterator[Turn]: ...

    def record(self, record_id: str) -> Record | None: ...
    def records(self, nums: Sequence[int]) -> dict[int, Record]: ...
    def records_of(self, turn: Turn) -> list[Record]: ...
    def is_live(self, record: Record) -> bool:
        """Whether recall may show it: not replaced, not forgotten, and not made of what was forgotten."""
        ...

    def left_over(self, session: str, upto: int) -> list[Turn]:
        """Turns of a session up to this index that no live summary or guidance of a compaction stands for."""
        ...

    def recent_records(
        self, limit: int, kind: Kind | None, since: datetime | None, until: datetime | None, session: str | None
    ) -> list[Record]: ...
    def sessions(self, limit: int, before: str | None = None) -> list[SessionSpan]:
        """A page of them, the one that was spoken in last first; `before` names the last of the page before."""
        ...

    def turns_page(self, limit: int, before: str | None = None, until: datetime | None = None) -> list[Turn]:
        """Turns, forgotten ones too, newest first by when they were said, then by place in the log; `before` is the
        id of the last of the page before.
        """
        ...

    def records_page(
        self,
        limit: int,
        before: str | None = None,
        kind: Kind | None = None,
        provenance: Provenance | None = None,
        live: bool | None = None,
        merged: bool = False,
    ) -> list[Record]:
        """Records in the order of recent_records; `before` is the id of the last of the page before.

        `provenance` as it was said, before the janitor; `live` as is_live has it, None for all; `merged`: only those
        that took in more than one statement, and no digests.
        """
        ...

    def protected(self) -> list[int]:
        """The numbers of the guidance that compactions keep word for word."""
        ...

    def hidden(self, space: Space) -> list[int]: ...
    def gone(self) -> list[int]:
        """Numbers, in order, of records that are other documents now; an index that was quick may hold them still."""
        ...

    def is_hidden(self, noun_id: str) -> bool: ...
    def forgotten(self) -> dict[str, int]:
        """Every id that was forgotten, with the line of the log that did it; some may be derived only later."""
        ...

    def acts(self, subject: str) -> list[Action]: ...
    def proposals(self, turn_ids: Sequence[str]) -> dict[str, Metadata]:
        """What the log holds of a chat model's proposals for these turns."""
        ...

    def receipts(self, subject: str) -> list[Decision]: ...
    def decisions(self, what: Sequence[str]) -> list[tuple[str, Decision]]:
        """(subject, decision) of every receipt of these names; it reads the receipts of the whole namespace."""
        ...

    def successions(self) -> dict[str, str]:
        """Every record that was replaced, with the one that replaced it."""
        ...

    def retired(self) -> list[tuple[int, int]]:
        """(number, microseconds from which it is no longer valid) of every record that was replaced."""
        ...

    def successors(self, turns: Sequence[int]) -> list[tuple[int, int]]:
        """(turn, the turn that replaced or revised what it said), for those of these turns that have one."""
        ...

    def standing(self, fingerprint: str, after: int = 0) -> list[Standing]:
        """Every record with its lifetime in the log and its vector; one that was forgotten ended there.

        `after`: those with a higher number alone.
        """
        ...

    def idle(self) -> Iterator[Idle]:
        """Every live record that was never retrieved, in the order of the log."""
        ...

    def entries(self, entry: Entry) -> list[Action]:
        """Every act of one kind, oldest first."""
        ...

    def orphans(self) -> list[tuple[str, str]]:
        """(what it is, its id) of everything in the views that belongs to nothing."""
        ...

    def models(self) -> dict[str, int]:
        """Every embedding model by its fingerprint, with the turns and records it has vectors of."""
        ...

    def odd_vectors(self, fingerprint: str, sizes: Mapping[Space, int]) -> list[tuple[Space, int]]:
        """Vectors that are not of the size, in bytes of float32, that those of their space are."""
        ...

    def scores(self) -> list[float]:
        """G of every turn the gate judged."""
        ...

    def counters(self, since: str | None) -> list[tuple[str, str, int]]:
        """(day, name, count), oldest day first."""
        ...

    def document_blocks(self, space: Space) -> list[BlockRef]: ...
    def document_block(self, space: Space, block: int) -> bytes: ...
    def postings(self, space: Space, terms: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]: ...
    def segment_blocks(self, space: Space, fingerprint: str) -> list[BlockRef]: ...
    def segment(self, space: Space, fingerprint: str, block: int) -> bytes: ...
    def vectors(self, space: Space, fingerprint: str, nums: Sequence[int]) -> list[tuple[int, bytes]]: ...
    def vectors_between(self, space: Space, fingerprint: str, after: int, upto: int) -> list[tuple[int, bytes]]: ...


class Store(Protocol):
    """A database that holds any number of namespaces."""

    @property
    def location(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def schema(self) -> int: ...

    def is_in_place(self) -> bool:
        """Whether the location still leads to what is open: a file may have been moved away and made anew."""
        ...

    def namespaces(self) -> list[str]:
        """Every namespace that has a name, in the order of their names; erased ones have none."""
        ...

    def bootstrap(self, namespace: str, session: str | None) -> None:
        """Create what is needed; calling it twice changes nothing."""
        ...

    def append(
        self, namespace: str, session: str, turns: Sequence[NewTurn], recorded_at: datetime, expect: int | None = None
    ) -> list[Turn] | None:
        """Put turns at the end of the log, durably, in one transaction.

        A key that the session knows already stores nothing and gives the first turn back. With `expect` (the last
        index the caller knows of) nothing is written and None returned if the session has moved on.
        """
        ...

    def act(self, namespace: str, action: Action) -> None:
        """Put an operator's act into the log and its effect into the views, in one transaction."""
        ...

    def act_once(self, namespace: str, action: Action) -> bool:
        """The same, unless the log holds an act of this kind for the same subject: then nothing is done, and False."""
        ...

    def count_retrievals(self, namespace: str, found: Mapping[str, int], last: datetime) -> None:
        """Raise the counts of records that were found, or whose turn was: the two are one hit (search/hits.py).

        A summary or guidance of a compaction stands for many turns, and is found only as itself. An id of neither a
        turn nor a record (any more) is passed over.
        """
        ...

    def propose(self, namespace: str, action: Action, seq: int, seen: int | None = None) -> bool:
        """Put a model's output for the turn at `seq` into the log; False if it is too late.

        It is too late when the log holds one for that turn, or admission has passed it: a rebuild could not tell that
        it was not used. Or when something was erased since the log ended at `seen`: the model may have been shown it.
        """
        ...

    def take_over(self, namespace: str, lines: Iterable[Line]) -> TakenOver:
        """Put the lines of another log into this one and the acts' effects into the views, in one transaction.

        An empty log gets every line at its own place. One that holds something keeps it, and gets at its end what it
        does not hold; a turn that is here with another content is an InputError, and nothing is written. Lines that
        speak of places in the other log, or come too late for a turn that was judged without them, are left out.
        """
        ...

    def compact(self, namespace: str, action: Action, move: Move) -> bool:
        """Put a compaction into the log, with its records and the cursor's step, in one transaction.

        It does nothing and says False if the session was compacted meanwhile (COMP-4), or a turn of it erased.
        """
        ...

    def erase(self, namespace: str, scope: Scope, noun: str, at: datetime) -> Swept:
        """Destroy a namespace, session, turn or record by its exact name, with everything derived from it.

        One transaction, which also drops the views: derived work makes them anew of what is left. NotFound if there is
        no such thing. Its bytes are gone when sweep() says so; if a crash comes between, the next open (of a
        file) or the next sweep (of a server) does it.
        """
        ...

    def sweep(self) -> str | None:
        """Leave no bytes of what was erased in any file of the store; None when done, else what keeps it from it.

        Of a server's files a client can promise less: see the engine.
        """
        ...

    def content(self, namespace: str, scope: Scope, noun: str) -> Content:
        """What an erase of this would destroy."""
        ...

    def truth(self, namespace: str) -> Iterator[str]:
        """Every text and name that the logs of all namespaces hold as it was given, and what others call their records.

        An import keeps ids: another namespace may have records of the same names as this one.
        """
        ...

    def live_vectors(self) -> Iterator[bytes]:
        """Every vector of a document that is there, of all namespaces, as float32."""
        ...

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Every file of the store, with its bytes a piece at a time; pieces overlap, so that nothing falls between.

        Of a server, every table with the values of its rows.
        """
        ...

    def note_copy(self, namespace: str | None, path: str, at: datetime) -> None:
        """A backup (of no one namespace) or an export was written there."""
        ...

    def copies(self, namespace: str) -> list[str]:
        """Where backups of the store and exports of the namespace were written."""
        ...

    def snapshot(self, namespace: str) -> AbstractContextManager[Snapshot]: ...

    def secret(self) -> bytes:
        """32 random bytes that belong to this store and never change; no export carries them."""
        ...

    def claim(self, namespace: str) -> AbstractContextManager[bool]:
        """Whether this worker may derive for the namespace now; false while another does. A crash gives it free."""
        ...

    def advance(self, namespace: str, moves: Sequence[Move], changes: Changes) -> bool:
        """Write changes and move cursors in one transaction, or do nothing and say False if another was first."""
        ...

    def clear_views(self, namespace: str) -> None:
        """Drop every view of the namespace and replay the operator's acts; turns, vectors and the cuts of long turns
        that vectors belong to stay (INV-3).
        """
        ...

    def drop_lost(self, namespace: str) -> None:
        """Drop what clear_views keeps and a fix must not: vectors and counts of nothing, the cuts of long turns."""
        ...

    def drop_vectors(self, namespace: str, fingerprint: str) -> None:
        """Drop what one model made of this namespace; derived work asks it again."""
        ...

    def check(self) -> list[str]:
        """What the engine's own integrity check has to say; empty when all is well."""
        ...

    def copy(self, path: Path, progress: Callable[[int, int], None] | None = None) -> Held:
        """Copy the whole store, as it stands at one moment, into a file, and check the copy; writers go on."""
        ...

    def size(self) -> int: ...
    def server(self) -> Server | None:
        """What it runs on; None for a file."""
        ...

    def shard(self) -> Server:
        """Spread it over the nodes of its server by namespace; StoreError where there are none."""
        ...

    def close(self) -> None: ...
