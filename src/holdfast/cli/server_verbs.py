"""`holdfast store info | migrate | shard`: where a store is, which version its tables have, how it is spread."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import JsonOption, StoreOption

if TYPE_CHECKING:
    from holdfast.answers import StoreAnswer
    from holdfast.store.protocol import Store

__all__ = ["add_server_verbs"]


def info(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Where the store is, its engine and schema, how much it holds, and the server it is on.

    [dim]holdfast store info --store postgresql://holdfast@db.example/memory[/dim]
    """
    with closing(_open(store)) as opened:
        answer = _answer(opened)
    _say(answer, as_json)


def migrate(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Bring the tables to the schema of this version. Opening a store does so by itself; this does nothing else.

    [dim]holdfast store migrate --store postgresql://holdfast@db.example/memory[/dim]
    """
    with closing(_open(store)) as opened:
        answer = _answer(opened)
    _say(answer, as_json)


def shard(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Spread the store over the nodes of a PostgreSQL server with Citus, by namespace.

    [dim]holdfast store shard --store postgresql://holdfast@db.example/memory[/dim]
    """
    with closing(_open(store)) as opened:
        opened.shard()
        answer = _answer(opened)
    _say(answer, as_json)


def add_server_verbs(app: typer.Typer) -> None:
    for verb in (info, migrate, shard):
        app.command()(verb)


def _open(store: str | None) -> Store:
    import os

    from holdfast.errors import InputError
    from holdfast.settings import load_settings
    from holdfast.store.open import default_location, open_store

    location = store or default_location()
    if "://" not in location and not os.path.exists(location):
        raise InputError(f"there is no store at {location}")
    return open_store(location, load_settings().store)


def _answer(store: Store) -> StoreAnswer:
    from holdfast.answers import StoreAnswer

    return StoreAnswer(
        store.location, store.engine, store.schema, len(store.namespaces()), store.size(), store.server()
    )


def _say(answer: StoreAnswer, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    from holdfast.cli.show import calm, console, counted

    out = console()
    out.print(f"{calm(answer.store)}: {answer.engine}, schema {answer.schema}")
    out.print(f"{counted(answer.namespaces, 'namespace')}, {answer.size_bytes / 1_000_000:,.1f} MB")
    if answer.server is not None:
        told = f"{answer.server.version} as {calm(answer.server.role)}, schema {calm(answer.server.schema)}"
        out.print(told + (f", Citus {answer.server.citus}" if answer.server.citus else ", no Citus"))
        if answer.server.nodes is not None:
            out.print(f"spread over {counted(answer.server.nodes, 'node')} by namespace")
