"""Copying namespaces from one store into another, whatever engines the two have: each log, line by line.

A namespace is one transaction of the store it goes to. A copy that was broken off is run again: what is there already
is known by its ids and left as it is, so it goes on with the namespace at which it stopped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from holdfast.errors import InputError, NotFound
from holdfast.log.lines import Line, TurnLine
from holdfast.model import NewTurn
from holdfast.store.protocol import Store
from holdfast.upkeep.reports import Copied, CopiedNamespace

__all__ = ["chosen_namespaces", "copy_namespaces"]

Progress = Callable[[int, int], None]
"""Called with (done, total)."""
Redact = Callable[[NewTurn], NewTurn]

_EVERY = 1000  # lines between two calls of progress


def copy_namespaces(
    source: Store, target: Store, chosen: Sequence[str], redacted: Redact, progress: Progress | None = None
) -> Copied:
    """Copy the logs of these namespaces. Views are derived where they arrive."""
    if source.location == target.location:
        raise InputError(f"{source.location} is both where to copy from and where to; give two stores")
    start = time.perf_counter()
    totals = [_length(source, name) for name in chosen]
    copied: list[CopiedNamespace] = []
    for at, name in enumerate(chosen):
        copied.append(_copy(source, target, name, redacted, _Steps(progress, sum(totals[:at]), sum(totals))))
    seconds = round(time.perf_counter() - start, 3)
    return Copied(source.location, target.location, tuple(copied), seconds)


def chosen_namespaces(source: Store, names: Sequence[str] | None) -> list[str]:
    """Those that are named, each once, or all; one that is not there is an error."""
    there = source.namespaces()
    for name in names or ():
        if name not in there:
            raise NotFound(f"there is no namespace {name!r} in {source.location}; nothing was copied")
    return list(there if names is None else dict.fromkeys(names))


def _length(store: Store, name: str) -> int:
    with store.snapshot(name) as view:
        return sum(view.line_counts().values())


def _copy(source: Store, target: Store, name: str, redacted: Redact, steps: _Steps) -> CopiedNamespace:
    with source.snapshot(name) as view:
        taken = target.take_over(name, (_redacted(line, redacted) for line in steps.told(view.lines())))
    return CopiedNamespace(name, taken.turns, taken.acts, taken.known, taken.left_out, taken.erased)


def _redacted(line: Line, redacted: Redact) -> Line:
    if not isinstance(line, TurnLine) or (turn := redacted(line.turn)) is line.turn:
        return line
    return replace(line, turn=turn)


class _Steps:
    """Says how far the whole copy has come, while one namespace of it is read."""

    def __init__(self, progress: Progress | None, done: int, total: int) -> None:
        self._progress = progress
        self._before = done
        self._total = total

    def told(self, lines: Iterator[Line]) -> Iterator[Line]:
        done = self._before
        for line in lines:
            if done % _EVERY == 0:
                self._tell(done)
            yield line
            done += 1
        self._tell(done)

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(min(done, self._total), self._total)
