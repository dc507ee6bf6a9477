"""The comparison with BM25 and mem0, on a small conversation and a small life; mem0 is a stand-in here."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast_bench import compare
from holdfast_bench.ask import AskOptions
from tests.bench.test_lives_bench import LIFE
from tests.cli.command import Holdfast
from tests.support.retrieval_sets import LOCOMO, write

pytestmark = pytest.mark.requirement("EVAL-3")


class StandIn:
    """Stores messages as mem0 does and returns the newest first."""

    def __init__(self) -> None:
        self.stored: list[str] = []
        self.embedding_model: Any = None

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> StandIn:
        assert config["vector_store"]["config"]["embedding_model_dims"] > 0
        return cls()

    def add(self, messages: list[dict[str, str]], user_id: str, infer: bool) -> dict[str, Any]:
        assert not infer and user_id
        self.embedding_model.embed(messages[0]["content"], "add")
        self.stored.append(messages[0]["content"])
        return {"results": [{"id": str(len(self.stored))}]}

    def search(self, query: str, filters: dict[str, str], top_k: int, threshold: float) -> dict[str, Any]:
        newest = range(len(self.stored), 0, -1)
        return {"results": [{"id": str(number)} for number in newest][:top_k]}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return write(tmp_path, "locomo.json", LOCOMO), write(tmp_path, "life.json", LIFE)


def missing(name: str) -> str:
    raise PackageNotFoundError(name)


def test_without_mem0_two_systems_are_compared(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, holdfast: Holdfast, tmp_path: Path
) -> None:
    monkeypatch.setattr(compare, "version", missing)
    out = tmp_path / "compare.json"
    said = holdfast("bench", "compare", "--locomo", str(files[0]), "--life", str(files[1]), "--json", str(out))
    assert said.code == 0 and "bm25" in said.out and "install mem0ai" in said.out.replace("\n", " ")
    figures = json.loads(out.read_text())
    assert figures["mem0"] is None and set(figures["sets"]) == {"locomo", "life"}
    locomo = figures["sets"]["locomo"]
    assert locomo["questions"] == 3 and set(locomo["systems"]) == {"holdfast", "bm25"}
    for one in locomo["systems"].values():
        assert all(0 <= one[measure] <= 1 for measure in ("recall@10", "mrr", "first_3"))


def test_mem0_is_asked_without_a_language_model(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "version", lambda name: "9.9")
    monkeypatch.setitem(sys.modules, "mem0", SimpleNamespace(Memory=StandIn))
    figures: Any = compare.run(*files, AskOptions())
    assert figures["mem0"] == "9.9" and "infer=False" in figures["note"]
    assert set(figures["sets"]["life"]["systems"]) == {"holdfast", "bm25", "mem0"}
    assert figures["sets"]["locomo"]["systems"]["mem0"]["recall@10"] == 1.0  # all turns fit into the first ten
