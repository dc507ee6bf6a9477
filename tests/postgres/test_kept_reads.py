"""What a process has read of a namespace is not read again while it holds, and never shown when it does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from psycopg import sql

from holdfast.memory import Memory
from holdfast.settings import CompactSettings
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, found, texts, user

if TYPE_CHECKING:
    from tests.support.postgres_engine import Engine

BOATS = [user(f"I keep boat {number} in the harbour of Porto") for number in range(12)]
QUESTION = "which boats are in the harbour of Porto?"


@contextmanager
def two_readers(url: str, namespace: str = "ana") -> Iterator[tuple[Memory, Memory]]:
    """Two memories that share no cache, as of two processes; both have searched."""
    other = replace(QUICK, compact=CompactSettings(automatic=False))
    with (
        Memory(url, namespace, embedder=HashEmbedder(), settings=QUICK) as one,
        Memory(url, namespace, embedder=HashEmbedder(), settings=other) as second,
    ):
        one.ingest_many(BOATS, session="s")
        one.remember("Ana keeps her boats in the harbour of Porto")
        one.flush()
        assert found(one.search(QUESTION)) == found(second.search(QUESTION)) != []
        yield one, second


@pytest.mark.requirement("RECALL-1")
def test_a_search_finds_what_another_process_wrote_at_once(url: str) -> None:
    with two_readers(url) as (one, second):
        turn = one.ingest("the harbour of Porto is closed for boats", session="s")
        assert turn.text in found(second.search(QUESTION))
        one.remember("All boats left the harbour of Porto")
        assert "All boats left the harbour of Porto" in found(second.search(QUESTION))


@pytest.mark.requirement("INV-3")
def test_what_another_process_forgot_erased_or_rebuilt_is_seen_at_once(url: str) -> None:
    with two_readers(url) as (one, second):
        first = second.search(QUESTION)[0]
        one.forget(first.id)
        assert first.id not in [hit.id for hit in second.search(QUESTION)]
        one.forget(first.id, undo=True)
        assert found(second.search(QUESTION))[0] == first.text
        one.rebuild()
        one.flush()
        assert found(second.search(QUESTION)) == found(one.search(QUESTION))
        erased = second.recent(1)[0]
        one.erase(turn=erased.id)
        assert erased.text not in found(second.search(QUESTION))
        assert erased.text not in found(one.search(QUESTION))


@pytest.mark.requirement("INV-4")
def test_the_first_words_of_global_are_found_by_every_process(url: str) -> None:
    """Whether there is such a namespace is asked for in each search."""
    with two_readers(url) as (_, second), Memory(url, "global", embedder=HashEmbedder(), settings=QUICK) as common:
        common.remember("The harbour of Porto has room for twelve boats")
        assert "The harbour of Porto has room for twelve boats" in found(second.search(QUESTION))
        common.remember("The harbour of Porto charges boats by length")
        assert "The harbour of Porto charges boats by length" in found(second.search(QUESTION))


_AS_BEFORE = (
    "ALTER TABLE holdfast.views DROP COLUMN version",
    "ALTER TABLE holdfast.secrets DROP COLUMN common",
    "DELETE FROM holdfast.schema_versions WHERE version = 5",
)


def test_a_store_without_versions_is_migrated_and_finds_global(postgres: Engine, url: str) -> None:
    with Memory(url, "global", embedder=HashEmbedder(), settings=QUICK) as common:
        common.remember("The harbour of Porto has room for twelve boats")
    with Memory(url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest_many(BOATS, session="s")
        memory.flush()
        before = found(memory.search(QUESTION))
    for statement in _AS_BEFORE:
        postgres.server.run(sql.SQL(statement), urlsplit(url).path.lstrip("/"))
    with Memory(url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        assert found(memory.search(QUESTION)) == found(memory.search(QUESTION)) == before
        assert "The harbour of Porto has room for twelve boats" in before
        memory.ingest("the ferry left", session="s")
        assert texts(memory.recent(1)) == ["the ferry left"]
