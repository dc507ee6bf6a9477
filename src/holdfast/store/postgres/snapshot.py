"""Reading one namespace of a PostgreSQL store as it stood at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.postgres import types
from psycopg.pq import Format
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper

from holdfast.log.acts import Line
from holdfast.log.align import Place
from holdfast.log.tombstones import Marker, Tombstone
from holdfast.model import Action, Decision, Entry, Kind, Metadata, Provenance, Record, Turn
from holdfast.store.postgres.health import models, odd_vectors, orphans
from holdfast.store.postgres.tail import Heads, read_heads, read_tombs
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.rows import (
    KINDS,
    ROLES,
    kind_number,
    lowered,
    read_line,
    read_record,
    read_signals,
    read_turn,
    speaker_of,
    unpack_metadata,
    whole,
)
from holdfast.store.types import COMPACTION, BlockRef, Counts, Document, Idle, SessionSpan, Space, Standing
from holdfast.text.time import from_micros, to_micros

# --- Reading the indexes of a namespace out of PostgreSQL: the same blocks and segments as in a file, so both
# rank alike.
#
# Every statement names the namespace for every table it touches: row-level security is the second lock, and a server
# that is sharded by namespace can send the statement to one node.


_DOCUMENT_BLOCK = "SELECT data FROM documents WHERE ns = %(ns)s AND space = %(space)s AND block = %(block)s"
_POSTINGS = """SELECT space, term, block, data FROM postings
    WHERE ns = %(ns)s AND space = ANY(%(spaces)s::smallint[]) AND term = ANY(%(terms)s::text[])
    ORDER BY space, term, block"""
_SEGMENT = """SELECT data FROM segments
    WHERE ns = %(ns)s AND space = %(space)s AND slot = %(slot)s AND block = %(block)s"""
_VECTOR = "SELECT vectors.num, vectors.data FROM vectors"
# What a turn tells may be the turn's own vector, and is then not written twice (AS_TURN).
_TOLD = f"""SELECT vectors.num, CASE WHEN length(vectors.data) > 0 THEN vectors.data ELSE own.data END FROM vectors
    LEFT JOIN vectors AS own ON own.ns = %(ns)s AND own.slot = %(slot)s AND own.space = {int(Space.TURN)}
        AND own.num = vectors.num AND length(vectors.data) = 0"""
_OF_SPACE = "WHERE vectors.ns = %(ns)s AND vectors.slot = %(slot)s AND vectors.space = %(space)s"
_THESE = f"{_OF_SPACE} AND vectors.num = ANY(%(nums)s::bigint[])"
_BETWEEN = f"{_OF_SPACE} AND vectors.num > %(after)s AND vectors.num <= %(upto)s ORDER BY vectors.num"


class IndexReads:
    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._namespace = tx.namespace
        self._postings: dict[tuple[int, str], list[tuple[int, bytes]]] = {}
        """What was asked for, by space and term."""

    @cached_property
    def _heads(self) -> Heads:
        return read_heads(self._tx)

    def _has_no(self, kind: str) -> bool:
        """Whether it is known already that there is none of it; who asks for nothing else finds it out by asking."""
        return "_heads" in self.__dict__ and kind not in self._heads.some

    def _rows(self, sql: str, **values: object) -> list[Any]:
        """Rows of a statement; the transaction gives it the namespace."""
        return self._tx.rows(sql, values)

    def _one(self, sql: str, **values: object) -> object:
        return self._tx.one(sql, values)

    def document_blocks(self, space: Space) -> list[BlockRef]:
        return list(self._heads.documents.get(int(space), ()))

    def document_block(self, space: Space, block: int) -> bytes:
        return self._bytes(_DOCUMENT_BLOCK, space=int(space), block=block)

    def postings(self, space: Space, terms: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]:
        asked = dict.fromkeys(terms)
        if int(space) in self._heads.documents:
            self._read_postings(space, [term for term in asked if (int(space), term) not in self._postings])
        return {term: list(self._postings.get((int(space), term), ())) for term in asked}

    def _read_postings(self, space: Space, terms: Sequence[str]) -> None:
        """Those of turns bring the others along, for a search asks for the same terms in one space after the other."""
        spaces = [int(space)] if space is Space.RECORD else list(self._heads.documents)
        for one in spaces:
            self._postings.update({(one, term): [] for term in terms})
        for one, term, block, data in self._rows(_POSTINGS, spaces=spaces, terms=list(terms)) if terms else ():
            self._postings[one, term].append((block, data))

    def segment_blocks(self, space: Space, fingerprint: str) -> list[BlockRef]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        return list(self._heads.segments.get((int(space), slot), ()))

    def segment(self, space: Space, fingerprint: str, block: int) -> bytes:
        return self._bytes(_SEGMENT, space=int(space), slot=self._slot(fingerprint), block=block)

    def vectors(self, space: Space, fingerprint: str, nums: Sequence[int]) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        if slot is None or not nums:
            return []
        asked = [int(num) for num in nums]
        return _read_vectors(self._rows(f"{_from(space)} {_THESE}", slot=slot, space=int(space), nums=asked))

    def vectors_between(self, space: Space, fingerprint: str, after: int, upto: int) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        sql = f"{_from(space)} {_BETWEEN}"
        return _read_vectors(self._rows(sql, slot=slot, space=int(space), after=after, upto=upto))

    def _slot(self, fingerprint: str) -> int | None:
        """Where this model's vectors lie; None if it has none here."""
        return self._heads.slots.get(fingerprint)

    def _bytes(self, sql: str, **values: object) -> bytes:
        data = self._one(sql, **values)
        assert isinstance(data, bytes)
        return data


