"""The store: any number of namespaces in one database, each with its log and the views derived from it.

`Store` is the same for both engines. What differs between a SQLite file and a PostgreSQL server is behind `Database`.
Every key begins with the namespace, so that one namespace never touches the rows of another, and a server can be
sharded by it. Blocks and segments are opaque bytes here (index/blocks.py). A view changes only together with the cursor
that says how far it has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Protocol, TypeVar

from holdfast.errors import StoreBusy, StoreError
from holdfast.log.acts import Line, read_compaction
from holdfast.log.messages import new_id
from holdfast.model import Action, NewTurn, Turn, to_micros
from holdfast.settings import StoreSettings
from holdfast.store.erase import erase, read_content, read_live_texts, read_live_vectors
from holdfast.store.health import changed_lines, drop_orphans, drop_vectors
from holdfast.store.lines import (
    admitted,
    cursor,
    erased_since,
    holds_act,
    import_lines,
    session_number,
    turn_places,
    write_act,
)
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import (
    Changes,
    EraseContent,
    EraseCounts,
    ImportCounts,
    Move,
    Scope,
    Server,
    StoreCounts,
    Transaction,
)
from holdfast.store.writes import advance, apply_act, clear_views, count_retrievals

_ERASE_WAIT_S = 120.0  # for the current batch of derived work, which may include timeouts of a model

T = TypeVar("T")
_COPIES = "SELECT path FROM copies WHERE ns = :ns"


class Database(Protocol):
    """Interface of an engine: transactions, claims, and care for its own files or server."""

    engine: str
    schema: int
    """The version of its tables."""

    @property
    def location(self) -> str: ...
    @property
    def secret(self) -> bytes: ...

    def reading(self, namespace: str) -> AbstractContextManager[Transaction]:
        """Open a transaction in which everything is seen as it was at one moment; inside of another one, the same."""
        ...

    def write(self, namespace: str, work: Callable[[Transaction], T], repeat: bool = True) -> T:
        """Run `work` in one transaction, durably.

        It may be run several times, but only one of them is committed. Without `repeat` it is not run again when the
        connection was lost during the commit and nobody can know whether it was committed.
        """
        ...

    def append(
        self,
        namespace: str,
        session: str,
        turns: Sequence[NewTurn],
        ids: Sequence[str],
        recorded_at: datetime,
        expect: int | None,
    ) -> list[Turn] | None: ...

    def claimed(self, namespace: str, wait_s: float = 0.0) -> AbstractContextManager[bool]:
        """Claim a namespace for derived work, and wait for another's end if necessary."""
        ...

    def write_claimed(self, namespace: str, work: Callable[[Transaction], T], wait_s: float) -> T | None:
        """Write while nobody derives; None if derived work did not pause in time."""
        ...

    def is_in_place(self) -> bool: ...
    def replaced_files(self) -> list[str]:
        """Return the files that a restore replaced and kept."""
        ...

    def sweep(self) -> str | None: ...
    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]: ...
    def check(self) -> list[str]: ...
    def copy(self, path: Path, progress: Callable[[int, int], None] | None = None) -> StoreCounts: ...
    def size(self) -> int: ...
    def server(self) -> Server | None: ...
    def shard(self) -> Server: ...
    def close(self) -> None: ...


