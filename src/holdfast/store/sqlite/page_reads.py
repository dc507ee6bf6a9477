"""One page after another of what a namespace holds: sessions, turns, records, newest first.

A page begins behind the last of the page before, named by its id, so nothing before it is counted through. Only the
list of sessions looks at each of them: a session moves when something is said in it.
"""

from __future__ import annotations

from datetime import datetime

from holdfast.model import Kind, Provenance, Record, Turn
from holdfast.moments import from_micros, to_micros
from holdfast.store.codes import kind_number
from holdfast.store.nouns import COMPACTION, SessionSpan
from holdfast.store.rows import read_turn
from holdfast.store.sqlite.record_reads import IS_LIVE, RecordReads
from holdfast.store.sqlite.rows import FROM_LOG, RECORD_COLUMNS, TURN_COLUMNS

__all__ = ["PageReads"]

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
