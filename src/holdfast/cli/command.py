"""Commands: the options they share, the memory they open, and how their answers are printed.

A command is a function that takes a MemoryTarget and returns an answer. The decorator adds --store, --namespace,
--embedder and --json, prints the answer as JSON or through a function of the render modules, and returns the exit code.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from holdfast.text.jsonio import plain

if TYPE_CHECKING:
    from holdfast.memory import Memory
    from holdfast.models.embedder import Embedder
    from holdfast.settings import Settings
    from holdfast.store.store import Store


def option(about: str, *names: str, metavar: str | None = None, **rest: Any) -> Any:
    return typer.Option(*names, metavar=metavar, help=about, **rest)


def argument(about: str, metavar: str) -> Any:
    return typer.Argument(metavar=metavar, help=about)


_MEMORY = "Which memory"
_JSON = "as_json"
_SHARED: Mapping[str, tuple[Any, object]] = {
    "full": (Annotated[bool, option("Print texts in full.", "--full")], False),
    "explain": (Annotated[bool, option("Explain how the answer was found.", "--explain")], False),
    "store": (
        Annotated[
            str | None,
            option(
                "Store to use: a file or postgresql://… (default: memory.db in your data folder).", "--store",
                metavar="PATH", envvar="HOLDFAST_STORE", rich_help_panel=_MEMORY,
            ),
        ],
        None,
    ),
    "namespace": (
        Annotated[
            str | None,
            option(
                "Namespace to use, usually one per user.", "--namespace", "-n",
                metavar="NAME", envvar="HOLDFAST_NAMESPACE", rich_help_panel=_MEMORY,
            ),
        ],
        None,
    ),
    "embedder": (
        Annotated[
            str | None,
            option(
                "Embedder: static (default), onnx:PATH, remote:URL#MODEL or none.", "--embedder",
                metavar="PROFILE", rich_help_panel=_MEMORY,
            ),
        ],
        None,
    ),
    _JSON: (Annotated[bool, option("Print the answer as one JSON document.", "--json")], False),
}  # fmt: skip
_TARGET = ("store", "namespace", "embedder")
ME = "me"
"""The namespace of a host or an import whose user named none."""


@dataclass(frozen=True)
class MemoryTarget:
    """The memory that --store, --namespace and --embedder name."""

    store: str | None = None
    namespace: str | None = None
    embedder: Embedder | str | None = None

    @property
    def location(self) -> str:
        from holdfast.store.open import default_location

        return self.store or default_location()

    @property
    def or_me(self) -> MemoryTarget:
        """The memory, in the namespace `me` if none is named: for those who have just begun."""
        from holdfast.settings import load_settings

        return replace(self, namespace=self.namespace or load_settings().namespace or ME)

    @property
    def missing(self) -> str | None:
        """Absolute path of a store that does not exist; None if it does, or is on a server."""
        return None if "://" in self.location or os.path.exists(self.location) else os.path.abspath(self.location)

    def check_exists(self, purpose: str = "") -> None:
        from holdfast.errors import InputError

        if self.missing is not None:
            wanted = f" to {purpose}" if purpose else ""
            raise InputError(f"there is no store at {self.missing}{wanted}: give --store PATH, or set HOLDFAST_STORE")

    def open_store(self, purpose: str = "") -> Store:
        from holdfast.settings import load_settings
        from holdfast.store.open import open_store

        self.check_exists(purpose)
        return open_store(self.location, load_settings().store)

    @contextmanager
    def open(self, settings: Settings | None = None) -> Iterator[Memory]:
        """Open the memory, creating its store if needed; warnings of the library go to stderr."""
        from holdfast.memory import Memory

        _print_warnings()
        with Memory(
            self.store or None, self.namespace or None, embedder=self.embedder or None, settings=settings
        ) as memory:
            yield memory

    @contextmanager
    def read(self, settings: Settings | None = None) -> Iterator[Memory]:
        """Open the memory for reading: a store that does not exist counts as empty and is not created."""
        missing = self.missing
        if missing is None:
            with self.open(settings) as memory:
                yield memory
            return
        import tempfile

        with tempfile.TemporaryDirectory(prefix="holdfast-nothing-") as nowhere:
            empty = MemoryTarget(os.path.join(nowhere, "memory.db"), self.namespace, self.embedder)
            with empty.open(settings) as memory:
                yield memory
        # After the command: if it fails, its error is the only message.
        typer.echo(f"holdfast: there is no store at {missing}, so it counts as empty", err=True)


@dataclass(frozen=True)
class Output:
    """An answer with values that only its printed form needs."""

    answer: object
    details: Mapping[str, object]


@dataclass(frozen=True)
class Command:
    function: Callable[..., object]
    """Takes a MemoryTarget (and `as_json`, if it declares it) and its own options; returns the answer, or None."""
    show: str
    """The function that prints the answer, as MODULE.NAME of this package. Loaded only when needed."""
    display: tuple[str, ...]
    """Shared options that are passed to `show`, not to the function."""
    without: tuple[str, ...]
    exit_code: Callable[[Any], int] = field(default=lambda answer: 0)

    def runner(self) -> Callable[..., int]:
        """Return the function that typer registers: the command's own options and the shared ones."""
        declared = inspect.signature(self.function, eval_str=True).parameters
        own = [one for name, one in declared.items() if name not in ("target", _JSON)]
        taken = {*self.without, *(one.name for one in own)}
        shared = [name for name in (*self.display, *_TARGET, _JSON) if name not in taken]
        by_name = inspect.Parameter.KEYWORD_ONLY
        parameters = [one.replace(kind=by_name) for one in own]
        for name in shared:
            annotation, default = _SHARED[name]
            parameters.append(inspect.Parameter(name, by_name, annotation=annotation, default=default))

        def run(**given: Any) -> int:
            target = MemoryTarget(**{name: given.pop(name, None) for name in _TARGET if name in shared})
            as_json = given[_JSON] if _JSON in declared else given.pop(_JSON)
            details = {name: given.pop(name) for name in self.display}
            made = self.function(target, **given)
            return self._print(made, as_json, details)

        run.__name__, run.__doc__ = self.function.__name__, self.function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        return run

    def _print(self, made: object, as_json: bool, details: dict[str, object]) -> int:
        if made is None:
            return 0
        answer, more = (made.answer, made.details) if isinstance(made, Output) else (made, {})
        if as_json:
            print_json(answer)
        else:
            module, _, name = self.show.partition(".")
            getattr(import_module(f"holdfast.cli.{module}"), name)(answer, **details, **more)
        return self.exit_code(answer)


