"""Reading one namespace of a SQLite store as it stood at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

import apsw

from holdfast.log.acts import PARTIAL, Line
from holdfast.log.align import Place
from holdfast.log.tombstones import Marker, Tombstone
from holdfast.model import Action, Decision, Entry, Kind, Metadata, Provenance, Record, Turn
from holdfast.store.rows import (
    KINDS,
    ROLES,
    kind_number,
    lowered,
    read_line,
    read_record,
    read_score,
    read_turn,
    speaker_of,
    unpack_metadata,
    whole,
)
from holdfast.store.sqlite.connection import NS_SHIFT, NUMBER_MASK, number_of, place, vector_place
from holdfast.store.sqlite.files import models, odd_vectors, orphans
from holdfast.store.sqlite.tail import known_namespace, last_erased_index, marker_of, read_tombs
from holdfast.store.sqlite.writes import COLUMNS, FROM_LINES, FROM_LOG, RECORD_COLUMNS, TURN_COLUMNS
from holdfast.store.types import COMPACTION, BlockRef, Counts, Document, Idle, SessionSpan, Space, Standing
from holdfast.text.time import from_micros, to_micros

# --- Reading the indexes of a namespace: documents, postings, segments and vectors, as the bytes they are.


SQLiteValue = int | float | str | bytes | None

MANY = 500
"""Values of one IN list."""
NO_NAMESPACE = -1
"""A namespace nobody has written to: every query finds nothing."""
_LENGTHS = (1, 4, 16, 64, 128, MANY)


def in_list(values: Sequence[SQLiteValue]) -> tuple[str, list[SQLiteValue]]:
    """The marks of an IN list and its values, the last of them said again up to one of a few lengths.

    Lists of any length would be hundreds of different statements, and compiling one takes longer than running it.
    """
    length = next((most for most in _LENGTHS if most >= len(values)), len(values))
    return ",".join("?" * length), [*values, *[values[-1]] * (length - len(values))]


class IndexReads:
    def __init__(self, connection: apsw.Connection, namespace: str) -> None:
        self._connection = connection
        self._namespace = namespace
        number = known_namespace(connection, namespace)
        self.ns: int = NO_NAMESPACE if number is None else number

    # --- what is as it is while the snapshot lasts, each read at once

    @cached_property
    def _cursors(self) -> dict[str, int]:
        """All but those of compaction, of which every session has one."""
        if self.ns == NO_NAMESPACE:
            return {}
        sql = """SELECT stage, done FROM cursors WHERE ns = ?1 AND stage < 'compact:'
                 UNION ALL SELECT stage, done FROM cursors WHERE ns = ?1 AND stage >= 'compact;'"""
        return dict(self._rows(sql, (self.ns,)))

    @cached_property
    def _documents(self) -> dict[int, list[BlockRef]]:
        """By space the blocks of its documents."""
        found: dict[int, list[BlockRef]] = {}
        if self.ns != NO_NAMESPACE:
            sql = "SELECT space, block, version FROM documents WHERE ns = ? ORDER BY space, block"
            for space, block, version in self._rows(sql, (self.ns,)):
                found.setdefault(space, []).append(BlockRef(block, version))
        return found

    @cached_property
    def _segments(self) -> dict[tuple[int, int], list[BlockRef]]:
        """By slot and space its segments."""
        found: dict[tuple[int, int], list[BlockRef]] = {}
        if self.ns != NO_NAMESPACE:
            sql = "SELECT slot, space, block, version FROM segments WHERE ns = ? ORDER BY space, slot, block"
            for slot, space, block, version in self._rows(sql, (self.ns,)):
                found.setdefault((slot, space), []).append(BlockRef(block, version))
        return found

    @cached_property
    def _slots(self) -> dict[str, int]:
        if self.ns == NO_NAMESPACE:
            return {}
        return dict(self._rows("SELECT fingerprint, slot FROM models WHERE ns = ?", (self.ns,)))

    @cached_property
    def _hides(self) -> tuple[bool, bool]:
        """Whether anything was forgotten, and whether a record is gone: mostly nothing was and none is."""
        if self.ns == NO_NAMESPACE:
            return False, False
        sql = "SELECT EXISTS (SELECT 1 FROM hidden WHERE ns = ?1), EXISTS (SELECT 1 FROM gone WHERE ns = ?1)"
        forgotten, gone = next(self._rows(sql, (self.ns,)))
        return bool(forgotten), bool(gone)

    # --- reading

    def _rows(self, sql: str, values: Sequence[SQLiteValue] = ()) -> Iterator[Any]:
        return self._connection.execute(sql, values)

    def _one(self, sql: str, values: Sequence[SQLiteValue] = ()) -> object:
        row = next(self._rows(sql, values), None)
        return row[0] if row else None

    def document_blocks(self, space: Space) -> list[BlockRef]:
        return list(self._documents.get(space, ()))

    def document_block(self, space: Space, block: int) -> bytes:
        return self._bytes(
            "SELECT data FROM documents WHERE ns = ? AND space = ? AND block = ?", (self.ns, space, block)
        )

    def postings(self, space: Space, terms: Sequence[str]) -> dict[str, list[tuple[int, bytes]]]:
        found: dict[str, list[tuple[int, bytes]]] = {term: [] for term in terms}
        asked = list(found) if self._documents.get(space) else []
        for start in range(0, len(asked), MANY):
            marks, part = in_list(asked[start : start + MANY])
            rows = self._rows(
                f"""SELECT term, block, data FROM postings
                    WHERE ns = ? AND space = ? AND term IN ({marks}) ORDER BY term, block""",
                (self.ns, space, *part),
            )
            for term, block, data in rows:
                found[term].append((block, data))
        return found

    def segment_blocks(self, space: Space, fingerprint: str) -> list[BlockRef]:
        slot = self._slot(fingerprint)
        return [] if slot is None else list(self._segments.get((slot, space), ()))

    def segment(self, space: Space, fingerprint: str, block: int) -> bytes:
        return self._bytes(
            "SELECT data FROM segments WHERE ns = ? AND space = ? AND slot = ? AND block = ?",
            (self.ns, space, self._slot(fingerprint), block),
        )

    def vectors(self, space: Space, fingerprint: str, nums: Sequence[int]) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        found: list[tuple[int, bytes]] = []
        for start in range(0, len(nums) if slot is not None else 0, MANY):
            marks, part = in_list([vector_place(self.ns, slot or 0, space, num) for num in nums[start : start + MANY]])
            sql = f"SELECT pos, {_vector(space)} FROM vectors WHERE pos IN ({marks})"
            found += _read_vectors(self._rows(sql, part))
        return found

    def vectors_between(self, space: Space, fingerprint: str, after: int, upto: int) -> list[tuple[int, bytes]]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        rows = self._rows(
            f"SELECT pos, {_vector(space)} FROM vectors WHERE pos > ? AND pos <= ? ORDER BY pos",
            (vector_place(self.ns, slot, space, after), vector_place(self.ns, slot, space, upto)),
        )
        return _read_vectors(rows)

    def _slot(self, fingerprint: str) -> int | None:
        """Where this model's vectors lie; None if it has none here."""
        return self._slots.get(fingerprint)

    def _bytes(self, sql: str, values: Sequence[SQLiteValue]) -> bytes:
        data = self._one(sql, values)
        assert isinstance(data, bytes)
        return data


