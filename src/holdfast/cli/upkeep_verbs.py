"""`holdfast janitor` and `holdfast doctor`: trust less what nobody finds, and see how healthy a store is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption, missing_store, open_to_read
from holdfast.cli.progress import bar

if TYPE_CHECKING:
    from holdfast.settings import Settings
    from holdfast.upkeep.memo import Diagnosis

__all__ = ["doctor", "janitor"]

_UNHEALTHY = 3
"""The exit code when there is more of something than is healthy."""
_Share = Annotated[float | None, typer.Option(metavar="SHARE", help="More is not healthy.", show_default=False)]


def janitor(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be done, and why.")] = False,
    cull: Annotated[bool, typer.Option("--cull", help="Hide what is not the user's own word instead.")] = False,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="RUN", help="Take a run back: 2026-W19.", show_default=False)
    ] = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Trust less what is old and was never found: one notch down, once a week; it can be taken back.

    [dim]holdfast janitor --dry-run · holdfast janitor · holdfast janitor --undo 2026-W19[/dim]
    """
    with open_to_read(store, namespace, "none") as memory:
        made = memory.janitor(dry_run, cull, undo)
    if as_json:
        print_json(made)
        return
    from holdfast.cli.show_upkeep import show_tidied

    show_tidied(made)


def doctor(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="[PATH]",
            help="Another system's memories: a mem0 export or history.db, MEMORY.md files, an MCP memory.",
            show_default=False,
        ),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Derive anew from the log what is wrong and can be.")] = False,
    max_duplicates: _Share = None,
    max_near_duplicates: _Share = None,
    max_junk: _Share = None,
    max_stale: _Share = None,
    max_loops: _Share = None,
    max_secrets: _Share = None,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """How healthy a store is: rates, examples, a verdict. Ends with 3 when it is not healthy.

    [dim]holdfast doctor · holdfast doctor --fix · holdfast doctor mem0-export.json --max-junk 0.05[/dim]
    """
    from holdfast.errors import InputError
    from holdfast.settings import load_settings

    settings = load_settings()
    limits = {
        "max_duplicates": max_duplicates,
        "max_near_duplicates": max_near_duplicates,
        "max_junk": max_junk,
        "max_stale": max_stale,
        "max_loops": max_loops,
        "max_secrets": max_secrets,
    }
    given = {name: share for name, share in limits.items() if share is not None}
    settings = replace(settings, doctor=replace(settings.doctor, **given))  # type: ignore[arg-type]  # floats, all
    if path is not None and _is_ours(path):
        path, store = None, path
    if path is not None and fix:
        raise InputError("--fix derives views of our own store anew; another system's memories are only looked at")
    if path is None and (missing := missing_store(store)) is not None:
        raise InputError(f"there is no store at {missing} to look at: give --store PATH, or set HOLDFAST_STORE")
    if path is None:
        with open_to_read(store, namespace, embedder, settings) as memory, bar("deriving anew") as progress:
            found = memory.doctor(fix, progress)
    else:
        found = _audit(path, embedder, settings)
    if as_json:
        print_json(found)
    else:
        from holdfast.cli.show_upkeep import show_diagnosis

        show_diagnosis(found)
    if not found.healthy:
        raise typer.Exit(_UNHEALTHY)


def _is_ours(path: str) -> bool:
    from holdfast.store.open import is_store_file

    return Path(path).is_file() and is_store_file(Path(path))


def _audit(path: str, embedder: str | None, settings: Settings) -> Diagnosis:
    from holdfast.memory import Memory

    return Memory.audit(path, embedder, settings)
