"""What was said in a session before each turn of a batch, read once for all of them, and kept for the next batch."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from holdfast.model import Turn
from holdfast.store.protocol import Snapshot

__all__ = ["Earlier", "Heard"]

_SESSIONS = 256  # whose last turns are kept in mind: more than a namespace has that talk at once
_CHARS = 20_000  # of one session: 32 turns of 600 characters; what is longer is read again


class Heard:
    """The last turns of sessions, as far as one looks back, as the last batch left them.

    Turns never change, so they stand until one is erased.
    """

    def __init__(self, reach: int) -> None:
        self.reach = reach
        self._lines: dict[str, list[Turn]] = {}
        self._erasures: object = None

    def look(self, view: Snapshot) -> None:
        """Whether something was erased since the last batch: then nothing of it may be known any more."""
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
    """`turns`: those of the batch, whoever spoke, in the order of the log; `heard`: what is known of those before."""

    def __init__(self, view: Snapshot, turns: Iterable[Turn], heard: Heard) -> None:
        self._view = view
        self._heard = heard
        self._batch: defaultdict[str, list[Turn]] = defaultdict(list)
        for turn in turns:
            self._batch[turn.session].append(turn)
        self._lines: dict[str, list[Turn]] = {}
        for session, batch in self._batch.items():
            if (before := heard.before(session, batch[0].index)) is not None:
                self._hear(session, before)

    def before(self, turn: Turn) -> list[Turn]:
        """Never the turn itself nor what came after it, which the log may hold by now: a rebuild judges the same."""
        line = self._line(turn.session)
        first = bisect_left(line, turn.index - self._heard.reach, key=_index)
        return line[first : bisect_left(line, turn.index, key=_index)]

    def _line(self, session: str) -> list[Turn]:
        if session not in self._lines:
            self._hear(session, self._read(session, self._batch[session][0].index))
        return self._lines[session]

    def _hear(self, session: str, before: list[Turn]) -> None:
        self._lines[session] = before + self._batch[session]
        self._heard.keep(session, self._lines[session])

    def _read(self, session: str, index: int) -> list[Turn]:
        heard = min(self._heard.reach, index)
        before = self._view.thread(session, index - 1 - heard, heard) if heard else []
        # Erased turns leave gaps: then as many as were asked for reach into the batch.
        return [turn for turn in before if turn.index < index]


def _index(turn: Turn) -> int:
    return turn.index
