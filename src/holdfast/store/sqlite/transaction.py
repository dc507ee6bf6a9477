"""One namespace of a SQLite file inside a transaction, and the translation of statements for SQLite.

Statements are written once for both engines (see `Transaction` in store/types.py), with the keys that PostgreSQL has:
(ns, seq), (ns, num), and (ns, slot, space, num) for vectors. SQLite packs such a key into one integer, `pos`, which
saves an index and keeps the rows of a namespace next to each other. `translate` rewrites the statements.
"""

from __future__ import annotations

import errno
import os
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property, lru_cache
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import apsw

from holdfast.errors import StoreBusy, StoreDamaged, StoreError, StoreReadOnly
from holdfast.log.acts import Marker
from holdfast.store.rows import SLOTS
from holdfast.store.types import Row, Space, WrittenLine

# 63 bits: 4 million namespaces of 17 billion entries each, and for vectors 16 models and 8 spaces in between.
_NUM_BITS = 34
_SPACE_BITS = 3
_SPACE_CODE = {Space.TURN: 0, Space.PASSAGE: 1, Space.STATEMENT: 2, Space.WINDOW: 3, Space.RECORD: 4, Space.CLAIM: 5}
"""Stored in keys: never change one. Records had code 4 before there were as many spaces."""
_SPACE_OF = {code: space for space, code in _SPACE_CODE.items()}
_SLOT_BITS = (SLOTS - 1).bit_length()
NS_SHIFT = _NUM_BITS + _SPACE_BITS + _SLOT_BITS
_FILES_OF_CONNECTION = 3  # the database, its WAL and its shared memory
NUMBER_MASK = (1 << _NUM_BITS) - 1
"""Also what separates the spaces of a slot, as a bit mask of their positions."""

NO_NAMESPACE = -1
"""The number of a namespace that does not exist: every statement finds nothing."""
WHOLE_STORE = 0
"""The number of rows that belong to no namespace, such as the list of backups."""
_LIST_LENGTHS = (1, 4, 16, 64, 128, 500)
"""Lists are padded to one of these lengths and longer ones are split: compiling a statement takes longer than running
it, and lists of any length would be hundreds of statements."""


def position(ns: int, num: int) -> int:
    """Return the key of a line of the log, a record or a passage."""
    return vector_position(ns, 0, Space.TURN, num)


def vector_position(ns: int, slot: int, space: Space, num: int) -> int:
    """Return the key of a vector."""
    assert 0 <= num <= NUMBER_MASK and 0 <= slot < SLOTS, "a number out of range would be a row of another namespace"
    return (ns << NS_SHIFT) | (slot << (_NUM_BITS + _SPACE_BITS)) | (_SPACE_CODE[space] << _NUM_BITS) | num


# --- Translation of statements.

_KEYS = {"log": "seq", "signals": "seq", "records": "num", "passages": "num", "vectors": "num"}
_TABLES = re.compile(r"\b(?:FROM|JOIN|UPDATE) (log|signals|records|passages|vectors)\b(?: AS (\w+))?")
_NS = f":ns << {NS_SHIFT}"
_NEXT_NS = f":ns + 1 << {NS_SHIFT}"
_OPERAND = r"(:\w+|\d+|\w+\.\w+)"
_SPELLINGS = [
    (re.compile(pattern), spelling)
    for pattern, spelling in (
        (r"\b(\w+)\.compaction\b", r"(\1.metadata ->> '$.compaction')"),
        (r"\b(\w+)\.partial\b", r"(\1.metadata ->> '$.partial' IS NOT NULL)"),
        (r"(\w+\.data \|\| excluded\.data)", r"CAST(\1 AS BLOB)"),
        (r"\bgreatest\(", "max("),
        (r"\bjson_object_agg\(", "json_group_object("),
        (r"/\*(INDEXED BY \w+)\*/", r"\1"),
    )
]


@lru_cache(maxsize=2000)
def translate(sql: str) -> str:
    """Rewrite a statement for SQLite's keys and functions. A key column it misses is an error of SQLite, not a leak."""
    sql = " ".join(sql.split())
    names = {alias or table: table for table, alias in _TABLES.findall(sql)}
    for name, table in names.items():
        sql = _rekey_vectors(sql, name) if table == "vectors" else _rekey_numbered(sql, name, _KEYS[table])
    for name, table in names.items():
        key = _KEYS[table]
        if table in ("passages", "signals", "vectors"):  # without an index that begins with the namespace
            sql = sql.replace(f"{name}.ns = :ns", f"{name}.pos >= {_NS} AND {name}.pos < {_NEXT_NS}")
        sql = re.sub(rf"max\({name}\.{key}\)", rf"max({name}.pos) & {NUMBER_MASK}", sql)
        sql = re.sub(rf"(\.at|\.born), {name}\.{key}\b", rf"\1, {name}.pos", sql)  # compared as it is ordered
        sql = re.sub(rf"(ORDER BY [^()]*?)\b{name}\.{key}\b", rf"\1{name}.pos", sql)
        sql = re.sub(rf"\b{name}\.{key}\b", f"({name}.pos & {NUMBER_MASK})", sql)
    for pattern, spelling in _SPELLINGS:
        sql = pattern.sub(spelling, sql)
    return sql


