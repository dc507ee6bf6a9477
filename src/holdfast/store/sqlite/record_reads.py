"""Reading the records of a namespace, and which of them recall may show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from holdfast.log.compaction import PARTIAL
from holdfast.model import Kind, Provenance, Record, Turn
from holdfast.moments import to_micros
from holdfast.store.codes import KINDS, kind_number, lowered
from holdfast.store.halves import whole
from holdfast.store.nouns import COMPACTION, Idle, Space, Standing
from holdfast.store.rows import read_record, read_turn, unpack_metadata
from holdfast.store.sqlite.index_reads import MANY, NO_NAMESPACE, in_list
from holdfast.store.sqlite.keys import NS_SHIFT, NUMBER_MASK, number_of, place, vector_place
from holdfast.store.sqlite.rows import FROM_LOG, RECORD_COLUMNS, TURN_COLUMNS
from holdfast.store.sqlite.turn_reads import TurnReads

__all__ = ["IS_LIVE", "OF_HIDDEN", "RecordReads"]

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
