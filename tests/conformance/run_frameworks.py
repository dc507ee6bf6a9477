"""The importers before what the frameworks' own classes write: LangGraph's stores and mem0's history (CONN-4).

    python tests/conformance/run_frameworks.py [FOLDER]

The packages are installed into FOLDER (build/frameworks) and run in a process of their own, so that their
dependencies never meet ours. That process writes the files and says what a reader must find in them, asked through the
frameworks' own classes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from holdfast.importers.run import detect, import_chats
from holdfast.memory import Memory
from holdfast.model import Provenance

PACKAGES = ("langgraph-checkpoint", "langgraph-checkpoint-sqlite", "mem0ai")
WAIT_S = 300

_WRITE = """
import json, sys
from datetime import UTC
from pathlib import Path
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore
from mem0.memory.storage import SQLiteManager

place, wanted = Path(sys.argv[1]), {}

def fill(store, name):
    store.put(("ana", "facts"), "cat", {"text": f"The cat is called Miso ({name})"})
    store.put(("ana", "facts"), "city", {"content": f"Lives in Porto ({name})", "score": 3})
    store.put(("ana", "facts"), "city", {"content": f"Lives in Lisbon ({name})", "score": 4})
    store.put(("ana",), "tea", {"memory": f"Drinks tea ({name})"})
    store.put(("bo",), "gone", {"text": f"Is forgotten ({name})"})
    store.delete(("bo",), "gone")
    for number in range(40):
        store.put(("many",), str(number), {"data": f"Fact {number} \\u00e9\\u4e2d ({name})"})
    found = store.search((), limit=1000)
    text = lambda value: next(value[key] for key in ("text", "memory", "content", "data") if key in value)
    at = lambda one: one.updated_at if one.updated_at.tzinfo else one.updated_at.replace(tzinfo=UTC)  # of SQLite
    wanted[f"{name}.jsonl"] = ["langgraph", sorted([text(one.value), at(one).isoformat()] for one in found)]
    (place / f"{name}.jsonl").write_text("".join(json.dumps(one.dict()) + "\\n" for one in found))

fill(InMemoryStore(), "in-memory")
with SqliteStore.from_conn_string(":memory:") as store:
    store.setup()
    fill(store, "sqlite")

manager = SQLiteManager(str(place / "history.db"))
at = "2025-03-0{}T10:00:00+00:00"
manager.add_history("a", None, "Likes tea", "ADD", created_at=at.format(1))
manager.add_history("a", "Likes tea", "Likes green tea", "UPDATE", created_at=at.format(1), updated_at=at.format(2))
manager.add_history("b", None, "Has a dog", "ADD", created_at=at.format(3))
manager.add_history("b", "Has a dog", None, "DELETE", created_at=at.format(3), updated_at=at.format(4), is_deleted=1)
manager.add_history("c", None, "Plays the piano \\u2014 badly", "ADD", created_at=at.format(5))
left = {}
for name in "abc":
    for line in manager.get_history(name):
        left[name] = None if line["is_deleted"] or line["event"] == "DELETE" else line
        time = line["updated_at"] or line["created_at"]
        left[name] = left[name] and [line["new_memory"], time]
wanted["history.db"] = ["memories", sorted(one for one in left.values() if one)]
manager.close()
print(json.dumps(wanted))
"""


def main(folder: Path) -> int:
    install(folder)
    for one in distributions(path=[str(folder)]):
        if one.name in PACKAGES:
            print(f"{one.name} {one.version}")
    around = {**os.environ, "PYTHONPATH": str(folder), "MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0-home")}
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        written = subprocess.run(
            [sys.executable, "-c", _WRITE, name], env=around, capture_output=True, text=True, timeout=WAIT_S
        )
        if written.returncode:
            print(written.stderr[-2000:])
            return 1
        for file, (form, wanted) in json.loads(written.stdout.splitlines()[-1]).items():
            failed += not check(place / file, form, [tuple(one) for one in wanted])
    return failed


def install(folder: Path) -> None:
    if not (folder / "mem0").exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), *PACKAGES], check=True
        )


def check(path: Path, form: str, wanted: list[tuple[str, str]]) -> bool:
    """Import the file twice; the memory must hold what the framework says is in it, with its times, once."""
    with Memory(path.with_suffix(".memory"), "ana", embedder="none") as memory:
        found = detect(path)
        made, again = import_chats(memory, path), import_chats(memory, path)
        records: Any = memory.recent(1000, kind="record")
        held = sorted((one.text, one.at.isoformat()) for one in records)
        imported = all(one.provenance is Provenance.IMPORTED for one in records)
    holds = (found, held, imported, made.skipped, again.notes) == (form, wanted, True, 0, 0)
    print(f"{'ok  ' if holds else 'FAIL'} {path.name}: {len(held)} of {len(wanted)} memories, with their times, once")
    if not holds:
        print(f"     {form} {found} {imported} {made} {sorted(set(held) ^ set(wanted))[:6]}")
    return holds


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else root / "build" / "frameworks"))
