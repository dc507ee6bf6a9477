"""The typer app: its commands, how `holdfast --help` groups them, and how a run ends.

Every expected failure becomes one line on stderr and an exit code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from io import TextIOWrapper
from typing import Annotated

import typer
from typer.exceptions import Abort, TyperException
from typer.main import get_command

from holdfast.cli.command import json_text
from holdfast.errors import HoldfastError, NamespaceRequired, NotFound
from holdfast.version import __version__

COMMANDS = "holdfast.commands"
"""The entry point group through which other distributions add commands; holdfast-bench adds `bench`."""

_START, _KEEP, _RECALL, _EXPLAIN, _MAINTAIN, _SERVE = "Get started", "Store", "Retrieve", "Explain", "Maintain", "Serve"

_COMMANDS = {
    "init": (_START, "upkeep_verbs"),
    "demo": (_START, "demo"),
    "connect": (_START, "connect_verbs"),
    "disconnect": (_START, "connect_verbs"),
    "import": (_START, "transfer_verbs"),
    "ingest": (_KEEP, "ingest"),
    "remember": (_KEEP, "memory_verbs"),
    "update": (_KEEP, "memory_verbs"),
    "forget": (_KEEP, "memory_verbs"),
    "search": (_RECALL, "memory_verbs"),
    "recent": (_RECALL, "memory_verbs"),
    "thread": (_RECALL, "memory_verbs"),
    "themes": (_RECALL, "memory_verbs"),
    "profile": (_RECALL, "memory_verbs"),
    "records": (_RECALL, "memory_verbs"),
    "get": (_RECALL, "memory_verbs"),
    "standing": (_RECALL, "memory_verbs"),
    "context": (_RECALL, "memory_verbs"),
    "active": (_RECALL, "memory_verbs"),
    "expand": (_RECALL, "memory_verbs"),
    "why": (_EXPLAIN, "memory_verbs"),
    "history": (_EXPLAIN, "memory_verbs"),
    "gating": (_EXPLAIN, "memory_verbs"),
    "stats": (_EXPLAIN, "memory_verbs"),
    "status": (_EXPLAIN, "memory_verbs"),
    "compact": (_MAINTAIN, "memory_verbs"),
    "doctor": (_MAINTAIN, "upkeep_verbs"),
    "janitor": (_MAINTAIN, "upkeep_verbs"),
    "export": (_MAINTAIN, "transfer_verbs"),
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


DONE, NO_SUCH_ID, MISTAKE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

_INTERRUPTED = "interrupted; everything acknowledged is stored; run the command again to continue"
_NO_NAMESPACE = (
    "no namespace: add --namespace NAME (usually one per user), set HOLDFAST_NAMESPACE, or run holdfast init NAME once"
)


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


# --- running


def run(args: Sequence[str]) -> int:
    as_json = _wants_json(args)
    _escape_unencodable()
    try:
        code = _call(args)
        sys.stdout.flush()
        return code
    except NotFound as error:
        return _report(error, as_json, NO_SUCH_ID)
    except NamespaceRequired as error:
        return _report(error, as_json, MISTAKE, _NO_NAMESPACE)
    except BrokenPipeError:
        return _close_stdout()
    except HoldfastError as error:
        return _report(error, as_json, MISTAKE)
    except OSError as error:
        return _report(error, as_json, MISTAKE, _file_error(error))
    except TyperException as error:
        usage = _usage_error(error)
        return _report(error, as_json, MISTAKE, usage) if usage else MISTAKE
    except (KeyboardInterrupt, Abort) as error:
        return _report(error, as_json, INTERRUPTED, _INTERRUPTED)
    except Exception as error:
        if not _caused_by_interrupt(error):
            raise
        return _report(error, as_json, INTERRUPTED, _INTERRUPTED)


def _call(args: Sequence[str]) -> int:
    try:
        code = get_command(open_app(args)).main(list(args), prog_name="holdfast", standalone_mode=False)
    except SystemExit as exit:
        # typer and rich exit this way when the reader of a pipe is gone.
        raise BrokenPipeError from exit
    if code == INTERRUPTED:  # how typer passes on a KeyboardInterrupt
        raise KeyboardInterrupt
    return code if isinstance(code, int) else DONE


def _caused_by_interrupt(error: BaseException | None) -> bool:
    """Return whether Ctrl-C is behind an error: closing in the middle of something may fail in its own way."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _wants_json(args: Sequence[str]) -> bool:
    """Read --json from the raw arguments, because a parse error must be JSON too. For bench, --json is a file name."""
    verb = next((arg for arg in args if not arg.startswith("-")), "")
    before = args[: args.index("--")] if "--" in args else args
    return verb != "bench" and "--json" in before


def _report(error: BaseException, as_json: bool, code: int, message: str | None = None) -> int:
    text = str(error) if message is None else message
    if as_json:
        from holdfast.results import ErrorAnswer, Problem

        kind = "Interrupted" if code == INTERRUPTED else type(error).__name__
        print(json_text(ErrorAnswer(Problem(kind, text))), file=sys.stderr)
    else:
        print(f"holdfast: {' '.join(text.split())}", file=sys.stderr)
    return code


def _file_error(error: OSError) -> str:
    """Leave out the number of the error."""
    known = error.strerror and isinstance(error.filename, str)
    return f"{error.filename}: {error.strerror}" if known else str(error)


def _usage_error(error: Exception) -> str:
    """Return the message of a usage error; empty where typer has printed the help instead."""
    message = str(getattr(error, "format_message", error.__str__)())
    if not message.strip():
        return ""
    if message.startswith("Got unexpected extra argument"):  # mostly a question of several words
        message = f"{message.rstrip('.')}; put a text of several words in quotes"
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message.rstrip('.')} (see {context.command_path} --help)"


def _close_stdout() -> int:
    # Otherwise the interpreter flushes the broken pipe once more when it exits, and complains.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _escape_unencodable() -> None:
    """Let a terminal that knows only ASCII show escapes instead of failing in the middle of an answer."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
