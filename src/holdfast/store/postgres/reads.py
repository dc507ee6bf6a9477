"""What a process has read of a namespace, kept for as long as its views have the same version.

A statement costs a server more than the rows it returns, and Citus, which plans it on two nodes, up to ten times as
much. A search mostly reads what the search before it has read: so it asks for the version first (`views.version`, which
every change of the views replaces) and reads what it does not know.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from holdfast.store.types import Row

_MOST_OF_ONE = 8_000_000  # bytes of a namespace: the vectors of one without segments are up to 3 MB
_MOST_OF_ALL = 64_000_000
_PER_ROW = 300  # bytes, about, besides those of its texts

Key = tuple[Hashable, ...]


@dataclass
class Reads:
    """Rows of one version of the views of a namespace, by statement, values and the end of the log."""

    version: int
    rows: dict[Key, list[Row]] = field(default_factory=dict)
    size: int = 0

    def whole(self, key: Key, end: int | None, read: Callable[[], list[Row]]) -> list[Row]:
        """Return the rows of a statement."""
        known = self.rows.get((key, end))
        return self._keep({(key, end): read()})[key, end] if known is None else known

    def parts(
        self, key: Key, end: int | None, asked: Sequence[Any], column: int, read: Callable[[list[Any]], list[Row]]
    ) -> list[Row]:
        """Return the rows for each member of a list, which is what they have in this column.

        Rows of the log stay as they are, so those that were found hold however long it has grown.
        """
        rows, found, missing = self.rows, list[Row](), []
        for one in dict.fromkeys(asked):
            known = rows.get((key, one)) or rows.get((key, one, end))
            if known is None:
                missing.append(one)
            else:
                found += known
        if missing:
            fresh = defaultdict[Any, list[Row]](list)
            for row in read(missing):
                fresh[row[column]].append(row)
                found.append(row)
            self._keep({(key, one) if one in fresh else (key, one, end): fresh.get(one, []) for one in missing})
        return found

    def _keep(self, rows: dict[Key, list[Row]]) -> dict[Key, list[Row]]:
        size = sum(_PER_ROW + sum(map(_size, every)) for every in rows.values())
        if self.size + size > _MOST_OF_ONE:  # who goes through all of a namespace keeps what comes last
            self.rows, self.size = {}, 0  # not cleared: another thread may be reading the old ones
        if size <= _MOST_OF_ONE:
            self.rows.update(rows)
            self.size += size
        return rows


def _size(row: Row) -> int:
    return _PER_ROW + sum(len(value) for value in row if isinstance(value, bytes | str))


class ReadCache:
    """The reads of all namespaces of a store; those that were used longest ago go first."""

    def __init__(self) -> None:
        self._reads: OrderedDict[UUID, Reads] = OrderedDict()
        self._gate = threading.Lock()

    def of(self, ns: UUID, version: int) -> Reads:
        with self._gate:
            reads = self._reads.pop(ns, None)
            if reads is None or reads.version != version:
                reads = Reads(version)
            while self._reads and sum(one.size for one in self._reads.values()) > _MOST_OF_ALL - _MOST_OF_ONE:
                self._reads.popitem(last=False)
            self._reads[ns] = reads
            return reads

    def clear(self) -> None:
        """After an erase: nothing of it may stay, not even in memory."""
        with self._gate:
            self._reads.clear()
