"""The app: which verbs there are, and how `holdfast --help` groups them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Annotated

import typer

from holdfast.version import __version__

COMMANDS = "holdfast.commands"
"""The entry point group through which other distributions add commands; holdfast-bench adds `bench`."""

_START, _KEEP, _RECALL, _KNOW, _CARE = "Start here", "Keep", "Recall", "Ask it about itself", "Look after it"
_SERVE = "Serve it"

_VERBS = {
    "demo": (_START, "demo", "demo"),
    "ingest": (_KEEP, "ingest", "ingest"),
    "remember": (_KEEP, "memory_verbs", "remember"),
    "forget": (_KEEP, "memory_verbs", "forget"),
    "search": (_RECALL, "memory_verbs", "search"),
    "recent": (_RECALL, "memory_verbs", "recent"),
    "thread": (_RECALL, "memory_verbs", "thread"),
    "themes": (_RECALL, "memory_verbs", "themes"),
    "context": (_RECALL, "memory_verbs", "context"),
    "active": (_RECALL, "memory_verbs", "active"),
    "expand": (_RECALL, "memory_verbs", "expand"),
    "why": (_KNOW, "memory_verbs", "why"),
    "history": (_KNOW, "insight_verbs", "history"),
    "stats": (_KNOW, "insight_verbs", "stats"),
    "status": (_KNOW, "memory_verbs", "status"),
    "compact": (_CARE, "memory_verbs", "compact"),
    "doctor": (_CARE, "upkeep_verbs", "doctor"),
    "janitor": (_CARE, "upkeep_verbs", "janitor"),
    "export": (_CARE, "transfer_verbs", "export"),
    "import": (_CARE, "transfer_verbs", "import_file"),
    "backup": (_CARE, "transfer_verbs", "backup"),
    "restore": (_CARE, "transfer_verbs", "restore"),
    "copy": (_CARE, "transfer_verbs", "copy"),
    "erase": (_CARE, "upkeep_verbs", "erase"),
    "calibrate": (_CARE, "insight_verbs", "calibrate"),
    "tune": (_CARE, "insight_verbs", "tune"),
    "mcp": (_SERVE, "serve_verbs", "mcp"),
    "serve": (_SERVE, "serve_verbs", "serve"),
    "rpc": (_SERVE, "serve_verbs", "rpc"),
    "eval": (_CARE, "eval_verbs", "app"),
    "store": (_CARE, "upkeep_verbs", "app"),
}
"""By name: where the help lists it, and the module and the function, or the group of further verbs, that it is."""


def open_app(args: Sequence[str] = ()) -> typer.Typer:
    """All verbs, or the one that the arguments begin with: reading the options of all takes as long as a search."""
    # Completion is left out: it would add two options that hooks and agents never use to every help page.
    app = typer.Typer(
        name="holdfast",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback(epilog="Every verb has --help and --json. The store is --store or HOLDFAST_STORE, the namespace "
        "--namespace or HOLDFAST_NAMESPACE.")(_root)  # fmt: skip
    if args and args[0] in _VERBS:
        names: Sequence[str] = args[:1]
        plugins: list[EntryPoint] = []
    else:
        names = list(_VERBS)
        plugins = sorted(entry_points(group=COMMANDS), key=lambda one: one.name)
    for name in names:
        panel, module, found_as = _VERBS[name]
        found = getattr(import_module(f"holdfast.cli.{module}"), found_as)
        if isinstance(found, typer.Typer):
            app.add_typer(found, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(found)
    for plugin in plugins:
        app.add_typer(plugin.load(), name=plugin.name, rich_help_panel=_CARE)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term memory for LLM agents: keeps every word, finds it in milliseconds, and can say why."""
