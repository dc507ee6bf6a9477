"""A program that erases a session and kills itself at one step of it. Run as: erasing.py PATH FIRST STRIDE

A step is anything SQLite does to a file (tests/torture/killing.py). For each k the store is copied, a fork erases from
the copy, and SIGKILL comes right after its k-th step. It says for each k "killed" or, at the end, "done".
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "torture"))

from killing import SETTINGS, Steps, _Disk

from holdfast import Memory
from holdfast.testing import HashEmbedder


def erase_and_die(path: Path, step: int) -> None:
    steps = Steps()
    disk = _Disk(steps)  # noqa: F841  # it lasts as long as the process
    memory = Memory(path, "ana", embedder=HashEmbedder(), settings=SETTINGS)
    steps.left = step
    memory.erase(session="gone")
    memory.close()
    os._exit(0)


def main(path: str, first: str, stride: str) -> None:
    for step in count(int(first), int(stride)):
        copy = Path(path).with_name(f"killed at {step}.db")
        shutil.copy(path, copy)
        child = os.fork()
        if child == 0:
            try:
                erase_and_die(copy, step)
            finally:
                os._exit(3)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not killed and os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"step {step} ended with {os.waitstatus_to_exitcode(status)}")
        print(step, "killed" if killed else "done", flush=True)
        if not killed:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
