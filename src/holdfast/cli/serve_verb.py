"""`holdfast serve`: HTTP, MCP and the inspector on one port."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption
from holdfast.errors import InputError

__all__ = ["serve"]


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
    from holdfast.serve.logs import log_to_stderr
    from holdfast.serve.memories import Memories
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
