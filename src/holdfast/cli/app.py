"""The app: which verbs there are, and how `holdfast --help` groups them."""

from __future__ import annotations

from typing import Annotated

import typer

from holdfast.cli import (
    bench,
    compact_verbs,
    erase_verbs,
    eval_verbs,
    insight_verbs,
    memory_verbs,
    serve_verbs,
    store_verbs,
    transfer_verbs,
    upkeep_verbs,
)
from holdfast.cli.context_verb import context
from holdfast.cli.copy_verb import copy
from holdfast.cli.demo import demo
from holdfast.cli.ingest import ingest
from holdfast.cli.mcp_verb import mcp
from holdfast.cli.serve_verb import serve
from holdfast.cli.themes import themes
from holdfast.version import __version__

__all__ = ["app"]

_START, _KEEP, _RECALL, _KNOW, _CARE = "Start here", "Keep", "Recall", "Ask it about itself", "Look after it"
_SERVE = "Serve it"

# Completion is left out: it would add two options that hooks and agents never use to every help page.
app = typer.Typer(
    name="holdfast",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


@app.callback(epilog="Every verb has --help and --json. The store is --store or HOLDFAST_STORE, the namespace "
    "--namespace or HOLDFAST_NAMESPACE.")  # fmt: skip
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Long-term memory for LLM agents: keeps every word, finds it in milliseconds, and can say why."""


app.command(rich_help_panel=_START)(demo)
app.command(rich_help_panel=_KEEP)(ingest)
app.command(rich_help_panel=_KEEP)(memory_verbs.remember)
app.command(rich_help_panel=_KEEP)(memory_verbs.forget)
app.command(rich_help_panel=_RECALL)(memory_verbs.search)
app.command(rich_help_panel=_RECALL)(memory_verbs.recent)
app.command(rich_help_panel=_RECALL)(memory_verbs.thread)
app.command(rich_help_panel=_RECALL)(themes)
app.command(rich_help_panel=_RECALL)(context)
app.command(rich_help_panel=_RECALL)(compact_verbs.active)
app.command(rich_help_panel=_RECALL)(compact_verbs.expand)
app.command(rich_help_panel=_KNOW)(memory_verbs.why)
app.command(rich_help_panel=_KNOW)(insight_verbs.history)
app.command(rich_help_panel=_KNOW)(insight_verbs.stats)
app.command(rich_help_panel=_KNOW)(memory_verbs.status)
app.command(rich_help_panel=_CARE)(compact_verbs.compact)
app.command(rich_help_panel=_CARE)(upkeep_verbs.doctor)
app.command(rich_help_panel=_CARE)(upkeep_verbs.janitor)
app.command(rich_help_panel=_CARE)(transfer_verbs.export)
app.command("import", rich_help_panel=_CARE)(transfer_verbs.import_file)
app.command(rich_help_panel=_CARE)(transfer_verbs.backup)
app.command(rich_help_panel=_CARE)(transfer_verbs.restore)
app.command(rich_help_panel=_CARE)(copy)
app.command(rich_help_panel=_CARE)(erase_verbs.erase)
app.command(rich_help_panel=_CARE)(insight_verbs.calibrate)
app.add_typer(insight_verbs.tune, name="tune", rich_help_panel=_CARE)
app.command(rich_help_panel=_SERVE)(mcp)
app.command(rich_help_panel=_SERVE)(serve)
app.command(rich_help_panel=_SERVE)(serve_verbs.rpc)
app.add_typer(eval_verbs.app, name="eval", rich_help_panel=_CARE)
app.add_typer(store_verbs.app, name="store", rich_help_panel=_CARE)
app.add_typer(bench.app, name="bench", rich_help_panel=_CARE)
