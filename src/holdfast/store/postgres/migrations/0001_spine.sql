-- The tables of the PostgreSQL engine. They mirror those of SQLite (store/sqlite/schema.py), with these differences:
-- `ns` is a keyed hash of the namespace's name (Marker.whole), so no row but one knows the name, and it is computed, not
-- looked up; every key begins with it; places and numbers are plain columns. Text sorts by its bytes, as in SQLite.

CREATE TABLE secrets (
    id SMALLINT PRIMARY KEY CHECK (id = 1),
    value BYTEA NOT NULL
);

CREATE TABLE namespaces (
    ns UUID PRIMARY KEY,
    name TEXT COLLATE "C",            -- none: it was erased
    seq BIGINT NOT NULL DEFAULT 0     -- the end of its log; whoever writes to the log holds this row
) WITH (fillfactor = 50);             -- it changes with every line: room to change in place

-- Whoever writes to the views of a namespace holds its row here: derived work never holds up an append.
CREATE TABLE views (
    ns UUID PRIMARY KEY
) WITH (fillfactor = 50);

CREATE TABLE sessions (
    ns UUID NOT NULL,
    session BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (ns, session)
);
CREATE UNIQUE INDEX sessions_by_name ON sessions (ns, name);

-- The truth. A line is a turn, or an operator's act (entry <> 'turn': id is the subject, text its payload).
CREATE TABLE log (
    ns UUID NOT NULL,
    seq BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    entry TEXT COLLATE "C" NOT NULL,
    session BIGINT,
    idx BIGINT,
    role SMALLINT,
    origin TEXT COLLATE "C",
    at BIGINT NOT NULL,               -- when it was said, microseconds of UTC
    at_given BOOLEAN NOT NULL,
    recorded_at BIGINT NOT NULL,
    stability DOUBLE PRECISION,
    key TEXT COLLATE "C",
    digest BYTEA,                     -- of role and text: aligns a conversation that is handed over again
    text TEXT COLLATE "C" NOT NULL,
    metadata TEXT COLLATE "C",
    PRIMARY KEY (ns, seq)
);
CREATE UNIQUE INDEX log_by_id ON log (ns, id) WHERE entry = 'turn';
CREATE INDEX log_acts ON log (ns, id) WHERE entry <> 'turn';
CREATE UNIQUE INDEX log_by_place ON log (ns, session, idx) INCLUDE (digest, at, at_given, role) WHERE entry = 'turn';
CREATE UNIQUE INDEX log_by_key ON log (ns, session, key) WHERE key IS NOT NULL;
CREATE INDEX log_by_time ON log (ns, at, seq) WHERE entry = 'turn';
CREATE INDEX log_by_session_time ON log (ns, session, at, seq) WHERE entry = 'turn';

CREATE TABLE records (
    ns UUID NOT NULL,
    num BIGINT NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    kind SMALLINT NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    provenance TEXT COLLATE "C" NOT NULL,
    confidence DOUBLE PRECISION NOT NULL,
    evidence_count BIGINT NOT NULL,
    at BIGINT NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_to BIGINT,
    superseded_by TEXT COLLATE "C",
    metadata TEXT COLLATE "C",
    compaction TEXT COLLATE "C",      -- out of the metadata, for queries: which compaction made it
    partial BOOLEAN NOT NULL,         -- … and whether it stands for a part of its turn only
    born BIGINT NOT NULL,             -- the line of the log that made it, and the one that retired it
    retired BIGINT,
    notches BIGINT NOT NULL,          -- how far the janitor lowered it, and the product of the factors
    trust DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (ns, num)
);
CREATE UNIQUE INDEX records_by_id ON records (ns, id);
CREATE INDEX records_by_time ON records (ns, at, born);
CREATE INDEX records_by_kind ON records (ns, kind, at, born);
CREATE INDEX records_retired ON records (ns, num) WHERE superseded_by IS NOT NULL;

-- Which turns a record came from.
CREATE TABLE sources (
    ns UUID NOT NULL,
    record BIGINT NOT NULL,
    turn BIGINT NOT NULL,
    PRIMARY KEY (ns, record, turn)
);
CREATE INDEX sources_by_turn ON sources (ns, turn);

-- What was forgotten, and by which line of the log: hidden from recall, kept in the log.
CREATE TABLE hidden (
    ns UUID NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (ns, subject)
);

-- Numbers of records whose text changed: the indexes still hold them, and nobody may be shown them.
CREATE TABLE gone (
    ns UUID NOT NULL,
    num BIGINT NOT NULL,
    PRIMARY KEY (ns, num)
);

CREATE TABLE receipts (
    ns UUID NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    at BIGINT,
    details TEXT COLLATE "C",
    PRIMARY KEY (ns, subject, number)
);

-- How far each derived view has come.
CREATE TABLE cursors (
    ns UUID NOT NULL,
    stage TEXT COLLATE "C" NOT NULL,
    done BIGINT NOT NULL,
    PRIMARY KEY (ns, stage)
);

