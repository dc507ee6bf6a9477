"""Processor time and disk space of a turn in a store: the same chats are written, derived and searched in each place.

    python -m tests.postgres.store_cost --turns 2000 --place NAME LOCATION [FOLDER,FOLDER …] …

A place is a path or an address of an empty store; the folders are the data directories of its servers on this machine,
whose processor time is counted too. Processor time, because a busy machine stretches the clock and not the work. Parts
alternate between the places.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil  # type: ignore[import-untyped]

from holdfast.errors import FlushTimeout
from holdfast.log.messages import read_turn
from holdfast.memory import Memory
from holdfast.model import utc_now
from holdfast.models.embedder import StaticEmbedder
from holdfast.settings import load_settings
from holdfast.store.open import open_store
from holdfast.store.store import Store
from holdfast_bench.chatter import Session, chatter, questions, upto

_PARTS = 4
_SINGLE = 200
_LOOK_S = 1.0
_QUESTIONS = 40
_AFTER_WRITES = 20  # searches after a turn was written and derived: nothing that was read before holds
_WARM_UP = 8  # statements are prepared at their third use


@dataclass
class Place:
    name: str
    location: str
    folders: tuple[str, ...]
    spent: dict[str, list[float]] = field(default_factory=dict)

    def count(self, what: str, work: Callable[[], object]) -> None:
        """Add the seconds of clock, of this process and of the servers that the work took."""
        servers, clock, own = self._servers(), time.perf_counter(), time.process_time()  # asking costs time too
        work()
        took = (time.perf_counter() - clock, time.process_time() - own, self._servers() - servers)
        spent = self.spent.setdefault(what, [0.0, 0.0, 0.0])
        for at, one in enumerate(took):
            spent[at] += one

    def _servers(self) -> float:
        """Return the processor time of the servers so far, with that of their processes that have ended."""
        total = 0.0
        for process in psutil.process_iter(["name"]):
            with suppress(psutil.Error):
                if process.info["name"] == "postgres" and any(one in process.cmdline() for one in self.folders):
                    times = process.cpu_times()
                    total += times.user + times.system + times.children_user + times.children_system
                    for child in process.children():
                        with suppress(psutil.Error):  # it has just ended, and is counted among the children
                            total += child.cpu_times().user + child.cpu_times().system
        return total


def measure(places: list[Place], turns: int) -> dict[str, object]:
    sessions = list(chatter(turns * _PARTS, 0))
    embedder, settings = StaticEmbedder(), load_settings()
    asked = questions(sessions, _QUESTIONS, 0)
    each = turns // _PARTS
    with (
        TemporaryDirectory() as folder,
        Memory(Path(folder) / "warm.db", "warm", embedder=embedder, settings=settings) as memory,
    ):
        _ingest(memory, upto(sessions, each))  # the first place would pay for loading the models
        memory.flush()
        for text in asked[:_WARM_UP]:
            memory.search(text)
    for part in range(_PARTS):
        for place in places[:: 1 if part % 2 else -1]:
            with Memory(place.location, f"user-{part}", embedder=embedder, settings=settings) as memory:
                place.count("ingest", partial(_ingest, memory, upto(sessions, each)))
                place.count("derive", partial(_wait, memory))
                for text in asked[:_WARM_UP]:
                    memory.search(text)
                place.count("search", partial(list, map(memory.search, asked)))
                for number, text in enumerate(asked[:_AFTER_WRITES]):
                    memory.ingest(f"I keep boat {number} in the harbour", session="boats")
                    memory.flush()
                    place.count("search_after_write", partial(memory.search, text))
            with closing(open_store(place.location, settings.store)) as store:
                store.bootstrap(f"writer-{part}", "s")
                place.count("append", partial(_append, store, f"writer-{part}"))
    figures: dict[str, object] = {}
    for place in places:
        with closing(open_store(place.location, settings.store)) as store:
            size = store.size()
        amounts = {
            "ingest": each * _PARTS,
            "derive": each * _PARTS,
            "search": len(asked) * _PARTS,
            "search_after_write": _AFTER_WRITES * _PARTS,
            "append": _SINGLE * _PARTS,
        }
        figures[place.name] = {"bytes_per_turn": round(size / ((each + _AFTER_WRITES + _SINGLE) * _PARTS))} | {
            f"{what}_ms": dict(
                zip(("clock", "client", "server"), (round(s / amounts[what] * 1000, 3) for s in spent), strict=True)
            )
            for what, spent in place.spent.items()
        }
    return figures


def _ingest(memory: Memory, sessions: Iterable[Session]) -> None:
    for session, messages in sessions:
        memory.ingest_many(messages, session=session)


def _wait(memory: Memory) -> None:
    """Wait for background work and ask seldom: a flush asks all the time, which is not the work itself."""
    while True:
        try:
            return memory.flush(timeout=0.0)
        except FlushTimeout:
            time.sleep(_LOOK_S)


def _append(store: Store, namespace: str) -> None:
    """Append turns one by one, each durable before the next."""
    for number in range(_SINGLE):
        now, text = utc_now(), f"I keep boat {number} in the harbour"
        turn = read_turn(
            text, role="user", at=None, key=None, origin=None, stability=None, metadata=None, now=now,
            settings=load_settings().log,
        )  # fmt: skip
        store.append(namespace, "s", [turn], now)


if __name__ == "__main__":
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--turns", type=int, default=2000)
    read.add_argument("--place", nargs="+", action="append", required=True, metavar="NAME LOCATION FOLDERS")
    given = read.parse_args()
    made = [Place(one[0], one[1], tuple(one[2].split(",")) if len(one) > 2 else ()) for one in given.place]
    print(json.dumps(measure(made, given.turns), indent=2))
