"""Whole copies of a store file: made while others write, and checked before anybody relies on them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from urllib.parse import quote

import apsw

from holdfast.errors import StoreBusy, StoreDamaged, StoreForeign, StoreNewer
from holdfast.log.align import digest
from holdfast.settings import StoreSettings
from holdfast.store.rows import ROLES, SLOTS
from holdfast.store.sqlite.connection import NS_SHIFT, NUMBER_MASK, number_of, place, translated, vector_place
from holdfast.store.sqlite.schema import APPLICATION_ID, SCHEMA
from holdfast.store.types import PASSAGES_STAGE, Held, Space

_COMPANIONS = ("-wal", "-shm")
"""Files of SQLite's beside the store: pages that are not in it yet, and their index."""
_FAULTS_NAMED = 3


def copy_store(
    source: Path, target: Path, settings: StoreSettings, progress: Callable[[int, int], None] | None = None
) -> Held:
    """Copy the file as it stands at one moment, and check the copy. Writers of the source go on meanwhile.

    The read transaction around it is what holds the moment: without one, SQLite starts the copy anew whenever another
    connection commits, and under steady writers it would never end.
    """
    with translated(source):
        reader = _open_source(source)
        try:
            reader.execute("BEGIN")
            _identify(reader, source)
            before = _ends_of_logs(reader)
            _copy_pages(reader, target, settings.copy_pages, progress)
            reader.execute("COMMIT")
        finally:
            reader.close()
    held, after = _look(target, source)
    if before != after:
        raise StoreDamaged(f"the copy of {source} does not hold the same log as the store; try it again")
    return held


def set_aside(path: Path, label: str) -> Path | None:
    """Give the store at the path a second name, so that replacing it loses nothing; None if there is none.

    A damaged one is kept too, as it lies: somebody may want to save what is left of it.
    """
    aside = _free_name(path, label)
    there = path.exists()
    if there:
        with suppress(StoreDamaged):
            _check_readable(path)
            _vacate(path)
        try:
            os.link(path, aside)  # the path is never without a store, not even for a moment
        except OSError:
            os.rename(path, aside)  # a file system without second names
    for suffix in _COMPANIONS:
        left = path.with_name(path.name + suffix)
        if left.exists():  # of a store that is damaged or gone: SQLite must not take it for part of the next
            os.replace(left, aside.with_name(aside.name + suffix))
    return aside if there else None


def _free_name(path: Path, label: str) -> Path:
    names = (path.with_name(f"{path.name}.{label}{more}") for more in _more())
    return next(name for name in names if not name.exists())


def _more() -> Iterator[str]:
    yield ""
    yield from (f"-{number}" for number in count(2))


def _check_readable(path: Path) -> None:
    """SQLite throws away what lies beside a file that it cannot read: such a file must not be opened to write."""
    with translated(path), closing(_open_still(path)) as reader:
        reader.pragma("schema_version")


def _vacate(path: Path) -> None:
    """Fold what lies beside the file into it, so that it can be moved as one; StoreBusy while anybody has it open.

    SQLite leaves the WAL only for a connection that is alone, and every open memory holds one.
    """
    with translated(path):
        connection = apsw.Connection(str(path))
        try:
            alone = connection.pragma("journal_mode", "DELETE") == "delete"
        except (apsw.BusyError, apsw.LockedError):
            alone = False
        finally:
            connection.close()
    if not alone:
        raise StoreBusy(f"{path} is in use; stop what uses it, then try again")


def _open_source(path: Path) -> apsw.Connection:
    """Without a WAL beside it a file is read as it lies, so that a backup on a read-only disk can be read too."""
    if path.with_name(path.name + "-wal").exists():
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        connection.pragma("query_only", True)
        return connection
    return _open_still(path)


def _open_still(path: Path) -> apsw.Connection:
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    return apsw.Connection(f"file:{quote(str(path))}?immutable=1", flags=flags)


def _copy_pages(reader: apsw.Connection, target: Path, pages: int, progress: Callable[[int, int], None] | None) -> None:
    with translated(target):
        writer = apsw.Connection(str(target))
        try:
            writer.pragma("journal_mode", "OFF")  # a copy that is not finished is thrown away
            writer.pragma("synchronous", "OFF")  # whoever gives it its name syncs it first
            with writer.backup("main", reader, "main") as copying:
                while not copying.done:
                    copying.step(pages)
                    if progress is not None:
                        progress(copying.page_count - copying.remaining, copying.page_count)
        finally:
            writer.close()


def _look(path: Path, named: Path) -> tuple[Held, list[tuple[object, ...]]]:
    with translated(named):
        reader = _open_still(path)
        try:
            _identify(reader, named)
            faults = [str(row[0]) for row in reader.execute("PRAGMA integrity_check") if row[0] != "ok"]
            faults += _changed_turns(reader)
            if faults:
                shown = "; ".join(faults[:_FAULTS_NAMED])
                raise StoreDamaged(f"{named} is damaged: {shown}. Take another backup")
            return _held(reader), _ends_of_logs(reader)
        except apsw.SQLError as error:
            raise StoreDamaged(f"{named} is damaged: {error}. Take another backup") from error
        finally:
            reader.close()


