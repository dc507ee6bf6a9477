"""The ground an erase works on, as rows of PostgreSQL (store/erasing.py decides what happens to them)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from holdfast.log.tombstones import Marker
from holdfast.model import Action
from holdfast.moments import to_micros
from holdfast.store.codes import SLOTS
from holdfast.store.ground import DoomedTurn
from holdfast.store.nouns import CLAIMS_A_TURN, Scope, Space
from holdfast.store.postgres.ends import move_end
from holdfast.store.postgres.transaction import Transaction, Wrote
from holdfast.store.postgres.views import clear_views

__all__ = ["PostgresGround"]

_OF_TURN = (Space.TURN, Space.TOLD, Space.WINDOW)
_SLOTS = list(range(SLOTS))
_WHERE = {
    Scope.NAMESPACE: "TRUE",
    Scope.SESSION: "sessions.name = %(noun)s",
    Scope.TURN: "log.id = %(noun)s",
}
_IN_SPANS = (
    """FROM unnest(%(spaces)s::smallint[], %(lows)s::bigint[], %(highs)s::bigint[]) AS span (space, low, high)"""
)


class PostgresGround:
    """For an erase the views and the log are held."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self.namespace = tx.namespace

    @property
    def marker(self) -> Marker:
        return self._tx.marker

    # --- what is there

    def is_there(self) -> bool:
        return self._tx.one("SELECT name FROM namespaces WHERE ns = %(ns)s") is not None

    def last_seq(self) -> int:
        return int(self._tx.one("SELECT seq FROM namespaces WHERE ns = %(ns)s"))

    def turns(self, scope: Scope, noun: str) -> list[DoomedTurn]:
        rows = self._tx.rows(
            f"""SELECT log.seq, log.id, log.session, sessions.name, log.idx, log.role, log.text, log.at, log.at_given,
                       log.key, log.metadata
                FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
                WHERE log.ns = %(ns)s AND {_WHERE[scope]} AND log.entry = 'turn' ORDER BY log.seq""",
            {"noun": noun},
        )
        return [DoomedTurn(*row) for row in rows]

    def has_session(self, name: str) -> bool:
        return self._there("SELECT 1 FROM sessions WHERE ns = %(ns)s AND name = %(it)s", name)

    def record_text(self, noun: str) -> str | None:
        text = self._tx.one("SELECT text FROM records WHERE ns = %(ns)s AND id = %(id)s", {"id": noun})
        return None if text is None else str(text)

    def records(self) -> dict[str, str]:
        return dict(self._tx.rows("SELECT id, text FROM records WHERE ns = %(ns)s"))

    def records_of(self, seqs: Iterable[int]) -> list[tuple[str, str, int, bool]]:
        rows = self._tx.rows(
            """SELECT DISTINCT records.id, records.text, records.born, records.compaction IS NOT NULL FROM sources
               JOIN records ON records.ns = sources.ns AND records.num = sources.record
               WHERE sources.ns = %(ns)s AND sources.turn = ANY(%(seqs)s::bigint[])""",
            {"seqs": list(seqs)},
        )
        return [(noun, text, born, compacted) for noun, text, born, compacted in rows]

    def sources(self, noun: str) -> tuple[str, ...]:
        rows = self._tx.rows(
            """SELECT log.id FROM records
               JOIN sources ON sources.ns = records.ns AND sources.record = records.num
               JOIN log ON log.ns = sources.ns AND log.seq = sources.turn
               WHERE records.ns = %(ns)s AND records.id = %(id)s ORDER BY log.seq""",
            {"id": noun},
        )
        return tuple(turn_id for (turn_id,) in rows)

    def is_hidden(self, noun: str) -> bool:
        return self._there("SELECT 1 FROM hidden WHERE ns = %(ns)s AND subject = %(it)s", noun)

    def acts(self) -> list[tuple[int, str, str, str]]:
        rows = self._tx.rows(
            """SELECT seq, id, entry, text FROM log WHERE ns = %(ns)s AND entry <> 'turn' AND entry <> 'erase'
               ORDER BY seq"""
        )
        return [(seq, noun, entry, text) for seq, noun, entry, text in rows]

    def remembered_at(self, noun: str) -> int | None:
        seq = self._tx.one(
            "SELECT seq FROM log WHERE ns = %(ns)s AND id = %(id)s AND entry <> 'turn' AND entry = 'remember'",
            {"id": noun},
        )
        return None if seq is None else int(seq)

    def session_numbers(self, name: str | None) -> dict[str, int]:
        return dict(
            self._tx.rows(
                """SELECT name, session FROM sessions
                   WHERE ns = %(ns)s AND (%(name)s::text IS NULL OR name = %(name)s::text)""",
                {"name": name},
            )
        )

    def has_turns(self, session: int) -> bool:
        return self._there(
            "SELECT 1 FROM log WHERE ns = %(ns)s AND session = %(it)s AND entry = 'turn' LIMIT 1", session
        )

    def turns_after(self, session: int, index: int) -> set[int]:
        rows = self._tx.rows(
            "SELECT seq FROM log WHERE ns = %(ns)s AND session = %(session)s AND idx > %(index)s AND entry = 'turn'",
            {"session": session, "index": index},
        )
        return {seq for (seq,) in rows}

    def texts_of(self, session: int) -> dict[str, str]:
        return dict(
            self._tx.rows(
                "SELECT id, text FROM log WHERE ns = %(ns)s AND session = %(session)s AND entry = 'turn'",
                {"session": session},
            )
        )

    def proposals_of(self, turn_ids: Sequence[str]) -> list[tuple[int, str]]:
        rows = self._tx.rows(
            """SELECT seq, text FROM log WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[])
               AND entry <> 'turn' AND entry = 'propose'""",
            {"ids": list(turn_ids)},
        )
        return [(seq, text) for seq, text in rows]

    def receipts_of(self, noun: str) -> list[str]:
        rows = self._tx.rows(
            "SELECT details FROM receipts WHERE ns = %(ns)s AND subject = %(it)s AND details IS NOT NULL", {"it": noun}
        )
        return [details for (details,) in rows]

    def vectors(self, spans: Sequence[tuple[Space, int, int]]) -> list[tuple[Space, bytes]]:
        """What is stored between these numbers, of every model."""
        rows = self._tx.rows(
            f"""SELECT vectors.space, vectors.data {_IN_SPANS}
                JOIN vectors ON vectors.ns = %(ns)s AND vectors.slot = ANY(%(slots)s::smallint[])
                AND vectors.space = span.space AND vectors.num BETWEEN span.low AND span.high""",
            _spans(spans),
        )
        return [(Space(space), data) for space, data in rows]

    # --- what changes

    def put(self, lines: Iterable[tuple[int, Action]]) -> None:
        rows = [
            (
                seq,
                one.subject,
                one.entry.value,
                at := to_micros(one.at),
                at,
                json.dumps(one.payload, ensure_ascii=False),
            )
            for seq, one in lines
        ]
        if not rows:
            return
        self._tx.execute(
            "DELETE FROM log WHERE ns = %(ns)s AND seq = ANY(%(seqs)s::bigint[])", {"seqs": [row[0] for row in rows]}
        )
        self._tx.insert(
            "log (seq, id, entry, at, recorded_at, text, at_given)",
            ("bigint", "text", "text", "bigint", "bigint", "text", "boolean"),
            [(*row, True) for row in rows],
        )
        last = max(row[0] for row in rows)
        if last > self.last_seq():
            move_end(self._tx, last)
        seq, noun, *_, text = rows[-1]
        self._tx.wrote = Wrote(seq, noun, text)

    def drop_line(self, seq: int) -> None:
        self._tx.execute("DELETE FROM log WHERE ns = %(ns)s AND seq = %(seq)s", {"seq": seq})

    def rewrite(self, seq: int, payload: str) -> None:
        self._tx.execute(
            "UPDATE log SET text = %(text)s WHERE ns = %(ns)s AND seq = %(seq)s", {"text": payload, "seq": seq}
        )

    def drop_vectors(self, seqs: set[int], heirs: set[int]) -> None:
        passages = self._tx.rows(
            "DELETE FROM passages WHERE ns = %(ns)s AND turn = ANY(%(seqs)s::bigint[]) RETURNING num",
            {"seqs": list(seqs)},
        )
        spans = [(space, seq, seq) for space in _OF_TURN for seq in seqs]
        spans += [(Space.PASSAGE, num, num) for (num,) in passages]
        spans += [(Space.CLAIM, seq * CLAIMS_A_TURN, (seq + 1) * CLAIMS_A_TURN - 1) for seq in seqs | heirs]
        self._tx.execute(
            f"""DELETE FROM vectors USING (SELECT * {_IN_SPANS}) AS span
                WHERE vectors.ns = %(ns)s AND vectors.slot = ANY(%(slots)s::smallint[])
                AND vectors.space = span.space AND vectors.num BETWEEN span.low AND span.high""",
            _spans(spans),
        )

    def drop_all_derived(self) -> None:
        for table in ("cursors", "models", "copies", "retrievals", "vectors"):
            self._tx.execute(f"DELETE FROM {table} WHERE ns = %(ns)s")

    def drop_session(self, session: int) -> None:
        self._tx.execute("DELETE FROM sessions WHERE ns = %(ns)s AND session = %(session)s", {"session": session})

    def drop_counts(self, record_ids: Iterable[str]) -> None:
        self._tx.execute(
            "DELETE FROM retrievals WHERE ns = %(ns)s AND subject = ANY(%(ids)s::text[])", {"ids": list(record_ids)}
        )

    def clear_views(self) -> None:
        clear_views(self._tx)

    def drop_name(self) -> None:
        """Rows never held it: what they are known by is a mark of it."""
        self._tx.execute("UPDATE namespaces SET name = NULL WHERE ns = %(ns)s")
        self._tx.execute("DELETE FROM cursors WHERE ns = %(ns)s")

    def note_unswept(self) -> None:
        self._tx.execute("INSERT INTO unswept (ns) VALUES (%(ns)s) ON CONFLICT DO NOTHING")

    def _there(self, sql: str, value: str | int) -> bool:
        return self._tx.row(sql, {"it": value}) is not None


def _spans(spans: Sequence[tuple[Space, int, int]]) -> dict[str, object]:
    return {
        "spaces": [int(space) for space, _, _ in spans],
        "lows": [low for _, low, _ in spans],
        "highs": [high for _, _, high in spans],
        "slots": _SLOTS,
    }
