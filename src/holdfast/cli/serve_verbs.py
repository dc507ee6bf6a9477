"""Commands that start servers: rpc, serve and mcp."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.command import MemoryTarget, command, option
from holdfast.errors import InputError, MissingExtra, NamespaceRequired

if TYPE_CHECKING:
    from holdfast.serve.memories import Memories

Rules = Annotated[list[str] | None, option("Rule file for every context; repeatable.", "--rules", metavar="FILE")]
Bound = Annotated[bool, option("Serve only the memory of --namespace.", "--bound")]
TrustRoles = Annotated[
    bool, option("Store what MCP clients write as the user's own words, not as an agent's notes.", "--trust-roles")
]


AllTools = Annotated[bool, option("Offer MCP clients all tools, not only the four that a model needs.", "--all-tools")]
Structured = Annotated[
    bool, option("Add answers as JSON to the results of MCP tools; some models then see only that.", "--structured")
]
_LIST_S = 2.0  # for the client to list the tools before the rest is loaded: after that it is no longer in a hurry


def _memories(target: MemoryTarget, bound: bool, trust_roles: bool = False) -> partial[Memories]:
    from holdfast.serve.memories import Memories
    from holdfast.settings import load_settings

    settings = load_settings()
    if trust_roles:
        settings = replace(settings, serve=replace(settings.serve, trust_roles=True))
    return partial(
        Memories, target.store or None, target.namespace or None, embedder=target.embedder or None, settings=settings,
        bound=bound,
    )  # fmt: skip


@command()
def rpc(
    target: MemoryTarget,
    listen: Annotated[
        str, option("auto, stdio, unix, unix:PATH, tcp or tcp:PORT.", "--listen", metavar="ADDRESS")
    ] = "auto",
    rules: Rules = None,
    bound: Bound = False,
    as_json: bool = False,
) -> None:
    """Serve the memory over JSON-RPC 2.0 on stdio or a local socket, until stopped.

    [dim]holdfast rpc --namespace ana --listen unix[/dim]
    """
    from holdfast.serve.process import end_in_time, log_to_stderr
    from holdfast.serve.rpc_server import read_address, run_rpc

    address = read_address(listen)
    log_to_stderr()
    with closing(_memories(target, bound)()) as memories:

        def announce(endpoint: str, token_file: str | None) -> None:
            started = {"endpoint": endpoint, "token_file": token_file, "namespace": memories.namespace}
            # On stdio, stdout is reserved for answers.
            typer.echo(json.dumps(started) if as_json else endpoint, err=endpoint == "stdio")
            if token_file is not None and not as_json:
                typer.echo(f"holdfast: the token is in {token_file}", err=True)

        run_rpc(memories, address, tuple(rules or ()), announce, end_in_time(memories.settings.serve, memories.close))


@command()
def serve(
    target: MemoryTarget,
    host: Annotated[str, option("Address to listen on.", "--host", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[
        int, option("Port to listen on; 0 takes a free one.", "--port", min=0, max=65535, metavar="N")
    ] = 8737,
    rules: Rules = None,
    bound: Bound = False,
    allow_remote: Annotated[
        bool, option("Allow an address that other machines can reach; needs --token-file.", "--allow-remote")
    ] = False,
    known_as: Annotated[
        list[str] | None,
        option("Additional HOST or HOST:PORT by which clients call it; repeatable.", "--known-as", metavar="NAME"),
    ] = None,
    token_file: Annotated[
        Path | None, option("File of the token; created if it does not exist.", "--token-file", metavar="FILE")
    ] = None,
    token_for: Annotated[
        list[str] | None,
        option("Additional token that opens only this namespace; repeatable.", "--token-for", metavar="NAME=FILE"),
    ] = None,
    processes: Annotated[
        int, option("Number of server processes; start with one per core.", "--processes", min=1, max=64, metavar="N")
    ] = 1,
    trust_roles: TrustRoles = False,
    all_tools: AllTools = False,
    structured: Structured = False,
    as_json: bool = False,
) -> None:
    """Serve the memory over HTTP and MCP, with the inspector's web pages, until stopped.

    [dim]holdfast serve --namespace ana --port 8737[/dim]
    """
    from holdfast.serve.mcp.tools import Offer
    from holdfast.serve.process import log_to_stderr

    with _extra("serving over HTTP"):
        import jinja2  # noqa: F401  # of the inspector, which loads it with its first page
        import uvicorn  # noqa: F401

        from holdfast.serve.run_http import Binding, check_binding, run_http
    offer = Offer(all_tools, structured)
    binding = Binding(host, port, tuple(known_as or ()), allow_remote, token_file, _token_files(token_for or []), offer)
    check_binding(binding)
    log_to_stderr()

    def announce(url: str, token: str, own: str | None) -> None:
        started = {"url": url, "token_file": token, "namespace": own}
        typer.echo(json.dumps(started) if as_json else f"{url} (the token is in {token})")

    run_http(_memories(target, bound, trust_roles), binding, tuple(rules or ()), announce, processes)


@contextmanager
def _extra(feature: str) -> Iterator[None]:
    """Report a missing package of the extra that serves."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("holdfast"):
            raise
        raise MissingExtra(feature, "serve") from error


def _token_files(given: list[str]) -> tuple[tuple[str, Path], ...]:
    pairs = [one.rpartition("=") for one in given]
    for text, (name, _, file) in zip(given, pairs, strict=True):
        if not name or not file:
            raise InputError(f"--token-for takes NAME=FILE, not {text!r}")
    return tuple((name, Path(file)) for name, _, file in pairs)


@command()
def mcp(
    target: MemoryTarget,
    rules: Rules = None,
    trust_roles: TrustRoles = False,
    all_tools: AllTools = False,
    structured: Structured = False,
    as_json: bool = False,
) -> None:
    """Serve the memory to an MCP client on stdin and stdout; the client starts this command. For HTTP, use serve.

    [dim]holdfast mcp --namespace ana[/dim]
    """
    from importlib.util import find_spec

    from holdfast.serve.mcp.early import EarlyReader
    from holdfast.serve.mcp.tools import Offer
    from holdfast.settings import load_settings

    if find_spec("mcp") is None:
        raise MissingExtra("the MCP server", "serve")
    settings = load_settings()
    if not target.namespace and not settings.namespace:
        raise NamespaceRequired("a server that is bound to one memory needs its namespace: give --namespace NAME")
    started = {"endpoint": "stdio", "namespace": target.namespace or settings.namespace}
    text = f"holdfast: serving namespace {started['namespace']!r} to an MCP client on stdin and stdout"
    typer.echo(json.dumps(started) if as_json else text, err=True)  # stdout is reserved for the protocol
    reader = EarlyReader(settings.serve.max_request_bytes, early=not (all_tools or structured))
    reader.start()
    reader.wait(_LIST_S)
    if reader.unused():  # it was only tried
        return

    from holdfast.serve.process import end_in_time, log_to_stderr

    with _extra("the MCP server"):
        from holdfast.serve.mcp.transports import run_mcp
    log_to_stderr()
    # Bound: a client on stdio cannot name another memory, and must not reach one by accident.
    with closing(_memories(target, bound=True, trust_roles=trust_roles)()) as memories:
        ending = end_in_time(memories.settings.serve, memories.close)
        run_mcp(memories, reader, tuple(rules or ()), Offer(all_tools, structured), ending)