def _from(space: Space) -> str:
    return _TOLD if space is Space.TOLD else _VECTOR


def _read_vectors(rows: Iterable[tuple[int, bytes | None]]) -> list[tuple[int, bytes]]:
    """Without those that are a turn's own where the turn has none."""
    found = [(num, data) for num, data in rows if data is not None]
    return [(num, data) for (num, _), data in zip(found, whole([data for _, data in found]), strict=True)]


# --- Reading the log of a namespace: lines, sessions, turns, and what was erased.


TURN_COLUMNS = """log.seq, log.id, sessions.name, log.idx, log.role, log.origin, log.text, log.at,
    log.recorded_at, log.stability, log.key, log.metadata, signals.data"""
_BESIDE = """JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
    LEFT JOIN signals ON signals.ns = log.ns AND signals.seq = log.seq"""
FROM_LOG = f"FROM log {_BESIDE}"
LINE_COLUMNS = """log.seq, log.entry, log.id, sessions.name, log.idx, log.role, log.origin, log.at,
    log.at_given, log.recorded_at, log.stability, log.key, log.text, log.metadata"""
_TURNS = f"SELECT {TURN_COLUMNS} {FROM_LOG} WHERE log.ns = %(ns)s AND log.entry = 'turn'"
# By its number, which the server looks up first: then the index of the session gives the turns in order.
_IN_SESSION = """log.session = (SELECT named.session FROM sessions AS named
    WHERE named.ns = %(ns)s AND named.name = %(session)s)"""
_NEWEST_FIRST = "ORDER BY log.at DESC, log.seq DESC"
_LINES = f"""SELECT {LINE_COLUMNS} FROM log
    LEFT JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
    WHERE log.ns = %(ns)s AND log.seq > %(after)s ORDER BY log.seq LIMIT %(limit)s"""
_PAGE = 100
"""Lines of the log that are read at once: a whole log need not fit into memory."""


