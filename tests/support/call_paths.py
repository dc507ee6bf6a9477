"""Trace the files that ingest, derived work, search and context pass through; print them as JSON.

    python -m tests.support.call_paths

Measured with a profile function in every thread, on a warm SQLite store with the static embedder and no chat model.
Each path is the union of a few rounds: which files a background thread needs may differ by one between two calls.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType

import holdfast
from holdfast import Memory

ROUNDS = 3
TURNS = [
    "My sister Anna lives in Rome.",
    "Actually Anna moved to Milan last week.",
    "From now on always answer in metric units.",
    "What should we cook tonight?",
    "I work as a nurse at the St Mary hospital. Never call me before noon.",
    "My sister Anna lives in Milan.",
]
QUESTION = "Where does my sister Anna live now?"

_ROOT = f"{Path(holdfast.__file__).parent}/"
_files: dict[int, set[str]] = defaultdict(set)
"""Files by the thread that ran through them."""


def _note(frame: FrameType, event: str, arg: object) -> None:
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(_ROOT):
        _files[threading.get_ident()].add(code.co_filename.removeprefix(_ROOT))


def _taken(among: set[int] | None = None) -> set[str]:
    """Return the files since the last call, and start again."""
    files = set[str]().union(*(files for thread, files in _files.items() if among is None or thread in among))
    _files.clear()
    return files


def trace(folder: Path) -> dict[str, list[str]]:
    paths: dict[str, set[str]] = defaultdict(set)
    threading.setprofile(_note)
    sys.setprofile(_note)
    try:
        with Memory(folder / "memory.db", namespace="ana") as memory:
            memory.ingest("Hello there.")  # loads what the first calls of a process load
            memory.flush()
            memory.search("hello")
            memory.context([{"role": "user", "content": "hello"}])
            for number in range(ROUNDS):
                _files.clear()
                for turn in TURNS:
                    memory.ingest(f"{turn} ({number})")
                caller = threading.get_ident()
                paths["ingest"] |= set(_files[caller])
                memory.flush()
                paths["derive"] |= _taken(set(_files) - {caller})
                memory.search(QUESTION)
                paths["search"] |= _taken()
                memory.context([{"role": "user", "content": QUESTION}])
                paths["context"] |= _taken()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {name: sorted(files) for name, files in paths.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(trace(Path(folder)), indent=1))
