"""`holdfast erase`: destroy a session, a turn, a record or a whole namespace, and show that it is gone."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption, open_memory
from holdfast.cli.progress import bar

__all__ = ["erase"]

_FOUND = 3
"""The exit code when something of it was found again."""


def erase(
    session: Annotated[str | None, typer.Option(metavar="NAME", help="A conversation.", show_default=False)] = None,
    turn: Annotated[str | None, typer.Option(metavar="ID", help="One turn.", show_default=False)] = None,
    record: Annotated[str | None, typer.Option(metavar="ID", help="One record.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--everything", help="The whole namespace.")] = False,
    prove: Annotated[bool, typer.Option("--prove", help="Search every byte of the store for it afterwards.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Destroy what is named exactly, with everything derived from it. It cannot be taken back; forget can.

    [dim]holdfast erase --session support-chat --prove · holdfast erase --everything --namespace ana[/dim]
    """
    from holdfast.errors import InputError
    from holdfast.store.open import default_location
    from holdfast.upkeep.erase import read_scope

    if sum(one is not None for one in (session, turn, record)) + everything != 1:
        raise InputError("erase one thing: --session NAME, --turn ID, --record ID, or --everything of the namespace")
    scope, noun = read_scope(session, everything, turn, record)
    location = store or default_location()
    if "://" not in location and not os.path.exists(location):
        raise InputError(f"there is no store at {location} to erase from")
    with open_memory(location, namespace, embedder) as memory:
        if not yes:
            what = f"everything in the namespace {memory.namespace!r}" if everything else f"the {scope.value} {noun!r}"
            _ask(what)
        with bar("deriving anew") as progress:
            made = memory.erase(session, everything, turn, record, prove, progress)
    if as_json:
        print_json(made)
    else:
        from holdfast.cli.show_erase import show_erased

        show_erased(made)
    if made.proof is not None and made.proof.found:
        raise typer.Exit(_FOUND)


def _ask(what: str) -> None:
    from holdfast.errors import InputError

    if not sys.stdin.isatty():
        raise InputError(f"this destroys {what} for good, and there is nobody to ask; give --yes if it is meant")
    typer.confirm(f"Destroy {what} for good?", abort=True, err=True)
