"""The records of a namespace as they stood at a line of the log, for admission to compare with.

Derived work runs behind the log, and the operator's acts do not wait for it. So every record has a lifetime in lines of
the log, and a turn is judged by the records of its own moment: a rebuild, which runs far behind, decides the same.

In which order they came here, and under which number the store has them, depends on when the work was done. So where
the order of two decides, it is that of the lines that made them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import islice

import numpy as np
import simsimd
from numpy.typing import NDArray

from holdfast.admit.topics import index_keys
from holdfast.index.blocks import BlockCache, Segment, as_slice, quantise
from holdfast.index.vectors import load_segment, matrix, segments_stage
from holdfast.model import Record, Turn
from holdfast.models.embedder import dot_product, dot_products
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import RecordState, Space

_Lexicon = defaultdict[str, list[int]]
_NEVER = np.iinfo(np.int64).max
_ROUNDING = np.float32(1e-5)  # of a product: its last digits depend on how many are made at once
_OTHERS = 50
"""Added to the number of records, so that a word of a young memory's few records counts as rare too."""
_NEWEST = 256
"""Records looked at for one word, the newest: what is replaced is rarely older, and a common word tells little."""


class Ledger:
    def __init__(self, standing: Sequence[RecordState]) -> None:
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

    def take(self, standing: Sequence[RecordState]) -> None:
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

    def vector(self, record_id: str) -> NDArray[np.float32]:
        found: NDArray[np.float32] = self._vectors[self._places[record_id]]
        return found

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
                self._products[:, at] = dot_product(self._ahead, vector)

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
        near = gone[(dot_product(self._vectors[gone], vector) >= least) & (self._ends[gone] <= seq)]
        heirs = ((at, self._heirs[at]) for at in sorted(near.tolist(), key=self._order.__getitem__))
        return [self.records[at] for at, heir in heirs if heir in self and self.get(heir).at >= moment]

    def look_ahead(self, vectors: NDArray[np.float32]) -> None:
        """These will be asked for, by their row: one product of many is ten times as quick as one by one."""
        self._ahead = vectors
        self._products = np.zeros((len(vectors), 0), np.float32)
        if self.records:
            self._products = dot_products(vectors, self._vectors[: len(self.records)])

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
        late = dot_product(self._vectors[known : len(self.records)], vector)  # all: picking rows would copy them
        return late if row is None else np.concatenate([self._products[row], late])

    def akin(self, text: str, vector: NDArray[np.float32], seq: int, count: int) -> list[tuple[Record, float]]:
        """The live records that share most of a text's telling words, and their cosines: what a statement replaces may
        lie far from it in meaning ("I moved to Ghent", "I live in Porto": .19 on the static model).
        """
        lexicon = self._filed()
        live = self._live(seq, own=True).tobytes()  # looked up one by one
        shares: defaultdict[int, float] = defaultdict(float)
        for key in sorted(index_keys(text)):
            places = list(islice((at for at in reversed(lexicon.get(key, [])) if live[at]), _NEWEST))
            for at in places:
                shares[at] += 1.0 / (1.0 + len(places)) ** 0.5  # a rare word tells more
        newest = sorted(shares, key=self._order.__getitem__, reverse=True)
        best = sorted(newest, key=lambda at: -shares[at])[:count]
        return [(self.records[at], float(self._vectors[at] @ vector)) for at in best]

    def rarest(self, first: str, second: str, seq: int) -> float:
        """Return how rare, among the records made before a line of the log, the rarest word of both texts is."""
        lexicon = self._filed()
        made = int((self._born[: len(self.records)] < seq).sum())
        counts = (
            bisect_left(lexicon[key], (seq, ""), key=self._order.__getitem__)
            for key in index_keys(first) & index_keys(second)
            if key in lexicon
        )
        return max((math.log((made + _OTHERS) / count) for count in counts if count), default=0.0)

    def _filed(self) -> _Lexicon:
        if self._lexicon is None:
            self._lexicon = defaultdict(list)
            for at in range(len(self.records)):
                self._file(self._lexicon, at)
        return self._lexicon

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


# --- What was said in a session before each turn of a batch, read once for all of them, and kept for the next
# batch.


_SESSIONS = 256  # whose last turns are kept in mind: more than a namespace has that talk at once
_CHARS = 20_000  # of one session: 32 turns of 600 characters; what is longer is read again


