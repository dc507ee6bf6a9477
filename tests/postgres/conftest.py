"""Tests that need a Citus cluster are collected only where HOLDFAST_TEST_CITUS names one, and then leave out others."""

from __future__ import annotations

import os

import pytest

ON_A_CLUSTER = bool(os.environ.get("HOLDFAST_TEST_CITUS"))
collect_ignore = [] if ON_A_CLUSTER else ["test_citus.py"]
OF_ONE_SERVER = frozenset({
    "test_sharding_without_citus_says_so_and_changes_nothing",
})  # fmt: skip
"""Tests of what holds on one server only, each with its reason."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ON_A_CLUSTER:
        items[:] = [one for one in items if one.name.partition("[")[0] not in OF_ONE_SERVER]