class TurnReads(IndexReads):
    def lines(self) -> Iterator[Line]:
        after = -1
        while True:
            rows = self._rows(_LINES, after=after, limit=_PAGE)
            yield from map(read_line, rows)
            if len(rows) < _PAGE:
                return
            after = rows[-1][0]

    def line_counts(self) -> dict[str, int]:
        return dict(self._rows("SELECT entry, count(*) FROM log WHERE ns = %(ns)s GROUP BY ns, entry ORDER BY entry"))

    # --- sessions

    def numbers_before(self, session: int, index: int, limit: int) -> list[int]:
        rows = self._rows(
            """SELECT seq FROM log WHERE ns = %(ns)s AND session = %(session)s AND idx < %(index)s AND entry = 'turn'
               ORDER BY idx DESC LIMIT %(limit)s""",
            session=session,
            index=index,
            limit=limit,
        )
        return [seq for (seq,) in rows][::-1]

    def session_number(self, session: str) -> int | None:
        sql = "SELECT session FROM sessions WHERE ns = %(ns)s AND name = %(name)s"
        number = self._one(sql, name=session)
        return number if isinstance(number, int) else None

    def places(self, session: str) -> list[Place]:
        rows = self._rows(
            """SELECT idx, digest, at, at_given, role, key IS NOT NULL FROM log
               WHERE ns = %(ns)s AND session = %(session)s AND entry = 'turn' ORDER BY idx""",
            session=self.session_number(session),
        )
        return [
            Place(index, digest, from_micros(at) if given else None, ROLES[role], keyed)
            for index, digest, at, given, role, keyed in rows
        ]

    def last_index(self, session: str) -> int:
        last = self._one(
            "SELECT max(idx) FROM log WHERE ns = %(ns)s AND session = %(session)s AND entry = 'turn'",
            session=self.session_number(session),
        )
        if self._marker is None:
            return last if isinstance(last, int) else -1
        erased = self._one(
            "SELECT max(idx) FROM tombstones WHERE ns = %(ns)s AND session = %(mark)s",
            mark=self._marker.session(session),
        )
        return max(one if isinstance(one, int) else -1 for one in (last, erased))

    # --- turns

    def turn(self, turn_id: str) -> Turn | None:
        return self.turns_named([turn_id]).get(turn_id)

    def turns_named(self, turn_ids: Sequence[str]) -> dict[str, Turn]:
        sql = f"{_TURNS} AND log.id = ANY(%(ids)s::text[])"
        return {turn.id: turn for turn in self._turns(sql, ids=list(turn_ids))} if turn_ids else {}

    def turns(self, seqs: Sequence[int]) -> dict[int, Turn]:
        sql = f"{_TURNS} AND log.seq = ANY(%(seqs)s::bigint[])"
        asked = [int(seq) for seq in seqs]
        return {turn.seq: turn for turn in self._turns(sql, seqs=asked)} if asked else {}

    def thread(self, session: str, after: int, limit: int) -> list[Turn]:
        sql = f"{_TURNS} AND {_IN_SESSION} AND log.idx > %(after)s ORDER BY log.idx LIMIT %(limit)s"
        return self._turns(sql, session=session, after=after, limit=limit)

    def recent_turns(
        self, limit: int, since: datetime | None, until: datetime | None, session: str | None
    ) -> Iterator[Turn]:
        where, values = "", dict[str, object](limit=limit)
        if session is not None:
            where, values["session"] = f"{where} AND {_IN_SESSION}", session
        if since is not None:
            where, values["since"] = f"{where} AND log.at >= %(since)s", to_micros(since)
        if until is not None:
            where, values["until"] = f"{where} AND log.at < %(until)s", to_micros(until)
        yield from self._newest(where, **values)

    def _newest(self, where: str, **values: object) -> list[Turn]:
        """Newest first by the time they were said; of those said at once, the later line of the log first.

        They are chosen before anything is joined to them: else the server may join all of a small namespace.
        """
        chosen = f"""(SELECT * FROM log WHERE log.ns = %(ns)s AND log.entry = 'turn'{where}
            {_NEWEST_FIRST} LIMIT %(limit)s) AS log"""
        beside = f"{_BESIDE} WHERE log.ns = %(ns)s"  # said again, so that whoever routes it sees it for each table
        return self._turns(f"SELECT {TURN_COLUMNS} FROM {chosen} {beside} {_NEWEST_FIRST}", **values)

    def _turns(self, sql: str, **values: object) -> list[Turn]:
        return [read_turn(self._namespace, row) for row in self._rows(sql, **values)]

    # --- what was erased

    @cached_property
    def _marker(self) -> Marker | None:
        """None where nothing was ever erased."""
        there = self._one("SELECT 1 FROM tombstones WHERE ns = %(ns)s LIMIT 1")
        return self._tx.marker if there else None

    def tombstones(self, session: str) -> list[tuple[int, Tombstone]]:
        return [] if self._marker is None else read_tombs(self._tx, self._marker.session(session))

    def erasures(self) -> tuple[int, datetime | None]:
        ((count, last),) = self._rows("SELECT count(*), max(at) FROM tombstones WHERE ns = %(ns)s")
        return count, None if last is None else from_micros(last)

    def erased_at(self, noun_id: str) -> datetime | None:
        if self._marker is None:
            return None
        sql = "SELECT at FROM tombstones WHERE ns = %(ns)s AND noun = %(noun)s"
        at = self._one(sql, noun=self._marker.noun(noun_id))
        if at is None:  # the id of the tombstone itself, which ingest gives for a turn that comes again
            sql = "SELECT at FROM log WHERE ns = %(ns)s AND id = %(noun)s AND entry <> 'turn' AND entry = 'erase'"
            at = self._one(sql, noun=noun_id)
        return from_micros(at) if isinstance(at, int) else None

    def is_refused(self, text: str) -> bool:
        if self._marker is None:
            return False
        sql = "SELECT 1 FROM refused WHERE ns = %(ns)s AND statement = %(statement)s"
        return bool(self._one(sql, statement=self._marker.statement(text)))


# --- Reading the records of a namespace, and which of them recall may show.


RECORD_COLUMNS = """records.num, records.id, records.kind, records.text, records.provenance,
    records.confidence, records.evidence_count, records.at, records.valid_from, records.valid_to, records.superseded_by,
    retrievals.count, retrievals.last, records.metadata, records.notches, records.trust"""
WITH_SOURCES = f"""{RECORD_COLUMNS}, ARRAY(SELECT log.id FROM sources AS of
    JOIN log ON log.ns = of.ns AND log.seq = of.turn
    WHERE of.ns = %(ns)s AND of.record = records.num ORDER BY of.turn)"""
