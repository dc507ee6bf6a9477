"""The programs that the torture tests start and kill. Run as: python processes.py NAME PATH ARGUMENTS…

Each says on standard output what it has been told is safe: a line is printed only after the call has returned.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError, NotFound
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.settings import Settings
from holdfast.testing import HashEmbedder

EAGER = Settings(_tuning=(IndexSizes(tail=4, vector_tail=4, batch=16),))
"""Durable, as it ships, but with small batches: a kill falls into derived work as often as into an append."""


class LoggingEmbedder(HashEmbedder):
    """Writes each text it embeds to a file, before it answers."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        os.write(self._file, "".join(f"{text}\n" for text in texts).encode())
        return super().embed(texts)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def write_until_killed(path: str, run: str) -> None:
    """Turns with keys, one at a time, in two sessions; every third again, as a host does that got no answer."""
    memory = Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER)
    say("ready")
    number = 0
    while True:
        key = f"{run}-{number}"
        turn = memory.ingest(f"turn {key} in the log", session=f"s{number % 2}", key=key)
        say(key, turn.id, turn.session, turn.index)
        if number % 3 == 0:
            memory.ingest(f"turn {key} in the log", session=f"s{number % 2}", key=key)
        number += 1


def write_histories_until_killed(path: str, run: str) -> None:
    """A rolling history without keys, handed over again with each line."""
    memory = Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER)
    say("ready")
    talk: list[dict[str, object]] = []
    while True:
        talk.append({"role": "user", "content": f"line {run} {len(talk)}"})
        turns = memory.ingest_many(talk, session=f"history {run}")
        say(f"history {run}", len(turns))


def write(path: str, run: str, count: str) -> None:
    """A number of turns, every other one in a session that all share."""
    memory = Memory(path, "ana", embedder=HashEmbedder(), settings=EAGER)
    for number in range(int(count)):
        session = "shared" if number % 2 else f"own {run}"
        turn = memory.ingest(f"process {run} turn {number}", session=session)
        say(turn.id)
        if number % 50 == 0:
            assert memory.search(f"process {run}")
    memory.close()
    say("done")


def live_until_killed(path: str, run: str) -> None:
    """Every verb that writes, at random, on sessions that all share; what fails because another was faster is fine."""
    from tests.worker.test_any_cuts import NAMES, PLACES, REPLIES, SAID

    chance = random.Random(f"two writers {run}")
    sizes = IndexSizes(tail=chance.choice((1, 4, 128)), vector_tail=chance.choice((1, 4, 256)), batch=16)
    memory = Memory(path, "ana", embedder=HashEmbedder(), settings=Settings(_tuning=(sizes,)))
    say("ready")

    def text(role: str = "user") -> str:
        said = chance.choice(SAID if role == "user" else REPLIES)
        return said.format(name=chance.choice(NAMES), place=chance.choice(PLACES), number=chance.randrange(4, 8))

    for number in itertools.count():
        session = chance.choice(("a", "b"))
        records = [one.id for one in memory.recent(9, kind="record") if isinstance(one, Record)]
        nouns = [*(one.id for one in memory.recent(9)), *records]
        try:
            match chance.choices(range(12), (40, 10, 6, 5, 3, 3, 2, 1, 4, 2, 1, 1))[0]:
                case 0:
                    role = chance.choice(("user", "user", "assistant"))
                    memory.ingest(text(role), role=role, session=session, key=f"{run}-{number}")
                case 1:
                    memory.ingest_many([{"role": "user", "content": text()} for _ in range(3)], session=session)
                case 2:
                    memory.remember(text(), kind=chance.choice(("fact", "guidance")))
                case 3 if nouns:
                    memory.forget(chance.choice(nouns))
                case 4 if nouns:
                    memory.forget(chance.choice(nouns), undo=True)
                case 5:
                    memory.compact(session, force=True)
                case 6 if turns := memory.recent(9):
                    memory.erase(turn=chance.choice(turns).id)
                case 7:
                    memory.rebuild()
                case 8 if records:
                    memory.update(chance.choice(records), text())
                case 9:
                    memory.janitor(cull=chance.random() < 0.2)
                case 10 if records:
                    memory.erase(record=chance.choice(records))
                case 11:
                    memory.export(f"{path}-{run}.jsonl")
                    memory.import_file(f"{path}-{run}.jsonl")
        except (InputError, NotFound):
            continue  # the other process erased or replaced it, or there is no such session yet
        say(number)


def derive(path: str, log: str) -> None:
    """Derive whatever is left to derive, and end."""
    with Memory(path, "ana", embedder=LoggingEmbedder(log), settings=EAGER) as memory:
        say("ready")
        memory.flush()
        say("done")


def open_new(path: str, run: str) -> None:
    """Open a file that may not be there yet, write one turn, and end."""
    with Memory(path, "ana", embedder="none") as memory:
        memory.ingest(f"from {run}", key=run)
    say("done")


def compact(path: str) -> None:
    """Compact the session "yard" when told to, and say how many turns were removed by this process."""
    from tests.torture.killing import SETTINGS

    with Memory(path, "ana", embedder=HashEmbedder(), settings=SETTINGS) as memory:
        memory.active("yard")
        say("ready")
        sys.stdin.readline()
        say(memory.compact("yard", force=True).turns_removed)


PROGRAMS = {
    program.__name__: program
    for program in (
        write_until_killed,
        write_histories_until_killed,
        live_until_killed,
        write,
        derive,
        open_new,
        compact,
    )
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