class SessionTurns:
    """The last turns of sessions, as far as one looks back, as the last batch left them.

    Turns never change, so they stand until one is erased.
    """

    def __init__(self, reach: int) -> None:
        self.reach = reach
        self._lines: dict[str, list[Turn]] = {}
        self._erasures: object = None

    def look(self, view: Snapshot) -> None:
        """Clear the cache if something was erased since the last batch."""
        if (erasures := view.erasures()) != self._erasures:
            self._lines.clear()
            self._erasures = erasures

    def before(self, session: str, index: int) -> list[Turn] | None:
        """All turns within reach before this one; None if they are not known."""
        line = self._lines.get(session)
        return line if line and line[-1].index == index - 1 else None

    def keep(self, session: str, line: list[Turn]) -> None:
        """`line`: the session up to a turn, without a gap from as far before it as one looks back."""
        last = line[bisect_left(line, line[-1].index + 1 - self.reach, key=_index) :] if self.reach else []
        self._lines.pop(session, None)
        if last and sum(len(turn.text) for turn in last) <= _CHARS:
            self._lines[session] = last
            if len(self._lines) > _SESSIONS:
                del self._lines[next(iter(self._lines))]


class Earlier:
    """Turns before each turn. `turns`: the batch, all speakers, in log order; `recent`: the cached ones before it."""

    def __init__(self, view: Snapshot, turns: Iterable[Turn], recent: SessionTurns) -> None:
        self._view = view
        self._recent = recent
        self._batch: defaultdict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            self._batch[turn.session].append(turn)
        self._lines: dict[str, list[Turn]] = {}
        for session, batch in self._batch.items():
            if (before := recent.before(session, batch[0].index)) is not None:
                self._hear(session, before)

    def before(self, turn: Turn) -> list[Turn]:
        """Never the turn itself nor what came after it, which the log may hold by now: a rebuild judges the same."""
        line = self._line(turn.session)
        first = bisect_left(line, turn.index - self._recent.reach, key=_index)
        return line[first : bisect_left(line, turn.index, key=_index)]

    def _line(self, session: str) -> list[Turn]:
        if session not in self._lines:
            self._hear(session, self._read(session, self._batch[session][0].index))
        return self._lines[session]

    def _hear(self, session: str, before: list[Turn]) -> None:
        self._lines[session] = before + self._batch[session]
        self._recent.keep(session, self._lines[session])

    def _read(self, session: str, index: int) -> list[Turn]:
        recent = min(self._recent.reach, index)
        before = self._view.thread(session, index - 1 - recent, recent) if recent else []
        # Erased turns leave gaps: then as many as were asked for reach into the batch.
        return [turn for turn in before if turn.index < index]


def _index(turn: Turn) -> int:
    return turn.index


# --- How near each turn's nearest earlier turns are: what the gate calls its input frequency (GATE-4).


def nearest_earlier(
    view: Snapshot,
    namespace: str,
    fingerprint: str,
    seqs: Sequence[int],
    vectors: NDArray[np.float32],
    least: float,
    cache: BlockCache,
) -> list[list[float]]:
    """For each turn the cosines of the earlier turns at least this near; a turn is never its own neighbour.

    One product a block for the whole batch, from the quantised codes, whether they are in a segment yet or not: a
    rebuild, whose segments end elsewhere, finds the same.
    """
    found: list[list[float]] = [[] for _ in seqs]
    codes, scales = quantise(vectors)
    own = np.array(seqs, np.int64)[:, None]
    for segment in _segments(view, namespace, fingerprint, max(seqs), cache):
        nums = np.arange(segment.nums.start, segment.nums.stop) if isinstance(segment.nums, slice) else segment.nums
        # Whole numbers: a product of floats would round by how many there are, and a rebuild must find the same.
        products = np.asarray(simsimd.cdist(codes, segment.codes, "dot"), np.float32)
        cosines = products * (scales[:, None] * segment.scales[None, :])
        near = cosines >= np.float32(least)  # few are: sorting them all out took longer than the product
        if nums[-1] >= own[0, 0]:
            near &= nums[None, :] < own
        rows, columns = np.nonzero(near)
        for row, cosine in zip(rows.tolist(), cosines[rows, columns].tolist(), strict=True):
            found[row].append(cosine)
    return found


def _segments(view: Snapshot, namespace: str, fingerprint: str, upto: int, cache: BlockCache) -> list[Segment]:
    found = []
    for ref in view.segment_blocks(Space.TURN, fingerprint):
        key = (namespace, Space.TURN, "segment", fingerprint, ref.block)
        found.append(cache.get(key, ref.version, partial(load_segment, view, Space.TURN, fingerprint, ref.block)))
    folded = view.cursor(segments_stage(Space.TURN, fingerprint))
    late = view.vectors_between(Space.TURN, fingerprint, folded, upto) if upto > folded else []
    if late:
        codes, scales = quantise(matrix(late))
        found.append(Segment(as_slice(np.array([num for num, _ in late], np.int64)), scales, codes))
    return found
