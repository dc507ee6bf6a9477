"""Which turns are summarised together: neighbours in time, in groups of about the same size (COMP-1)."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.model import Turn
from holdfast.settings import CompactSettings

__all__ = ["clusters"]


def clusters(turns: Iterable[Turn], size: int = CompactSettings().size) -> list[tuple[Turn, ...]]:
    """Chronological clusters of at most `size` turns, the same whatever order they come in; none for no turns.

    Of n turns by (time, id), c = ceil(n / size) clusters are made, and turn i goes to floor(i * c / n). Ids of turns
    that were kept at once have no order, so their places in the log stand for them.
    """
    ordered = sorted(turns, key=lambda turn: (turn.at, turn.seq, turn.id))
    n = len(ordered)
    c = -(-n // size)
    found: list[list[Turn]] = [[] for _ in range(c)]
    for i, turn in enumerate(ordered):
        found[i * c // n].append(turn)
    return [tuple(cluster) for cluster in found]
