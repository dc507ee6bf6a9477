"""The tables of the SQLite engine, as numbered migrations.

Every key begins with the namespace. Rows that are clustered by namespace and number use one integer for both
(transaction.py), which saves an index and keeps the rows of a namespace next to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import apsw

from holdfast.errors import InputError

APPLICATION_ID = 0x484F4C44  # "HOLD": in the header of our files

_SPINE = """
CREATE TABLE namespaces (
    ns INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE sessions (
    ns INTEGER NOT NULL,
    session INTEGER NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (ns, session)
) WITHOUT ROWID;
CREATE UNIQUE INDEX sessions_by_name ON sessions (ns, name);

-- The truth. A line is a turn, or an operator's act (entry <> 'turn': id is the subject, text its payload).
CREATE TABLE log (
    pos INTEGER PRIMARY KEY,          -- namespace and place in its log
    ns INTEGER NOT NULL,
    id TEXT NOT NULL,
    entry TEXT NOT NULL,
    session INTEGER,
    idx INTEGER,
    role INTEGER,
    origin TEXT,
    at INTEGER NOT NULL,              -- when it was said, microseconds of UTC
    at_given INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    stability REAL,
    key TEXT,
    digest BLOB,                      -- of role and text: aligns a conversation that is handed over again
    text TEXT NOT NULL,
    metadata TEXT
);
CREATE UNIQUE INDEX log_by_id ON log (ns, id) WHERE entry = 'turn';
CREATE INDEX log_acts ON log (ns, id) WHERE entry <> 'turn';
CREATE UNIQUE INDEX log_by_place ON log (ns, session, idx, digest, at, at_given, role) WHERE entry = 'turn';
CREATE UNIQUE INDEX log_by_key ON log (ns, session, key) WHERE key IS NOT NULL;
CREATE INDEX log_by_time ON log (ns, at) WHERE entry = 'turn';
CREATE INDEX log_by_session_time ON log (ns, session, at) WHERE entry = 'turn';

CREATE TABLE records (
    pos INTEGER PRIMARY KEY,          -- namespace and number
    ns INTEGER NOT NULL,
    id TEXT NOT NULL,
    kind INTEGER NOT NULL,
    text TEXT NOT NULL,
    provenance TEXT NOT NULL,
    confidence REAL NOT NULL,
    evidence_count INTEGER NOT NULL,
    at INTEGER NOT NULL,
    valid_from INTEGER NOT NULL,
    valid_to INTEGER,
    superseded_by TEXT,
    retrieval_count INTEGER NOT NULL DEFAULT 0,
    last_retrieved_at INTEGER,
    metadata TEXT
);
CREATE UNIQUE INDEX records_by_id ON records (ns, id);
CREATE INDEX records_by_time ON records (ns, at);
CREATE INDEX records_by_kind ON records (ns, kind, at);

-- Which turns a record came from.
CREATE TABLE sources (
    ns INTEGER NOT NULL,
    record INTEGER NOT NULL,
    turn INTEGER NOT NULL,
    PRIMARY KEY (ns, record, turn)
) WITHOUT ROWID;
CREATE INDEX sources_by_turn ON sources (ns, turn);

-- What was forgotten, and by which line of the log: hidden from recall, kept in the log.
CREATE TABLE hidden (
    ns INTEGER NOT NULL,
    subject TEXT NOT NULL,            -- id of a turn or record; a replay may hide what is only derived later
    seq INTEGER NOT NULL,
    PRIMARY KEY (ns, subject)
) WITHOUT ROWID;

CREATE TABLE receipts (
    ns INTEGER NOT NULL,
    subject TEXT NOT NULL,
    number INTEGER NOT NULL,
    what TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER,
    details TEXT,
    PRIMARY KEY (ns, subject, number)
) WITHOUT ROWID;

-- How far each derived view has come.
CREATE TABLE cursors (
    ns INTEGER NOT NULL,
    stage TEXT NOT NULL,
    done INTEGER NOT NULL,
    PRIMARY KEY (ns, stage)
) WITHOUT ROWID;

-- The word index: documents of a block, and for each term the documents of a block that hold it.
-- Tables of large blobs keep their rowid: without one, SQLite reads whole rows to compare keys (9 ms a search at 100k).
CREATE TABLE documents (
    ns INTEGER NOT NULL,
    space INTEGER NOT NULL,
    block INTEGER NOT NULL,
    version INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (ns, space, block)
);
CREATE INDEX documents_versions ON documents (ns, space, block, version);
CREATE TABLE postings (
    ns INTEGER NOT NULL,
    space INTEGER NOT NULL,
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (ns, space, term, block)
) WITHOUT ROWID;

-- Vectors in full precision, and their quantised segments, which is what a search reads. Each embedding model of a
-- namespace has a slot of its own: models are changed and changed back, and two processes may use two at once.
CREATE TABLE vectors (
    pos INTEGER PRIMARY KEY,          -- namespace, slot, space and document
    data BLOB NOT NULL
);
CREATE TABLE segments (
    ns INTEGER NOT NULL,
    space INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    block INTEGER NOT NULL,
    version INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (ns, space, slot, block)
);
CREATE INDEX segments_versions ON segments (ns, space, slot, block, version);
CREATE TABLE models (
    ns INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    PRIMARY KEY (ns, slot)
) WITHOUT ROWID;
"""

_ADMISSION = """
-- The line of the log that made a record and the one that retired it: derived work sees the records of its own moment,
-- however far behind the log it runs.
ALTER TABLE records ADD COLUMN born INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN retired INTEGER;
CREATE INDEX records_retired ON records (ns, pos) WHERE superseded_by IS NOT NULL;

-- Numbers of records whose text changed: the indexes still hold them, and nobody may be shown them.
CREATE TABLE gone (
    ns INTEGER NOT NULL,
    num INTEGER NOT NULL,
    PRIMARY KEY (ns, num)
) WITHOUT ROWID;

-- The gate's signals of every user turn.
CREATE TABLE signals (
    pos INTEGER PRIMARY KEY,          -- namespace and place in its log
    ns INTEGER NOT NULL,
    data TEXT NOT NULL
);

-- What the gates did, a day each.
CREATE TABLE counters (
    ns INTEGER NOT NULL,
    day TEXT NOT NULL,
    name TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (ns, day, name)
) WITHOUT ROWID;
"""

_PASSAGES = """
-- Where long turns are cut into passages. Vectors belong to these numbers, so a rebuild keeps them.
CREATE TABLE passages (
    pos INTEGER PRIMARY KEY,          -- namespace and number
    turn INTEGER NOT NULL,            -- place of its turn in the log
    start INTEGER NOT NULL,           -- characters of the turn's text
    stop INTEGER NOT NULL
);
-- Speakers are in the word index from now on: what is there is indexed again.
DELETE FROM postings;
DELETE FROM documents;
DELETE FROM cursors WHERE stage LIKE 'words:%';
"""

_LESS_ROOM = """
-- From here on rows may be smaller: vectors in half precision (halves.py), what a turn tells without a vector where it
-- is the turn's own, signals as numbers instead of JSON. Rows of before stay, and are read; an older program must not
-- read the new ones.

-- Of records of one time the one that was made later in the log comes first: numbers change in a rebuild, lines do not.
DROP INDEX records_by_time;
CREATE INDEX records_by_time ON records (ns, at, born);
DROP INDEX records_by_kind;
CREATE INDEX records_by_kind ON records (ns, kind, at, born);
"""

_SECRET = """
-- What the marks of frames are made of (context/render.py): a writer of stored text must not be able to guess it.
CREATE TABLE secrets (
    ns INTEGER PRIMARY KEY,           -- 0: of the whole store
    value BLOB NOT NULL
);
INSERT INTO secrets VALUES (0, randomblob(32));
"""

_UPKEEP = """
-- How often each record was found, and when last. No view: the log does not know it, so a rebuild leaves it (KEEP-1).
CREATE TABLE retrievals (
    ns INTEGER NOT NULL,
    subject TEXT NOT NULL,            -- id of the record
    count INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (ns, subject)
) WITHOUT ROWID;
ALTER TABLE records DROP COLUMN retrieval_count;
ALTER TABLE records DROP COLUMN last_retrieved_at;

-- What the janitor lowered, a row each time (tending.py). Records are derived after the log's acts are replayed, so it
-- is kept beside them; what comes of it stands on the record: notches of provenance, and the product of the factors.
CREATE TABLE tended (
    ns INTEGER NOT NULL,
    subject TEXT NOT NULL,            -- id of the record
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,             -- the run's line in the log
    at INTEGER NOT NULL,              -- when it was lowered, or raised again
    factor REAL NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ns, subject, run)
) WITHOUT ROWID;
CREATE INDEX tended_by_run ON tended (ns, run);
ALTER TABLE records ADD COLUMN notches INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN trust REAL NOT NULL DEFAULT 1.0;
"""

_ERASE = """
-- What stands in the place of erased turns and records (log/tombstones.py): marks under the store's secret, no content.
CREATE TABLE tombstones (
    ns INTEGER NOT NULL,
    seq INTEGER NOT NULL,             -- its line in the log
    noun BLOB NOT NULL,               -- mark of the id it had
    session BLOB,                     -- this and the rest but the last: of turns
    idx INTEGER,
    role INTEGER,
    said BLOB,
    timed BLOB,
    key BLOB,
    at INTEGER NOT NULL,              -- when it was erased
    PRIMARY KEY (ns, seq)
) WITHOUT ROWID;
CREATE INDEX tombstones_by_noun ON tombstones (ns, noun);
CREATE INDEX tombstones_by_session ON tombstones (ns, session, idx) WHERE session IS NOT NULL;

