"""A program that compacts a session and kills itself at one step of it. Run as: killing.py PATH FIRST LAST STRIDE

A step is anything SQLite does to a file: a write, a sync, a truncation, a deletion. A killed process loses what it has
not yet handed to the system, so between two of these steps nothing on disk can differ: all of them are all there is.
For each k the store is copied, a fork compacts the copy, and SIGKILL comes right after its k-th step. It says for each
k "killed" or, when the compaction needs fewer steps, "done".
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import apsw

from holdfast.compact import run  # noqa: F401  # loaded before the forks, which then cost nothing
from holdfast.compact.prepare import CompactSizes, sentence_vectors
from holdfast.memory import Memory
from holdfast.settings import Settings
from holdfast.testing import HashEmbedder

SETTINGS = replace(Settings(), compact=CompactSizes(automatic=False, step=30))
"""Durable, as it ships; a step of 30 turns makes the session below three transactions."""


class Steps:
    """Counts down while it is armed, and ends the process at zero."""

    def __init__(self) -> None:
        self.left = -1

    def taken(self) -> None:
        if self.left > 0:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


class _File(apsw.VFSFile):
    def __init__(self, steps: Steps, base: str, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._steps = steps
        super().__init__(base, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._steps.taken()

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._steps.taken()

    def xTruncate(self, newsize: int) -> None:
        super().xTruncate(newsize)
        self._steps.taken()


class _Disk(apsw.VFS):
    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        super().__init__("holdfast-killing", "unix", makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self._steps, "unix", name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        super().xDelete(filename, syncdir)
        self._steps.taken()


def act_and_die(path: Path, step: int, act: Callable[[Memory], object]) -> None:
    """Never returns: it is killed at the step, or ends well before it."""
    steps = Steps()
    disk = _Disk(steps)  # noqa: F841  # it lasts as long as the process
    memory = Memory(path, "ana", embedder=HashEmbedder(), settings=SETTINGS)
    steps.left = step
    act(memory)
    memory.close()
    os._exit(0)


def die_at_each(path: str, numbers: Iterable[int], act: Callable[[Memory], object]) -> None:
    """For each number a fork acts on a copy of the store and is killed at that step, until one needs fewer."""
    for step in numbers:
        copy = Path(path).with_name(f"killed at {step}.db")
        shutil.copy(path, copy)
        child = os.fork()
        if child == 0:
            try:
                act_and_die(copy, step, act)
            finally:
                os._exit(3)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not killed and os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"step {step} ended with {os.waitstatus_to_exitcode(status)}")
        print(step, "killed" if killed else "done", flush=True)
        if not killed:
            return


def main(path: str, first: str, last: str, stride: str) -> None:
    sentence_vectors(["load the model once"])
    die_at_each(path, range(int(first), int(last), int(stride)), lambda memory: memory.compact("yard", force=True))


if __name__ == "__main__":
    main(*sys.argv[1:])
