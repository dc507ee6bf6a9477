"""The records of a namespace as they stood at a line of the log, for admission to compare with.

Derived work runs behind the log, and the operator's acts do not wait for it. So every record has a lifetime in lines of
the log, and a turn is judged by the records of its own moment: a rebuild, which runs far behind, decides the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Record
from holdfast.store.protocol import Standing

__all__ = ["Ledger"]

_NEVER = np.iinfo(np.int64).max


class Ledger:
    def __init__(self, standing: Sequence[Standing]) -> None:
        self._places: dict[str, int] = {}
        self.records: list[Record] = []
        self._room = max(64, 2 * len(standing))
        self._vectors = np.zeros((self._room, 0), np.float32)
        self._born = np.zeros(self._room, np.int64)
        self._ends = np.full(self._room, _NEVER, np.int64)
        for one in standing:
            self.add(one.record, one.born, np.frombuffer(one.vector, "<f4"))
            if one.retired is not None:
                self.end(one.record.id, one.retired)

    def add(self, record: Record, born: int, vector: NDArray[np.float32]) -> None:
        at = len(self.records)
        if at == self._room:
            self._room *= 2
            self._vectors = np.resize(self._vectors, (self._room, self._vectors.shape[1]))
            self._born = np.resize(self._born, self._room)
            self._ends = np.resize(self._ends, self._room)
        if not self._vectors.shape[1]:
            self._vectors = np.zeros((self._room, len(vector)), np.float32)
        self.records.append(record)
        self._places[record.id] = at
        self._vectors[at], self._born[at], self._ends[at] = vector, born, _NEVER

    def get(self, record_id: str) -> Record:
        return self.records[self._places[record_id]]

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._places

    def change(self, record: Record, vector: NDArray[np.float32] | None) -> None:
        at = self._places[record.id]
        self.records[at] = record
        if vector is not None:
            self._vectors[at] = vector

    def end(self, record_id: str, seq: int) -> None:
        at = self._places[record_id]
        self._ends[at] = min(self._ends[at], seq)

    def nearest(self, vector: NDArray[np.float32], seq: int, count: int, own: bool) -> list[tuple[Record, float]]:
        """The live records nearest to a vector at a line of the log; `own`: those this very line made count too."""
        size = len(self.records)
        born = self._born[:size]
        live = ((born <= seq) if own else (born < seq)) & (self._ends[:size] > seq)
        places = np.flatnonzero(live)
        if not len(places) or not vector.any():
            return []
        cosines = self._vectors[places] @ vector
        order = np.lexsort((places, -cosines))[:count]
        return [(self.records[int(places[i])], float(cosines[i])) for i in order]
