"""Where the log of a namespace and the turns of a session end, and who may write there.

Two rows of a namespace are held while it is written to: one for its log, one for its views. Who needs both takes the
views first, so nobody waits for each other in a ring, and an append never waits for derived work.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.log.acts import read_compaction
from holdfast.log.tombstones import Tombstone, read_tombstone
from holdfast.model import Action
from holdfast.store.erase import TOMB_COLUMNS, read_tomb
from holdfast.store.erase import Tombs as AnyTombs
from holdfast.store.postgres.transaction import Transaction
from holdfast.store.rows import SLOTS, role_number
from holdfast.store.types import BlockRef, Space
from holdfast.text.time import to_micros

# --- Tombstones as rows: how they are put up, and how what comes again is known by them (log/tombstones.py).


_THERE = "SELECT 1 FROM tombstones WHERE ns = %(ns)s LIMIT 1"


def apply_erases(tx: Transaction, lines: Sequence[tuple[int, Action]]) -> None:
    """The effect of erase lines at their places; one that only tells what an erase did has none."""
    stones = [(seq, action, stone) for seq, action in lines if (stone := read_tombstone(action.payload)) is not None]
    tx.insert(
        "tombstones (seq, noun, session, idx, role, said, timed, key, at)",
        ("bigint", "bytea", "bytea", "bigint", "smallint", "bytea", "bytea", "bytea", "bigint"),
        [
            (
                seq, one.noun, one.session, None if one.session is None else one.index,
                None if one.role is None else role_number(one.role), one.said or None, one.timed, one.key,
                to_micros(action.at),
            )
            for seq, action, one in stones
        ],
        """ON CONFLICT (ns, seq) DO UPDATE SET noun = excluded.noun, session = excluded.session, idx = excluded.idx,
           role = excluded.role, said = excluded.said, timed = excluded.timed, key = excluded.key, at = excluded.at""",
    )  # fmt: skip
    marks = list(dict.fromkeys(mark for _, _, one in stones for mark in one.statements))
    tx.insert("refused (statement)", ("bytea",), [(mark,) for mark in marks], "ON CONFLICT DO NOTHING")


def has_tombs(tx: Transaction) -> bool:
    """Whether anything was ever erased here: then what comes may be something that must not come back."""
    return tx.row(_THERE) is not None


def read_tombs(tx: Transaction, session: bytes) -> list[tuple[int, Tombstone]]:
    """The turns of a session that were erased, in its order."""
    rows = tx.rows(
        f"SELECT {TOMB_COLUMNS} FROM tombstones WHERE ns = %(ns)s AND session = %(session)s ORDER BY idx",
        {"session": session},
    )
    return [read_tomb(row) for row in rows]


def last_erased_index(tx: Transaction, session: str) -> int:
    """The highest index of an erased turn of the session, -1 if there is none: it is not given again."""
    last = tx.one(
        "SELECT max(idx) FROM tombstones WHERE ns = %(ns)s AND session = %(session)s",
        {"session": tx.marker.session(session)},
    )
    return -1 if last is None else int(last)


def erased_since(tx: Transaction, seq: int) -> bool:
    """Whether anything was erased after the log had come to this place: every erase writes a line at its end."""
    sql = "SELECT 1 FROM log WHERE ns = %(ns)s AND seq > %(seq)s AND entry = 'erase' LIMIT 1"
    return tx.row(sql, {"seq": seq}) is not None


def misses_turns(tx: Transaction, compaction: Action) -> bool:
    """Whether a compaction was made of turns that are not there any more."""
    ids = list({turn_id for told in read_compaction(compaction.payload).told for turn_id in told.turn_ids})
    there = tx.one(
        "SELECT count(*) FROM log WHERE ns = %(ns)s AND id = ANY(%(ids)s::text[]) AND entry = 'turn'", {"ids": ids}
    )
    return int(there) < len(ids)


class Tombs(AnyTombs):
    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        super().__init__(tx.marker if has_tombs(tx) else None, tx.namespace)

    def _by_key(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        return self._known("key", session, mark)

    def _by_time(self, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        return self._known("timed", session, mark)

    def _has_noun(self, mark: bytes) -> bool:
        sql = "SELECT 1 FROM tombstones WHERE ns = %(ns)s AND noun = %(noun)s"
        return self._tx.row(sql, {"noun": mark}) is not None

    def _has_said(self, session: bytes, index: int, said: bytes) -> bool:
        sql = """SELECT 1 FROM tombstones WHERE ns = %(ns)s AND session = %(session)s AND idx = %(index)s
                 AND said = %(said)s"""
        return self._tx.row(sql, {"session": session, "index": index, "said": said}) is not None

    def _known(self, column: str, session: bytes, mark: bytes) -> tuple[int, Tombstone] | None:
        row = self._tx.row(
            f"""SELECT {TOMB_COLUMNS} FROM tombstones
                WHERE ns = %(ns)s AND session = %(session)s AND {column} = %(mark)s""",
            {"session": session, "mark": mark},
        )
        return None if row is None else read_tomb(row)


def hold_log(tx: Transaction) -> int:
    """The end of the namespace's log, which nobody else moves until this transaction ends. The namespace is made if
    need be; one that was erased has its name, and its tombstones, again.
    """
    row = tx.row("SELECT seq, name FROM namespaces WHERE ns = %(ns)s FOR UPDATE")
    if row is None or row[1] is None:
        row = tx.row(
            """INSERT INTO namespaces (ns, name) VALUES (%(ns)s, %(name)s)
               ON CONFLICT (ns) DO UPDATE SET name = excluded.name RETURNING seq""",
            {"name": tx.namespace},
        )
    assert row is not None
    return int(row[0])


def move_end(tx: Transaction, seq: int) -> None:
    tx.execute("UPDATE namespaces SET seq = %(seq)s WHERE ns = %(ns)s", {"seq": seq})


def hold_views(tx: Transaction) -> None:
    """Nobody else writes to the namespace's views until this transaction ends."""
    if tx.row("SELECT 1 FROM views WHERE ns = %(ns)s FOR UPDATE") is None:
        tx.execute("INSERT INTO views (ns) VALUES (%(ns)s) ON CONFLICT (ns) DO NOTHING")
        tx.execute("SELECT 1 FROM views WHERE ns = %(ns)s FOR UPDATE")


