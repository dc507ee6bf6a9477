"""Statements that read the store, written once for both engines (see `Transaction` in types.py)."""

from __future__ import annotations

from holdfast.model import Kind
from holdfast.store.rows import SLOTS, kind_number
from holdfast.store.types import Space

# --- Lines of the log.

_TURN_COLUMNS = """log.seq, log.id, sessions.name, log.idx, log.role, log.origin, log.text, log.at, log.recorded_at,
    log.stability, log.key, log.metadata, signals.data"""
_TURN_JOINS = """JOIN sessions ON sessions.ns = :ns AND sessions.session = log.session
    LEFT JOIN signals ON signals.ns = :ns AND signals.seq = log.seq"""
LINES = """SELECT log.seq, log.entry, log.id, sessions.name, log.idx, log.role, log.origin, log.at, log.at_given,
    log.recorded_at, log.stability, log.key, log.text, log.metadata
    FROM log LEFT JOIN sessions ON sessions.ns = :ns AND sessions.session = log.session"""
TOMBSTONES = """SELECT seq, noun, session, idx, role, said, timed, key FROM tombstones
    WHERE ns = :ns AND session = :session"""
TURNS = f"SELECT {_TURN_COLUMNS} FROM log {_TURN_JOINS}"
SHORT_TEXT = "CASE WHEN octet_length(log.text) <= :size THEN log.text END,"
"""Its size is known without reading it."""
SHORT_TEXTS = TURNS.replace("log.text,", SHORT_TEXT)
# A session that exists in a namespace from which nothing was erased: its number, and where the log and it end.
SESSION_END = """SELECT sessions.session,
    coalesce((SELECT max(log.seq) FROM log WHERE log.ns = :ns AND log.seq >= 0), 0),
    coalesce((SELECT max(log.idx) FROM log
              WHERE log.ns = :ns AND log.session = sessions.session AND log.entry = 'turn'), -1)
    FROM sessions WHERE sessions.ns = :ns AND sessions.name = :session
    AND NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.ns = :ns)"""
IN_SESSION = """log.session = (SELECT named.session FROM sessions AS named
    WHERE named.ns = :ns AND named.name = :session)"""
NEWEST_TURNS = {
    "sqlite": f"""{TURNS} WHERE log.ns = :ns AND log.entry = 'turn'{{where}}
        ORDER BY log.at DESC, log.seq DESC LIMIT :limit""",
    # Turns are chosen before anything is joined to them: otherwise the server may join all of a small namespace.
    "postgresql": f"""SELECT {_TURN_COLUMNS} FROM (SELECT * FROM log WHERE log.ns = :ns AND log.entry = 'turn'{{where}}
        ORDER BY log.at DESC, log.seq DESC LIMIT :limit) AS log {_TURN_JOINS}
        WHERE log.ns = :ns ORDER BY log.at DESC, log.seq DESC""",
}
PLACES = """SELECT log.idx, log.digest, log.at, log.at_given, log.role, {keyed} FROM log /*INDEXED BY log_by_{index}*/
    WHERE log.ns = :ns AND log.session = :session AND log.entry = 'turn' AND log.{where}"""
SAID_COUNTS = """SELECT log.digest, count(*) FROM log /*INDEXED BY log_by_digest*/
    WHERE log.ns = :ns AND log.session = :session AND log.entry = 'turn' AND log.digest IN :marks GROUP BY log.digest"""

_RECORD_COLUMNS = """records.num, records.id, records.kind, records.text, records.provenance, records.confidence,
    records.evidence_count, records.at, records.valid_from, records.valid_to, records.superseded_by,
    retrievals.count, retrievals.last, records.metadata, records.notches, records.trust"""
_FROM_RECORDS = "FROM records LEFT JOIN retrievals ON retrievals.ns = :ns AND retrievals.subject = records.id"
RECORDS = f"""SELECT {_RECORD_COLUMNS}, CAST((SELECT json_object_agg(sources.turn, log.id) FROM sources
    JOIN log ON log.ns = :ns AND log.seq = sources.turn
    WHERE sources.ns = :ns AND sources.record = records.num) AS TEXT) {_FROM_RECORDS}"""
"""… with the place and id of each turn that they come from."""
# A record all of whose turns are hidden is hidden: a hidden turn is not served as a fact. So is a summary any of whose
# turns is hidden: its text may contain what was said there.
_OF_HIDDEN = f"""SELECT sources.record FROM hidden
    JOIN log ON log.ns = :ns AND log.id = hidden.subject AND log.entry = 'turn'
    JOIN sources ON sources.ns = :ns AND sources.turn = log.seq
    WHERE hidden.ns = :ns GROUP BY sources.ns, sources.record
    HAVING count(*) = (SELECT count(*) FROM sources AS every WHERE every.ns = :ns AND every.record = sources.record)
    OR EXISTS (SELECT 1 FROM records AS summary WHERE summary.ns = :ns AND summary.num = sources.record
               AND summary.kind = {kind_number(Kind.SUMMARY)} AND summary.compaction IS NOT NULL)"""
