"""From arguments to an exit code: every expected failure becomes one line on stderr, none a traceback."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper

from holdfast.errors import HoldfastError, NamespaceRequired, NotFound
from holdfast.text.jsonio import plain

DONE, NO_SUCH_ID, MISTAKE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141

_INTERRUPTED = "interrupted; what was acknowledged is kept; run it again to go on"
_WHOSE = "whose memory is it? Give --namespace NAME, or set HOLDFAST_NAMESPACE (the login name is never used)"


def run(args: Sequence[str]) -> int:
    as_json = _wants_json(args)
    _never_fail_to_encode()
    from typer.exceptions import Abort, TyperException

    try:
        code = _call(args)
        sys.stdout.flush()
    except NotFound as error:
        return _say(error, as_json, NO_SUCH_ID)
    except NamespaceRequired as error:
        return _say(error, as_json, MISTAKE, _WHOSE)
    except BrokenPipeError:
        return _reader_left()
    except HoldfastError as error:
        return _say(error, as_json, MISTAKE)
    except OSError as error:
        return _say(error, as_json, MISTAKE, _of_file(error))
    except TyperException as error:
        usage = _usage(error)
        return _say(error, as_json, MISTAKE, usage) if usage else MISTAKE
    except (KeyboardInterrupt, Abort) as error:
        return _say(error, as_json, INTERRUPTED, _INTERRUPTED)
    except Exception as error:
        if not _while_interrupted(error):
            raise
        return _say(error, as_json, INTERRUPTED, _INTERRUPTED)
    return code


def _call(args: Sequence[str]) -> int:
    from typer.main import get_command

    from holdfast.cli.app import open_app

    try:
        code = get_command(open_app(args)).main(list(args), prog_name="holdfast", standalone_mode=False)
    except SystemExit as exit:
        # typer and rich leave this way when the reader of a pipe is gone.
        raise BrokenPipeError from exit
    if code == INTERRUPTED:  # how typer passes on a KeyboardInterrupt
        raise KeyboardInterrupt
    return code if isinstance(code, int) else DONE


def _while_interrupted(error: BaseException | None) -> bool:
    """Whether it came of a Ctrl-C: letting go in the middle of something may fail in its own way."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _wants_json(args: Sequence[str]) -> bool:
    """Read from the raw arguments: an error of parsing them must be JSON too. To bench, --json is a file name."""
    verb = next((arg for arg in args if not arg.startswith("-")), "")
    before = args[: args.index("--")] if "--" in args else args
    return verb != "bench" and "--json" in before


def _say(error: BaseException, as_json: bool, code: int, message: str | None = None) -> int:
    said = str(error) if message is None else message
    if as_json:
        from holdfast.results import ErrorAnswer, Problem

        kind = "Interrupted" if code == INTERRUPTED else type(error).__name__
        print(as_text(ErrorAnswer(Problem(kind, said))), file=sys.stderr)
    else:
        print(f"holdfast: {' '.join(said.split())}", file=sys.stderr)
    return code


def _of_file(error: OSError) -> str:
    """Without the number of the error, which says nothing to a person."""
    told = error.strerror and isinstance(error.filename, str)
    return f"{error.filename}: {error.strerror}" if told else str(error)


def _usage(error: Exception) -> str:
    """What is wrong with the command line; nothing where no verb was named, which prints the help."""
    message = str(getattr(error, "format_message", error.__str__)())
    if not message.strip():
        return ""
    if message.startswith("Got unexpected extra argument"):  # a question of several words, mostly
        message = f"{message.rstrip('.')}; a text of several words stands in quotes"
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message.rstrip('.')} (see {context.command_path} --help)"


def _reader_left() -> int:
    # Otherwise the interpreter tries to flush the dead pipe once more on its way out, and complains.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _never_fail_to_encode() -> None:
    """A terminal that knows ASCII alone shows escapes instead of failing in the middle of an answer."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


# --- Progress bars: on stderr, and only where somebody looks at them.


Progress = Callable[[int, int], None]
"""Called with (done, total)."""


@contextmanager
def bar(label: str) -> Iterator[Progress]:
    """A bar that moves with each call; nothing at all when stderr is no terminal."""
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


# --- Answers as JSON on stdout: one document, made from the typed nouns.


# A terminal obeys some characters that JSON lets stand as they are: C1 controls and those that turn the direction.
_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def as_text(answer: object) -> str:
    text = json.dumps(plain(answer), ensure_ascii=False, indent=2, allow_nan=False)
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(answer: object) -> None:
    text = as_text(answer)
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = json.dumps(json.loads(text), indent=2)
    print(text)
