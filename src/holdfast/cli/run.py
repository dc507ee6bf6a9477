"""Run one command and turn every expected failure into one line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from holdfast.errors import HoldfastError, NamespaceRequired, NotFound

DONE, NO_SUCH_ID, MISTAKE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

_INTERRUPTED = "interrupted; everything acknowledged is stored; run the command again to continue"
_NO_NAMESPACE = "no namespace: give --namespace NAME, or set HOLDFAST_NAMESPACE (the login name is never used)"


def run(args: Sequence[str]) -> int:
    as_json = _wants_json(args)
    _escape_unencodable()
    from typer.exceptions import Abort, TyperException

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
    from typer.main import get_command

    from holdfast.cli.app import open_app

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
        from holdfast.cli.command import json_text
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
