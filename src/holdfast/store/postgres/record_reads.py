"""Reading the records of a namespace, and which of them recall may show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from holdfast.model import Kind, Provenance, Record, Turn
from holdfast.moments import to_micros
from holdfast.store.codes import KINDS, kind_number, lowered
from holdfast.store.halves import whole
from holdfast.store.nouns import COMPACTION, Idle, Space, Standing
from holdfast.store.postgres.turn_reads import FROM_LOG, TURN_COLUMNS, TurnReads
from holdfast.store.rows import read_record, unpack_metadata

__all__ = ["FROM_RECORDS", "IS_LIVE", "OF_HIDDEN", "WITH_SOURCES", "RecordReads"]

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
_IN_SESSION = """EXISTS (SELECT 1 FROM sources
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
            where, values["session"] = f"{where} AND {_IN_SESSION}", self.session_number(session) or 0
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
