"""`holdfast mcp`: the same memory for every MCP client."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Annotated

import typer

from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption
from holdfast.serve.logs import log_to_stderr

__all__ = ["mcp"]


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
    from holdfast.serve.run_mcp import run_mcp
    from holdfast.serve.stopping import end_in_time

    log_to_stderr()
    # Nobody on stdio can name another memory, and none may be reached by accident.
    with closing(Memories(store or None, namespace or None, embedder=embedder or None, bound=True)) as memories:
        told = {"endpoint": "stdio", "namespace": memories.namespace}
        said = f"holdfast: the memory of {memories.namespace!r} for an MCP client on stdin and stdout"
        typer.echo(json.dumps(told) if as_json else said, err=True)  # stdout is the protocol's
        run_mcp(memories, tuple(rules or ()), end_in_time(memories.settings.serve, memories.close))
