"""`holdfast rpc`: the same memory for any language."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Annotated

import typer

from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption

__all__ = ["rpc"]


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
    from holdfast.serve.logs import log_to_stderr
    from holdfast.serve.memories import Memories
    from holdfast.serve.run_rpc import read_place, run_rpc
    from holdfast.serve.stopping import end_in_time

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
