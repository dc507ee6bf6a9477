"""Errors as servers report them: a code for JSON-RPC, a status for HTTP, a message and advice; and redaction.

A caller that may use one memory only learns neither where the store is nor anything about other memories. Messages of
the store and of models name files and addresses for the operator, who finds them in the log.
"""

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
from holdfast.results import ContextAnswer, StatusAnswer, ThemesAnswer
from holdfast.upkeep.findings import Diagnosis
from holdfast.upkeep.results import EraseResult

_log = logging.getLogger("holdfast")

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
"""Codes of JSON-RPC 2.0; -32000 to -32099 are ours."""
_QUOTING = frozenset((INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, -32002))
_MAX_CHARS = 2000
"""Maximum length of a message: it may quote the input, and nobody reads ten megabytes of it."""


@dataclass(frozen=True)
class Failure:
    """A failed call, for people and for programs."""

    type: str
    """Name of the error in holdfast.errors."""
    message: str
    advice: str
    """Advice for the caller."""
    code: int
    """For JSON-RPC."""
    status: int
    """For HTTP."""

    @property
    def logged(self) -> str:
        """The text for the log: no message that may quote the input, because logs hold nothing that was said."""
        return self.type if self.code in _QUOTING else self.message


# The first match counts, so the specific errors come first.
_ERRORS: tuple[tuple[type[BaseException], int, int, str], ...] = (
    (InputError, INVALID_PARAMS, 422, "Correct what the message names and send it again."),
    (Refused, -32001, 403, "Use the credential of that memory, or a connection that may use it."),
    (NotFound, -32002, 404, "Take an id or a session from search or recent; those of other namespaces are unknown."),
    (NamespaceRequired, -32003, 400, "Name the namespace, or start the server with --namespace NAME."),
    (FlushTimeout, -32004, 409, "Nothing is lost and the work continues; try again later or wait longer."),
    (StoreBusy, -32005, 503, "Another process holds the store; try again in a moment."),
    (StoreError, -32006, 500, "Run `holdfast status --check` to find out what is wrong with the store."),
    (ModelError, -32007, 503, "The model is unavailable and retried automatically; search still works by words."),
    (Closed, -32008, 503, "The server is stopping; connect again."),
    (MissingExtra, -32009, 501, "Install the package that the message names on the server."),
    (HoldfastError, -32000, 500, "Read the message; the server's log has details."),
)  # fmt: skip


def failure_of(error: BaseException) -> Failure:
    """Describe an error for a caller. Unexpected errors go to the log only, because they may quote stored text."""
    for kind, code, status, advice in _ERRORS:
        if isinstance(error, kind):
            return Failure(type(error).__name__, _shorten(str(error)), advice, code, status)
    _log.error("unexpected error in a call", exc_info=error)
    message = f"unexpected {type(error).__name__}; everything that was acknowledged is stored"
    return Failure("InternalError", message, "The server's log has the details; please report them.", INTERNAL, 500)


def _shorten(message: str) -> str:
    if len(message) <= _MAX_CHARS:
        return message
    return f"{message[: _MAX_CHARS // 2]} … {message[-_MAX_CHARS // 2 :]}"


# --- redaction

_HIDDEN = "…"
_BELOW = r"[/\\][^\s\"'(),;]*[^\s\"'(),;.:]"
_PLACE = re.compile(
    r"[A-Za-z][\w+.-]{0,20}://\S+"  # a URL
    rf"|(?<![\w./\\])(?:[A-Za-z]:)?{_BELOW}"  # an absolute path
    r"|\"[^\"\s]+\", port \d+"  # a host, as PostgreSQL names it
)
"""Anything like a path or an address, because a library may name places other than the known ones."""
_A_COPY = "a copy that the operator keeps"


def redact_places(text: str, places: Sequence[str]) -> str:
    """Remove paths and addresses from a sentence."""
    for place in sorted(filter(None, places), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(place)}(?:{_BELOW}|(?!\w))", _HIDDEN, text)
    return _PLACE.sub(_HIDDEN, text)


def redact_answer(answer: object, places: Sequence[str]) -> object:
    """Remove from an answer what depends on other memories or on the machine."""

    def redact(text: str | None) -> str | None:
        return None if text is None else redact_places(text, places)

    match answer:
        case StatusAnswer():
            embedder = redact_places(answer.embedder, places)
            return replace(answer, store="", size_bytes=0, embedder=embedder, degraded=redact(answer.degraded))
        case Diagnosis():
            return replace(answer, source="")
        case EraseResult():
            copies = (_A_COPY,) * len(answer.copies)
            return replace(answer, copies=copies, pending=redact(answer.pending), degraded=redact(answer.degraded))
        case SearchAnswer() | ThemesAnswer() if answer.receipt.degraded is not None:
            return replace(answer, receipt=replace(answer.receipt, degraded=redact(answer.receipt.degraded)))
        case ContextAnswer() if answer.degraded is not None:
            reason, degraded = redact_places(answer.receipt.reason, places), redact(answer.receipt.degraded)
            receipt = replace(answer.receipt, reason=reason, degraded=degraded)
            return replace(answer, degraded=redact(answer.degraded), receipt=receipt)
    return answer


@contextmanager
def redact_errors(places: Sequence[str]) -> Iterator[None]:
    """Replace the messages of store and model errors, which name files and addresses, by general ones."""
    try:
        yield
    except StoreBusy as error:
        _log.warning("the store is busy: %s", error)
        raise type(error)("the store is busy; nothing of this call was stored") from None
    except StoreError as error:
        _log.warning("the store cannot be used: %s", error)
        raise type(error)("the store cannot be used; the operator finds the reason in the server's log") from None
    except ModelError as error:
        _log.warning("a model cannot be used: %s", error)
        raise type(error)("a model cannot be used; the operator finds the reason in the server's log") from None
    except FlushTimeout as error:
        raise FlushTimeout(redact_places(str(error), places)) from None