def _rekey_numbered(sql: str, name: str, key: str) -> str:
    both, within = rf"\b{name}\.ns = :ns AND {name}\.{key}", f"{name}.pos >= {_NS} AND {name}.pos < {_NEXT_NS}"
    sql = re.sub(rf"{both} = (\w+\.\w+)", rf"{name}.pos = ({_NS} | \1)", sql)
    sql = re.sub(rf"{both} IN :", rf"{name}.pos IN position :", sql)
    # A number out of range must not reach the rows of another namespace.
    return re.sub(rf"{both} (=|>=?) (:\w+|\d+)", rf"{name}.pos \1 ({_NS} | \2) AND {within}", sql)


def _rekey_vectors(sql: str, name: str) -> str:
    """`:first` and `:last` are the ends of a space; the transaction binds them."""
    space = rf"\b{name}\.ns = :ns AND {name}\.slot = :slot AND {name}\.space = :space"
    sql = re.sub(space, rf"{name}.pos BETWEEN :first AND :last", sql)
    turns = rf"\b{name}\.ns = :ns AND {name}\.slot = :slot AND {name}\.space = 0 AND {name}\.num = {_OPERAND}"
    sql = re.sub(turns, rf"{name}.pos = ({_NS}) + (:slot << {_NUM_BITS + _SPACE_BITS}) + \1", sql)
    sql = re.sub(rf"\b{name}\.num (=|>|<=) {_OPERAND}", rf"{name}.pos \1 :first + \2", sql)
    sql = re.sub(rf"\b{name}\.num IN :", rf"{name}.pos IN position :", sql)
    return re.sub(rf"\bSET num = {_OPERAND}", r"SET pos = :first + \1", sql)


@lru_cache(maxsize=2000)
def _positions(sql: str) -> list[str]:
    """Return the lists that are compared with the key of a table."""
    return re.findall(r"\bIN position :(\w+)", sql)


@lru_cache(maxsize=2000)
def _expand(sql: str, lists: tuple[tuple[str, int], ...]) -> str:
    """Write out `IN :name` for lists of these lengths."""
    for name, length in lists:
        marks = ", ".join(f":{name}{at}" for at in range(length))
        sql = re.sub(rf"\bIN (?:position )?:{name}\b", f"IN ({marks})", sql)
    return sql


_KEY_COLUMNS = {"log": 1, "signals": 1, "records": 1, "passages": 1, "vectors": 3}
_WITHOUT_NS = ("passages", "vectors")
_ONLY_IN_METADATA = ("compaction", "partial")


