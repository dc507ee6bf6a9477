"""What a caller is told who reaches one memory alone: nothing of where things lie, and nothing of other memories.

Sentences from below (why a model is away, what keeps a file from being swept) name files and addresses, for whoever
runs the server. That person finds them in the log; the caller is told the same without them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from holdfast.answers import ContextAnswer, SearchAnswer, StatusAnswer, ThemesAnswer
from holdfast.errors import FlushTimeout, ModelError, StoreBusy, StoreError
from holdfast.upkeep.memo import Diagnosis
from holdfast.upkeep.reports import Erased

__all__ = ["discreet", "discreet_answer", "discreet_errors"]

_log = logging.getLogger("holdfast")

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
        case Erased():
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
