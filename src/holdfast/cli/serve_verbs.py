"""`holdfast rpc`: the same memory for any language."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption
from holdfast.cli.run import print_json
from holdfast.errors import InputError
from holdfast.serve.process import log_to_stderr

if TYPE_CHECKING:
    from holdfast.results import StoreAnswer
    from holdfast.store.store import Store


def rpc(
    listen: Annotated[
        str, typer.Option("--listen", metavar="PLACE", help="auto, stdio, unix, unix:PATH, tcp or tcp:PORT.")
    ] = "auto",
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", metavar="FILE", help="A rule file for every context; as many as you like."),
    ] = None,
    bound: Annotated[bool, typer.Option("--bound", help="Reach the memory of --namespace and no other.")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the memory over JSON-RPC 2.0, on stdio or a local socket, until it is told to stop.

    [dim]holdfast rpc --namespace ana --listen unix[/dim]
    """
    from holdfast.serve.memories import Memories
    from holdfast.serve.process import end_in_time, log_to_stderr
    from holdfast.serve.run_rpc import read_place, run_rpc

    place = read_place(listen)
    log_to_stderr()
    with closing(Memories(store or None, namespace or None, embedder=embedder or None, bound=bound)) as memories:

        def announce(endpoint: str, token_file: str | None) -> None:
            told = {"endpoint": endpoint, "token_file": token_file, "namespace": memories.namespace}
            # On stdio the answers have stdout for themselves.
            typer.echo(json.dumps(told) if as_json else endpoint, err=endpoint == "stdio")
            if token_file is not None and not as_json:
                typer.echo(f"holdfast: the token is in {token_file}", err=True)

        run_rpc(memories, place, tuple(rules or ()), announce, end_in_time(memories.settings.serve, memories.close))


# --- `holdfast serve`: HTTP, MCP and the inspector on one port.


def serve(
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, metavar="N", help="0: a free one.")] = 8737,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", metavar="FILE", help="A rule file for every context; as many as you like."),
    ] = None,
    bound: Annotated[bool, typer.Option("--bound", help="Reach the memory of --namespace and no other.")] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Listen where other machines reach it; needs --token-file.")
    ] = False,
    known_as: Annotated[
        list[str] | None,
        typer.Option("--known-as", metavar="NAME", help="A further HOST or HOST:PORT by which clients call it."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="Where the token lies, or is to lie.", show_default=False),
    ] = None,
    token_for: Annotated[
        list[str] | None,
        typer.Option("--token-for", metavar="NAME=FILE", help="A further token that opens one memory and no other."),
    ] = None,
    processes: Annotated[
        int, typer.Option("--processes", min=1, max=64, metavar="N", help="That answer; one for each core is a start.")
    ] = 1,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the memory over HTTP, with MCP and a page to look at it, until it is told to stop.

    [dim]holdfast serve --namespace ana --port 8737[/dim]
    """
    from holdfast.serve.memories import Memories
    from holdfast.serve.process import log_to_stderr
    from holdfast.serve.run_http import Spot, check_spot, run_http

    spot = Spot(host, port, tuple(known_as or ()), allow_remote, token_file, _named(token_for or []))
    check_spot(spot)
    log_to_stderr()

    def announce(url: str, token: str, own: str | None) -> None:
        told = {"url": url, "token_file": token, "namespace": own}
        typer.echo(json.dumps(told) if as_json else f"{url} (the token is in {token})")

    open_memories = partial(Memories, store or None, namespace or None, embedder=embedder or None, bound=bound)
    run_http(open_memories, spot, tuple(rules or ()), announce, processes)


def _named(given: list[str]) -> tuple[tuple[str, Path], ...]:
    pairs = [one.rpartition("=") for one in given]
    for text, (name, _, file) in zip(given, pairs, strict=True):
        if not name or not file:
            raise InputError(f"--token-for is NAME=FILE, not {text!r}")
    return tuple((name, Path(file)) for name, _, file in pairs)


# --- `holdfast store info | migrate | shard`: where a store is, which version its tables have, how it is spread.


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
    from holdfast.results import StoreAnswer

    return StoreAnswer(
        store.location, store.engine, store.schema, len(store.namespaces()), store.size(), store.server()
    )


def _say(answer: StoreAnswer, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    from holdfast.cli.render import calm, console, counted

    out = console()
    out.print(f"{calm(answer.store)}: {answer.engine}, schema {answer.schema}")
    out.print(f"{counted(answer.namespaces, 'namespace')}, {answer.size_bytes / 1_000_000:,.1f} MB")
    if answer.server is not None:
        told = f"{answer.server.version} as {calm(answer.server.role)}, schema {calm(answer.server.schema)}"
        out.print(told + (f", Citus {answer.server.citus}" if answer.server.citus else ", no Citus"))
        if answer.server.nodes is not None:
            out.print(f"spread over {counted(answer.server.nodes, 'node')} by namespace")


# --- `holdfast mcp`: the same memory for every MCP client.


def mcp(
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", metavar="FILE", help="A rule file for every context; as many as you like."),
    ] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve the memory to an MCP client on stdin and stdout; the client starts it. Over HTTP: holdfast serve.

    [dim]holdfast mcp --namespace ana[/dim]
    """
    from holdfast.serve.memories import Memories
    from holdfast.serve.process import end_in_time
    from holdfast.serve.run_rpc import run_mcp

    log_to_stderr()
    # Nobody on stdio can name another memory, and none may be reached by accident.
    with closing(Memories(store or None, namespace or None, embedder=embedder or None, bound=True)) as memories:
        told = {"endpoint": "stdio", "namespace": memories.namespace}
        said = f"holdfast: the memory of {memories.namespace!r} for an MCP client on stdin and stdout"
        typer.echo(json.dumps(told) if as_json else said, err=True)  # stdout is the protocol's
        run_mcp(memories, tuple(rules or ()), end_in_time(memories.settings.serve, memories.close))
