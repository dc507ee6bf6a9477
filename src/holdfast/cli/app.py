"""The typer app: which commands exist and how `holdfast --help` groups them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Annotated

import typer

from holdfast.version import __version__

COMMANDS = "holdfast.commands"
"""The entry point group through which other distributions add commands; holdfast-bench adds `bench`."""

_START, _KEEP, _RECALL, _EXPLAIN, _MAINTAIN, _SERVE = "Get started", "Store", "Retrieve", "Explain", "Maintain", "Serve"

_COMMANDS = {
    "demo": (_START, "demo"),
    "ingest": (_KEEP, "ingest"),
    "remember": (_KEEP, "memory_verbs"),
    "forget": (_KEEP, "memory_verbs"),
    "search": (_RECALL, "memory_verbs"),
    "recent": (_RECALL, "memory_verbs"),
    "thread": (_RECALL, "memory_verbs"),
    "themes": (_RECALL, "memory_verbs"),
    "context": (_RECALL, "memory_verbs"),
    "active": (_RECALL, "memory_verbs"),
    "expand": (_RECALL, "memory_verbs"),
    "why": (_EXPLAIN, "memory_verbs"),
    "history": (_EXPLAIN, "memory_verbs"),
    "stats": (_EXPLAIN, "memory_verbs"),
    "status": (_EXPLAIN, "memory_verbs"),
    "compact": (_MAINTAIN, "memory_verbs"),
    "doctor": (_MAINTAIN, "upkeep_verbs"),
    "janitor": (_MAINTAIN, "upkeep_verbs"),
    "export": (_MAINTAIN, "transfer_verbs"),
    "import": (_MAINTAIN, "transfer_verbs"),
    "backup": (_MAINTAIN, "transfer_verbs"),
    "restore": (_MAINTAIN, "transfer_verbs"),
    "copy": (_MAINTAIN, "transfer_verbs"),
    "erase": (_MAINTAIN, "upkeep_verbs"),
    "calibrate": (_MAINTAIN, "upkeep_verbs"),
    "tune similarity": (_MAINTAIN, "upkeep_verbs"),
    "mcp": (_SERVE, "serve_verbs"),
    "serve": (_SERVE, "serve_verbs"),
    "rpc": (_SERVE, "serve_verbs"),
    "eval init": (_MAINTAIN, "eval_verbs"),
    "eval run": (_MAINTAIN, "eval_verbs"),
    "eval gate": (_MAINTAIN, "eval_verbs"),
    "eval sweep": (_MAINTAIN, "eval_verbs"),
    "eval extractors": (_MAINTAIN, "eval_verbs"),
    "eval noise": (_MAINTAIN, "eval_verbs"),
    "store info": (_MAINTAIN, "upkeep_verbs"),
    "store migrate": (_MAINTAIN, "upkeep_verbs"),
    "store shard": (_MAINTAIN, "upkeep_verbs"),
    "store rebuild": (_MAINTAIN, "upkeep_verbs"),
}
"""By name: its panel in the help and its module, which holds a Command of that name (`import` as `import_`)."""
_GROUPS = {
    "eval": "Measure retrieval and extraction on your own questions.",
    "store": "Manage the store itself.",
    "tune": "Try thresholds on your own data.",
}


def open_app(args: Sequence[str] = ()) -> typer.Typer:
    """Return the app with the called command only, or with all: reading all options takes as long as a search."""
    # Without completion, which would add two options that hooks and agents never use to every help page.
    app = typer.Typer(
        name="holdfast",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback(epilog="Every command has --help and --json. Set HOLDFAST_STORE and HOLDFAST_NAMESPACE to avoid "
        "repeating --store and --namespace.")(_root)  # fmt: skip
    called = [name for name in _COMMANDS if args and name.split()[0] == args[0]]
    groups: dict[str, typer.Typer] = {}
    for name in called or _COMMANDS:
        panel, module = _COMMANDS[name]
        group, _, verb = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = typer.Typer(no_args_is_help=True, help=_GROUPS[group])
            groups[group].callback()(lambda: None)  # otherwise a group of one command would be that command
            app.add_typer(groups[group], name=group, rich_help_panel=panel)
        found = getattr(import_module(f"holdfast.cli.{module}"), verb if verb != "import" else "import_")
        groups.get(group, app).command(verb, rich_help_panel=None if group else panel)(found.runner())
    for plugin in [] if called else sorted(entry_points(group=COMMANDS), key=lambda one: one.name):
        app.add_typer(plugin.load(), name=plugin.name, rich_help_panel=_MAINTAIN)
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term memory for LLM agents: stores every message, retrieves it in milliseconds, explains every answer."""