"""… and the ids of the turns that it came from, in the order of the log."""
FROM_RECORDS = """FROM records
    LEFT JOIN retrievals ON retrievals.ns = records.ns AND retrievals.subject = records.id"""
# Records all of whose turns are forgotten: what a turn said is not served as a fact when the turn is hidden. And a
# summary any of whose turns is: its text may hold what was said there.
OF_HIDDEN = """SELECT sources.record FROM hidden
    JOIN log ON log.ns = hidden.ns AND log.id = hidden.subject AND log.entry = 'turn'
    JOIN sources ON sources.ns = hidden.ns AND sources.turn = log.seq
    WHERE hidden.ns = %(ns)s GROUP BY sources.ns, sources.record
    HAVING count(*) = (SELECT count(*) FROM sources AS all_of
                       WHERE all_of.ns = %(ns)s AND all_of.record = sources.record)
    OR EXISTS (SELECT 1 FROM records AS told WHERE told.ns = %(ns)s AND told.num = sources.record
               AND told.kind = %(summary)s AND told.compaction IS NOT NULL)"""
IS_LIVE = f"""records.superseded_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = %(ns)s AND hidden.subject = records.id)
    AND records.num NOT IN ({OF_HIDDEN})"""
_RECORD_READS_IN_SESSION = """EXISTS (SELECT 1 FROM sources
    JOIN log ON log.ns = sources.ns AND log.seq = sources.turn
    WHERE sources.ns = %(ns)s AND sources.record = records.num AND log.session = %(session)s)"""
_LEFT_OVER = f"""SELECT {TURN_COLUMNS} {FROM_LOG}
    WHERE log.ns = %(ns)s AND log.session = %(session)s AND log.idx <= %(upto)s AND log.entry = 'turn'
    AND NOT EXISTS (SELECT 1 FROM sources JOIN records ON records.ns = sources.ns AND records.num = sources.record
        WHERE sources.ns = %(ns)s AND sources.turn = log.seq
        AND records.compaction IS NOT NULL AND NOT records.partial
        AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = %(ns)s AND hidden.subject = records.id)
        AND sources.record NOT IN ({OF_HIDDEN}))
    ORDER BY log.idx"""
_SUCCESSORS = """SELECT sources.turn, records.superseded_by, records.metadata FROM sources
    JOIN records ON records.ns = sources.ns AND records.num = sources.record
    WHERE sources.ns = %(ns)s AND sources.turn = ANY(%(turns)s::bigint[])
    AND (records.superseded_by IS NOT NULL OR records.metadata LIKE '%%"revises"%%')"""
_TURNS_OF = """SELECT records.id, sources.turn FROM records
    JOIN sources ON sources.ns = records.ns AND sources.record = records.num
    WHERE records.ns = %(ns)s AND records.id = ANY(%(ids)s::text[])"""
_STANDING = f"""SELECT {RECORD_COLUMNS}, records.born, records.retired, hidden.seq, vectors.data
    {FROM_RECORDS}
    JOIN vectors ON vectors.ns = records.ns AND vectors.slot = %(slot)s AND vectors.space = %(space)s
        AND vectors.num = records.num
    LEFT JOIN hidden ON hidden.ns = records.ns AND hidden.subject = records.id
    WHERE records.ns = %(ns)s AND records.num > %(after)s ORDER BY records.num"""
_IDLE = f"""SELECT records.id, records.kind, records.text, records.provenance, records.confidence,
    records.notches, records.trust, records.at, made.recorded_at,
    (SELECT max(log.at) FROM sources JOIN log ON log.ns = sources.ns AND log.seq = sources.turn
     WHERE sources.ns = %(ns)s AND sources.record = records.num),
    (SELECT max(tended.at) FROM tended WHERE tended.ns = %(ns)s AND tended.subject = records.id),
    made.entry = 'remember'
    FROM records LEFT JOIN log AS made ON made.ns = records.ns AND made.seq = records.born
    WHERE records.ns = %(ns)s AND {IS_LIVE}
    AND NOT EXISTS (SELECT 1 FROM retrievals WHERE retrievals.ns = %(ns)s AND retrievals.subject = records.id)
    ORDER BY records.num"""
_SUMMARY = kind_number(Kind.SUMMARY)


