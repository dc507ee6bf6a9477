"""Reading one namespace of a SQLite store as it stood at one moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from holdfast.model import Action, Decision, Entry, Kind, Metadata, Provenance
from holdfast.moments import from_micros
from holdfast.store.codes import kind_number, lowered
from holdfast.store.nouns import COMPACTION, Counts, Document, Space
from holdfast.store.rows import read_score, speaker_of, unpack_metadata
from holdfast.store.sqlite.health import models, odd_vectors, orphans
from holdfast.store.sqlite.index_reads import MANY, NO_NAMESPACE
from holdfast.store.sqlite.keys import number_of, place
from holdfast.store.sqlite.page_reads import PageReads
from holdfast.store.sqlite.record_reads import OF_HIDDEN

__all__ = ["SqliteSnapshot"]


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