class SqliteTransaction:
    engine = "sqlite"
    conflict: type[Exception] = apsw.ConstraintError

    def __init__(self, connection: apsw.Connection, namespace: str, ns: int | None = None) -> None:
        self.connection = connection
        self.namespace = namespace
        if ns is None:
            ns = known_namespace(connection, namespace)
        self.ns = NO_NAMESPACE if ns is None else ns
        self.wrote: WrittenLine | None = None
        self.session_end: tuple[int, int, int] | None = None

    @cached_property
    def marker(self) -> Marker:
        return Marker(read_secret(self.connection), self.namespace)

    # --- running statements

    def rows(self, sql: str, **values: object) -> list[Row]:
        return list(self.stream(sql, **values))

    def kept(self, sql: str, by: str = "", column: int = 0, /, **values: object) -> list[Row]:
        return self.rows(sql, **values)  # reading is as fast as asking whether something changed

    def row(self, sql: str, **values: object) -> Row | None:
        return next(self.stream(sql, **values), None)

    def one(self, sql: str, **values: object) -> Any:
        row = self.row(sql, **values)
        return row[0] if row else None

    def execute(self, sql: str, **values: object) -> None:
        for _ in self.stream(sql, **values):
            pass

    def stream(self, sql: str, **values: object) -> Iterator[Row]:
        lists = {name: value for name, value in values.items() if isinstance(value, list)}
        if not lists:
            return self.connection.execute(translate(sql), self._bound(values))
        return self._stream_lists(translate(sql), values, lists)

    def _stream_lists(self, sql: str, values: Mapping[str, object], lists: dict[str, list[Any]]) -> Iterator[Row]:
        base = self._bound(values).get("first", self.ns << NS_SHIFT)
        for name in _positions(sql):  # lists of numbers that are compared with keys
            assert all(0 <= num <= NUMBER_MASK for num in lists[name])
            lists[name] = [base + num for num in lists[name]]
        longest = max(lists, key=lambda name: len(lists[name]))
        for start in range(0, len(lists[longest]), _LIST_LENGTHS[-1]):
            parts = lists | {longest: lists[longest][start : start + _LIST_LENGTHS[-1]]}
            bound = {name: value for name, value in values.items() if name not in lists}
            lengths = []
            for name, part in parts.items():
                if not part:
                    return
                length = next(most for most in _LIST_LENGTHS if most >= len(part))
                padded = [*part, *[part[-1]] * (length - len(part))]
                bound |= {f"{name}{at}": one for at, one in enumerate(padded)}
                lengths.append((name, length))
            yield from self.connection.execute(_expand(sql, tuple(lengths)), self._bound(bound))

    def many(self, sql: str, values: Iterable[Mapping[str, object]]) -> None:
        self.connection.executemany(translate(sql), [self._bound(one) for one in values])

    def insert(self, table: str, columns: str, rows: Iterable[Sequence[object]], conflict: str = "") -> None:
        every = list(rows)
        if every and self.ns == NO_NAMESPACE:
            self._name()
        sql, kept = _insertion(table, columns, conflict)
        keys = _KEY_COLUMNS.get(table, 0)
        self.connection.executemany(sql, [self._insertable(table, keys, kept, row) for row in every])

    def _insertable(self, table: str, keys: int, kept: tuple[int, ...], row: Sequence[object]) -> list[Any]:
        first: list[Any] = [] if table in _WITHOUT_NS else [self.ns]
        if keys:
            slot, space, num = (0, Space.TURN, row[0]) if keys == 1 else row[:3]
            first = [vector_position(self.ns, slot, Space(space), num), *first]  # type: ignore[arg-type]
        return [*first, *(row[at] for at in kept)]

    def _bound(self, values: Mapping[str, object]) -> dict[str, Any]:
        bound = {"ns": self.ns, **values}
        if "slot" in values and "space" in values:
            first = vector_position(self.ns, values["slot"], Space(values["space"]), 0)  # type: ignore[arg-type]
            bound |= {"first": first, "last": first | NUMBER_MASK}
        return bound

    # --- parts of a long text: SQLite's functions would read all of it

    def beginnings(self, chars: Mapping[int, int]) -> dict[int, str]:
        return {seq: self._beginning(seq, most) for seq, most in chars.items()}

    def _beginning(self, seq: int, chars: int) -> str:
        read, decoder = "", getincrementaldecoder("utf-8")()
        with self._text(seq) as text:
            while len(read) < chars and (data := text.read(chars - len(read))):  # a letter may have several bytes
                read += decoder.decode(data)
        return read

    def ending(self, seq: int, chars: int) -> tuple[str, int]:
        with self._text(seq) as text:
            size = text.length()
            text.seek(max(size - 4 * chars, 0))
            data = text.read()
        start = next(at for at, byte in enumerate(data) if byte & 0xC0 != 0x80)  # not inside a letter
        return data[start:].decode()[-chars:], size

    def _text(self, seq: int) -> apsw.Blob:
        return self.connection.blob_open("main", "log", "text", self.ns << NS_SHIFT | seq, False)

    # --- the namespace

    def every(self) -> list[SqliteTransaction]:
        named = self.connection.execute("SELECT name, ns FROM namespaces UNION ALL SELECT '', ns FROM nameless")
        every: list[Row] = named.fetchall()
        found = [SqliteTransaction(self.connection, name, ns) for name, ns in every]
        return [*found, self.whole_store()]

    def whole_store(self) -> SqliteTransaction:
        return SqliteTransaction(self.connection, "", WHOLE_STORE)

    def stored_vectors(self) -> Iterator[tuple[Space, int, bytes]]:
        rows = self.connection.execute(
            f"SELECT pos, data FROM vectors WHERE pos >= {_NS} AND pos < {_NEXT_NS}", {"ns": self.ns}
        )
        for pos, data in rows:
            yield _SPACE_OF[pos >> _NUM_BITS & (1 << _SPACE_BITS) - 1], pos & NUMBER_MASK, data

    def is_named(self) -> bool:
        return self.connection.execute("SELECT 1 FROM namespaces WHERE ns = ?", (self.ns,)).fetchone() is not None

    def is_missing(self) -> bool:
        return False

    def hold_log(self) -> int:
        if self.ns == NO_NAMESPACE or not self.is_named():
            self._name()
        return self.last_seq()

    def last_seq(self) -> int:
        return int(self.one("SELECT max(log.seq) FROM log WHERE log.ns = :ns AND log.seq >= 0") or 0)

    def move_end(self, seq: int) -> None:
        pass  # the end of the log is its last line

    def hold_views(self, change: bool = True) -> None:
        pass  # SQLite has one writer

    def _name(self) -> None:
        """Create the namespace. One that was erased gets its number back, and so its tombstones."""
        if self.ns == NO_NAMESPACE:
            self.ns = self.connection.execute(
                """SELECT 1 + max(coalesce((SELECT max(ns) FROM namespaces), 0),
                                  coalesce((SELECT max(ns) FROM nameless), 0))"""
            ).get
        self.connection.execute("DELETE FROM nameless WHERE ns = ?", (self.ns,))
        self.connection.execute("INSERT INTO namespaces VALUES (?, ?)", (self.ns, self.namespace))

    def drop_name(self) -> None:
        """Keep a mark of the name in its place."""
        self.execute("DELETE FROM namespaces WHERE namespaces.ns = :ns")
        self.execute("INSERT OR REPLACE INTO nameless VALUES (:ns, :mark)", mark=self.marker.whole())

    def note_unswept(self) -> None:
        self.execute("INSERT INTO unswept VALUES (0) ON CONFLICT DO NOTHING")