def _identify(reader: apsw.Connection, path: Path) -> None:
    application, schema = reader.pragma("application_id"), reader.pragma("user_version")
    if application != APPLICATION_ID:
        raise StoreForeign(f"{path} is not a Holdfast store")
    if schema > SCHEMA:
        raise StoreNewer(
            f"{path} was made by a newer Holdfast (schema {schema}, this one knows {SCHEMA}). "
            "Upgrade: pip install -U holdfast"
        )
    if schema < 1:
        raise StoreDamaged(f"{path} is damaged: its schema is {schema}. Take another backup")


def _changed_turns(reader: apsw.Connection) -> list[str]:
    """SQLite checks its own structure; each turn's digest tells whether its text is still the one that was said."""
    rows = reader.execute("SELECT id, role, text, digest FROM log WHERE entry = 'turn'")
    return [
        f"the text of turn {noun} is not the one that was kept"
        for noun, role, text, kept in rows
        if digest(ROLES[int(str(role))], str(text)) != kept
    ]


def _held(reader: apsw.Connection) -> Held:
    return Held(
        namespaces=int(str(reader.execute("SELECT count(*) FROM namespaces").get)),
        turns=int(str(reader.execute("SELECT count(*) FROM log WHERE entry = 'turn'").get)),
        lines=int(str(reader.execute("SELECT count(*) FROM log").get)),
        schema=int(reader.pragma("user_version")),
    )


def _ends_of_logs(reader: apsw.Connection) -> list[tuple[object, ...]]:
    """Namespace, length and end of each log."""
    return list(reader.execute("SELECT ns, count(*), max(pos) FROM log GROUP BY ns ORDER BY ns"))


# --- What is in the tables and should not be: rows that belong to nothing, vectors of no length. For the doctor.


_IS_TURN = "EXISTS (SELECT 1 FROM log WHERE log.pos = (?1 << {shift}) | {num} AND log.entry = 'turn')"
_IS_RECORD = "EXISTS (SELECT 1 FROM records WHERE records.ns = ?1 AND records.id = subject)"
_IS_NOUN = f"""(EXISTS (SELECT 1 FROM log WHERE log.ns = ?1 AND log.id = subject AND log.entry = 'turn')
                OR {_IS_RECORD})"""


def _turn(num: str) -> str:
    return _IS_TURN.format(shift=NS_SHIFT, num=num)


_ORPHANS = {
    "record of no turn": f"""SELECT id FROM records WHERE ns = ?1
        AND NOT EXISTS (SELECT 1 FROM sources WHERE ns = ?1 AND record = records.pos & {NUMBER_MASK})
        AND NOT EXISTS (SELECT 1 FROM log WHERE log.ns = ?1 AND log.id = records.id
                        AND log.entry <> 'turn' AND log.entry = 'remember')""",
    "record of a turn that is gone": f"""SELECT DISTINCT records.id FROM sources
        JOIN records ON records.pos = (?1 << {NS_SHIFT}) | sources.record
        WHERE sources.ns = ?1 AND NOT {_turn("sources.turn")}""",
    "link of no record": f"""SELECT DISTINCT record FROM sources WHERE ns = ?1
        AND NOT EXISTS (SELECT 1 FROM records WHERE records.pos = (?1 << {NS_SHIFT}) | sources.record)""",
    "receipt of nothing": f"SELECT DISTINCT subject FROM receipts WHERE ns = ?1 AND NOT {_IS_NOUN}",
    "count of no record": f"SELECT subject FROM retrievals WHERE ns = ?1 AND NOT {_IS_RECORD}",
    "signals of no turn": f"""SELECT pos & {NUMBER_MASK} FROM signals WHERE ns = ?1
        AND NOT {_turn(f"(signals.pos & {NUMBER_MASK})")}""",
}
_NO_PASSAGE = f"pos BETWEEN ?2 AND ?3 AND NOT {_turn('passages.turn')}"
# A record whose text changed leaves the vector of its old number behind (records.py): that number is gone, not lost.
_NUM = f"(vectors.pos & {NUMBER_MASK})"
_BELONGS = {
    Space.TURN: _turn(_NUM),
    Space.TOLD: _turn(_NUM),
    Space.WINDOW: _turn(_NUM),
    Space.RECORD: f"""(EXISTS (SELECT 1 FROM records WHERE records.pos = (?1 << {NS_SHIFT}) | {_NUM})
                       OR EXISTS (SELECT 1 FROM gone WHERE gone.ns = ?1 AND gone.num = {_NUM}))""",
}