class Store:
    """A database that holds any number of namespaces. Safe to share between threads."""

    def __init__(self, database: Database, settings: StoreSettings) -> None:
        self.database = database
        self._settings = settings

    @property
    def location(self) -> str:
        """The path of the file, or the address of the server without its password."""
        return self.database.location

    @property
    def engine(self) -> str:
        return self.database.engine

    @property
    def schema(self) -> int:
        return self.database.schema

    def secret(self) -> bytes:
        """Return 32 random bytes that belong to this store and never change; no export contains them."""
        return self.database.secret

    def is_in_place(self) -> bool:
        """Return whether the location still leads to the database that is open: a file may have been replaced."""
        return self.database.is_in_place()

    def namespaces(self) -> list[str]:
        """Return the names of all namespaces, sorted; erased ones have none."""
        with self.database.reading("") as tx:
            return sorted(one.namespace for one in tx.every() if one.namespace)

    @contextmanager
    def snapshot(self, namespace: str) -> Iterator[Snapshot]:
        """Open a namespace for reading, as it is at this moment; inside of another snapshot, as it was for that one."""
        with self.database.reading(namespace) as tx:
            yield Snapshot(tx)

    # --- the log

    def bootstrap(self, namespace: str, session: str | None) -> None:
        """Create a namespace and a session if they do not exist."""

        def work(tx: Transaction) -> None:
            tx.hold_log()
            if session is not None:
                session_number(tx, session)

        self.database.write(namespace, work)

    def append(
        self, namespace: str, session: str, turns: Sequence[NewTurn], recorded_at: datetime, expect: int | None = None
    ) -> list[Turn] | None:
        """Append turns to the log, durably, in one transaction.

        A key that the session knows stores nothing and returns the first turn again. With `expect`, the last index that
        the caller knows of, nothing is written and None is returned if the session has moved on.
        """
        ids = [new_id("t", recorded_at) for _ in turns]
        return self.database.append(namespace, session, turns, ids, recorded_at, expect)

    def act(self, namespace: str, action: Action, once: bool = False) -> bool:
        """Append an act to the log and apply it to the views, in one transaction.

        With `once`, nothing is done and False returned if the log contains an act of this kind for the same subject.
        """

        def work(tx: Transaction) -> bool:
            tx.hold_views()
            return not (once and holds_act(tx, action)) and _act(tx, action)

        return self.database.write(namespace, work)

    def propose(self, namespace: str, action: Action, seq: int, seen: int | None = None) -> bool:
        """Write a model's output for the turn at `seq` into the log; return False if it is too late.

        It is too late when the log contains one for that turn, or admission has passed the turn: a rebuild could not
        tell that it was not used. Or when something was erased since the log ended at `seen`: the model may have been
        shown it.
        """

        def work(tx: Transaction) -> bool:
            tx.hold_views()
            tx.hold_log()
            if admitted(tx) >= seq or holds_act(tx, action) or (seen is not None and erased_since(tx, seen)):
                return False
            write_act(tx, action)
            return True

        return self.database.write(namespace, work)

    def compact(self, namespace: str, action: Action, move: Move) -> bool:
        """Write a compaction into the log, with its records and the step of the cursor, in one transaction.

        Do nothing and return False if the session was compacted meanwhile (COMP-4), or one of its turns erased.
        """

        def work(tx: Transaction) -> bool:
            tx.hold_views()
            turn_ids = {turn_id for one in read_compaction(action.payload).records for turn_id in one.turn_ids}
            if cursor(tx, move.stage) != move.after or len(turn_places(tx, turn_ids)) < len(turn_ids):
                return False
            return _act(tx, action)

        return self.database.write(namespace, work)

    def import_lines(self, namespace: str, lines: Iterable[Line]) -> ImportCounts:
        """Write the lines of another log into this one and apply the acts to the views, in one transaction.

        An empty log gets every line at its own place. To one with lines, those that it does not have are appended; a
        turn that is here with another content raises InputError, and nothing is written. Lines that speak of places in
        the other log, or come too late for a turn that was judged without them, are left out.
        """
        begun = False

        def work(tx: Transaction) -> ImportCounts:
            nonlocal begun
            if begun:  # the lines may be a stream, which cannot be read twice
                raise StoreBusy(f"the connection to {self.location} was lost during the import; run it again")
            begun = True
            return import_lines(tx, lines, lambda seq, action: apply_act(tx, seq, action))

        return self.database.write(namespace, work)

    # --- derived work

    def claim(self, namespace: str) -> AbstractContextManager[bool]:
        """Claim a namespace for derived work; False while another worker has it. A crash releases the claim."""
        return self.database.claimed(namespace)

    def advance(self, namespace: str, moves: Sequence[Move], changes: Changes) -> bool:
        """Write changes and move cursors in one transaction; do nothing and return False if another was first."""
        begun = False

        def work(tx: Transaction) -> bool:
            nonlocal begun
            again, begun = begun, True
            tx.hold_views()
            return advance(tx, moves, changes, again)

        return self.database.write(namespace, work)

    def count_retrievals(self, namespace: str, found: Mapping[str, int], last: datetime) -> None:
        """Raise the counts of records that were found, or whose turn was: the two are one hit (search/search.py).

        A summary or guidance of a compaction replaces many turns, and is found only as itself. Ids of neither a turn
        nor a record are ignored.
        """

        def work(tx: Transaction) -> None:
            tx.hold_views(change=False)
            count_retrievals(tx, found, last)

        self.database.write(namespace, work, repeat=False)  # rather once too few than counted twice

    def clear_views(self, namespace: str) -> None:
        """Drop the views of a namespace and replay the acts; turns, vectors and passages stay (INV-3)."""

        def work(tx: Transaction) -> None:
            tx.hold_views()
            tx.hold_log()
            clear_views(tx)

        self.database.write(namespace, work)

    def drop_orphans(self, namespace: str) -> None:
        """Drop what clear_views keeps and a repair must not: vectors and counts of nothing, and all passages."""

        def work(tx: Transaction) -> None:
            tx.hold_views()
            drop_orphans(tx)

        self.database.write(namespace, work)

    def drop_vectors(self, namespace: str, fingerprint: str) -> None:
        """Drop what one model made of a namespace; derived work asks it again."""

        def work(tx: Transaction) -> None:
            tx.hold_views()
            drop_vectors(tx, fingerprint)

        self.database.write(namespace, work)

    # --- erasing

    def erase(self, namespace: str, scope: Scope, noun: str, at: datetime) -> EraseCounts:
        """Destroy a namespace, session, turn or record by its exact name, with everything derived from it.

        One transaction, which also drops the views: derived work makes them again from what is left. Raises NotFound
        if there is no such thing. Its bytes are gone when sweep() has succeeded; after a crash in between, the next
        open (of a file) or the next sweep (of a server) does it.
        """

        def work(tx: Transaction) -> EraseCounts:
            if tx.is_named():  # an erase must not create the namespace
                tx.hold_views()
                tx.hold_log()
            return erase(tx, scope, noun, at)

        # A worker that has read the turn already would write what it derived from it afterwards: none may be at work.
        done = self.database.write_claimed(namespace, work, _ERASE_WAIT_S)
        if done is None:
            raise StoreBusy(
                f"derived work on {namespace!r} in {self.location} has not paused for {_ERASE_WAIT_S:.0f} s. Try again"
            )
        return done

    def sweep(self) -> str | None:
        """Remove the bytes of what was erased from every file of the store; return None, or what prevents it.

        A client of a server can promise less: see the engine.
        """
        return self.database.sweep()

    def erase_content(self, namespace: str, scope: Scope, noun: str) -> EraseContent:
        """Return what an erase would destroy."""
        with self.database.reading(namespace) as tx:
            return read_content(tx, scope, noun)

    def live_texts(self, namespace: str) -> Iterator[str]:
        """Return every text and name that the logs of all namespaces contain, and the ids of records of the others.

        An import keeps ids: another namespace may have records with the same ids as this one.
        """
        with self.database.reading(namespace) as tx:
            yield from read_live_texts(tx)

    def live_vectors(self) -> Iterator[bytes]:
        """Return every vector, as float32, of a document that exists, of all namespaces."""
        with self.database.reading("") as tx:
            yield from read_live_vectors(tx)

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Return every file of the store with its bytes in pieces that overlap; of a server, every table."""
        return self.database.files()

    def note_copy(self, namespace: str | None, path: str, at: datetime) -> None:
        """Note that a backup of the store, or an export of a namespace, was written to a path."""

        def work(tx: Transaction) -> None:
            owner = tx.whole_store() if namespace is None else tx
            if namespace is None or tx.is_named():
                updated = "ON CONFLICT (ns, path) DO UPDATE SET at = excluded.at"
                owner.insert("copies", "path, at", [(path, to_micros(at))], updated)

        self.database.write(namespace or "", work)

    def copies(self, namespace: str) -> list[str]:
        """Return where backups of the store and exports of the namespace were written."""
        with self.database.reading(namespace) as tx:
            noted = [path for one in (tx, tx.whole_store()) for (path,) in one.rows(_COPIES)]
        return sorted(noted) + self.database.replaced_files()

    # --- the database itself

    def check(self) -> list[str]:
        """Return the faults that the engine finds, and the lines of a log that changed after they were written."""
        found = self.database.check()
        try:
            names = self.namespaces()
        except StoreError as error:
            return [*found, str(error)]
        for namespace in names:
            try:
                with self.database.reading(namespace) as tx:
                    found += [f"{namespace}: {fault}" for fault in changed_lines(tx)]
            except StoreError as error:
                found.append(f"{namespace}: {error}")
        return found

    def copy(self, path: Path, progress: Callable[[int, int], None] | None = None) -> StoreCounts:
        """Copy the whole store, as it is at this moment, into a file, and check the copy. Writers go on."""
        return self.database.copy(path, progress)

    def size(self) -> int:
        """Return its size in bytes."""
        return self.database.size()

    def server(self) -> Server | None:
        """Describe the server; None for a file."""
        return self.database.server()

    def shard(self) -> Server:
        """Distribute the tables over the nodes of the server by namespace; StoreError where there are none."""
        return self.database.shard()

    def close(self) -> None:
        self.database.close()


def _act(tx: Transaction, action: Action) -> bool:
    apply_act(tx, write_act(tx, action), action)
    return True
