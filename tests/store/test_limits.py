"""A process with a thousand namespaces needs few files and threads; at a limit the error names it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MAX_FILES = 64
MAX_THREADS = 16
MANY = """
import json, os, sys, threading
from dataclasses import replace
from holdfast import Memory
from holdfast.settings import Settings, StoreSettings

settings = replace(Settings(), store=StoreSettings(durable=False))
first = Memory(sys.argv[1], "n0", settings=settings)
others = [first.of(f"n{number}") for number in range(1, 1000)]
again = [Memory(sys.argv[1], f"n{number}", settings=settings) for number in range(0, 1000, 10)]
for number, memory in enumerate([first, *others]):
    memory.ingest(f"My cat number {number} is called Tom.")
for memory in others[::50]:
    memory.flush()
found = [len(memory.search("what is my cat called?")) for memory in others[::50]]
added = [memory.context([{"role": "user", "content": "and my cat?"}]).text.count("Tom") for memory in others[::50]]
files, threads = len(os.listdir("/dev/fd")), threading.active_count()
print(json.dumps({"files": files, "threads": threads, "found": min(found), "added": min(added)}))
os._exit(0)  # the namespaces that nobody waits for need not be derived
"""
LOWERED = """
import resource, sys
from holdfast import Memory
from holdfast.errors import StoreError

memories = [Memory(f"{sys.argv[1]}.0", "ana", embedder="none")]
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
try:
    for number in range(1, 40):
        memories.append(Memory(f"{sys.argv[1]}.{number}", "ana", embedder="none"))
        memories[-1].ingest("one")
except StoreError as error:
    print(error)
memories[0].ingest("a store that is open goes on")
print([turn.text for turn in memories[0].recent()])
"""


def run(script: str, path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.requirement("INV-4")
def test_a_thousand_namespaces_share_files_and_threads(tmp_path: Path) -> None:
    used = json.loads(run(MANY, tmp_path / "memory.db"))
    assert used["files"] <= MAX_FILES and used["threads"] <= MAX_THREADS
    assert used["found"] >= 1 and used["added"] >= 1


def test_the_error_at_the_limit_of_open_files_names_it(tmp_path: Path) -> None:
    error, turns = run(LOWERED, tmp_path / "memory.db").splitlines()
    assert "as many open files as it may have, 40" in error
    assert "ulimit -n" in error and "share its files" in error
    assert turns == "['a store that is open goes on']"
