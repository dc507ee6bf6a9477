"""Measure how the cost of each verb grows with the number of namespaces, in milliseconds.

    python -m tests.postgres.many_namespaces ADDRESS 2000

It creates a schema and drops it at the end.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from holdfast.memory import Memory
from holdfast.settings import Settings, StoreSettings
from holdfast.store.postgres.schema import throwaway_schema

QUICK = replace(Settings(), store=StoreSettings(durable=False))
TIMES = 20
SAID = ("I live in Lisbon", "I like tea", "my number is 7")


def measure(what: str, work: Callable[[], object], times: int = TIMES, of: int = 1) -> None:
    start = time.perf_counter()
    for _ in range(times):
        work()
    print(f"{what}: {(time.perf_counter() - start) * 1000 / times / of:.1f} ms", flush=True)


def look(place: str) -> None:
    measure("open", lambda: Memory(place, "user 0", embedder="none", settings=QUICK).close())
    with Memory(place, "user 0", embedder="none", settings=QUICK) as memory:
        measure("ingest", lambda: memory.ingest("more tea", session="t"))
        measure("search", lambda: memory.search("tea"))
        measure("status", memory.status)


def fill(place: str, count: int) -> None:
    messages = [{"role": "user", "content": text} for text in SAID]
    for number in range(count):
        with Memory(place, f"user {number}", embedder="none", settings=QUICK) as memory:
            memory.ingest_many(messages, session="s")


def main(address: str, count: int) -> None:
    with (
        throwaway_schema(address) as place,
        tempfile.TemporaryDirectory() as folder,
        Memory(place, "keeps the connections", embedder="none", settings=QUICK) as memory,
    ):
        print("one namespace")
        look(place)
        print(f"{count} namespaces of {len(SAID)} turns; where it says so, for each of them")
        measure("filled, each", lambda: fill(place, count), 1, count)
        look(place)
        measure("copy to a file, each", lambda: Memory.copy(place, Path(folder) / "copy.db"), 1, count)
        memory.ingest("it goes", session="s")
        measure("erase --prove, each", lambda: memory.erase(session="s", prove=True), 1, count)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
