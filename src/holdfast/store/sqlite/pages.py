"""One page after another of what a namespace holds: sessions, turns, records, newest first.

A page begins behind the last of the page before, named by its id, so nothing before it is counted through. Only the
list of sessions looks at each of them: a session moves when something is said in it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import apsw

from holdfast.model import Kind, Provenance
from holdfast.moments import to_micros
from holdfast.store.codes import kind_number
from holdfast.store.nouns import COMPACTION
from holdfast.store.sqlite.keys import NS_SHIFT, NUMBER_MASK
from holdfast.store.sqlite.rows import FROM_LOG, RECORD_COLUMNS, TURN_COLUMNS

__all__ = ["OF_HIDDEN", "record_rows", "session_rows", "turn_rows"]

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

_LIVE = f"""(records.superseded_by IS NULL
    AND NOT EXISTS (SELECT 1 FROM hidden WHERE hidden.ns = ?1 AND hidden.subject = records.id)
    AND records.pos & {NUMBER_MASK} NOT IN ({OF_HIDDEN}))"""


def session_rows(connection: apsw.Connection, ns: int, limit: int, before: str | None) -> list[Any]:
    """(name, turns, first, last), the one that was spoken in last first."""
    return list(connection.execute(_SESSIONS, (ns, before, limit)))


def turn_rows(
    connection: apsw.Connection, ns: int, limit: int, before: str | None, until: datetime | None
) -> list[Any]:
    scope: str = "log.ns = ?1"
    values: list[int | str] = [ns]
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
    return list(connection.execute(sql, (*values, limit)))


def record_rows(
    connection: apsw.Connection,
    ns: int,
    limit: int,
    before: str | None,
    kind: Kind | None,
    provenance: Provenance | None,
    live: bool | None,
    merged: bool,
) -> list[Any]:
    scope: str = "ns = ?1"
    values: list[int | str] = [ns]
    if kind is not None:
        scope, values = f"{scope} AND kind = ?", [*values, kind_number(kind)]
    if provenance is not None:
        scope, values = f"{scope} AND provenance = ?", [*values, provenance.value]
    if merged:
        scope = f"{scope} AND evidence_count > 1 AND metadata ->> '$.{COMPACTION}' IS NULL"
    if live is not None:
        scope = f"{scope} AND {'' if live else 'NOT '}{_LIVE}"
    if before is not None:
        scope, values = (
            f"""{scope} AND (at, born, pos) < (
                SELECT at, born, pos FROM records AS last WHERE last.ns = ?1 AND last.id = ?)""",
            [*values, before],
        )
    sql = f"SELECT {RECORD_COLUMNS} FROM records WHERE {scope} ORDER BY at DESC, born DESC, pos DESC LIMIT ?"
    return list(connection.execute(sql, (*values, limit)))