class RecordReads(TurnReads):
    def record(self, record_id: str) -> Record | None:
        sql = f"SELECT {WITH_SOURCES} {FROM_RECORDS} WHERE records.ns = %(ns)s AND records.id = %(id)s"
        return next(iter(self._records(sql, id=record_id).values()), None)

    def records(self, nums: Sequence[int]) -> dict[int, Record]:
        sql = f"""SELECT {WITH_SOURCES} {FROM_RECORDS}
            WHERE records.ns = %(ns)s AND records.num = ANY(%(nums)s::bigint[])"""
        return self._records(sql, nums=[int(num) for num in nums]) if len(nums) else {}

    def _records(self, sql: str, **values: object) -> dict[int, Record]:
        """By number, in the order of the statement, which selects WITH_SOURCES."""
        return {row[0]: read_record(self._namespace, row[:-1], row[-1]) for row in self._rows(sql, **values)}

    def records_of(self, turn: Turn) -> list[Record]:
        # By the line that made them: their numbers are others after a rebuild, which makes those of acts first.
        sql = f"""SELECT {WITH_SOURCES} {FROM_RECORDS}
            JOIN sources ON sources.ns = records.ns AND sources.record = records.num
            WHERE records.ns = %(ns)s AND sources.turn = %(turn)s ORDER BY records.born, records.num"""
        return list(self._records(sql, turn=turn.seq).values())

    def is_live(self, record: Record) -> bool:
        sql = f"SELECT 1 FROM records WHERE records.ns = %(ns)s AND records.id = %(id)s AND {IS_LIVE}"
        return bool(self._one(sql, id=record.id, summary=_SUMMARY))

    def left_over(self, session: str, upto: int) -> list[Turn]:
        return self._turns(_LEFT_OVER, session=self.session_number(session), upto=upto, summary=_SUMMARY)

    def recent_records(
        self, limit: int, kind: Kind | None, since: datetime | None, until: datetime | None, session: str | None
    ) -> list[Record]:
        where = IS_LIVE
        values: dict[str, object] = {"limit": limit, "summary": _SUMMARY}
        if kind is not None:
            where, values["kind"] = f"{where} AND records.kind = %(kind)s", kind_number(kind)
        if since is not None:
            where, values["since"] = f"{where} AND records.at >= %(since)s", to_micros(since)
        if until is not None:
            where, values["until"] = f"{where} AND records.at < %(until)s", to_micros(until)
        if session is not None:
            where, values["session"] = f"{where} AND {_RECORD_READS_IN_SESSION}", self.session_number(session) or 0
        sql = f"""SELECT {WITH_SOURCES} {FROM_RECORDS} WHERE records.ns = %(ns)s AND {where}
            ORDER BY records.at DESC, records.born DESC, records.num DESC LIMIT %(limit)s"""
        return list(self._records(sql, **values).values())

    def protected(self) -> list[int]:
        sql = "SELECT num FROM records WHERE ns = %(ns)s AND kind = %(kind)s AND compaction IS NOT NULL"
        return [num for (num,) in self._rows(sql, kind=kind_number(Kind.GUIDANCE))]

    # --- what replaced what

    def successions(self) -> dict[str, str]:
        sql = "SELECT id, superseded_by FROM records WHERE ns = %(ns)s AND superseded_by IS NOT NULL"
        return dict(self._rows(sql))

    def retired(self) -> list[tuple[int, int]]:
        if self._has_no("retired"):
            return []
        sql = "SELECT num, valid_to FROM records WHERE ns = %(ns)s AND superseded_by IS NOT NULL"
        return [(num, valid_to) for num, valid_to in self._rows(sql)]

    def successors(self, turns: Sequence[int]) -> list[tuple[int, int]]:
        if not len(turns):
            return []
        newer: list[tuple[int, str]] = []
        older: list[tuple[int, str]] = []
        for turn, superseded_by, metadata in self._rows(_SUCCESSORS, turns=[int(turn) for turn in turns]):
            if superseded_by is not None:
                newer.append((turn, superseded_by))
            revised = unpack_metadata(metadata).get("revises") if metadata else None
            older += [(turn, str(one)) for one in (revised if isinstance(revised, list) else ())]
        said = self._turns_of([name for _, name in newer + older])
        found = [(turn, later) for turn, name in newer for later in said.get(name, ())]
        found += [(earlier, turn) for turn, name in older for earlier in said.get(name, ())]
        return [(before, after) for before, after in found if before < after]

    def _turns_of(self, record_ids: Sequence[str]) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for name, turn in self._rows(_TURNS_OF, ids=list(dict.fromkeys(record_ids))) if record_ids else ():
            found.setdefault(name, []).append(turn)
        return found

    # --- for derived work and the janitor

    def standing(self, fingerprint: str, after: int = 0) -> list[Standing]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        found = []
        for row in self._rows(_STANDING, slot=slot, space=int(Space.RECORD), after=after):
            born, retired, hidden, stored = row[-4:]
            record = read_record(self._namespace, row[:-4], (), lower=False)
            if COMPACTION in record.metadata:  # it says again what turns said: nothing to compare a new turn with
                continue
            (vector,) = whole([stored])
            ends = [end for end in (retired, hidden) if end is not None]
            found.append(Standing(record, born, min(ends) if ends else None, vector))
        return found

    def idle(self) -> Iterator[Idle]:
        vouched = {one.value: one for one in Provenance}
        for row in self._rows(_IDLE, summary=_SUMMARY):
            noun, kind, text, provenance, confidence, notches, trust, at, came, said, tended, explicit = row
            trusted = lowered(vouched[provenance], confidence, notches, trust)
            yield Idle(noun, KINDS[kind], text, *trusted, max(at, said or at), came or at, tended or 0, bool(explicit))


