"""Writes to and searches many namespaces of a store while something happens to its server, and counts what was lost.

    python -m tests.postgres.cluster_load URL --seconds 60 --at 15 'COMMAND' [--at 30 'COMMAND' …]

Each namespace has a thread that ingests a turn and searches, over and over. At the end every turn that was acknowledged
must be in the log once, and one that failed at most once. Prints the p95 of each node's namespaces in the time before
the first command, between the first and the last one, and after.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from secrets import token_hex

import psycopg

from holdfast.errors import StoreBusy
from holdfast.memory import Memory
from holdfast.settings import Settings, StoreSettings
from holdfast.store.open import open_store
from holdfast.store.postgres.address import read_address

_NODE = """SELECT nodename || ':' || nodeport FROM pg_dist_shard_placement
    WHERE shardid = get_shard_id_for_distribution_column('namespaces', %s)"""
_PAUSE_S = 0.05  # of each thread after each turn: a machine that has nothing left measures only its scheduler


@dataclass
class Caller:
    name: str
    fleet: str
    """Of this run: the store may have turns of one before it."""
    safe: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    times: list[tuple[float, str, float]] = field(default_factory=list)
    failures: Counter[str] = field(default_factory=Counter)

    def run(self, memory: Memory, until: float) -> None:
        number = 0
        while time.monotonic() < until:
            text = f"{self.name} keeps boat {number} of {self.fleet} in the harbour"
            number += 1
            start = time.monotonic()
            try:
                memory.ingest(text, session="talk")
                self.safe.append(text)
                self.times.append((start, "ingest", time.monotonic() - start))
            except StoreBusy:  # not acknowledged: it may be there once, or not
                self.unsure.append(text)
                self.failures["ingest"] += 1
            start = time.monotonic()
            try:
                memory.search("which harbour is the boat in?", limit=5)
                self.times.append((start, "search", time.monotonic() - start))
            except StoreBusy:
                self.failures["search"] += 1
            time.sleep(_PAUSE_S)


def nodes_of(url: str, names: list[str]) -> dict[str, str]:
    """Return the node of each namespace; all are on one where the store is not sharded."""
    address = read_address(url)
    with closing(open_store(url, StoreSettings())) as store, psycopg.connect(address.conninfo) as connection:
        server = store.server()
        if server is None or server.nodes is None:
            return dict.fromkeys(names, "server")
        connection.execute("SELECT set_config('search_path', %s || ',public', false)", (address.schema,))
        found: dict[str, str] = {}
        for name in names:
            ns = store.database.ns_of(name)  # type: ignore[attr-defined]
            row = connection.execute(_NODE, (ns,)).fetchone()
            found[name] = str(row[0]) if row else "?"
        return found


def p95(values: list[float]) -> float | None:
    return round(sorted(values)[int(len(values) * 0.95)] * 1000, 1) if values else None


def measure(url: str, count: int, seconds: float, commands: list[tuple[float, str]]) -> dict[str, object]:
    fleet = token_hex(4)
    callers = [Caller(f"user-{number}", fleet) for number in range(count)]
    memories = [Memory(url, caller.name, embedder="none", settings=Settings()) for caller in callers]
    for memory in memories:
        memory.ingest("hello", session="talk")
        memory.search("hello")
    nodes = nodes_of(url, [caller.name for caller in callers])
    began = time.monotonic()
    threads = [
        threading.Thread(target=caller.run, args=(memory, began + seconds))
        for caller, memory in zip(callers, memories, strict=True)
    ]
    for thread in threads:
        thread.start()
    for at, command in commands:
        time.sleep(max(0.0, began + at - time.monotonic()))
        subprocess.run(command, shell=True, check=True)
    ends = [began + commands[0][0], time.monotonic()] if commands else [began + seconds] * 2
    for thread in threads:
        thread.join()
    lost = doubled = 0
    for caller, memory in zip(callers, memories, strict=True):
        kept = Counter(turn.text for turn in memory.thread("talk"))
        lost += sum(kept[text] == 0 for text in caller.safe)
        doubled += sum(kept[text] > 1 for text in [*caller.safe, *caller.unsure])
        memory.close()
    spans = {"before": (began, ends[0]), "between": (ends[0], ends[1]), "after": (ends[1], began + seconds)}
    figures: dict[str, object] = {
        "acknowledged": sum(len(caller.safe) for caller in callers), "lost": lost, "doubled": doubled,
        "failed": dict(sum((caller.failures for caller in callers), Counter[str]())),
    }  # fmt: skip
    for node in sorted(set(nodes.values())):
        mine = [caller for caller in callers if nodes[caller.name] == node]
        figures[node] = {"namespaces": len(mine)} | {
            f"{verb}_{name}": p95(
                [took for one in mine for at, what, took in one.times if what == verb and a <= at < b]
            )
            for verb in ("ingest", "search")
            for name, (a, b) in spans.items()
        }
    return figures


if __name__ == "__main__":
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("url")
    read.add_argument("--namespaces", type=int, default=12)
    read.add_argument("--seconds", type=float, default=60)
    read.add_argument("--at", nargs=2, action="append", default=[], metavar=("SECONDS", "COMMAND"))
    given = read.parse_args()
    told = [(float(at), command) for at, command in given.at]
    print(json.dumps(measure(given.url, given.namespaces, given.seconds, told), indent=2))
