"""The packing benchmark: evidence in contexts of several sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import InputError
from holdfast_bench.ask import AskOptions
from holdfast_bench.pack import BUDGETS, run
from tests.support.retrieval_sets import LOCOMO, ORACLE, write

pytestmark = pytest.mark.requirement("EVAL-3", "CTX-2")


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    folder = tmp_path_factory.mktemp("pack")
    return run([write(folder, "a.json", LOCOMO), write(folder, "b.json", ORACLE)], AskOptions())


def test_sets_are_recognised_by_content_and_counted_separately(figures: Mapping[str, Any]) -> None:
    assert list(figures["by_set"]) == ["locomo", "longmemeval"]
    assert figures["n"] == sum(part["n"] for part in figures["by_set"].values())
    assert figures["by_set"]["locomo"]["n"] == 3  # those that can be answered, and whose evidence is known


def test_both_methods_give_shares(figures: Mapping[str, Any]) -> None:
    for budget in BUDGETS:
        assert all(0.0 <= value <= 1.0 for value in figures[budget].values())
        assert figures[budget]["ours"] >= figures[budget]["top_k"]
    assert figures["by_set"]["locomo"]["4k"]["ours"] == 1.0


def test_an_unknown_set_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('[{"surprise": 1}]')
    with pytest.raises(InputError, match=r"none of locomo, longmemeval, beam"):
        run([path], AskOptions())
