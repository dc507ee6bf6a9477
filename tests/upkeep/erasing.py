"""A program that erases a session and kills itself at one step of it. Run as: erasing.py PATH FIRST STRIDE

A step is anything SQLite does to a file (tests/torture/killing.py). For each k the store is copied, a fork erases from
the copy, and SIGKILL comes right after its k-th step. It says for each k "killed" or, at the end, "done".
"""

from __future__ import annotations

import sys
from itertools import count

from tests.torture.killing import die_at_each


def main(path: str, first: str, stride: str) -> None:
    die_at_each(path, count(int(first), int(stride)), lambda memory: memory.erase(session="gone"))


if __name__ == "__main__":
    main(*sys.argv[1:])
