"""Reads send few statements, however much a namespace contains."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest

from holdfast.memory import Memory
from holdfast.store.open import open_store
from holdfast.store.snapshot import Snapshot
from holdfast.testing import HashEmbedder
from tests.support.memories import EAGER, QUICK, user

MOST_IN_A_SEARCH = 20
"""Turns and records of two namespaces, by words and by vectors; then the hits, and their successors."""
MOST_IN_A_REPEATED_SEARCH = 10
"""Begin, the namespace and the end of its log (one round trip), the version of its views, whether there is a `global`,
commit; two for turns that wait for the index; and two that look for `global` in a database that once had one."""
IN_RECENT = 7
"""Begin, the namespace and its row (one round trip), the version of its views, hidden turns, turns, commit."""


def test_a_search_and_the_newest_turns_send_few_statements(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Memory(url, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        counted = {size: _counts(memory, size, monkeypatch) for size in (20, 60)}
    assert all(0 < searched <= MOST_IN_A_SEARCH for searched, _ in counted.values()), counted
    assert {newest for _, newest in counted.values()} == {IN_RECENT}


def test_a_search_of_what_was_read_before_sends_hardly_any(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for settings in (QUICK, EAGER):
        with Memory(url, f"ana-{settings is EAGER}", embedder=HashEmbedder(), settings=settings) as memory:
            memory.ingest_many([user(f"I keep boat number {number} in harbour {number % 7}") for number in range(40)])
            memory.flush()
            first = memory.search("which harbour is boat 5 in?")
            assert list(memory.search("which harbour is boat 5 in?")) == list(first)
            sent = _sent(partial(memory.search, "which harbour is boat 5 in?"), monkeypatch)
            assert sent <= MOST_IN_A_REPEATED_SEARCH


_MORE_SESSIONS = """INSERT INTO sessions (ns, session, name)
    SELECT ns, session + 20 * g, name || '-' || g FROM sessions, generate_series(1, 100) AS g"""
_MORE_TURNS = """INSERT INTO log (ns, seq, id, entry, session, idx, role, origin, at, at_given, recorded_at, text)
    SELECT ns, seq + 200 * g, id || g, entry, session + 20 * g, idx, role, origin, at + g, at_given, recorded_at, text
    FROM log, generate_series(1, 100) AS g"""


def test_recent_turns_of_a_small_namespace_read_no_other_rows(url: str) -> None:
    """A planner with statistics about its few sessions would join and sort all of its turns."""
    for namespace, sessions, size in (("large", 20, 10), ("small", 10, 40)):
        with Memory(url, namespace, embedder="none", settings=EAGER) as memory:
            for session in range(sessions):
                memory.ingest_many([user(f"boat {number}") for number in range(size)], session=f"s{session}")
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("SET search_path TO holdfast")
        server.execute("SET holdfast.listing = 'on'")
        ((large,),) = server.execute("SELECT ns::text FROM namespaces WHERE name = 'large'").fetchall()
        server.execute("SELECT set_config('holdfast.ns', %s, false)", (large,))
        server.execute(_MORE_SESSIONS)
        server.execute(_MORE_TURNS)
        server.execute("ANALYZE log, sessions, signals")
    store = open_store(url, EAGER.store)
    try:
        with store.snapshot("small") as view:
            before = _read_from_log(view)
            assert len(list(view.recent_turns(20, None, None, None))) == 20
            assert _read_from_log(view) - before <= 2 * 20
    finally:
        store.close()


def _read_from_log(view: Snapshot) -> int:
    """Return the number of rows of the log that this transaction has read."""
    counted = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'log'::regclass"
    ((count,),) = view._tx.rows(counted)
    return int(count)


def _counts(memory: Memory, size: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return how many statements a search and recent() send, once the blocks are in memory."""
    memory.ingest_many([user(f"I keep boat number {number} in harbour {number % 7}") for number in range(size)])
    memory.flush()
    memory.search("where is boat 3?")
    return (
        _sent(lambda: memory.search("which harbour is boat 5 in?"), monkeypatch),
        _sent(lambda: memory.recent(20), monkeypatch),
    )


def _sent(ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the statements of this thread; derived work runs in another one."""
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