def orphans(connection: apsw.Connection, ns: int) -> list[tuple[str, str]]:
    """(what it is, its id or number)."""
    found = [(what, str(one)) for what, sql in _ORPHANS.items() for (one,) in connection.execute(sql, (ns,))]
    rows = connection.execute(f"SELECT pos FROM passages WHERE {_NO_PASSAGE}", _span(ns))
    found += [("passage of no turn", str(number_of(pos))) for (pos,) in rows if isinstance(pos, int)]
    for space, where, span in _lost_vectors(ns):
        rows = connection.execute(f"SELECT pos FROM vectors WHERE {where}", span)
        noun = "record" if space is Space.RECORD else "turn"
        found += [
            (f"vector of no {noun}", f"{space.name.lower()} {number_of(pos)}")
            for (pos,) in rows
            if isinstance(pos, int)
        ]
    return found


def drop_lost(connection: apsw.Connection, ns: int) -> None:
    """What a rebuild would leave, and must not where something is wrong: lost vectors and counts, and all the cuts of
    long turns, which are made anew.
    """
    connection.execute("DELETE FROM passages WHERE pos BETWEEN ? AND ?", _span(ns)[1:])
    connection.execute("DELETE FROM cursors WHERE ns = ? AND stage = ?", (ns, PASSAGES_STAGE))
    connection.execute(f"DELETE FROM retrievals WHERE ns = ?1 AND NOT {_IS_RECORD}", (ns,))
    for _, where, span in _lost_vectors(ns):
        connection.execute(f"DELETE FROM vectors WHERE {where}", span)


def _span(ns: int) -> tuple[int, int, int]:
    return ns, place(ns, 0), place(ns + 1, 0) - 1


def _lost_vectors(ns: int) -> Iterator[tuple[Space, str, tuple[int, int, int]]]:
    """Vectors of each space of each model that belong to nothing."""
    for slot in range(SLOTS):
        for space, belongs in _BELONGS.items():
            first = vector_place(ns, slot, space, 0)
            yield space, f"pos BETWEEN ?2 AND ?3 AND NOT {belongs}", (ns, first, first | NUMBER_MASK)


def models(connection: apsw.Connection, ns: int) -> dict[str, int]:
    """Every model that has vectors here, and how many turns and records it embedded."""
    found = {}
    for slot, fingerprint in list(connection.execute("SELECT slot, fingerprint FROM models WHERE ns = ?", (ns,))):
        assert isinstance(slot, int)
        count = 0
        for space in (Space.TURN, Space.RECORD):
            first = vector_place(ns, slot, space, 0)
            many = connection.execute(
                "SELECT count(*) FROM vectors WHERE pos BETWEEN ? AND ?", (first, first | NUMBER_MASK)
            ).get
            count += many
        found[str(fingerprint)] = count
    return found


def odd_vectors(
    connection: apsw.Connection, ns: int, slot: int, sizes: Mapping[Space, int]
) -> Iterator[tuple[Space, int]]:
    """Vectors whose row is not of the size, in bytes of float32, that it should be."""
    for space, size in sizes.items():
        first = vector_place(ns, slot, space, 0)
        away = first - vector_place(ns, slot, Space.TURN, 0)
        own = f"SELECT 1 FROM vectors AS own WHERE own.pos = vectors.pos - {away}"
        borrowed = f"(length(data) = 0 AND EXISTS ({own}))" if space is Space.TOLD else "FALSE"  # AS_TURN
        rows = connection.execute(
            f"""SELECT pos FROM vectors WHERE pos BETWEEN ? AND ? AND NOT {borrowed}
                AND (typeof(data) <> 'blob' OR length(data) NOT IN ({size}, {size // 2 + 1}))""",  # halves.py
            (first, first | NUMBER_MASK),
        ).fetchall()
        yield from ((space, number_of(pos)) for (pos,) in rows if isinstance(pos, int))


def drop_vectors(connection: apsw.Connection, ns: int, fingerprint: str) -> None:
    """Everything that one model made here; whoever derives next asks it again."""
    row = connection.execute("SELECT slot FROM models WHERE ns = ? AND fingerprint = ?", (ns, fingerprint)).fetchone()
    if row is None:
        return
    slot = row[0]
    assert isinstance(slot, int)
    for space in Space:
        first = vector_place(ns, slot, space, 0)
        connection.execute("DELETE FROM vectors WHERE pos BETWEEN ? AND ?", (first, first | NUMBER_MASK))
    connection.execute("DELETE FROM segments WHERE ns = ? AND slot = ?", (ns, slot))
    connection.execute(
        """DELETE FROM cursors WHERE ns = ?1 AND (stage GLOB 'vectors:*' OR stage GLOB 'segments:*')
           AND substr(stage, -length(?2) - 1) = ':' || ?2""",
        (ns, fingerprint),
    )