# --- One page after another of what a namespace holds: sessions, turns, records, newest first.
#
# A page begins behind the last of the page before, named by its id, so the hundredth costs what the first does.


# A session without turns has no last moment: it comes after all others.
_SESSIONS = """
    WITH spans AS (
        SELECT sessions.session, sessions.name, count(log.seq) AS turns, min(log.at) AS first, max(log.at) AS last,
            coalesce(max(log.at), -4611686018427387904) AS spoken
        FROM sessions LEFT JOIN log
            ON log.ns = sessions.ns AND log.session = sessions.session AND log.entry = 'turn'
        WHERE sessions.ns = %(ns)s GROUP BY sessions.ns, sessions.session, sessions.name)
    SELECT name, turns, first, last FROM spans
    WHERE %(before)s::text IS NULL
        OR (spoken, session) < (SELECT behind.spoken, behind.session FROM spans AS behind
                                WHERE behind.name = %(before)s)
    ORDER BY spoken DESC, session DESC LIMIT %(limit)s"""


class PageReads(RecordReads):
    def sessions(self, limit: int, before: str | None = None) -> list[SessionSpan]:
        return [
            SessionSpan(name, turns, from_micros(first), from_micros(last))
            if turns
            else SessionSpan(name, 0, None, None)
            for name, turns, first, last in self._rows(_SESSIONS, limit=limit, before=before)
        ]

    def turns_page(self, limit: int, before: str | None = None, until: datetime | None = None) -> list[Turn]:
        where, values = "", dict[str, object](limit=limit)
        if until is not None:
            where, values["until"] = f"{where} AND log.at < %(until)s", to_micros(until)
        if before is not None:
            values["before"] = before
            where = f"""{where} AND (log.at, log.seq) < (SELECT behind.at, behind.seq FROM log AS behind
                WHERE behind.ns = %(ns)s AND behind.id = %(before)s AND behind.entry = 'turn')"""
        return self._newest(where, **values)

    def records_page(
        self,
        limit: int,
        before: str | None = None,
        kind: Kind | None = None,
        provenance: Provenance | None = None,
        live: bool | None = None,
        merged: bool = False,
    ) -> list[Record]:
        where = "records.ns = %(ns)s"
        values: dict[str, object] = {"limit": limit}
        if merged:
            where = f"{where} AND records.evidence_count > 1 AND records.compaction IS NULL"
        if kind is not None:
            where, values["kind"] = f"{where} AND records.kind = %(kind)s", kind_number(kind)
        if provenance is not None:
            where, values["said"] = f"{where} AND records.provenance = %(said)s", provenance.value
        if live is not None:
            values["summary"] = kind_number(Kind.SUMMARY)
            where = f"{where} AND ({IS_LIVE})" if live else f"{where} AND NOT ({IS_LIVE})"
        if before is not None:
            values["before"] = before
            where = f"""{where} AND (records.at, records.born, records.num) < (
                SELECT behind.at, behind.born, behind.num FROM records AS behind
                WHERE behind.ns = %(ns)s AND behind.id = %(before)s)"""
        sql = f"""SELECT {WITH_SOURCES} {FROM_RECORDS} WHERE {where}
            ORDER BY records.at DESC, records.born DESC, records.num DESC LIMIT %(limit)s"""
        return list(self._records(sql, **values).values())


_ENDS: dict[Space, str] = {
    Space.RECORD: "SELECT max(num) FROM records WHERE ns = %(ns)s",
    Space.PASSAGE: "SELECT max(num) FROM passages WHERE ns = %(ns)s",
}
_LOG_END = "SELECT max(seq) FROM log WHERE ns = %(ns)s"
_COUNTS = """SELECT
    (SELECT count(*) FROM sessions WHERE ns = %(ns)s),
    (SELECT count(*) FROM log WHERE ns = %(ns)s AND entry = 'turn'),
    (SELECT count(*) FROM records WHERE ns = %(ns)s AND superseded_by IS NULL),
    (SELECT count(*) FROM records WHERE ns = %(ns)s AND kind = %(summary)s AND compaction IS NOT NULL),
    (SELECT count(*) FROM records WHERE ns = %(ns)s AND kind = %(guidance)s AND compaction IS NOT NULL),
    (SELECT count(*) FROM hidden WHERE ns = %(ns)s)"""
