"""Import a large ChatGPT export: rate compared with `ingest_many` of the same texts, and memory.

    python -m holdfast_bench.imports --mb 500

Deriving is put off, so that both rates are those of storing; `--derive` leaves it on, to see the memory of all.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.importers.run import import_chats
from holdfast.importers.source import read_objects
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.settings import Settings, load_settings

_TURNS = 20  # of a conversation
_QUESTION, _ANSWER = 30, 220  # words
_LATER_S = 36_000.0
_SAMPLE = 300  # conversations that are stored with ingest_many


@dataclass(frozen=True)
class StorageRun:
    """Turns stored, processor seconds, and the most memory over that before, in MB."""

    turns: int
    seconds: float
    grown_mb: float

    @property
    def rate(self) -> float:
        return self.turns / self.seconds


def write_export(path: Path, size: int) -> None:
    """Write conversations.json of about that many bytes, as ChatGPT exports it."""
    chance = random.Random(1)
    words = [f"{chance.getrandbits(28):x}" for _ in range(4000)]
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size:
            file.write(f"{',' if number else '['}{json.dumps(_conversation(number, chance, words))}")
            number += 1
        file.write("]")


def _conversation(number: int, chance: random.Random, words: list[str]) -> dict[str, object]:
    at = 1.7e9 + number * 100
    names = [f"n{number}-{place}" for place in range(_TURNS)]
    nodes: dict[str, object] = {}
    for place, name in enumerate(names):
        text = " ".join(chance.choices(words, k=_ANSWER if place % 2 else _QUESTION))
        message = {
            "id": name, "author": {"role": "assistant" if place % 2 else "user", "name": None, "metadata": {}},
            "create_time": at + place, "update_time": None, "status": "finished_successfully", "weight": 1.0,
            "recipient": "all", "content": {"content_type": "text", "parts": [text]},
            "metadata": {"model_slug": "gpt-4o", "timestamp_": "absolute"},
        }  # fmt: skip
        parent = names[place - 1] if place else None
        nodes[name] = {"id": name, "parent": parent, "children": names[place + 1 : place + 2], "message": message}
    return {"title": f"Talk {number}", "create_time": at, "mapping": nodes, "current_node": names[-1],
            "conversation_id": f"c{number}"}  # fmt: skip


def compare(path: Path, place: Path, derive: bool = False) -> tuple[StorageRun, StorageRun]:
    """Return the import of an export, and `ingest_many` of its first conversations."""
    settings = load_settings()
    if not derive:
        settings = replace(settings, _tuning=(IndexSizes(gather_s=_LATER_S, gather_most_s=_LATER_S),))
    imported = _run(place / "imported.db", settings, lambda memory: import_chats(memory, path).turns)
    chats = _messages(path)

    def ingest(memory: Memory) -> int:
        return sum(len(memory.ingest_many(messages, session=name)) for name, messages in chats)

    return imported, _run(place / "ingested.db", settings, ingest)


def _messages(path: Path) -> list[tuple[str, list[dict[str, object]]]]:
    made: list[tuple[str, list[dict[str, object]]]] = []
    with path.open("rb") as file:
        for chat in read_objects(file):
            nodes = [node["message"] for node in chat["mapping"].values()]  # type: ignore[attr-defined]
            made.append((str(chat["conversation_id"]), [
                {"role": one["author"]["role"], "content": one["content"]["parts"][0], "key": one["id"]}
                for one in nodes]))  # fmt: skip
            if len(made) == _SAMPLE:
                break
    return made


def _run(store: Path, settings: Settings, work: Callable[[Memory], int]) -> StorageRun:
    with Memory(store, "me", settings=settings) as memory:
        memory.ingest("My cat is called Miso.")
        memory.search("cat")
        before = most = _resident_mb()
        stop = threading.Event()

        def watch() -> None:
            nonlocal most
            while not stop.wait(0.05):
                most = max(most, _resident_mb())

        watching = threading.Thread(target=watch)
        watching.start()
        began = time.process_time()
        turns = work(memory)
        seconds = time.process_time() - began
        stop.set()
        watching.join()
    return StorageRun(turns, seconds, most - before)


def _resident_mb() -> float:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=50, help="Size of the export.")
    parser.add_argument("--derive", action="store_true", help="Embed and read the turns at the same time.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "conversations.json"
        write_export(path, given.mb * 1_000_000)
        runs = compare(path, Path(name), given.derive)
    for what, run in zip(("import", "ingest_many"), runs, strict=True):
        print(f"{what}: {run.turns:,} turns, {run.rate:,.0f} per second of processor time, +{run.grown_mb:.0f} MB")
    print(f"ratio {runs[0].rate / runs[1].rate:.2f}")


if __name__ == "__main__":
    main()
