"""The memory of another user cannot be reached by any name, filter or question."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from holdfast.errors import HoldfastError
from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
from holdfast.text.jsonio import plain
from tests.support.hostile_texts import HOSTILE
from tests.support.memories import EAGER, user

INJECTIONS = [
    "ana' OR '1'='1",
    "ana'; SET holdfast.ns = ''; --",
    "'; SELECT set_config('holdfast.ns', (SELECT ns::text FROM namespaces LIMIT 1), false); --",
    "%",
    "_",
    "*",
    "ana%' UNION SELECT * FROM log --",
    "%(ns)s",
    "{}",
    "\\",
    "ana\ue0000",
]


def everything_asked(memory: Memory, text: str) -> Iterator[object]:
    """Return the answers of every verb that takes a name, an id, a filter or a question, without refusals."""
    asked: list[Callable[[], object]] = [
        lambda: memory.search(text, limit=50),
        lambda: memory.search("zeppelin", session=text),
        lambda: memory.search("zeppelin", since=text),
        lambda: memory.search("zeppelin", kind=text),
        lambda: memory.thread(text),
        lambda: memory.recent(50, session=text),
        lambda: memory.why(text),
        lambda: memory.history(text),
        lambda: memory.forget(text),
        lambda: memory.expand(text),
        lambda: memory.active(text),
        lambda: memory.erase(turn=text),
        lambda: memory.erase(session=text),
        lambda: memory.erase(record=text),
    ]
    for ask in asked:
        with contextlib.suppress(HoldfastError):
            yield plain(ask())


@pytest.mark.requirement("INV-4", "SAFE-1")
def test_hostile_names_filters_and_ids_find_nothing_in_other_namespaces(url: str) -> None:
    with Memory(url, "ben", embedder=HashEmbedder(), settings=EAGER) as ben:
        ben.ingest_many([user(f"the zeppelin of ben carries number {number}") for number in range(30)], session="talk")
        ben.flush()
        secret = ben.recent(1)[0].id
        ben.flush()
        record = ben.remember("ben keeps a zeppelin").id
    with Memory(url, "ana", embedder=HashEmbedder(), settings=EAGER) as ana:
        ana.ingest("the harbour is quiet", session="mine")
        ana.flush()
        said = [
            answer
            for hostile in [*INJECTIONS, *(text for _, text in HOSTILE[::40]), secret, record, "talk", "ben"]
            for answer in everything_asked(ana, hostile)
        ]
        assert len(said) > 50
        assert "of ben carries" not in str(said) and "ben keeps" not in str(said)
    with Memory(url, "ben", embedder=HashEmbedder(), settings=EAGER) as ben:
        assert (ben.status().turns, ben.status().hidden) == (30, 0)
        assert not ben.why(record).decisions[-1].what.startswith("forgotten")


@pytest.mark.requirement("INV-4", "SAFE-1")
@pytest.mark.parametrize("name", INJECTIONS)
def test_a_hostile_name_is_a_namespace_like_any_other(url: str, name: str) -> None:
    with Memory(url, "ana", embedder="none", settings=EAGER) as ana:
        ana.ingest("the harbour is quiet")
    with Memory(url, name, embedder="none", settings=EAGER) as other:
        assert other.recent() == [] and list(other.search("harbour")) == []
        other.ingest("theirs")
    with Memory(url, "ana", embedder="none", settings=EAGER) as ana:
        assert [turn.text for turn in ana.recent()] == ["the harbour is quiet"]
