"""Attacks from below: the store goes away under a server that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.memory import Memory
from tests.serve.http.http_peers import served


@pytest.mark.requirement("LOG-1")
@pytest.mark.parametrize("replaced", [False, True])
def test_no_turn_is_acknowledged_into_a_deleted_file(tmp_path: Path, replaced: bool) -> None:
    with served(tmp_path) as server, server.client() as client:
        assert client.post("/v1/ingest", json={"text": "kept"}).status_code == 200
        for path in tmp_path.glob("memory.db*"):
            path.unlink()
        if replaced:
            Memory(tmp_path / "memory.db", "ana", embedder="none").close()
        refused = client.post("/v1/ingest", json={"text": "this would be lost"})
        assert (refused.status_code, refused.json()["title"]) == (500, "StoreError")
        assert "moved or deleted" in refused.json()["detail"]
        assert client.get("/healthz").status_code == 200
