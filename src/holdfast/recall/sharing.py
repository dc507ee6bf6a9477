"""Pieces of work that a second thread may take a share of.

The caller works through them too, and waits for no more than the piece that the other has in hand: on a busy machine,
where the second thread comes late or never, nothing is lost. (Threads that a library starts meet at the end of every
call; with 25 calls to a search that cost more than it saved.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

__all__ = ["share_out"]

Piece = TypeVar("Piece")


def share_out(pieces: Iterable[Piece], work: Callable[[Piece], None], alone: bool) -> None:
    """Call `work` for each piece, in any order and from two threads; `alone`: from the caller's only."""
    left = deque(pieces)

    def take() -> None:
        while True:
            try:
                piece = left.popleft()
            except IndexError:
                return
            work(piece)

    helped = None if alone or len(left) < 2 else _helper().submit(take)
    take()
    if helped is not None and not helped.cancel():
        helped.result()


@cache
def _helper() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "holdfast-scan")
