"""The extractive summary: a cluster's most telling sentences, each once, in the order of time, in the speakers' words.

No model is needed and none is asked; the same turns give the same summary.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from holdfast.compact.digest import Line, Method, Part, Summary, render
from holdfast.compact.glean import MOST_GAINED, Gleaned, glean
from holdfast.compact.meaning import meanings
from holdfast.compact.said import Telling, read_cluster
from holdfast.settings import CompactSettings
from holdfast.words import query_terms

__all__ = ["choose", "make_summary", "room_for", "summarize"]

_SAME = 0.85
"""Cosine from which two sentences tell one thing: a share below the static model's .90 for one claim (MERGE-1)."""
_ALIKE = 0.45
"""… and from which what they share begins to count against the second."""
_REDUNDANT = 1.2
_TOLD = 0.8
"""Share of a sentence's terms that another must hold to tell it too."""
_LONGEST_LINE = 300  # terms
_LEAST = 0.3
"""What a sentence must be worth beside those that were chosen."""
_TRIES = 5
"""Sentences that may be found too long for the room that is left before it counts as full."""
_TOO_LITTLE = 40
"""Characters in which hardly a sentence fits."""
_FARTHEST = 2
"""Sentences that are taken along so that another one can be understood."""


def summarize(parts: Sequence[Part], settings: CompactSettings | None = None) -> Summary | None:
    """A digest smaller than its source, or None: then the cluster is declined (COMP-6). Parts in order of time."""
    settings = settings or CompactSettings()
    return choose(parts, read_cluster(parts, settings), settings)


def choose(parts: Sequence[Part], telling: Telling, settings: CompactSettings) -> Summary | None:
    """The same, of a cluster that was read already."""
    lines = _Choice(parts, telling, room_for(parts, settings)).lines()
    return make_summary(lines, "extractive", parts, telling) if lines else None


def room_for(parts: Sequence[Part], settings: CompactSettings) -> int:
    """Characters that a summary may have."""
    return min(int(settings.share * sum(len(part.text) for part in parts)), settings.most_chars)


def make_summary(lines: Sequence[Line], method: Method, parts: Sequence[Part], telling: Telling) -> Summary:
    """The lines as a summary, with what can be said of it."""
    turns = [part.turn for part in parts]
    vectors = meanings([line.text for line in lines])
    return Summary(
        text=render(lines),
        method=method,
        alignment=telling.alignment(vectors),
        coverage=telling.coverage(vectors),
        turn_ids=tuple(turn.id for turn in turns),
        since=min(turn.at for turn in turns),
        until=max(turn.at for turn in turns),
    )


class _Choice:
    """Sentences taken one after the other, each time the one that adds most, as long as there is room.

    A sentence is looked at closely when it comes first by what it can be worth at best: most never do.
    """

    def __init__(self, parts: Sequence[Part], telling: Telling, room: int) -> None:
        self._parts = parts
        self._telling = telling
        self._room = room
        self._worth = np.array([one.worth + one.share * MOST_GAINED for one in telling.said], np.float64)
        self._nearest = np.zeros(len(telling.said))
        self._looked: dict[int, Gleaned] = {}
        self._known_terms: dict[int, frozenset[str]] = {}
        self._chosen: set[int] = set()
        self._tries = _TRIES

    def lines(self) -> list[Line]:
        while self._step():
            pass
        return self._lines(self._chosen)

    def _step(self) -> bool:
        if not len(self._worth):
            return False
        gain = np.where(self._nearest < _SAME, self._worth, -np.inf)
        gain -= _REDUNDANT * np.maximum(self._nearest - _ALIKE, 0.0)
        best = int(np.argmax(gain))
        if gain[best] == -np.inf or (gain[best] < _LEAST and self._chosen):
            return False
        if best not in self._looked:
            self._worth[best] = self._look(best).worth
            return True
        together = self._together(best)
        self._worth[best] = -np.inf
        if self._is_told(best):
            return True
        length = len(render(self._lines(self._chosen | together)))
        if length > self._room:
            self._tries -= 1
            return self._tries > 0
        self._chosen |= together
        for one in together:
            self._worth[one] = -np.inf
            near = np.einsum("ij,j->i", self._telling.vectors, self._telling.vectors[one])  # no BLAS: the same anywhere
            self._nearest = np.maximum(self._nearest, near)
        return self._room - length >= _TOO_LITTLE

    def _look(self, at: int) -> Gleaned:
        if at not in self._looked:
            self._looked[at] = glean(self._telling.said[at], at)
        return self._looked[at]

    def _is_told(self, at: int) -> bool:
        """Whether its words are almost all in a sentence that was chosen, or that sentence's in it."""
        own = self._terms(at)
        for other in map(self._terms, self._chosen):
            shorter = min(len(own), len(other))
            if shorter and len(own & other) >= _TOLD * shorter:
                return True
        return False

    def _terms(self, at: int) -> frozenset[str]:
        if at not in self._known_terms:
            self._known_terms[at] = frozenset(query_terms(self._look(at).text, _LONGEST_LINE))
        return self._known_terms[at]

    def _together(self, at: int) -> set[int]:
        """The sentence, and those before it without which it cannot be understood."""
        found = {at}
        while (needs := self._look(at).needs) is not None and len(found) <= _FARTHEST:
            at = needs
            found.add(at)
        return found

    def _lines(self, chosen: set[int]) -> list[Line]:
        return [Line(self._parts[self._telling.said[at].part].turn, self._look(at).text) for at in sorted(chosen)]
