"""`holdfast store …`: what is done to the store itself."""

from __future__ import annotations

import time

import typer

from holdfast.cli.json_out import print_json
from holdfast.cli.options import EmbedderOption, JsonOption, NamespaceOption, StoreOption, open_to_read
from holdfast.cli.progress import bar
from holdfast.cli.server_verbs import add_server_verbs

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Look after the store itself.")


@app.callback()
def _store() -> None:
    """Look after the store itself."""


add_server_verbs(app)


@app.command()
def rebuild(
    store: StoreOption = None,
    namespace: NamespaceOption = None,
    embedder: EmbedderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop every view of the namespace and derive it anew from the log; answers stay the same.

    [dim]holdfast store rebuild --namespace ana[/dim]
    """
    from holdfast.answers import RebuildAnswer

    start = time.perf_counter()
    with open_to_read(store, namespace, embedder) as memory:
        with bar("deriving") as progress:
            memory.rebuild(progress)
        status = memory.status()
    answer = RebuildAnswer(status.namespace, status.turns, status.records, round(time.perf_counter() - start, 3))
    if as_json:
        print_json(answer)
        return
    from holdfast.cli import show

    show.show_rebuild(answer)
