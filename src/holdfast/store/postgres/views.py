"""The views of a namespace, dropped: what the log's acts say of them comes back at once, the rest is derived anew."""

from __future__ import annotations

from secrets import randbits

from holdfast.store.codes import SLOTS
from holdfast.store.nouns import EPOCH_STAGE, PASSAGES_STAGE, Space
from holdfast.store.postgres.acts import note_admitted, replay_acts
from holdfast.store.postgres.transaction import Transaction

__all__ = ["clear_views"]

# Views that are dropped and derived anew; vectors stay, as a model's output (INV-3).
_VIEWS = (
    "records", "sources", "hidden", "gone", "tended", "receipts", "signals", "counters", "documents", "postings",
    "segments", "tombstones", "refused",
)  # fmt: skip

_Texts = dict[str, tuple[int, str]]
"""Number and text of a namespace's records, by id."""


def clear_views(tx: Transaction) -> None:
    """The views are held."""
    note_admitted(tx)
    before = _record_texts(tx)
    for table in _VIEWS:
        tx.execute(f"DELETE FROM {table} WHERE ns = %(ns)s")
    tx.execute("DELETE FROM cursors WHERE ns = %(ns)s AND stage <> %(stage)s", {"stage": PASSAGES_STAGE})
    tx.execute(
        "INSERT INTO cursors (ns, stage, done) VALUES (%(ns)s, %(stage)s, %(epoch)s)",
        {"stage": EPOCH_STAGE, "epoch": randbits(62)},
    )
    replay_acts(tx)
    _carry_vectors(tx, before, _record_texts(tx))


def _record_texts(tx: Transaction) -> _Texts:
    return {noun: (num, text) for noun, num, text in tx.rows("SELECT id, num, text FROM records WHERE ns = %(ns)s")}


def _carry_vectors(tx: Transaction, before: _Texts, after: _Texts) -> None:
    """A record that came back with its text keeps its vectors, under the number it has now; all others go."""
    same = {before[name][0]: num for name, (num, text) in after.items() if before.get(name, (0, ""))[1] == text}
    kept = tx.rows(
        """DELETE FROM vectors WHERE ns = %(ns)s AND slot = ANY(%(slots)s::smallint[]) AND space = %(space)s
           RETURNING slot, num, data""",
        {"space": int(Space.RECORD), "slots": list(range(SLOTS))},
    )
    tx.insert(
        "vectors (slot, space, num, data)",
        ("smallint", "smallint", "bigint", "bytea"),
        [(slot, int(Space.RECORD), same[num], data) for slot, num, data in kept if num in same],
    )