-- The word index: documents of a block, and for each term the documents of a block that hold it.
CREATE TABLE documents (
    ns UUID NOT NULL,
    space SMALLINT NOT NULL,
    block BIGINT NOT NULL,
    version BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (ns, space, block)
);
CREATE TABLE postings (
    ns UUID NOT NULL,
    space SMALLINT NOT NULL,
    term TEXT COLLATE "C" NOT NULL,
    block BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (ns, space, term, block)
);

-- Vectors, in half precision where that is exact (store/rows.py), and their quantised segments, which a search reads.
CREATE TABLE vectors (
    ns UUID NOT NULL,
    slot SMALLINT NOT NULL,
    space SMALLINT NOT NULL,
    num BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (ns, slot, space, num)
);
CREATE TABLE segments (
    ns UUID NOT NULL,
    space SMALLINT NOT NULL,
    slot SMALLINT NOT NULL,
    block BIGINT NOT NULL,
    version BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (ns, space, slot, block)
);
-- Codes and packed numbers do not get smaller by compressing; trying costs time.
ALTER TABLE documents ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE postings ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE vectors ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE segments ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE models (
    ns UUID NOT NULL,
    slot SMALLINT NOT NULL,
    fingerprint TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (ns, slot)
);

-- Where long turns are cut into passages. Vectors belong to these numbers, so a rebuild keeps them.
CREATE TABLE passages (
    ns UUID NOT NULL,
    num BIGINT NOT NULL,
    turn BIGINT NOT NULL,             -- place of its turn in the log
    start BIGINT NOT NULL,            -- characters of the turn's text
    stop BIGINT NOT NULL,
    PRIMARY KEY (ns, num)
);

-- The gate's signals of every user turn.
CREATE TABLE signals (
    ns UUID NOT NULL,
    seq BIGINT NOT NULL,
    data BYTEA NOT NULL,
    PRIMARY KEY (ns, seq)
);

-- What the gates did, a day each.
CREATE TABLE counters (
    ns UUID NOT NULL,
    day TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (ns, day, name)
);

-- How often each record was found, and when last. No view: the log does not know it, so a rebuild leaves it (KEEP-1).
CREATE TABLE retrievals (
    ns UUID NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    count BIGINT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (ns, subject)
);

-- What the janitor lowered, a row each time (tending.py).
CREATE TABLE tended (
    ns UUID NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    run TEXT COLLATE "C" NOT NULL,
    seq BIGINT NOT NULL,              -- the run's line in the log
    at BIGINT NOT NULL,               -- when it was lowered, or raised again
    factor DOUBLE PRECISION NOT NULL,
    undone BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (ns, subject, run)
);
CREATE INDEX tended_by_run ON tended (ns, run);

-- What stands in the place of erased turns and records (log/tombstones.py): marks under the store's secret, no content.
CREATE TABLE tombstones (
    ns UUID NOT NULL,
    seq BIGINT NOT NULL,              -- its line in the log
    noun BYTEA NOT NULL,              -- mark of the id it had
    session BYTEA,                    -- this and the rest but the last: of turns
    idx BIGINT,
    role SMALLINT,
    said BYTEA,
    timed BYTEA,
    key BYTEA,
    at BIGINT NOT NULL,               -- when it was erased
    PRIMARY KEY (ns, seq)
);
CREATE INDEX tombstones_by_noun ON tombstones (ns, noun);
CREATE INDEX tombstones_by_session ON tombstones (ns, session, idx) WHERE session IS NOT NULL;

-- Marks of what erased records said: it is not read out of turns again.
CREATE TABLE refused (
    ns UUID NOT NULL,
    statement BYTEA NOT NULL,
    PRIMARY KEY (ns, statement)
);

-- An erase whose dead rows may still lie about in the tables: the next sweep goes over them.
CREATE TABLE unswept (
    ns UUID PRIMARY KEY
);

-- Backups and exports that were made: an erase does not reach them, so it must be able to name them.
CREATE TABLE copies (
    ns UUID NOT NULL,                 -- all zero: of the whole store
    path TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (ns, path)
);

-- A statement that forgets its namespace sees nothing: each transaction names one, and rows of others are not there,
-- for the owner of the tables neither. Names alone can be listed, by who says so, to go through all namespaces.
DO $$
DECLARE
    own CONSTANT TEXT := 'ns = nullif(current_setting(''holdfast.ns'', true), '''')::uuid';
    one TEXT;
BEGIN
    FOREACH one IN ARRAY ARRAY['namespaces', 'views', 'sessions', 'log', 'records', 'sources', 'hidden', 'gone', 'receipts',
        'cursors', 'documents', 'postings', 'vectors', 'segments', 'models', 'passages', 'signals', 'counters',
        'retrievals', 'tended', 'tombstones', 'refused', 'unswept', 'copies']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
        EXECUTE format('CREATE POLICY own_namespace ON %I USING (%s) WITH CHECK (%s)', one, own, own);
    END LOOP;
END $$;
CREATE POLICY listing ON namespaces FOR SELECT USING (current_setting('holdfast.listing', true) = 'on');
CREATE POLICY listing ON unswept FOR SELECT USING (current_setting('holdfast.listing', true) = 'on');
