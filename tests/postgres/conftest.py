"""Tests that need a Citus cluster are collected only where HOLDFAST_TEST_CITUS names one, and then leave out others."""

from __future__ import annotations

import os

import pytest

ON_A_CLUSTER = bool(os.environ.get("HOLDFAST_TEST_CITUS"))
collect_ignore = [] if ON_A_CLUSTER else ["test_citus.py"]
OF_ONE_SERVER = frozenset({
    "test_sharding_without_citus_says_so_and_changes_nothing",
    "test_a_turn_that_the_server_commits_late_is_kept_once",  # watches the locks of the server
    "test_store_info_shows_the_server_but_not_its_password",  # it expects that there is no Citus
    "test_recent_turns_of_a_small_namespace_read_no_other_rows",  # reads the server's own count of rows read
    "test_the_documented_role_dumps_a_store_that_can_be_restored",  # into a database that is not sharded
})  # fmt: skip
"""Tests of what holds on one server only, with the reason."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if ON_A_CLUSTER:
        items[:] = [one for one in items if one.name.partition("[")[0] not in OF_ONE_SERVER]