_TURN_DOCUMENTS = """SELECT seq, text, at, session, idx, role, metadata FROM log
    WHERE ns = %(ns)s AND seq > %(after)s AND entry = 'turn' ORDER BY seq LIMIT %(limit)s"""
_RECORD_DOCUMENTS = """SELECT num, text, at, born, kind, provenance, confidence, notches, trust
    FROM records WHERE ns = %(ns)s AND num > %(after)s ORDER BY num LIMIT %(limit)s"""
_PASSAGES = """SELECT num, turn, start, stop FROM passages
    WHERE ns = %(ns)s AND num > %(after)s ORDER BY num LIMIT %(limit)s"""
_CUT_TURNS = """SELECT seq, text, at, session, role FROM log
    WHERE ns = %(ns)s AND seq = ANY(%(turns)s::bigint[])"""
_HIDDEN_TURNS = """SELECT log.seq FROM hidden
    JOIN log ON log.ns = hidden.ns AND log.id = hidden.subject
    WHERE hidden.ns = %(ns)s AND log.entry = 'turn'"""
_HIDDEN_RECORDS = f"""SELECT records.num FROM hidden
    JOIN records ON records.ns = hidden.ns AND records.id = hidden.subject WHERE hidden.ns = %(ns)s
    UNION ALL SELECT num FROM gone WHERE ns = %(ns)s
    UNION ALL ({OF_HIDDEN})"""


class PostgresSnapshot(PageReads):
    # --- how far things have come

    def end(self, space: Space = Space.TURN) -> int:
        last = self._one(_ENDS.get(space, _LOG_END))
        return last if isinstance(last, int) else 0

    def cursor(self, stage: str) -> int:
        if not stage.startswith("compact:"):
            return self._heads.cursors.get(stage, 0)
        done = self._one("SELECT done FROM cursors WHERE ns = %(ns)s AND stage = %(stage)s", stage=stage)
        return done if isinstance(done, int) else 0

    def counts(self) -> Counts:
        (row,) = self._rows(_COUNTS, summary=kind_number(Kind.SUMMARY), guidance=kind_number(Kind.GUIDANCE))
        return Counts(*row)

    def counters(self, since: str | None) -> list[tuple[str, str, int]]:
        sql = "SELECT day, name, count FROM counters WHERE ns = %(ns)s AND day >= %(since)s ORDER BY day, name"
        return [(day, name, count) for day, name, count in self._rows(sql, since=since or "")]

    def scores(self) -> list[float]:
        rows = self._rows("SELECT data FROM signals WHERE ns = %(ns)s ORDER BY seq")
        return [read_signals(data)["g"] for (data,) in rows]

    # --- what is indexed

    def documents(self, space: Space, after: int, limit: int) -> list[Document]:
        if after >= self._heads.ends.get(space if space in (Space.RECORD, Space.PASSAGE) else Space.TURN, 0):
            return []
        if space is Space.PASSAGE:
            return self._passages(after, limit)
        if space is Space.RECORD:
            return self._record_documents(after, limit)
        return [
            Document(seq, text, at, session, index, sort, speaker_of(metadata), space)
            for seq, text, at, session, index, sort, metadata in self._rows(_TURN_DOCUMENTS, after=after, limit=limit)
        ]

    def _record_documents(self, after: int, limit: int) -> list[Document]:
        rows = self._rows(_RECORD_DOCUMENTS, after=after, limit=limit)
        return [
            Document(
                num, text, at, 0, born, kind, "", Space.RECORD,
                *lowered(Provenance(provenance), confidence, notches, trust),
            )
            for num, text, at, born, kind, provenance, confidence, notches, trust in rows
        ]  # fmt: skip

    def _passages(self, after: int, limit: int) -> list[Document]:
        cuts = self._rows(_PASSAGES, after=after, limit=limit)
        asked = list(dict.fromkeys(turn for _, turn, _, _ in cuts))  # a turn is read once, however long it is
        turns = {seq: row for seq, *row in self._rows(_CUT_TURNS, turns=asked)} if asked else {}
        found = []
        # A cut of no turn is passed over: a store with such a fault must open, or the doctor could not find it.
        for num, turn, start, stop in (cut for cut in cuts if cut[1] in turns):
            text, at, session, role = turns[turn]
            found.append(Document(num, text[start:stop], at, session, turn, role, space=Space.PASSAGE))
        return found

    # --- what was forgotten

    def hidden(self, space: Space) -> list[int]:
        if self._has_no("hidden") and (space is Space.TURN or self._has_no("gone")):
            return []
        if space is Space.TURN:
            return [seq for (seq,) in self._rows(_HIDDEN_TURNS)]
        return [num for (num,) in self._rows(_HIDDEN_RECORDS, summary=kind_number(Kind.SUMMARY))]

    def gone(self) -> list[int]:
        if self._has_no("gone"):
            return []
        return [num for (num,) in self._rows("SELECT num FROM gone WHERE ns = %(ns)s ORDER BY num")]

    def is_hidden(self, noun_id: str) -> bool:
        return bool(self._one("SELECT 1 FROM hidden WHERE ns = %(ns)s AND subject = %(subject)s", subject=noun_id))

    def forgotten(self) -> dict[str, int]:
        return dict(self._rows("SELECT subject, seq FROM hidden WHERE ns = %(ns)s"))

    # --- acts and receipts

    def acts(self, subject: str) -> list[Action]:
        rows = self._rows(
            """SELECT entry, id, at, text FROM log WHERE ns = %(ns)s AND id = %(subject)s AND entry <> 'turn'
               ORDER BY seq""",
            subject=subject,
        )
        return [
            Action(Entry(entry), noun, from_micros(at), unpack_metadata(payload)) for entry, noun, at, payload in rows
        ]

    def entries(self, entry: Entry) -> list[Action]:
        rows = self._rows(
            "SELECT id, at, text FROM log WHERE ns = %(ns)s AND entry <> 'turn' AND entry = %(entry)s ORDER BY seq",
            entry=entry.value,
        )
        return [Action(entry, noun, from_micros(at), unpack_metadata(payload)) for noun, at, payload in rows]

    def proposals(self, turn_ids: Sequence[str]) -> dict[str, Metadata]:
        sql = """SELECT id, text FROM log
            WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[]) AND entry <> 'turn' AND entry = 'propose'"""
        rows = self._rows(sql, ids=list(turn_ids)) if turn_ids else ()
        return {turn_id: unpack_metadata(payload) for turn_id, payload in rows}

    def receipts(self, subject: str) -> list[Decision]:
        sql = """SELECT subject, what, reason, at, details FROM receipts
            WHERE ns = %(ns)s AND subject = %(subject)s ORDER BY number"""
        return [decision for _, decision in self._decisions(sql, subject=subject)]

    def decisions(self, what: Sequence[str]) -> list[tuple[str, Decision]]:
        sql = """SELECT subject, what, reason, at, details FROM receipts
            WHERE ns = %(ns)s AND what = ANY(%(what)s::text[]) ORDER BY subject, number"""
        return self._decisions(sql, what=list(what))

    def _decisions(self, sql: str, **values: object) -> list[tuple[str, Decision]]:
        return [
            (subject, Decision(what, reason, None if at is None else from_micros(at), unpack_metadata(details)))
            for subject, what, reason, at, details in self._rows(sql, **values)
        ]

    # --- for the doctor

    def orphans(self) -> list[tuple[str, str]]:
        return orphans(self._tx)

    def models(self) -> dict[str, int]:
        return models(self._tx)

    def odd_vectors(self, fingerprint: str, sizes: Mapping[Space, int]) -> list[tuple[Space, int]]:
        slot = self._slot(fingerprint)
        return [] if slot is None else list(odd_vectors(self._tx, slot, sizes))