def command(
    show: str = "", *display: str, without: tuple[str, ...] = (), exit_code: Callable[[Any], int] = lambda answer: 0
) -> Callable[[Callable[..., object]], Command]:
    return lambda function: Command(function, show, display, without, exit_code)


def _print_warnings() -> None:
    """Print warnings of the library to stderr in the form of an error.

    Warnings of background work are left out: it is chance whether they come before the command ends, and a degraded
    answer says so itself. Errors of background work are bugs, and are printed.
    """
    import logging

    class StderrHandler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.name != "holdfast.worker" or record.levelno >= logging.ERROR:
                typer.echo(f"holdfast: {record.getMessage()}", err=True)

    log = logging.getLogger("holdfast")
    if not log.handlers:
        log.addHandler(StderrHandler())
        log.propagate = False


# --- progress bars

Progress = Callable[[int, int], None]
"""Called with (done, total)."""


@contextmanager
def progress_bar(label: str) -> Iterator[Progress]:
    """Show a progress bar on stderr if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(label, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


# --- JSON on stdout

# C1 controls and characters that change the direction of text: terminals obey them, and JSON does not escape them.
_CONTROLS = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def json_text(answer: object) -> str:
    text = json.dumps(plain(answer), ensure_ascii=False, indent=2, allow_nan=False)
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(answer: object) -> None:
    text = json_text(answer)
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = json.dumps(json.loads(text), indent=2)
    print(text)
