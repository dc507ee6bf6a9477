"""The options that verbs share, and the memory they open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from holdfast.memory import Memory
    from holdfast.models.embedder import Embedder
    from holdfast.settings import Settings

_WHERE = "Which memory"

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="HOLDFAST_STORE",
        metavar="PATH",
        help="The store: a file, or postgresql://… Without it: memory.db in your data folder.",
        rich_help_panel=_WHERE,
        show_default=False,
    ),
]
NamespaceOption = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        envvar="HOLDFAST_NAMESPACE",
        metavar="NAME",
        help="Whose memory it is.",
        rich_help_panel=_WHERE,
        show_default=False,
    ),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="PROFILE",
        help="static (the default), onnx:PATH, remote:URL#MODEL or none.",
        rich_help_panel=_WHERE,
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
FullOption = Annotated[bool, typer.Option("--full", help="Print whole texts.")]
LimitOption = Annotated[int, typer.Option("--limit", "-l", metavar="N", help="At most so many.")]
SinceOption = Annotated[
    str | None,
    typer.Option(metavar="TIME", help='Said at or after: "2026-05-01", "7 days ago".', show_default=False),
]
UntilOption = Annotated[str | None, typer.Option(metavar="TIME", help="Said before.", show_default=False)]


@contextmanager
def open_memory(
    store: str | None, namespace: str | None, embedder: Embedder | str | None, settings: Settings | None = None
) -> Iterator[Memory]:
    """The memory the options name, closed at the end; its warnings go to stderr."""
    from holdfast.memory import Memory

    _show_warnings()
    with Memory(store or None, namespace or None, embedder=embedder or None, settings=settings) as memory:
        yield memory


@contextmanager
def open_to_read(
    store: str | None, namespace: str | None, embedder: Embedder | str | None, settings: Settings | None = None
) -> Iterator[Memory]:
    """The same for verbs that only look: a store that is not there is empty, which is said, and is not made."""
    missing = missing_store(store)
    if missing is None:
        with open_memory(store, namespace, embedder, settings) as memory:
            yield memory
        return
    import tempfile

    with (
        tempfile.TemporaryDirectory(prefix="holdfast-nothing-") as nowhere,  # a mistyped path leaves nothing behind
        open_memory(os.path.join(nowhere, "memory.db"), namespace, embedder, settings) as memory,
    ):
        yield memory
    # After the verb: when it fails, its error is all that is said.
    typer.echo(f"holdfast: there is no store at {missing}; what is not there is empty", err=True)


def missing_store(store: str | None) -> str | None:
    """Where the store would be that is not there yet; None for one that is, and for a server's."""
    from holdfast.store.open import default_location

    location = store or default_location()
    return None if "://" in location or os.path.exists(location) else os.path.abspath(location)


def _show_warnings() -> None:
    """What the library warns of, in the same form as an error."""
    import logging

    class ToStderr(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            typer.echo(f"holdfast: {record.getMessage()}", err=True)

    log = logging.getLogger("holdfast")
    if not log.handlers:
        log.addHandler(ToStderr())
        log.propagate = False