# --- Every text that SQLite keeps is kept here too: PostgreSQL's text cannot hold U+0000, so it is written as two
# letters.
#
# The escape is one to one, so equality and unique keys mean the same. It is registered on every connection, and nobody
# who writes a statement has to think of it.


_ESCAPE, _ESCAPED = "\ue000", "\ue000e"  # private use: nobody's text holds it by chance
_NUL, _NUL_ESCAPED = "\x00", "\ue0000"
_MARK = _ESCAPE.encode()


class _TextDumper(Dumper):
    oid = types["text"].oid

    def dump(self, obj: str) -> Buffer:
        if _ESCAPE in obj or _NUL in obj:
            obj = obj.replace(_ESCAPE, _ESCAPED).replace(_NUL, _NUL_ESCAPED)
        return obj.encode()


class _BinaryDumper(_TextDumper):
    format = Format.BINARY


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        raw = bytes(data)
        text = raw.decode()
        return text.replace(_NUL_ESCAPED, _NUL).replace(_ESCAPED, _ESCAPE) if _MARK in raw else text


class _BinaryLoader(_TextLoader):
    format = Format.BINARY


def register(connection: psycopg.Connection) -> None:
    adapters = connection.adapters
    adapters.register_dumper(str, _TextDumper)
    adapters.register_dumper(str, _BinaryDumper)
    adapters.register_loader("text", _TextLoader)
    adapters.register_loader("text", _BinaryLoader)
    adapters.register_dumper(list, ListBinaryDumper)
    # All numbers as bigint: else a statement is prepared once for every width of its values.
    adapters.register_dumper(int, Int8BinaryDumper)
