"""Reading one namespace of a SQLite store as it stood at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from holdfast.log.align import Place
from holdfast.log.compaction import PARTIAL
from holdfast.log.lines import Line
from holdfast.log.tombstones import Marker, Tombstone
from holdfast.model import Action, Decision, Entry, Kind, Metadata, Provenance, Record, Turn
from holdfast.moments import from_micros, to_micros
from holdfast.store.codes import KINDS, ROLES, kind_number, lowered
from holdfast.store.halves import whole
from holdfast.store.nouns import COMPACTION, Counts, Document, Idle, SessionSpan, Space, Standing
from holdfast.store.rows import read_line, read_record, read_score, read_turn, speaker_of, unpack_metadata
from holdfast.store.sqlite.health import models, odd_vectors, orphans
from holdfast.store.sqlite.index_reads import MANY, NO_NAMESPACE, IndexReads, in_list
from holdfast.store.sqlite.keys import NS_SHIFT, NUMBER_MASK, number_of, place, vector_place
from holdfast.store.sqlite.lines import COLUMNS, FROM_LINES
from holdfast.store.sqlite.pages import OF_HIDDEN, record_rows, session_rows, turn_rows
from holdfast.store.sqlite.rows import FROM_LOG, RECORD_COLUMNS, TURN_COLUMNS
from holdfast.store.sqlite.tombs import last_erased_index, marker_of, read_tombs

__all__ = ["SqliteSnapshot"]


class SqliteSnapshot(IndexReads):
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

    def lines(self) -> Iterator[Line]:
        span = (place(self.ns, 0), place(self.ns + 1, 0) - 1) if self.ns != NO_NAMESPACE else (0, -1)
        for row in self._rows(f"SELECT {COLUMNS} {FROM_LINES} WHERE log.pos BETWEEN ? AND ? ORDER BY log.pos", span):
            yield read_line(row)

    def line_counts(self) -> dict[str, int]:
        return dict(
            self._rows("SELECT entry, count(*) FROM log WHERE ns = ? GROUP BY entry ORDER BY entry", (self.ns,))
        )

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

    # --- sessions and turns

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

    # --- page by page, for whoever looks through all of it

    def sessions(self, limit: int, before: str | None = None) -> list[SessionSpan]:
        return [
            SessionSpan(name, turns, from_micros(first), from_micros(last))
            if turns
            else SessionSpan(name, 0, None, None)
            for name, turns, first, last in session_rows(self._connection, self.ns, limit, before)
        ]

    def turns_page(self, limit: int, before: str | None = None, until: datetime | None = None) -> list[Turn]:
        return [read_turn(self._namespace, row) for row in turn_rows(self._connection, self.ns, limit, before, until)]

    def records_page(
        self,
        limit: int,
        before: str | None = None,
        kind: Kind | None = None,
        provenance: Provenance | None = None,
        live: bool | None = None,
        merged: bool = False,
    ) -> list[Record]:
        rows = record_rows(self._connection, self.ns, limit, before, kind, provenance, live, merged)
        return [self._read_record(row) for row in rows]

    # --- records

    def record(self, record_id: str) -> Record | None:
        row = next(
            self._rows(f"SELECT {RECORD_COLUMNS} FROM records WHERE ns = ? AND id = ?", (self.ns, record_id)), None
        )
        return self._read_record(row) if row else None

    def records(self, nums: Sequence[int]) -> dict[int, Record]:
        found = {}
        for start in range(0, len(nums), MANY):
            marks, part = in_list([place(self.ns, num) for num in nums[start : start + MANY]])
            rows = list(self._rows(f"SELECT {RECORD_COLUMNS} FROM records WHERE pos IN ({marks})", part))
            turn_ids = self._sources([number_of(row[0]) for row in rows])
            for row in rows:
                num = number_of(row[0])
                found[num] = read_record(self._namespace, row, turn_ids[num])
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
        return bool(
            self._one(
                f"""SELECT 1 FROM records WHERE ns = ?1 AND id = ?2 AND superseded_by IS NULL
                    AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = ?1 AND hidden.subject = ?2)
                    AND records.pos & {NUMBER_MASK} NOT IN ({OF_HIDDEN})""",
                (self.ns, record.id),
            )
        )

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
            f"""SELECT {RECORD_COLUMNS} FROM records WHERE {scope} AND superseded_by IS NULL
                AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = records.ns AND hidden.subject = records.id)
                AND records.pos & {NUMBER_MASK} NOT IN ({OF_HIDDEN})
                ORDER BY at DESC, born DESC, pos DESC LIMIT ?""",
            (*values, limit),
        )
        return [self._read_record(row) for row in list(rows)]

    def _read_record(self, row: tuple[object, ...]) -> Record:
        pos = row[0]
        assert isinstance(pos, int)
        turn_ids = self._rows(
            f"""SELECT log.id FROM sources JOIN log ON log.pos = (sources.ns << {NS_SHIFT}) | sources.turn
               WHERE sources.ns = ? AND sources.record = ? ORDER BY sources.turn""",
            (self.ns, number_of(pos)),
        )
        return read_record(self._namespace, row, [turn_id for (turn_id,) in turn_ids])

    def protected(self) -> list[int]:
        rows = self._rows(
            f"SELECT pos FROM records WHERE ns = ? AND kind = ? AND metadata ->> '$.{COMPACTION}' IS NOT NULL",
            (self.ns, kind_number(Kind.GUIDANCE)),
        )
        return [number_of(pos) for (pos,) in rows]

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
                WHERE records.pos BETWEEN ?2 AND ?3 AND records.superseded_by IS NULL
                AND NOT EXISTS (SELECT 1 FROM retrievals WHERE retrievals.ns = ?1 AND retrievals.subject = records.id)
                AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = ?1 AND hidden.subject = records.id)
                AND records.pos & {NUMBER_MASK} NOT IN ({OF_HIDDEN})
                ORDER BY records.pos""",
            (self.ns, place(self.ns, 0), place(self.ns + 1, 0) - 1),
        )
        vouched = {one.value: one for one in Provenance}
        for noun, kind, text, provenance, confidence, notches, trust, at, came, said, tended, explicit in rows:
            trusted = lowered(vouched[provenance], confidence, notches, trust)
            yield Idle(noun, KINDS[kind], text, *trusted, max(at, said or at), came or at, tended or 0, bool(explicit))

    def entries(self, entry: Entry) -> list[Action]:
        rows = self._rows(
            "SELECT id, at, text FROM log WHERE ns = ? AND entry <> 'turn' AND entry = ? ORDER BY pos",
            (self.ns, entry.value),
        )
        return [Action(entry, noun, from_micros(at), unpack_metadata(payload)) for noun, at, payload in rows]

    def orphans(self) -> list[tuple[str, str]]:
        return [] if self.ns == NO_NAMESPACE else orphans(self._connection, self.ns)

    def models(self) -> dict[str, int]:
        return models(self._connection, self.ns)

    def odd_vectors(self, fingerprint: str, sizes: Mapping[Space, int]) -> list[tuple[Space, int]]:
        slot = self._slot(fingerprint)
        return [] if slot is None else list(odd_vectors(self._connection, self.ns, slot, sizes))

    def scores(self) -> list[float]:
        if self.ns == NO_NAMESPACE:
            return []
        span = (place(self.ns, 0), place(self.ns + 1, 0) - 1)
        sql = "SELECT data FROM signals WHERE pos BETWEEN ? AND ?"
        return [read_score(data) for (data,) in self._rows(sql, span)]

    def counters(self, since: str | None) -> list[tuple[str, str, int]]:
        rows = self._rows(
            "SELECT day, name, count FROM counters WHERE ns = ? AND day >= ? ORDER BY day, name", (self.ns, since or "")
        )
        return [(day, name, count) for day, name, count in rows]
