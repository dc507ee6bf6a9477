"""Addresses are read as libpq reads them, and their passwords are never shown."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import InputError
from holdfast.store.postgres.address import read_address


@pytest.mark.parametrize(
    "password", ["hunter2#", "hunter2?", "hunter2[", "hunter2:1", "hunter2%25", "%E2%84%80hunter2"]
)
def test_a_password_with_any_characters_reaches_only_the_server(password: str) -> None:
    address = read_address(f"postgresql://ana:{password}@db.example/memory?holdfast_schema=team")
    given = conninfo_to_dict(address.conninfo)
    assert "hunter2" in str(given["password"]) and given["host"] == "db.example" and given["dbname"] == "memory"
    assert address.shown == "postgresql://ana@db.example/memory?holdfast_schema=team"
    assert "hunter2" not in repr(address)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ana:hunter2/x@db.example/memory",
        "postgresql://ana:x@hunter2@db.example/memory",
        "postgresql://ana:hunter2%zz@db.example/memory",
        "postgresql://ana:hunter2%ff@db.example/memory",
        "postgresql://ana:hunter2\x00@db.example/memory",
        "postgresql://ana:hunter2\ud800@db.example/memory",
        "postgresql://ana:hunter2@db.example/memory?password=hunter2=x",
        "postgresql://ana:hunter2@db.example/memory?hunter2",
        "postgresql://ana:hunter2@[db.example/memory",
        "postgresql://ana:hunter2@db.example/memory?holdfast_shards=2",
    ],
)
def test_an_invalid_address_is_refused_without_showing_its_password(address: str) -> None:
    with pytest.raises(InputError) as caught:
        read_address(address)
    cause: BaseException | None = caught.value
    while cause is not None:
        assert "hunter2" not in str(cause)
        cause = cause.__cause__


def test_secrets_among_the_parameters_are_not_shown() -> None:
    secrets = "password=hunter2&sslpassword=hunter2&oauth_client_secret=hunter2&scram_client_key=hunter2"
    address = read_address(f"postgresql://db.example/memory?{secrets}&sslmode=require")
    assert conninfo_to_dict(address.conninfo)["sslpassword"] == "hunter2"
    assert address.shown == "postgresql://db.example/memory?sslmode=require"


def test_parameters_reach_the_server_as_they_were_written() -> None:
    address = read_address("postgresql:///memory?options=-c%20geqo%3Doff&host=/run/a+b&application_name=my%20agent")
    given = conninfo_to_dict(address.conninfo)
    assert (given["options"], given["host"], given["application_name"]) == ("-c geqo=off", "/run/a+b", "my agent")


@pytest.mark.parametrize("schema", ["$user", "pg_temp", "pg_catalog", "PG_x", "information_schema", "a" * 64, "%00"])
def test_a_reserved_schema_name_is_refused(schema: str) -> None:
    with pytest.raises(InputError, match=r"holdfast_schema|NUL"):
        read_address(f"postgresql:///memory?holdfast_schema={schema}")