_NOT_HIDDEN = f"""NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = :ns AND hidden.subject = records.id)
    AND records.num NOT IN ({_OF_HIDDEN})"""
IS_LIVE = f"(records.superseded_by IS NULL AND {_NOT_HIDDEN})"
HIDDEN_TURNS = """SELECT log.seq FROM hidden
    JOIN log ON log.ns = :ns AND log.id = hidden.subject AND log.entry = 'turn' WHERE hidden.ns = :ns"""
HIDDEN_RECORDS = f"""SELECT records.num FROM hidden
        JOIN records ON records.ns = :ns AND records.id = hidden.subject WHERE hidden.ns = :ns
    UNION ALL SELECT gone.num FROM gone WHERE gone.ns = :ns
    UNION ALL {_OF_HIDDEN}"""
FROM_SESSION = """EXISTS (SELECT 1 FROM sources JOIN log ON log.ns = :ns AND log.seq = sources.turn
    WHERE sources.ns = :ns AND sources.record = records.num AND log.session = :session)"""
UNCOMPACTED_TURNS = f"""{TURNS} WHERE log.ns = :ns AND {IN_SESSION} AND log.idx <= :upto AND log.entry = 'turn'
    AND NOT EXISTS (SELECT 1 FROM sources JOIN records ON records.ns = :ns AND records.num = sources.record
        WHERE sources.ns = :ns AND sources.turn = log.seq AND records.compaction IS NOT NULL AND NOT records.partial
        AND {_NOT_HIDDEN})
    ORDER BY log.idx"""
SUCCESSORS = """SELECT sources.turn, records.superseded_by, records.metadata FROM sources
    JOIN records ON records.ns = :ns AND records.num = sources.record
    WHERE sources.ns = :ns AND sources.turn IN :turns
    AND (records.superseded_by IS NOT NULL OR records.metadata LIKE '%"revises"%')"""
SOURCES_OF = """SELECT records.id, sources.turn FROM records
    JOIN sources ON sources.ns = :ns AND sources.record = records.num
    WHERE records.ns = :ns AND records.id IN :ids"""
# UNION, not UNION ALL: a circle ends.
REPLACED = """WITH RECURSIVE chain(turn, first, num, next) AS (
        SELECT sources.turn, records.num, records.num, records.superseded_by FROM sources
        JOIN records ON records.ns = :ns AND records.num = sources.record
        WHERE sources.ns = :ns AND sources.turn IN :turns AND records.superseded_by IS NOT NULL
    UNION SELECT chain.turn, chain.first, records.num, records.superseded_by FROM chain
        JOIN records ON records.ns = :ns AND records.id = chain.next)
    SELECT turn, first, num FROM chain WHERE next IS NULL"""
RECORD_STATES = f"""SELECT {_RECORD_COLUMNS}, records.born, records.retired, hidden.seq, vectors.data {_FROM_RECORDS}
    JOIN vectors ON vectors.ns = :ns AND vectors.slot = :slot AND vectors.space = :space AND vectors.num = records.num
    LEFT JOIN hidden ON hidden.ns = :ns AND hidden.subject = records.id
    WHERE records.ns = :ns AND records.num > :after ORDER BY records.num"""
IDLE_RECORDS = f"""SELECT records.id, records.kind, records.text, records.provenance, records.confidence,
    records.notches, records.trust, records.at, made.recorded_at,
    (SELECT max(log.at) FROM sources JOIN log ON log.ns = :ns AND log.seq = sources.turn
     WHERE sources.ns = :ns AND sources.record = records.num),
    (SELECT max(tended.at) FROM tended WHERE tended.ns = :ns AND tended.subject = records.id),
    made.entry = 'remember'
    FROM records LEFT JOIN log AS made ON made.ns = :ns AND made.seq = records.born
    WHERE records.ns = :ns AND records.num >= 0 AND {IS_LIVE}
    AND NOT EXISTS (SELECT 1 FROM retrievals WHERE retrievals.ns = :ns AND retrievals.subject = records.id)
    ORDER BY records.num"""

# A session without turns comes after all others.
_LAST = """coalesce((SELECT max(log.at) FROM log
    WHERE log.ns = :ns AND log.session = sessions.session AND log.entry = 'turn'), -4611686018427387904)"""
_TURNS_IN = "FROM log WHERE log.ns = :ns AND log.session = spans.session AND log.entry = 'turn'"
SESSIONS = f"""WITH spans AS (SELECT session, name, {_LAST} AS last FROM sessions WHERE sessions.ns = :ns)
    SELECT name, (SELECT count(*) {_TURNS_IN}), (SELECT min(log.at) {_TURNS_IN}), last
    FROM spans WHERE CAST(:before AS TEXT) IS NULL
        OR (last, session) < (SELECT behind.last, behind.session FROM spans AS behind WHERE behind.name = :before)
    ORDER BY last DESC, session DESC LIMIT :limit"""

