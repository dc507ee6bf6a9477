"""One page after another of what a namespace holds: sessions, turns, records, newest first.

A page begins behind the last of the page before, named by its id, so the hundredth costs what the first does.
"""

from __future__ import annotations

from datetime import datetime

from holdfast.model import Kind, Provenance, Record, Turn
from holdfast.moments import from_micros, to_micros
from holdfast.store.codes import kind_number
from holdfast.store.nouns import SessionSpan
from holdfast.store.postgres.record_reads import FROM_RECORDS, IS_LIVE, WITH_SOURCES, RecordReads

__all__ = ["PageReads"]

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
