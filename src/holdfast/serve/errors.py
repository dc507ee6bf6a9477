"""One reading of errors for every surface: a code for JSON-RPC, a status for HTTP, a message, and what to do."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from holdfast.errors import (
    Closed,
    FlushTimeout,
    HoldfastError,
    InputError,
    MissingExtra,
    ModelError,
    NamespaceRequired,
    NotFound,
    Refused,
    StoreBusy,
    StoreError,
)
from holdfast.model import SearchAnswer
from holdfast.results import ContextAnswer, EraseResult, StatusAnswer, ThemesAnswer
from holdfast.upkeep.findings import Diagnosis

_log = logging.getLogger("holdfast")

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
"""The codes that JSON-RPC 2.0 itself gives; -32000 to -32099 are ours."""


_QUOTING = frozenset((INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, -32002))


@dataclass(frozen=True)
class Fault:
    """What went wrong, for people and for programs."""

    type: str
    """The name of the error, as holdfast.errors has it."""
    message: str
    advice: str
    """What to do about it."""
    code: int
    """In JSON-RPC."""
    status: int
    """In HTTP."""

    @property
    def logged(self) -> str:
        """For the log: the message, unless it quotes what was given, for logs hold nothing that was said."""
        return self.type if self.code in _QUOTING else self.message


# The first that fits counts, so the special ones come first.
_READ: tuple[tuple[type[BaseException], int, int, str], ...] = (
    (InputError, INVALID_PARAMS, 422, "Change what the message names and send it again."),
    (Refused, -32001, 403, "Use the credential of that memory, or a connection that may reach it."),
    (NotFound, -32002, 404, "Take an id or a session from search or recent; those of other namespaces are unknown."),
    (NamespaceRequired, -32003, 400, "Name whose memory it is, or start the server with --namespace NAME."),
    (FlushTimeout, -32004, 409, "Nothing is lost and the work goes on; ask again later or wait longer."),
    (StoreBusy, -32005, 503, "Another process holds the store; try again in a moment."),
    (StoreError, -32006, 500, "Look after the store: `holdfast status --check` says what is wrong with it."),
    (ModelError, -32007, 503, "The model is away; words are still found, and it is tried again by itself."),
    (Closed, -32008, 503, "The server is stopping; connect again."),
    (MissingExtra, -32009, 501, "Install the package that the message names on the server."),
    (HoldfastError, -32000, 500, "Read the message; the server's log says more."),
)  # fmt: skip


_LONGEST = 2000
"""Characters of a message: it may quote what was given, and nobody reads ten megabytes of it, least of all a model."""


def _short(message: str) -> str:
    if len(message) <= _LONGEST:
        return message
    return f"{message[: _LONGEST // 2]} … {message[-_LONGEST // 2 :]}"


def fault_of(error: BaseException) -> Fault:
    """What a surface tells of an error. What nobody expected is told in the log only: it may quote stored text."""
    for kind, code, status, advice in _READ:
        if isinstance(error, kind):
            return Fault(type(error).__name__, _short(str(error)), advice, code, status)
    _log.error("a call failed in a way that nobody expected", exc_info=error)
    return Fault(
        "InternalError",
        f"{type(error).__name__}: this should not happen, and what was acknowledged is kept",
        "The server's log has the details; please report them.",
        INTERNAL,
        500,
    )


# --- What a caller is told who reaches one memory alone: nothing of where things lie, and nothing of other
# memories.
#
# Sentences from below (why a model is away, what keeps a file from being swept) name files and addresses, for whoever
# runs the server. That person finds them in the log; the caller is told the same without them.


_HIDDEN = "…"
_BELOW = r"[/\\][^\s\"'(),;]*[^\s\"'(),;.:]"
_SOMEWHERE = re.compile(
    r"[A-Za-z][\w+.-]{0,20}://\S+"  # an address
    rf"|(?<![\w./\\])(?:[A-Za-z]:)?{_BELOW}"  # a path from the root
    r"|\"[^\"\s]+\", port \d+"  # a host, as PostgreSQL names it
)
"""What looks like a place. Behind the list of those that are known, for a library may name others."""
_A_COPY = "a copy that the operator keeps"


def discreet(text: str, places: Sequence[str]) -> str:
    """A sentence without the places that it names."""
    for place in sorted(filter(None, places), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(place)}(?:{_BELOW}|(?!\w))", _HIDDEN, text)
    return _SOMEWHERE.sub(_HIDDEN, text)


def discreet_answer(made: object, places: Sequence[str]) -> object:
    """An answer without what depends on other memories or on the machine; one that holds no such thing as it is."""

    def told(text: str | None) -> str | None:
        return None if text is None else discreet(text, places)

    match made:
        case StatusAnswer():
            embedder = discreet(made.embedder, places)
            return replace(made, store="", size_bytes=0, embedder=embedder, degraded=told(made.degraded))
        case Diagnosis():
            return replace(made, source="")
        case EraseResult():
            copies = (_A_COPY,) * len(made.copies)
            return replace(made, copies=copies, pending=told(made.pending), degraded=told(made.degraded))
        case SearchAnswer() | ThemesAnswer() if made.receipt.degraded is not None:
            return replace(made, receipt=replace(made.receipt, degraded=told(made.receipt.degraded)))
        case ContextAnswer() if made.degraded is not None:
            reason, degraded = discreet(made.receipt.reason, places), told(made.receipt.degraded)
            receipt = replace(made.receipt, reason=reason, degraded=degraded)
            return replace(made, degraded=told(made.degraded), receipt=receipt)
    return made


@contextmanager
def discreet_errors(places: Sequence[str]) -> Iterator[None]:
    """Errors of the store and of models, which name files and addresses, in words of their kind alone."""
    try:
        yield
    except StoreBusy as error:
        _log.warning("a caller of one memory was told that the store is busy: %s", error)
        raise type(error)("the store is busy; nothing of this call was kept") from None
    except StoreError as error:
        _log.warning("a caller of one memory was told that the store cannot be used: %s", error)
        raise type(error)("the store cannot be used; the server's log says why, for whoever runs it") from None
    except ModelError as error:
        _log.warning("a caller of one memory was told that a model cannot be used: %s", error)
        raise type(error)("a model cannot be used; the server's log says why, for whoever runs it") from None
    except FlushTimeout as error:
        raise FlushTimeout(discreet(str(error), places)) from None