-- Marks of what erased records said: it is not read out of turns again.
CREATE TABLE refused (
    ns INTEGER NOT NULL,
    statement BLOB NOT NULL,
    PRIMARY KEY (ns, statement)
) WITHOUT ROWID;

-- Namespaces that were erased have no name any more, but tombstones in their log.
CREATE TABLE nameless (
    ns INTEGER PRIMARY KEY,
    mark BLOB NOT NULL UNIQUE         -- of the name
);

-- An erase that is in the log, but whose bytes may still be in the file: the next process that opens it sweeps it.
CREATE TABLE unswept (
    ns INTEGER PRIMARY KEY            -- 0: the whole file
);

-- Backups and exports that were made: an erase does not reach them, so it must be able to name them.
CREATE TABLE copies (
    ns INTEGER NOT NULL,              -- 0: of the whole store
    path TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (ns, path)
) WITHOUT ROWID;
"""

_DIGESTS = """
-- A history without keys is aligned with the turns that have its digests, not with the whole session.
CREATE INDEX log_by_digest ON log (ns, session, digest, at, idx) WHERE entry = 'turn';
"""

MIGRATIONS: tuple[str, ...] = (_SPINE, _ADMISSION, _PASSAGES, _LESS_ROOM, _SECRET, _UPKEEP, _ERASE, _DIGESTS)
"""Migration n takes a store from schema n to n + 1. Never change one that has shipped: add the next."""

SCHEMA = len(MIGRATIONS)


# --- Files of other programs, for the doctor. Nothing is written, and nothing in them is trusted.

_HEADER = b"SQLite format 3\x00"
_APPLICATION_AT = 68  # of the header, four bytes


def is_store(path: Path) -> bool:
    """Return whether a file is a Holdfast store."""
    with path.open("rb") as file:
        header = file.read(100)
    return header.startswith(_HEADER) and header[_APPLICATION_AT : _APPLICATION_AT + 4] == APPLICATION_ID.to_bytes(4)


def read_table(path: Path, table: str, columns: Sequence[str], most: int) -> list[dict[str, object]]:
    """Return those of the columns that the table has, in the order of its rows; nothing without such a table."""
    try:
        connection = apsw.Connection(f"{path.absolute().as_uri()}?mode=ro", flags=_READ)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            kind = connection.execute("SELECT type FROM sqlite_master WHERE name = ?", (table,)).fetchone()
            if kind != ("table",):  # a view may run any SQL
                return []
            there = {str(row[1]) for row in connection.execute(f'PRAGMA table_info("{table}")')}
            names = [name for name in columns if name in there]
            if not names:
                return []
            chosen = ", ".join(f'"{name}"' for name in names)
            rows = connection.execute(f'SELECT {chosen} FROM "{table}" ORDER BY rowid LIMIT ?', (most + 1,)).fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        raise InputError(f"cannot read {path} as an SQLite file: {error}. Is it complete, and not in use?") from error
    if len(rows) > most:
        raise InputError(f"{path} has more than {most:,} rows in {table} (doctor.max_memories)")
    return [dict(zip(names, row, strict=True)) for row in rows]


_READ = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