_MADE = "SELECT count(*) FROM records WHERE records.ns = :ns AND records.kind = {} AND records.compaction IS NOT NULL"
COUNTS = f"""SELECT (SELECT count(*) FROM sessions WHERE ns = :ns),
    (SELECT count(*) FROM log WHERE log.ns = :ns AND log.entry = 'turn'),
    (SELECT count(*) FROM records WHERE records.ns = :ns AND records.superseded_by IS NULL),
    ({_MADE.format(kind_number(Kind.SUMMARY))}),
    ({_MADE.format(kind_number(Kind.GUIDANCE))}),
    (SELECT count(*) FROM hidden WHERE ns = :ns)"""
TURNS_BEHIND = "WHERE log.ns = :ns AND log.seq > :after AND log.entry = 'turn'"
NUMBERS_OF = {
    Space.TURN: f"SELECT log.seq FROM log {TURNS_BEHIND} ORDER BY log.seq LIMIT :limit",
    Space.RECORD: """SELECT records.num FROM records WHERE records.ns = :ns AND records.num > :after
        ORDER BY records.num LIMIT :limit""",
    Space.PASSAGE: """SELECT passages.num FROM passages WHERE passages.ns = :ns AND passages.num > :after
        ORDER BY passages.num LIMIT :limit""",
}
DOCUMENTS_OF = {
    Space.TURN: f"""SELECT log.seq, log.text, log.at, log.session, log.idx, log.role, log.metadata FROM log
        {TURNS_BEHIND} ORDER BY log.seq LIMIT :limit""",
    Space.RECORD: """SELECT records.num, records.text, records.at, records.born, records.kind, records.provenance,
        records.confidence, records.notches, records.trust
        FROM records WHERE records.ns = :ns AND records.num > :after ORDER BY records.num LIMIT :limit""",
    Space.PASSAGE: """SELECT passages.num, passages.turn, passages.start, passages.stop
        FROM passages WHERE passages.ns = :ns AND passages.num > :after ORDER BY passages.num LIMIT :limit""",
}
SHORT_DOCUMENTS = DOCUMENTS_OF[Space.TURN].replace("log.text,", SHORT_TEXT)
# The vector of the statements of a turn may be that of the turn, and is then stored empty (AS_TURN).
STATEMENT_VECTOR = f"""CASE WHEN length(vectors.data) > 0 THEN vectors.data ELSE (SELECT own.data FROM vectors AS own
    WHERE own.ns = :ns AND own.slot = :slot AND own.space = {int(Space.TURN)} AND own.num = vectors.num) END"""
# SQLite, which packs a key into one number, reads the vectors of one space at a time.
POSTGRES_VECTORS = """SELECT vectors.space, vectors.num, vectors.data FROM vectors
    WHERE vectors.ns = :ns AND vectors.slot = :slot AND vectors.space IN :spaces"""
IN_SPACE = "WHERE vectors.ns = :ns AND vectors.slot = :slot AND vectors.space = :space"

# --- How far everything of a namespace has come, read in one statement: a search needs all of it, piece by piece.

# Sessions have a cursor each, so there may be many of those: they are read one by one.
HEADS = f"""SELECT 'cursor' AS what, stage AS name, done AS one, 0 AS other, 0 AS third
        FROM cursors WHERE ns = :ns AND stage < 'compact:'
    UNION ALL SELECT 'cursor', stage, done, 0, 0 FROM cursors WHERE ns = :ns AND stage >= 'compact;'
    UNION ALL SELECT 'end', 'turns', max(log.seq), 0, 0 FROM log WHERE log.ns = :ns AND log.seq >= 0
    UNION ALL SELECT 'end', 'records', max(records.num), 0, 0 FROM records WHERE records.ns = :ns AND records.num >= 0
    UNION ALL SELECT 'end', 'passages', max(passages.num), 0, 0 FROM passages WHERE passages.ns = :ns
    UNION ALL SELECT 'documents', '', space, block, version FROM documents WHERE ns = :ns
    UNION ALL SELECT 'segments', '', space * {SLOTS} + slot, block, version FROM segments WHERE ns = :ns
    UNION ALL SELECT 'model', fingerprint, slot, 0, 0 FROM models WHERE ns = :ns
    UNION ALL SELECT 'any', 'hidden', 1, 0, 0 WHERE EXISTS (SELECT 1 FROM hidden WHERE ns = :ns)
    UNION ALL SELECT 'any', 'gone', 1, 0, 0 WHERE EXISTS (SELECT 1 FROM gone WHERE ns = :ns)
    UNION ALL SELECT 'any', 'retired', 1, 0, 0 WHERE EXISTS (
        SELECT 1 FROM records /*INDEXED BY records_retired*/ WHERE records.ns = :ns AND superseded_by IS NOT NULL)"""
