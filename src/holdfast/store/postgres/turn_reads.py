"""Reading the log of a namespace: lines, sessions, turns, and what was erased."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property

from holdfast.log.align import Place
from holdfast.log.lines import Line
from holdfast.log.tombstones import Marker, Tombstone
from holdfast.model import Turn
from holdfast.moments import from_micros, to_micros
from holdfast.store.codes import ROLES
from holdfast.store.postgres.index_reads import IndexReads
from holdfast.store.postgres.tombs import read_tombs
from holdfast.store.rows import read_line, read_turn

__all__ = ["FROM_LOG", "LINE_COLUMNS", "TURN_COLUMNS", "TurnReads"]

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
