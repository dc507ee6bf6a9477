"""A store written by version 0.1 opens with everything in it.

data/make_version_0_1.py made the store and wrote down what version 0.1 answered from it.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.memory import Memory
from holdfast.model import Record, Turn
from holdfast.store.sqlite.schema import SCHEMA
from tests.support.memories import QUICK

DATA = Path(__file__).parent / "data"
SESSIONS = ("s1", "s2", "s3")
HIDDEN = "The number of my locker is 4417, forget it soon."
ERASED = "This line is erased."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    path.write_bytes(gzip.decompress((DATA / "version_0_1.db.gz").read_bytes()))
    return path


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with Memory(path, "ana", settings=QUICK) as memory:
        yield memory


@pytest.fixture(scope="module")
def answered() -> dict[str, Any]:
    """What version 0.1 answered."""
    answers = json.loads((DATA / "version_0_1.json").read_text(encoding="utf-8"))
    assert isinstance(answers, dict) and len(answers["turns"]) == 12 and len(answers["records"]) == 7
    return answers


def row(turn: Turn) -> list[object]:
    return [turn.id, turn.session, turn.role, turn.text, turn.at.isoformat(), turn.metadata["number"]]


def turns_of(memory: Memory) -> list[list[object]]:
    return [row(turn) for session in SESSIONS for turn in memory.thread(session)]


def records_of(memory: Memory) -> list[Record]:
    return [one for one in memory.recent(100, kind="record") if isinstance(one, Record)]


@pytest.mark.requirement("INV-3")
def test_an_older_store_keeps_its_turns_and_records(memory: Memory, answered: dict[str, Any], path: Path) -> None:
    assert turns_of(memory) == answered["turns"]
    assert sorted([one.id, one.kind, one.text] for one in records_of(memory)) == answered["records"]
    assert ERASED.encode() not in path.read_bytes()
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (SCHEMA,)


def test_an_older_store_answers_as_before(memory: Memory, answered: dict[str, Any]) -> None:
    for question, before in answered["hits"].items():
        assert memory.search(question)[0].text == before[0]
    context = memory.context([{"role": "user", "content": "What am I allergic to?"}], session="new")
    assert "allergic to walnuts" in context.text
    assert HIDDEN not in context.text


def test_the_views_of_an_older_store_can_be_rebuilt(memory: Memory, answered: dict[str, Any]) -> None:
    memory.rebuild()
    assert turns_of(memory) == answered["turns"]
    assert "Anna's flat has a green door." in [one.text for one in records_of(memory)]
    assert memory.search("What am I allergic to?")[0].text == "I am allergic to walnuts."
    assert HIDDEN not in [hit.text for hit in memory.search("locker 4417")]


def test_an_older_store_takes_new_turns_in_every_namespace(memory: Memory) -> None:
    first = memory.thread("s1")[0]
    again = memory.ingest(first.text, session="s1", key="k0")
    assert again.id == first.id, "keys of the older version are known"
    memory.ingest("My bicycle is yellow.", session="s4")
    memory.flush()
    assert memory.search("What colour is my bicycle?")[0].text == "My bicycle is yellow."
    assert [hit.text for hit in memory.of("ben").search("old maps")] == ["Ben collects old maps of Ghent."]
