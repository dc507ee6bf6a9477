"""Each statement is a message to the server and back: there are few of them, however much a namespace holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from holdfast import Memory
from holdfast.testing import HashEmbedder
from memories import EAGER, user

MOST_IN_A_SEARCH = 18
"""Turns and records of two namespaces, by words and by meaning; then the hits, and what replaced them."""
IN_RECENT = 4
"""Begin, what is hidden, the turns, commit."""


def test_a_search_and_the_newest_turns_send_few_statements(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(url, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        counted = {size: _counts(memory, size, monkeypatch) for size in (20, 200)}
    assert all(0 < searched <= MOST_IN_A_SEARCH for searched, _ in counted.values()), counted
    assert {newest for _, newest in counted.values()} == {IN_RECENT}


def _counts(memory: Memory, size: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """How many a search and recent() send, once the blocks are in memory."""
    memory.ingest_many([user(f"I keep boat number {number} in harbour {number % 7}") for number in range(size)])
    memory.flush()
    memory.search("where is boat 3?")
    return (
        _sent(lambda: memory.search("which harbour is boat 5 in?"), monkeypatch),
        _sent(lambda: memory.recent(20), monkeypatch),
    )


def _sent(ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Those of this thread: what is derived is another's."""
    sent: list[object] = []
    execute, me = psycopg.Cursor.execute, threading.get_ident()

    def noting(cursor: Any, query: Any, *values: Any, **more: Any) -> Any:
        if threading.get_ident() == me:
            sent.append(query)
        return execute(cursor, query, *values, **more)

    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Cursor, "execute", noting)
        ask()
    return len(sent)
