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
from holdfast.store.rows import read_line, read_turn
from holdfast.store.sqlite.index_reads import MANY, NO_NAMESPACE, IndexReads, in_list
from holdfast.store.sqlite.keys import number_of, place
from holdfast.store.sqlite.lines import COLUMNS, FROM_LINES
from holdfast.store.sqlite.rows import FROM_LOG, TURN_COLUMNS
from holdfast.store.sqlite.tombs import last_erased_index, marker_of, read_tombs

__all__ = ["TurnReads"]


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
