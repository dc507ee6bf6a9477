"""Copying namespaces between stores: all or some, repeatedly, and after an interruption."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.errors import InputError, NotFound
from holdfast.memory import Memory
from tests.support.memories import EAGER, QUICK, OpenMemory, answers, ingest_month, texts, user

pytestmark = pytest.mark.requirement("KEEP-5")


def fill(open_memory: OpenMemory, name: str, *said: str) -> None:
    with open_memory(name, file="from.db") as memory:
        memory.ingest_many([user(text) for text in said])


def test_copied_namespaces_keep_ids_and_positions(open_memory: OpenMemory, tmp_path: Path) -> None:
    fill(open_memory, "ana", "the harbour is quiet", "the ferry left")
    fill(open_memory, "ben", "the piano is tuned")
    made = Memory.copy(tmp_path / "from.db", tmp_path / "to.db", settings=QUICK)
    assert [(one.namespace, one.turns, one.known) for one in made.namespaces] == [("ana", 2, 0), ("ben", 1, 0)]
    for name in ("ana", "ben"):
        assert open_memory(name, file="to.db").recent() == open_memory(name, file="from.db").recent()


def test_a_copy_gives_the_answers_of_its_source(open_memory: OpenMemory, tmp_path: Path) -> None:
    source = open_memory(file="from.db", settings=EAGER)
    ingest_month(source, 60)
    source.remember("Deploys happen on Fridays", kind="decision")
    source.forget(source.recent(1)[0].id)
    source.flush()
    Memory.copy(tmp_path / "from.db", tmp_path / "to.db", settings=QUICK)
    target = open_memory(file="to.db", settings=EAGER)
    target.flush()
    assert json.dumps(answers(target), sort_keys=True) == json.dumps(answers(source), sort_keys=True)


def test_only_the_given_namespaces_are_copied(open_memory: OpenMemory, tmp_path: Path) -> None:
    fill(open_memory, "ana", "the harbour is quiet")
    fill(open_memory, "ben", "the piano is tuned")
    made = Memory.copy(tmp_path / "from.db", tmp_path / "to.db", ["ben"], settings=QUICK)
    assert [one.namespace for one in made.namespaces] == ["ben"]
    assert open_memory("ana", file="to.db").recent() == []
    with pytest.raises(NotFound, match="no namespace 'cleo'"):
        Memory.copy(tmp_path / "from.db", tmp_path / "to.db", ["cleo"], settings=QUICK)


def test_copying_again_adds_only_what_is_new(open_memory: OpenMemory, tmp_path: Path) -> None:
    fill(open_memory, "ana", "the harbour is quiet")
    Memory.copy(tmp_path / "from.db", tmp_path / "to.db", settings=QUICK)
    fill(open_memory, "ana", "the ferry left")
    (made,) = Memory.copy(tmp_path / "from.db", tmp_path / "to.db", settings=QUICK).namespaces
    assert (made.turns, made.known) == (1, 1)
    (made,) = Memory.copy(tmp_path / "from.db", tmp_path / "to.db", settings=QUICK).namespaces
    assert (made.turns, made.known) == (0, 2)
    assert texts(open_memory("ana", file="to.db").recent()) == ["the ferry left", "the harbour is quiet"]


def test_an_interrupted_copy_continues_where_it_stopped(open_memory: OpenMemory, tmp_path: Path) -> None:
    fill(open_memory, "ana", "the harbour is quiet")
    fill(open_memory, "ben", *(f"mooring {number}" for number in range(2500)))

    class Interrupted(Exception):
        pass

    def stop(done: int, total: int) -> None:
        assert total == 2501
        if done >= 2000:
            raise Interrupted

    with pytest.raises(Interrupted):
        Memory.copy(tmp_path / "from.db", tmp_path / "to.db", progress=stop, settings=QUICK)
    assert len(open_memory("ana", file="to.db").recent()) == 1
    assert open_memory("ben", file="to.db").recent() == []  # a namespace comes whole, or not at all
    seen: list[tuple[int, int]] = []
    made = Memory.copy(
        tmp_path / "from.db", tmp_path / "to.db", progress=lambda *step: seen.append(step), settings=QUICK
    )
    assert [(one.turns, one.known) for one in made.namespaces] == [(0, 1), (2500, 0)]
    assert seen[-1] == (2501, 2501) and seen == sorted(seen)


@pytest.mark.requirement("ADMIT-7")
def test_copying_masks_secrets_if_redaction_is_on(open_memory: OpenMemory, tmp_path: Path) -> None:
    fill(open_memory, "ana", "my key is sk-proj-Zk3vQ8pLw2xN7rT5mB9cD4fG6hJ1")
    masking = replace(QUICK, log=replace(QUICK.log, redact_secrets=True))
    Memory.copy(tmp_path / "from.db", tmp_path / "to.db", settings=masking)
    assert "Zk3vQ8pLw2xN7rT5mB9cD4fG6hJ1" not in open_memory("ana", file="to.db").recent()[0].text


def test_copying_a_store_onto_itself_is_refused(open_memory: OpenMemory, tmp_path: Path) -> None:
    fill(open_memory, "ana", "the harbour is quiet")
    with pytest.raises(InputError, match="are the same store"):
        Memory.copy(tmp_path / "from.db", tmp_path / "from.db", settings=QUICK)