def _vector(space: Space) -> str:
    """What a turn tells may be the turn's own vector, and is then not written twice."""
    if space is not Space.TOLD:
        return "data"
    own = f"SELECT own.data FROM vectors AS own WHERE own.pos = vectors.pos - {vector_place(0, 0, space, 0)}"
    return f"CASE WHEN length(data) THEN data ELSE ({own}) END"


def _read_vectors(rows: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    found = list(rows)
    vectors = whole([data for _, data in found])
    return [(number_of(pos), data) for (pos, _), data in zip(found, vectors, strict=True)]


# --- Reading the log of a namespace: lines, sessions, turns, and what was erased.


class TurnReads(IndexReads):
    def lines(self) -> Iterator[Line]:
        span = (place(self.ns, 0), place(self.ns + 1, 0) - 1) if self.ns != NO_NAMESPACE else (0, -1)
        for row in self._rows(f"SELECT {COLUMNS} {FROM_LINES} WHERE log.pos BETWEEN ? AND ? ORDER BY log.pos", span):
            yield read_line(row)

    def line_counts(self) -> dict[str, int]:
        return dict(
            self._rows("SELECT entry, count(*) FROM log WHERE ns = ? GROUP BY entry ORDER BY entry", (self.ns,))
        )

    def numbers_before(self, session: int, index: int, limit: int) -> list[int]:
        rows = self._rows(
            """SELECT pos FROM log WHERE ns = ? AND session = ? AND idx < ? AND entry = 'turn'
               ORDER BY idx DESC LIMIT ?""",
            (self.ns, session, index, limit),
        )
        return [number_of(pos) for (pos,) in rows][::-1]

    def session_number(self, session: str) -> int | None:
        number = self._one("SELECT session FROM sessions WHERE ns = ? AND name = ?", (self.ns, session))
        return number if isinstance(number, int) else None

    def places(self, session: str) -> list[Place]:
        scope = (self.ns, self.session_number(session))
        keyed = {
            row[0] for row in self._rows("SELECT idx FROM log WHERE ns = ? AND session = ? AND key IS NOT NULL", scope)
        }
        rows = self._rows(
            """SELECT idx, digest, at, at_given, role FROM log INDEXED BY log_by_place
               WHERE ns = ? AND session = ? AND entry = 'turn' ORDER BY idx""",
            scope,
        )
        return [
            Place(index, digest, from_micros(at) if given else None, ROLES[role], index in keyed)
            for index, digest, at, given, role in rows
        ]

    def last_index(self, session: str) -> int:
        last = self._one(
            "SELECT max(idx) FROM log WHERE ns = ? AND session = ? AND entry = 'turn'",
            (self.ns, self.session_number(session)),
        )
        erased = last_erased_index(self._connection, self.ns, self._namespace, session)
        return max(last if isinstance(last, int) else -1, erased)

    def turn(self, turn_id: str) -> Turn | None:
        row = next(
            self._rows(
                f"SELECT {TURN_COLUMNS} {FROM_LOG} WHERE log.ns = ? AND log.id = ? AND log.entry = 'turn'",
                (self.ns, turn_id),
            ),
            None,
        )
        return read_turn(self._namespace, row) if row else None

    def turns_named(self, turn_ids: Sequence[str]) -> dict[str, Turn]:
        found = {}
        for start in range(0, len(turn_ids), MANY):
            marks, part = in_list(turn_ids[start : start + MANY])
            rows = self._rows(
                f"""SELECT {TURN_COLUMNS} {FROM_LOG}
                    WHERE log.ns = ? AND log.id IN ({marks}) AND log.entry = 'turn'""",
                (self.ns, *part),
            )
            for row in rows:
                turn = read_turn(self._namespace, row)
                found[turn.id] = turn
        return found

    def turns(self, seqs: Sequence[int]) -> dict[int, Turn]:
        found = {}
        for start in range(0, len(seqs), MANY):
            marks, part = in_list([place(self.ns, seq) for seq in seqs[start : start + MANY]])
            for row in self._rows(
                f"SELECT {TURN_COLUMNS} {FROM_LOG} WHERE log.pos IN ({marks}) AND log.entry = 'turn'", part
            ):
                turn = read_turn(self._namespace, row)
                found[turn.seq] = turn
        return found

    def thread(self, session: str, after: int, limit: int) -> list[Turn]:
        rows = self._rows(
            f"""SELECT {TURN_COLUMNS} {FROM_LOG}
                WHERE log.ns = ? AND log.session = ? AND log.idx > ? AND log.entry = 'turn' ORDER BY log.idx LIMIT ?""",
            (self.ns, self.session_number(session), after, limit),
        )
        return [read_turn(self._namespace, row) for row in rows]

    def recent_turns(
        self, limit: int, since: datetime | None, until: datetime | None, session: str | None
    ) -> Iterator[Turn]:
        """Newest first by the time they were said; of those said at once, the later line of the log first."""
        scope, values = "log.ns = ?", [self.ns]
        if session is not None:
            number = self.session_number(session)
            if number is None:
                return
            scope, values = "log.ns = ? AND log.session = ?", [self.ns, number]
        if since is not None:
            scope, values = f"{scope} AND log.at >= ?", [*values, to_micros(since)]
        if until is not None:
            scope, values = f"{scope} AND log.at < ?", [*values, to_micros(until)]
        sql = f"""SELECT {TURN_COLUMNS} {FROM_LOG}
                  WHERE {scope} AND log.entry = 'turn' ORDER BY log.at DESC, log.pos DESC LIMIT ?"""
        for row in self._rows(sql, (*values, limit)):
            yield read_turn(self._namespace, row)

    # --- what was erased

    @cached_property
    def _marker(self) -> Marker | None:
        """None where nothing was ever erased."""
        there = self._one("SELECT 1 FROM tombstones WHERE ns = ? LIMIT 1", (self.ns,))
        return marker_of(self._connection, self._namespace) if there else None

    def tombstones(self, session: str) -> list[tuple[int, Tombstone]]:
        return [] if self._marker is None else read_tombs(self._connection, self.ns, self._marker.session(session))

    def erasures(self) -> tuple[int, datetime | None]:
        count, last = next(self._rows("SELECT count(*), max(at) FROM tombstones WHERE ns = ?", (self.ns,)))
        return count, None if last is None else from_micros(last)

    def erased_at(self, noun_id: str) -> datetime | None:
        if self._marker is None:
            return None
        sql = "SELECT at FROM tombstones WHERE ns = ? AND noun = ?"
        at = self._one(sql, (self.ns, self._marker.noun(noun_id)))
        if at is None:  # the id of the tombstone itself, which ingest gives for a turn that comes again
            sql = "SELECT at FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' AND entry = 'erase'"
            at = self._one(sql, (self.ns, noun_id))
        return from_micros(at) if isinstance(at, int) else None

    def is_refused(self, text: str) -> bool:
        if self._marker is None:
            return False
        sql = "SELECT 1 FROM refused WHERE ns = ? AND statement = ?"
        return bool(self._one(sql, (self.ns, self._marker.statement(text))))


# --- Reading the records of a namespace, and which of them recall may show.


# Records all of whose turns are forgotten: what a turn said is not served as a fact when the turn is hidden. And a
# summary any of whose turns is: its text may hold what was said there.
OF_HIDDEN = f"""SELECT sources.record FROM hidden
                 JOIN log ON log.ns = hidden.ns AND log.id = hidden.subject AND log.entry = 'turn'
                 JOIN sources ON sources.ns = hidden.ns AND sources.turn = log.pos & {NUMBER_MASK}
                 WHERE hidden.ns = ?1 GROUP BY sources.record
                 HAVING count(*) = (SELECT count(*) FROM sources AS all_of
                                    WHERE all_of.ns = ?1 AND all_of.record = sources.record)
                 OR EXISTS (SELECT 1 FROM records WHERE records.pos = (?1 << {NS_SHIFT}) | sources.record
                            AND records.kind = {kind_number(Kind.SUMMARY)}
                            AND records.metadata ->> '$.{COMPACTION}' IS NOT NULL)"""
IS_LIVE = f"""(records.superseded_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = ?1 AND hidden.subject = records.id)
    AND records.pos & {NUMBER_MASK} NOT IN ({OF_HIDDEN}))"""


class RecordReads(TurnReads):
    def record(self, record_id: str) -> Record | None:
        row = next(
            self._rows(f"SELECT {RECORD_COLUMNS} FROM records WHERE ns = ? AND id = ?", (self.ns, record_id)), None
        )
        return self._read_record(row) if row else None

    def records(self, nums: Sequence[int]) -> dict[int, Record]:
        found: dict[int, Record] = {}
        for start in range(0, len(nums), MANY):
            marks, part = in_list([place(self.ns, num) for num in nums[start : start + MANY]])
            rows = list(self._rows(f"SELECT {RECORD_COLUMNS} FROM records WHERE pos IN ({marks})", part))
            turn_ids = self._sources([row[0] for row in rows])
            found |= {row[0]: read_record(self._namespace, row, turn_ids[row[0]]) for row in rows}
        return found

    def _sources(self, nums: Sequence[int]) -> dict[int, list[str]]:
        """The ids of the turns that each of these records came from, in the order of the log."""
        found: dict[int, list[str]] = {num: [] for num in nums}
        if not nums:
            return found
        marks, part = in_list(nums)
        rows = self._rows(
            f"""SELECT sources.record, log.id FROM sources
                JOIN log ON log.pos = (sources.ns << {NS_SHIFT}) | sources.turn
                WHERE sources.ns = ? AND sources.record IN ({marks})
                ORDER BY sources.record, sources.turn""",
            (self.ns, *part),
        )
        for num, turn_id in rows:
            found[num].append(turn_id)
        return found

    def _read_record(self, row: tuple[object, ...]) -> Record:
        num = row[0]
        assert isinstance(num, int)
        return read_record(self._namespace, row, self._sources([num])[num])

    def records_of(self, turn: Turn) -> list[Record]:
        # By the line that made them: their numbers are others after a rebuild, which makes those of acts first.
        rows = self._rows(
            f"""SELECT sources.record FROM sources
                JOIN records ON records.pos = (sources.ns << {NS_SHIFT}) | sources.record
                WHERE sources.ns = ? AND sources.turn = ? ORDER BY records.born, records.pos""",
            (self.ns, turn.seq),
        )
        nums = [num for (num,) in rows]
        found = self.records(nums)
        return [found[num] for num in nums]

    def is_live(self, record: Record) -> bool:
        return bool(self._one(f"SELECT 1 FROM records WHERE ns = ?1 AND id = ?2 AND {IS_LIVE}", (self.ns, record.id)))

    def left_over(self, session: str, upto: int) -> list[Turn]:
        rows = self._rows(
            f"""SELECT {TURN_COLUMNS} {FROM_LOG}
                WHERE log.ns = ?1 AND log.session = ?2 AND log.idx <= ?3 AND log.entry = 'turn'
                AND NOT EXISTS (SELECT 1 FROM sources
                    JOIN records ON records.pos = (sources.ns << {NS_SHIFT}) | sources.record
                    WHERE sources.ns = ?1 AND sources.turn = log.pos & {NUMBER_MASK}
                    AND records.metadata ->> '$.{COMPACTION}' IS NOT NULL
                    AND records.metadata ->> '$.{PARTIAL}' IS NULL
                    AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = ?1 AND hidden.subject = records.id)
                    AND sources.record NOT IN ({OF_HIDDEN}))
                ORDER BY log.idx""",
            (self.ns, self.session_number(session), upto),
        )
        return [read_turn(self._namespace, row) for row in rows]

    def recent_records(
        self, limit: int, kind: Kind | None, since: datetime | None, until: datetime | None, session: str | None
    ) -> list[Record]:
        scope, values = "ns = ?1", [self.ns]
        if kind is not None:
            scope, values = f"{scope} AND kind = ?", [*values, kind_number(kind)]
        if since is not None:
            scope, values = f"{scope} AND at >= ?", [*values, to_micros(since)]
        if until is not None:
            scope, values = f"{scope} AND at < ?", [*values, to_micros(until)]
        if session is not None:
            scope = f"""{scope} AND EXISTS (
                        SELECT 1 FROM sources JOIN log ON log.pos = (records.ns << {NS_SHIFT}) | sources.turn
                        WHERE sources.ns = records.ns AND sources.record = records.pos & {NUMBER_MASK}
                        AND log.session = ?)"""
            values = [*values, self.session_number(session) or 0]
        rows = self._rows(
            f"""SELECT {RECORD_COLUMNS} FROM records WHERE {scope} AND {IS_LIVE}
                ORDER BY at DESC, born DESC, pos DESC LIMIT ?""",
            (*values, limit),
        )
        return [self._read_record(row) for row in list(rows)]

    def protected(self) -> list[int]:
        rows = self._rows(
            f"SELECT pos FROM records WHERE ns = ? AND kind = ? AND metadata ->> '$.{COMPACTION}' IS NOT NULL",
            (self.ns, kind_number(Kind.GUIDANCE)),
        )
        return [number_of(pos) for (pos,) in rows]

    def successions(self) -> dict[str, str]:
        return dict(
            self._rows("SELECT id, superseded_by FROM records WHERE ns = ? AND superseded_by IS NOT NULL", (self.ns,))
        )

    def retired(self) -> list[tuple[int, int]]:
        # Named, for SQLite would take the index of kinds and read every record: 6 ms of a search among 24,000.
        rows = self._rows(
            "SELECT pos, valid_to FROM records INDEXED BY records_retired WHERE ns = ? AND superseded_by IS NOT NULL",
            (self.ns,),
        )
        return [(number_of(pos), valid_to) for pos, valid_to in rows]

    def successors(self, turns: Sequence[int]) -> list[tuple[int, int]]:
        if not turns:
            return []
        marks, part = in_list(turns)
        rows = self._rows(
            f"""SELECT sources.turn, records.id, records.superseded_by, records.metadata FROM sources
                JOIN records ON records.pos = (sources.ns << {NS_SHIFT}) | sources.record
                WHERE sources.ns = ? AND sources.turn IN ({marks})
                AND (records.superseded_by IS NOT NULL OR records.metadata LIKE '%"revises"%')""",
            (self.ns, *part),
        )
        found: list[tuple[int, int]] = []
        for turn, _, superseded_by, metadata in list(rows):
            if superseded_by is not None:
                found += [(turn, later) for later in self._turns_of(superseded_by)]
            revised = unpack_metadata(metadata).get("revises") if metadata else None
            for older in revised if isinstance(revised, list) else ():
                found += [(earlier, turn) for earlier in self._turns_of(str(older))]
        return [(older, newer) for older, newer in found if older < newer]

    def _turns_of(self, record_id: str) -> list[int]:
        rows = self._rows(
            f"""SELECT sources.turn FROM records
                JOIN sources ON sources.ns = records.ns AND sources.record = records.pos & {NUMBER_MASK}
                WHERE records.ns = ? AND records.id = ?""",
            (self.ns, record_id),
        )
        return [turn for (turn,) in rows]

    def standing(self, fingerprint: str, after: int = 0) -> list[Standing]:
        slot = self._slot(fingerprint)
        if slot is None:
            return []
        rows = self._rows(
            f"""SELECT {RECORD_COLUMNS}, records.born, records.retired, hidden.seq, vectors.data FROM records
                JOIN vectors ON vectors.pos = ? + (records.pos & {NUMBER_MASK})
                LEFT JOIN hidden ON hidden.ns = records.ns AND hidden.subject = records.id
                WHERE records.pos > ? AND records.pos < ? ORDER BY records.pos""",
            (vector_place(self.ns, slot, Space.RECORD, 0), place(self.ns, after), place(self.ns + 1, 0)),
        )
        found = []
        for row in rows:
            born, retired, hidden, stored = row[-4:]
            (vector,) = whole([stored])
            record = read_record(self._namespace, row[:-4], (), lower=False)
            if COMPACTION in record.metadata:  # it says again what turns said: nothing to compare a new turn with
                continue
            ends = [end for end in (retired, hidden) if end is not None]
            found.append(Standing(record, born, min(ends) if ends else None, vector))
        return found

    def idle(self) -> Iterator[Idle]:
        if self.ns == NO_NAMESPACE:
            return
        rows = self._rows(
            f"""SELECT records.id, kind, records.text, provenance, confidence, notches, trust, records.at,
                made.recorded_at,
                (SELECT max(log.at) FROM sources JOIN log ON log.pos = (sources.ns << {NS_SHIFT}) | sources.turn
                 WHERE sources.ns = records.ns AND sources.record = records.pos & {NUMBER_MASK}),
                (SELECT max(at) FROM tended WHERE tended.ns = records.ns AND tended.subject = records.id),
                made.entry = 'remember'
                FROM records LEFT JOIN log AS made ON made.pos = (records.ns << {NS_SHIFT}) | records.born
                WHERE records.pos BETWEEN ?2 AND ?3 AND {IS_LIVE}
                AND NOT EXISTS (SELECT 1 FROM retrievals WHERE retrievals.ns = ?1 AND retrievals.subject = records.id)
                ORDER BY records.pos""",
            (self.ns, place(self.ns, 0), place(self.ns + 1, 0) - 1),
        )
        vouched = {one.value: one for one in Provenance}
        for noun, kind, text, provenance, confidence, notches, trust, at, came, said, tended, explicit in rows:
            trusted = lowered(vouched[provenance], confidence, notches, trust)
            yield Idle(noun, KINDS[kind], text, *trusted, max(at, said or at), came or at, tended or 0, bool(explicit))


# --- One page after another of what a namespace holds: sessions, turns, records, newest first.
#
# A page begins behind the last of the page before, named by its id, so nothing before it is counted through. Only the
# list of sessions looks at each of them: a session moves when something is said in it.


_NEVER = -(1 << 62)
"""The last moment of a session without turns: it comes after all others."""

_LAST = f"""coalesce((SELECT max(log.at) FROM log
             WHERE log.ns = sessions.ns AND log.session = sessions.session AND log.entry = 'turn'), {_NEVER})"""

_SESSIONS = f"""
    WITH spans AS (SELECT ns, session, name, {_LAST} AS last FROM sessions WHERE ns = ?1)
    SELECT name,
        (SELECT count(*) FROM log WHERE log.ns = ?1 AND log.session = spans.session AND log.entry = 'turn'),
        (SELECT min(log.at) FROM log WHERE log.ns = ?1 AND log.session = spans.session AND log.entry = 'turn'),
        last
    FROM spans WHERE ?2 IS NULL
        OR (last, session) < (SELECT {_LAST}, session FROM sessions WHERE ns = ?1 AND name = ?2)
    ORDER BY last DESC, session DESC LIMIT ?3"""


class PageReads(RecordReads):
    def sessions(self, limit: int, before: str | None = None) -> list[SessionSpan]:
        return [
            SessionSpan(name, turns, from_micros(first), from_micros(last))
            if turns
            else SessionSpan(name, 0, None, None)
            for name, turns, first, last in self._rows(_SESSIONS, (self.ns, before, limit))
        ]

    def turns_page(self, limit: int, before: str | None = None, until: datetime | None = None) -> list[Turn]:
        scope: str = "log.ns = ?1"
        values: list[int | str] = [self.ns]
        if until is not None:
            scope, values = f"{scope} AND log.at < ?", [*values, to_micros(until)]
        if before is not None:
            scope, values = (
                f"""{scope} AND (log.at, log.pos) < (
                    SELECT at, pos FROM log AS last WHERE last.ns = ?1 AND last.id = ? AND last.entry = 'turn')""",
                [*values, before],
            )
        sql = f"""SELECT {TURN_COLUMNS} {FROM_LOG}
                  WHERE {scope} AND log.entry = 'turn' ORDER BY log.at DESC, log.pos DESC LIMIT ?"""
        return [read_turn(self._namespace, row) for row in self._rows(sql, (*values, limit))]

    def records_page(
        self,
        limit: int,
        before: str | None = None,
        kind: Kind | None = None,
        provenance: Provenance | None = None,
        live: bool | None = None,
        merged: bool = False,
    ) -> list[Record]:
        scope: str = "ns = ?1"
        values: list[int | str] = [self.ns]
        if kind is not None:
            scope, values = f"{scope} AND kind = ?", [*values, kind_number(kind)]
        if provenance is not None:
            scope, values = f"{scope} AND provenance = ?", [*values, provenance.value]
        if merged:
            scope = f"{scope} AND evidence_count > 1 AND metadata ->> '$.{COMPACTION}' IS NULL"
        if live is not None:
            scope = f"{scope} AND {'' if live else 'NOT '}{IS_LIVE}"
        if before is not None:
            scope, values = (
                f"""{scope} AND (at, born, pos) < (
                    SELECT at, born, pos FROM records AS last WHERE last.ns = ?1 AND last.id = ?)""",
                [*values, before],
            )
        sql = f"SELECT {RECORD_COLUMNS} FROM records WHERE {scope} ORDER BY at DESC, born DESC, pos DESC LIMIT ?"
        return [self._read_record(row) for row in list(self._rows(sql, (*values, limit)))]


class SqliteSnapshot(PageReads):
    # --- how far things have come

    def end(self, space: Space = Space.TURN) -> int:
        if self.ns == NO_NAMESPACE:
            return 0
        table = {Space.RECORD: "records", Space.PASSAGE: "passages"}.get(space, "log")
        last = self._one(
            f"SELECT max(pos) FROM {table} WHERE pos BETWEEN ? AND ?", (place(self.ns, 0), place(self.ns + 1, 0) - 1)
        )
        return number_of(last) if isinstance(last, int) else 0

    def cursor(self, stage: str) -> int:
        if not stage.startswith("compact:"):
            return self._cursors.get(stage, 0)
        done = self._one("SELECT done FROM cursors WHERE ns = ? AND stage = ?", (self.ns, stage))
        return done if isinstance(done, int) else 0

    def counts(self) -> Counts:
        def count(sql: str) -> int:
            number = self._one(sql, (self.ns,))
            assert isinstance(number, int)
            return number

        made = (
            f"SELECT count(*) FROM records WHERE ns = ? AND kind = {{}} AND metadata ->> '$.{COMPACTION}' IS NOT NULL"
        )
        return Counts(
            sessions=count("SELECT count(*) FROM sessions WHERE ns = ?"),
            turns=count("SELECT count(*) FROM log WHERE ns = ? AND entry = 'turn'"),
            records=count("SELECT count(*) FROM records WHERE ns = ? AND superseded_by IS NULL"),
            summaries=count(made.format(kind_number(Kind.SUMMARY))),
            guidance=count(made.format(kind_number(Kind.GUIDANCE))),
            hidden=count("SELECT count(*) FROM hidden WHERE ns = ?"),
        )

    def counters(self, since: str | None) -> list[tuple[str, str, int]]:
        rows = self._rows(
            "SELECT day, name, count FROM counters WHERE ns = ? AND day >= ? ORDER BY day, name", (self.ns, since or "")
        )
        return [(day, name, count) for day, name, count in rows]

    def scores(self) -> list[float]:
        if self.ns == NO_NAMESPACE:
            return []
        span = (place(self.ns, 0), place(self.ns + 1, 0) - 1)
        sql = "SELECT data FROM signals WHERE pos BETWEEN ? AND ?"
        return [read_score(data) for (data,) in self._rows(sql, span)]

    # --- what is indexed

    def documents(self, space: Space, after: int, limit: int) -> list[Document]:
        if self.ns == NO_NAMESPACE:
            return []
        span = (place(self.ns, after), place(self.ns + 1, 0) - 1, limit)
        if space is Space.PASSAGE:
            return self._passages(span)
        if space is Space.RECORD:
            return self._record_documents(span)
        sql = """SELECT pos, text, at, session, idx, role, metadata FROM log
                 WHERE pos > ? AND pos <= ? AND entry = 'turn' ORDER BY pos LIMIT ?"""
        return [
            Document(number_of(pos), text, at, session, index, sort, speaker_of(metadata), space)
            for pos, text, at, session, index, sort, metadata in self._rows(sql, span)
        ]

    def _record_documents(self, span: tuple[int, int, int]) -> list[Document]:
        sql = """SELECT pos, text, at, born, kind, provenance, confidence, notches, trust FROM records
                 WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?"""
        return [
            Document(
                number_of(pos), text, at, 0, born, kind, "", Space.RECORD,
                *lowered(Provenance(provenance), confidence, notches, trust),
            )
            for pos, text, at, born, kind, provenance, confidence, notches, trust in self._rows(sql, span)
        ]  # fmt: skip

    def _passages(self, span: tuple[int, int, int]) -> list[Document]:
        sql = "SELECT pos, turn, start, stop FROM passages WHERE pos > ? AND pos <= ? ORDER BY pos LIMIT ?"
        cuts = list(self._rows(sql, span))
        turns: dict[int, tuple[str, int, int, int]] = {}
        for turn in dict.fromkeys(turn for _, turn, _, _ in cuts):  # a turn is read once, however long it is
            sql = "SELECT text, at, session, role FROM log WHERE pos = ?"
            row = next(self._rows(sql, (place(self.ns, turn),)), None)
            if row is not None:  # a store with such a fault must open, or the doctor could not find it
                turns[turn] = row
        found = []
        for pos, turn, start, stop in (cut for cut in cuts if cut[1] in turns):
            text, at, session, role = turns[turn]
            found.append(Document(number_of(pos), text[start:stop], at, session, turn, role, space=Space.PASSAGE))
        return found

    # --- what was forgotten, done and decided

    def hidden(self, space: Space) -> list[int]:
        forgotten, gone = self._hides
        if not forgotten and (space is Space.TURN or not gone):
            return []
        if space is Space.TURN:
            sql = """SELECT log.pos FROM hidden JOIN log ON log.ns = hidden.ns AND log.id = hidden.subject
                     WHERE hidden.ns = ? AND log.entry = 'turn'"""
        else:
            sql = (
                """SELECT records.pos FROM hidden
                     JOIN records ON records.ns = hidden.ns AND records.id = hidden.subject
                     WHERE hidden.ns = ?1 UNION ALL SELECT num FROM gone WHERE ns = ?1 UNION ALL """
                + OF_HIDDEN
            )
        return [number_of(pos) for (pos,) in self._rows(sql, (self.ns,))]

    def gone(self) -> list[int]:
        if not self._hides[1]:
            return []
        return [num for (num,) in self._rows("SELECT num FROM gone WHERE ns = ? ORDER BY num", (self.ns,))]

    def is_hidden(self, noun_id: str) -> bool:
        return bool(self._one("SELECT 1 FROM hidden WHERE ns = ? AND subject = ?", (self.ns, noun_id)))

    def forgotten(self) -> dict[str, int]:
        return dict(self._rows("SELECT subject, seq FROM hidden WHERE ns = ?", (self.ns,)))

    def acts(self, subject: str) -> list[Action]:
        rows = self._rows(
            "SELECT entry, id, at, text FROM log WHERE ns = ? AND id = ? AND entry <> 'turn' ORDER BY pos",
            (self.ns, subject),
        )
        return [
            Action(Entry(entry), noun, from_micros(at), unpack_metadata(payload)) for entry, noun, at, payload in rows
        ]

    def entries(self, entry: Entry) -> list[Action]:
        rows = self._rows(
            "SELECT id, at, text FROM log WHERE ns = ? AND entry <> 'turn' AND entry = ? ORDER BY pos",
            (self.ns, entry.value),
        )
        return [Action(entry, noun, from_micros(at), unpack_metadata(payload)) for noun, at, payload in rows]

    def proposals(self, turn_ids: Sequence[str]) -> dict[str, Metadata]:
        found: dict[str, Metadata] = {}
        for start in range(0, len(turn_ids), MANY):
            part = list(turn_ids[start : start + MANY])
            marks = ", ".join("?" * len(part))
            rows = self._rows(
                f"""SELECT id, text FROM log
                    WHERE ns = ? AND id IN ({marks}) AND entry <> 'turn' AND entry = 'propose'""",
                (self.ns, *part),
            )
            found |= {turn_id: unpack_metadata(payload) for turn_id, payload in rows}
        return found

    def receipts(self, subject: str) -> list[Decision]:
        rows = self._rows(
            "SELECT what, reason, at, details FROM receipts WHERE ns = ? AND subject = ? ORDER BY number",
            (self.ns, subject),
        )
        return [
            Decision(what, reason, None if at is None else from_micros(at), unpack_metadata(details))
            for what, reason, at, details in rows
        ]

    def decisions(self, what: Sequence[str]) -> list[tuple[str, Decision]]:
        rows = self._rows(
            f"""SELECT subject, what, reason, at, details FROM receipts
                WHERE ns = ? AND what IN ({",".join("?" * len(what))}) ORDER BY subject, number""",
            (self.ns, *what),
        )
        return [
            (subject, Decision(name, reason, None if at is None else from_micros(at), unpack_metadata(details)))
            for subject, name, reason, at, details in rows
        ]

    # --- what the doctor asks

    def orphans(self) -> list[tuple[str, str]]:
        return [] if self.ns == NO_NAMESPACE else orphans(self._connection, self.ns)

    def models(self) -> dict[str, int]:
        return models(self._connection, self.ns)

    def odd_vectors(self, fingerprint: str, sizes: Mapping[Space, int]) -> list[tuple[Space, int]]:
        slot = self._slot(fingerprint)
        return [] if slot is None else list(odd_vectors(self._connection, self.ns, slot, sizes))