def is_known(tx: Transaction) -> bool:
    """Whether the namespace was ever there, erased or not."""
    return tx.row("SELECT 1 FROM namespaces WHERE ns = %(ns)s") is not None


def session_number(tx: Transaction, name: str) -> int:
    """The session of this name, made if need be; the log is held."""
    number = tx.one("SELECT session FROM sessions WHERE ns = %(ns)s AND name = %(name)s", {"name": name})
    if number is None:
        number = tx.one(
            """INSERT INTO sessions (ns, session, name)
               SELECT %(ns)s, coalesce(max(session), 0) + 1, %(name)s FROM sessions WHERE ns = %(ns)s
               RETURNING session""",
            {"name": name},
        )
    return int(number)


def last_index(tx: Transaction, session: int, name: str) -> int:
    """The highest index that the session ever gave, to a turn that was erased or not; -1 before its first."""
    last = tx.one(
        "SELECT max(idx) FROM log WHERE ns = %(ns)s AND session = %(session)s AND entry = 'turn'", {"session": session}
    )
    return max(-1 if last is None else int(last), last_erased_index(tx, name))


# --- How far everything of a namespace has come, read in one round trip: a search asks for all of it, piece by
# piece.


_END, _CURSOR, _DOCUMENTS, _SEGMENTS, _MODEL, _LAST, _ANY = range(7)
# Sessions have a cursor each, so there may be many: those are asked for one by one.
_HEADS = f"""SELECT {_END} AS what, NULL AS name, seq AS one, 0::bigint AS other, 0::bigint AS third
        FROM namespaces WHERE ns = %(ns)s
    UNION ALL SELECT {_CURSOR}, stage, done, 0, 0 FROM cursors
        WHERE ns = %(ns)s AND NOT starts_with(stage, 'compact:')
    UNION ALL SELECT {_DOCUMENTS}, NULL, space, block, version FROM documents WHERE ns = %(ns)s
    UNION ALL SELECT {_SEGMENTS}, NULL, space * {SLOTS} + slot, block, version FROM segments WHERE ns = %(ns)s
    UNION ALL SELECT {_MODEL}, fingerprint, slot, 0, 0 FROM models WHERE ns = %(ns)s
    UNION ALL SELECT {_LAST}, 'records', max(num), 0, 0 FROM records WHERE ns = %(ns)s
    UNION ALL SELECT {_LAST}, 'passages', max(num), 0, 0 FROM passages WHERE ns = %(ns)s
    UNION ALL (SELECT {_ANY}, 'hidden', 1, 0, 0 FROM hidden WHERE ns = %(ns)s LIMIT 1)
    UNION ALL (SELECT {_ANY}, 'gone', 1, 0, 0 FROM gone WHERE ns = %(ns)s LIMIT 1)
    UNION ALL (SELECT {_ANY}, 'retired', 1, 0, 0 FROM records
        WHERE ns = %(ns)s AND superseded_by IS NOT NULL LIMIT 1)"""


@dataclass
class Heads:
    ends: dict[Space, int] = field(default_factory=dict)
    """The highest number in use, of turns, records and passages."""
    cursors: dict[str, int] = field(default_factory=dict)
    """All but those of compaction."""
    documents: dict[int, list[BlockRef]] = field(default_factory=lambda: defaultdict(list))
    segments: dict[tuple[int, int], list[BlockRef]] = field(default_factory=lambda: defaultdict(list))
    """By space and slot."""
    slots: dict[str, int] = field(default_factory=dict)
    """By the fingerprint of the model."""
    some: set[str] = field(default_factory=set)
    """Of hidden, gone and retired, those that there are any of."""


def read_heads(tx: Transaction) -> Heads:
    heads = Heads()
    spaces = {"records": Space.RECORD, "passages": Space.PASSAGE}
    for what, name, one, other, third in sorted(tx.rows(_HEADS), key=lambda row: (row[0], row[3])):  # blocks in order
        if what == _END:
            heads.ends[Space.TURN] = one
        elif what == _CURSOR:
            heads.cursors[name] = one
        elif what == _DOCUMENTS:
            heads.documents[one].append(BlockRef(other, third))
        elif what == _SEGMENTS:
            heads.segments[divmod(one, SLOTS)].append(BlockRef(other, third))
        elif what == _MODEL:
            heads.slots[name] = one
        elif what == _LAST:
            heads.ends[spaces[name]] = one or 0
        else:
            heads.some.add(name)
    return heads
