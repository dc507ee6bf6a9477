"""A server that does not answer: contexts are returned in time without it, and recover."""

from __future__ import annotations

import threading
import time
from urllib.parse import urlsplit

import psycopg
import pytest

from holdfast.memory import Memory
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, user
from tests.support.postgres_engine import Engine

SLACK_S = 3.0  # a busy machine may be late to wake whoever waits; without a deadline it would be busy_s, 30 s


@pytest.mark.requirement("SAFE-1", "CTX-5")
def test_locked_tables_give_the_original_messages_in_time_and_recover(postgres: Engine, url: str) -> None:
    messages = [user("where do I live?")]
    with Memory(url, "ana", embedder=HashEmbedder(), settings=QUICK) as memory:
        memory.ingest("I live in Lisbon now", session="before")
        memory.flush()
        with psycopg.connect(postgres.server.url_for_admin(urlsplit(url).path.lstrip("/"))) as holder:
            holder.execute("LOCK TABLE holdfast.namespaces, holdfast.log IN ACCESS EXCLUSIVE MODE")
            for _ in range(3):
                start = time.monotonic()
                made = memory.context(messages)
                assert time.monotonic() - start < QUICK.context.deadline_s + SLACK_S
                assert made.messages is messages and made.text == "" and made.tokens == 0
                assert made.degraded is not None and "did not answer within" in made.degraded
        until = time.monotonic() + 30
        while memory.context(messages).degraded is not None:  # the breaker tries again by itself
            assert time.monotonic() < until
            threading.Event().wait(0.05)
        assert "Lisbon" in memory.context(messages).text
