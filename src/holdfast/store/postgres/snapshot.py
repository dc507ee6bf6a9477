"""Reading one namespace of a PostgreSQL store as it stood at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.model import Action, Decision, Entry, Kind, Metadata, Provenance
from holdfast.moments import from_micros
from holdfast.store.codes import kind_number, lowered
from holdfast.store.nouns import Counts, Document, Space
from holdfast.store.postgres.health import models, odd_vectors, orphans
from holdfast.store.postgres.page_reads import PageReads
from holdfast.store.postgres.record_reads import OF_HIDDEN
from holdfast.store.rows import read_signals, speaker_of, unpack_metadata

__all__ = ["PostgresSnapshot"]

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
