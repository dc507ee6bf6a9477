"""How far everything of a namespace has come, read in one round trip: a search asks for all of it, piece by piece."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from holdfast.store.codes import SLOTS
from holdfast.store.nouns import BlockRef, Space
from holdfast.store.postgres.transaction import Transaction

__all__ = ["Heads", "read_heads"]

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
