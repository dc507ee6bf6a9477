"""The records of a namespace as they stood at a line of the log, for admission to compare with.

Derived work runs behind the log, and the operator's acts do not wait for it. So every record has a lifetime in lines of
the log, and a turn is judged by the records of its own moment: a rebuild, which runs far behind, decides the same.

In which order they came here, and under which number the store has them, depends on when the work was done. So where
the order of two decides, it is that of the lines that made them.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.topics import index_keys
from holdfast.derive.products import product, products
from holdfast.model import Record
from holdfast.store.nouns import Standing

__all__ = ["Ledger"]

_Lexicon = defaultdict[str, list[int]]
_NEVER = np.iinfo(np.int64).max
_ROUNDING = np.float32(1e-5)  # of a product: its last digits depend on how many are made at once
_NEWEST = 256
"""Records looked at for one word, the newest: what is replaced is rarely older, and a common word tells little."""


class Ledger:
    def __init__(self, standing: Sequence[Standing]) -> None:
        self._places: dict[str, int] = {}
        self.records: list[Record] = []
        self._order: list[tuple[int, str]] = []
        """Of each the line that made it, and its id."""
        self._room = max(64, 2 * len(standing))
        self._vectors = np.zeros((self._room, 0), np.float32)
        self._born = np.zeros(self._room, np.int64)
        self._ends = np.full(self._room, _NEVER, np.int64)
        self._heirs: dict[int, str] = {}
        # The vectors of look_ahead, and their products with the records there were then.
        self._ahead: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._products: NDArray[np.float32] = np.zeros((0, 0), np.float32)
        self._lexicon: _Lexicon | None = None  # places by key; made when it is first asked
        self.take(standing)

    def take(self, standing: Sequence[Standing]) -> None:
        """Those that are not in it."""
        for one in standing:
            if one.record.id in self:
                continue
            self.add(one.record, one.born, np.frombuffer(one.vector, "<f4"))
            if one.retired is not None:
                self.end(one.record.id, one.retired, one.record.superseded_by)

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
        self._order.append((born, record.id))
        self._places[record.id] = at
        self._vectors[at], self._born[at], self._ends[at] = vector, born, _NEVER
        if self._lexicon is not None:
            self._file(self._lexicon, at)

    def get(self, record_id: str) -> Record:
        return self.records[self._places[record_id]]

    def __contains__(self, record_id: str) -> bool:
        return record_id in self._places

    def change(self, record: Record, vector: NDArray[np.float32] | None) -> None:
        at = self._places[record.id]
        if self._lexicon is not None and record.text != self.records[at].text:
            for key in index_keys(self.records[at].text):
                self._lexicon[key].remove(at)
            self.records[at] = record
            self._file(self._lexicon, at)
        self.records[at] = record
        if vector is not None:
            self._vectors[at] = vector
            if at < self._products.shape[1]:
                self._products[:, at] = product(self._ahead, vector)

    def end(self, record_id: str, seq: int, heir: str | None = None) -> None:
        """It is live no longer from this line on; the heir is the record that replaced it, if one did."""
        at = self._places[record_id]
        self._ends[at] = min(self._ends[at], seq)
        if heir is not None:
            self._heirs[at] = heir

    def outlived(self, vector: NDArray[np.float32], seq: int, moment: datetime, least: float) -> list[Record]:
        """Records this near that were replaced before the line, by something said at this moment or later."""
        if not self._heirs or not vector.any():
            return []
        gone = np.fromiter(self._heirs, np.int64)
        near = gone[(product(self._vectors[gone], vector) >= least) & (self._ends[gone] <= seq)]
        heirs = ((at, self._heirs[at]) for at in sorted(near.tolist(), key=self._order.__getitem__))
        return [self.records[at] for at, heir in heirs if heir in self and self.get(heir).at >= moment]

    def look_ahead(self, vectors: NDArray[np.float32]) -> None:
        """These will be asked for, by their row: one product of many is ten times as quick as one by one."""
        self._ahead = vectors
        self._products = np.zeros((len(vectors), 0), np.float32)
        if self.records:
            self._products = products(vectors, self._vectors[: len(self.records)])

    def nearest(
        self, vector: NDArray[np.float32], seq: int, count: int, own: bool, row: int | None = None
    ) -> list[tuple[Record, float]]:
        """The live records nearest to a vector at a line of the log; `own`: those this very line made count too.

        `row`: which of those looked ahead for it is.
        """
        return self._nearest(self._live(seq, own), vector, count, row)

    def ever(self, vector: NDArray[np.float32], seq: int, count: int, row: int) -> list[Record]:
        """The records nearest to a vector that were made before a line of the log, whatever became of them since."""
        made = self._born[: len(self.records)] < seq
        return [record for record, _ in self._nearest(made, vector, count, row)]

    def _nearest(
        self, among: NDArray[np.bool_], vector: NDArray[np.float32], count: int, row: int | None
    ) -> list[tuple[Record, float]]:
        places = np.flatnonzero(among)
        if not len(places) or not vector.any():
            return []
        cosines = self._cosines(vector, row)[places]
        if len(places) > count:  # sorting all of them would take longer than the product
            places = places[cosines >= np.partition(cosines, -count)[-count] - _ROUNDING]
        # One by one again: the product over all rounds by how many there are, and a rebuild must find the same.
        found = [(float(self._vectors[at] @ vector), at) for at in places.tolist()]
        best = sorted(found, key=lambda one: (-one[0], self._order[one[1]]))[:count]
        return [(self.records[at], cosine) for cosine, at in best]

    def _cosines(self, vector: NDArray[np.float32], row: int | None) -> NDArray[np.float32]:
        known = 0 if row is None else self._products.shape[1]
        late = product(self._vectors[known : len(self.records)], vector)  # all of them: picking rows would copy them
        return late if row is None else np.concatenate([self._products[row], late])

    def akin(self, text: str, vector: NDArray[np.float32], seq: int, count: int) -> list[tuple[Record, float]]:
        """The live records that share most of a text's telling words, and their cosines: what a statement replaces may
        lie far from it in meaning ("I moved to Ghent", "I live in Porto": .19 on the static model).
        """
        if self._lexicon is None:
            self._lexicon = defaultdict(list)
            for at in range(len(self.records)):
                self._file(self._lexicon, at)
        live = self._live(seq, own=True).tobytes()  # looked up one by one
        shares: defaultdict[int, float] = defaultdict(float)
        for key in sorted(index_keys(text)):
            places = list(islice((at for at in reversed(self._lexicon.get(key, [])) if live[at]), _NEWEST))
            for at in places:
                shares[at] += 1.0 / (1.0 + len(places)) ** 0.5  # a rare word tells more
        newest = sorted(shares, key=self._order.__getitem__, reverse=True)
        best = sorted(newest, key=lambda at: -shares[at])[:count]
        return [(self.records[at], float(self._vectors[at] @ vector)) for at in best]

    def _live(self, seq: int, own: bool) -> NDArray[np.bool_]:
        born = self._born[: len(self.records)]
        return ((born <= seq) if own else (born < seq)) & (self._ends[: len(self.records)] > seq)

    def _file(self, lexicon: _Lexicon, at: int) -> None:
        for key in index_keys(self.records[at].text):
            known = lexicon[key]
            if known and self._order[known[-1]] > self._order[at]:
                insort(known, at, key=self._order.__getitem__)
            else:  # nearly always
                known.append(at)
