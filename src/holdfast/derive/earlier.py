"""What was said in a session before each turn of a batch, read once for all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from holdfast.model import Turn
from holdfast.store.protocol import Snapshot

__all__ = ["Earlier"]


class Earlier:
    """`turns`: those of the batch, whoever spoke, in the order of the log; `reach`: how far back to look."""

    def __init__(self, view: Snapshot, turns: Iterable[Turn], reach: int) -> None:
        self._view = view
        self._reach = reach
        self._batch: defaultdict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            self._batch[turn.session].append(turn)
        self._lines: dict[str, list[Turn]] = {}

    def before(self, turn: Turn) -> list[Turn]:
        """Never the turn itself nor what came after it, which the log may hold by now: a rebuild judges the same."""
        line = self._line(turn.session)
        first = bisect_left(line, turn.index - self._reach, key=_index)
        return line[first : bisect_left(line, turn.index, key=_index)]

    def _line(self, session: str) -> list[Turn]:
        if session not in self._lines:
            batch = self._batch[session]
            heard = min(self._reach, batch[0].index)
            before = self._view.thread(session, batch[0].index - 1 - heard, heard) if heard else []
            # Erased turns leave gaps: then as many as were asked for reach into the batch.
            self._lines[session] = [turn for turn in before if turn.index < batch[0].index] + batch
        return self._lines[session]


def _index(turn: Turn) -> int:
    return turn.index
