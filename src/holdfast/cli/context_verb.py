"""`holdfast context`: what a model should be handed for these messages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption, open_to_read

__all__ = ["context"]


def context(
    file: Annotated[str, typer.Argument(metavar="FILE", help='Messages as JSON; "-" reads stdin.')] = "-",
    session: Annotated[
        str, typer.Option("--session", "-s", metavar="NAME", help="The conversation they belong to.")
    ] = "default",
    budget: Annotated[int, typer.Option("--budget", metavar="N", help="The host's whole budget, in tokens.")] = 4000,
    memory_budget: Annotated[
        int | None,
        typer.Option("--memory-budget", metavar="N", help="Tokens for memory itself.", show_default=False),
    ] = None,
    rules: Annotated[
        list[str] | None,
        typer.Option("--rules", metavar="FILE", help="A rule file; may be given more than once.", show_default=False),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Every candidate: in or out, and why.")] = False,
    deadline: Annotated[float, typer.Option("--deadline", metavar="SECONDS", help="After it nothing is added.")] = 5.0,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what a model should know for these messages: rules, recent turns, guidance and memories, within a budget.

    The messages are a JSON array of {"role", "content"}, or an object that holds one under "messages".

    [dim]holdfast context messages.json --session s1 --rules AGENTS.md --explain[/dim]
    """
    from holdfast.settings import load_settings

    messages = _read(file)
    settings = load_settings()
    # A command starts cold, and a person waits: the host's 300 ms would be over before the model is loaded.
    patient = replace(settings, context=replace(settings.context, deadline_s=deadline, embedder_s=deadline / 2))
    with open_to_read(store, namespace, embedder, patient) as memory:
        made = memory.context(messages, session, budget, rules or (), memory_budget)
    if as_json:
        from holdfast.answers import ContextAnswer

        print_json(ContextAnswer.of(made))
        return
    from holdfast.cli.show_context import show_context

    show_context(made, explain)


def _read(name: str) -> list[dict[str, object]]:
    from holdfast.cli.transcripts import open_source
    from holdfast.errors import InputError

    shown = "stdin" if name == "-" else name
    with open_source(name) as source:
        try:
            found = json.loads(source.read().decode("utf-8-sig"))
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise InputError(f"{shown} is no JSON: {error}") from error
    if isinstance(found, dict):
        found = found.get("messages")
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f'{shown} must hold an array of messages ({{"role", "content"}}), or {{"messages": [...]}}')
    return found
