"""After an erase on a server, no row of any table contains what was erased."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from psycopg import sql

from holdfast.errors import NotFound
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.model import utc_now
from holdfast.settings import StoreSettings
from holdfast.store.open import open_store
from holdfast.store.postgres.schema import TABLES
from holdfast.store.types import Scope
from holdfast.testing import HashEmbedder
from tests.support.memories import QUICK, texts, user
from tests.support.postgres_engine import Engine

EAGER = replace(QUICK, _tuning=(IndexSizes(tail=1, vector_tail=1),))


def rows_with(postgres: Engine, url: str, word: str) -> list[str]:
    """Return the tables with a row that contains the word in a text, a name, a term or a blob."""
    database = urlsplit(url).path.lstrip("/")
    found = []
    for table in TABLES:
        asked = sql.SQL(
            "SELECT 1 FROM {} AS row WHERE row::text ILIKE {} OR row::text LIKE {} LIMIT 1"
        ).format(  # blobs are written as hexadecimal digits
            sql.Identifier("holdfast", table), f"%{word}%", f"%{word.encode().hex()}%"
        )
        if postgres.server.run(asked, database):
            found.append(table)
    return found


def fill(memory: Memory) -> None:
    memory.ingest_many(
        [user("My sister Quetzalina moved to Ouagadougou in May."), user("I always drink fennel tea.", key="tea-key")],
        session="family-talk",
    )
    memory.ingest("My brother Bartholomew repairs violins in Cremona.", session="work-talk", metadata={"at": "Luthier"})
    memory.flush()


@pytest.mark.requirement("SAFE-5")
def test_an_erased_turn_is_in_no_row_and_the_others_are(postgres: Engine, url: str) -> None:
    with Memory(url, "ana", embedder=HashEmbedder(), settings=EAGER) as memory:
        fill(memory)
        assert {"log", "postings", "records"} <= set(rows_with(postgres, url, "quetzalina"))
        made = memory.erase(turn=memory.thread("family-talk")[0].id, prove=True)
        memory.flush()
        assert made.proof is not None and made.proof.found == 0 and made.proof.strings > 3 and made.pending is None
        assert [one.path for one in made.proof.files] == [f"table {table}" for table in TABLES]
        assert [rows_with(postgres, url, word) for word in ("quetzalina", "ouagadougou")] == [[], []]
        assert "postings" in rows_with(postgres, url, "bartholomew")
        assert texts(memory.thread("family-talk")) == ["I always drink fennel tea."]
        again = memory.ingest_many([user("My sister Quetzalina moved to Ouagadougou in May.")], session="family-talk")
        assert again[0].id.startswith("e-") and rows_with(postgres, url, "quetzalina") == []


@pytest.mark.requirement("SAFE-5")
def test_an_erased_namespace_leaves_neither_text_nor_name(postgres: Engine, url: str) -> None:
    with Memory(url, "zenobia-of-palmyra", embedder=HashEmbedder(), settings=EAGER) as memory:
        fill(memory)
        record = memory.remember("Call me Zuleikha")
        assert rows_with(postgres, url, "zenobia-of-palmyra") == ["namespaces"]
        with Memory(url, "bea", embedder=HashEmbedder(), settings=EAGER) as other:
            fill(other)
            before = [hit.text for hit in other.search("Where does my sister live?")]
            made = memory.erase(namespace=True, prove=True)
            assert made.turns == 3 and made.proof is not None and made.proof.found == 0
            names = ["zenobia", "zuleikha", record.id]
            assert [rows_with(postgres, url, name) for name in names] == [[], [], []]
            assert [hit.text for hit in other.search("Where does my sister live?")] == before
            assert [name for name in other._store.namespaces() if name != "global"] == ["bea"]
        with pytest.raises(NotFound):
            memory.erase(namespace=True)
        kept = memory.ingest("I always drink fennel tea.", session="family-talk", key="tea-key")
        assert kept.id.startswith("e-")  # its tombstones came back with the name
        assert memory.ingest("something else", session="family-talk").index == 2
        assert "zenobia-of-palmyra" in memory._store.namespaces()


def test_a_sweep_that_a_crash_prevented_is_done_by_the_next(postgres: Engine, url: str) -> None:
    with Memory(url, "ana", embedder="none", settings=QUICK) as memory:
        fill(memory)
        with closing(open_store(url, StoreSettings(durable=False))) as store:
            store.erase("ana", Scope.SESSION, "work-talk", utc_now())
        asked = sql.SQL("SELECT count(*) FROM holdfast.unswept")
        database = urlsplit(url).path.lstrip("/")
        assert postgres.server.run(asked, database) == [(1,)]
        assert memory._store.sweep() is None
        assert postgres.server.run(asked, database) == [(0,)]