@lru_cache(maxsize=500)
def _insertion(table: str, columns: str, conflict: str) -> tuple[str, tuple[int, ...]]:
    """Return the statement that inserts a row, and which of the given columns it takes besides the key."""
    keys = _KEY_COLUMNS.get(table, 0)
    names = columns.split(", ")
    kept = tuple(at for at in range(keys, len(names)) if names[at] not in _ONLY_IN_METADATA)
    into = [*(["pos"] if keys else []), *([] if table in _WITHOUT_NS else ["ns"]), *(names[at] for at in kept)]
    if keys:
        conflict = re.sub(r"ON CONFLICT \([^)]*\)", "ON CONFLICT (pos)", conflict)
    marks = ", ".join("?" * len(into))
    return translate(f"INSERT INTO {table} ({', '.join(into)}) VALUES ({marks}) {conflict}"), kept


def known_namespace(connection: apsw.Connection, name: str) -> int | None:
    """Return the number of a namespace, also of one that was erased; None if it never existed."""
    row = connection.execute("SELECT ns FROM namespaces WHERE name = ?", (name,)).fetchone()
    if row is not None:
        return int(row[0])
    if not connection.execute("SELECT EXISTS (SELECT 1 FROM nameless)").get:
        return None
    mark = Marker(read_secret(connection), name).whole()
    row = connection.execute("SELECT ns FROM nameless WHERE mark = ?", (mark,)).fetchone()
    return None if row is None else int(row[0])


def read_secret(connection: apsw.Connection) -> bytes:
    secret = connection.execute("SELECT value FROM secrets WHERE ns = 0").get
    assert isinstance(secret, bytes)
    return secret


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours."""
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(
            f"{path} is damaged or not a database ({error}). Restore it from a backup, or move it away to start again"
        ) from error
    except (apsw.ReadOnlyError, apsw.PermissionsError) as error:
        raise StoreReadOnly(
            f"{path} cannot be written ({error}). Check the permissions of the file and its folder"
        ) from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(
            f"{path} is locked by another process ({error}). Try again, or wait longer with the setting store.busy_s"
        ) from error
    except apsw.FullError as error:
        raise StoreError(f"the disk of {path} is full; nothing of this write was kept") from error
    except apsw.CantOpenError as error:
        raise out_of_files(path) or StoreError(
            f"cannot open {path} ({error}). Does its folder exist, and may you write there?"
        ) from error
    except OSError as error:
        raise out_of_files(path) or error from None
    except apsw.IOError as error:
        raise StoreError(f"the disk of {path} failed ({error}); nothing of this write was kept") from error
    except (apsw.SQLError, JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreDamaged(
            f"{path} holds a table or row that cannot be read ({error}). Restore it from a backup"
        ) from error
    except apsw.Error as error:
        raise StoreError(
            f"{path} cannot be used ({error}). Open it again; if that does not help, run `holdfast status --check`"
        ) from error


def out_of_files(path: Path) -> StoreError | None:
    """Return an error that names the limit if this process cannot open more files, else None."""
    with ExitStack() as spare:
        try:
            for _ in range(_FILES_OF_CONNECTION):
                spare.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError as error:
            if error.errno == errno.ENFILE:
                return StoreError(f"cannot open {path}: all programs together have too many open files (fs.file-max)")
            if error.errno == errno.EMFILE:
                return StoreError(
                    f"cannot open {path}: this process has as many open files as it may have{_file_limit()}. Raise the "
                    "limit (ulimit -n), or open fewer stores: the namespaces of one store share its files"
                )
    return None


def _file_limit() -> str:
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return ""
    return f", {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}"
