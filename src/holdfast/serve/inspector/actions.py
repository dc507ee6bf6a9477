"""Actions of a person: forget, restore, correct, pin, divide. Each can be undone, and each is a line of the log.

A correction has no verb: the new text is remembered with the old record's id in its metadata, then the old record is
forgotten; `why` shows both (insight/history.py). If the second step fails, both are there and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response

from holdfast.errors import InputError, NotFound
from holdfast.memory import Memory
from holdfast.model import Kind, Record
from holdfast.serve.inspector.format import RecordCard, card_of, plural
from holdfast.serve.inspector.views import Inspector, PageRequest


@dataclass(frozen=True)
class ActionResult:
    """The result of an action, and how to undo it."""

    message: str
    about: str
    """The id whose card is shown again."""
    forget: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()


def forget(inspector: Inspector, request: PageRequest) -> Response:
    noun_id = request.require("id")
    with inspector.memory(request, reads=False) as memory:
        memory.forget(noun_id)
        result = ActionResult("Forgotten. The log keeps it.", noun_id, restore=(noun_id,))
        return _respond(inspector, request, memory, result)


def restore(inspector: Inspector, request: PageRequest) -> Response:
    noun_id = request.require("id")
    with inspector.memory(request, reads=False) as memory:
        memory.forget(noun_id, undo=True)
        return _respond(inspector, request, memory, ActionResult("Visible again.", noun_id, forget=(noun_id,)))


def correct(inspector: Inspector, request: PageRequest) -> Response:
    text = request.require("text").strip()
    with inspector.memory(request, reads=False) as memory:
        old = _find_record(memory, request.require("id"))
        if text == old.text:
            raise InputError("the text is unchanged; change it, or pin the record as it is")
        new = memory.remember(text, old.kind.value, metadata={"corrects": old.id})
        return _replace(inspector, request, memory, old, [new], "Corrected. The old text is forgotten.")


def pin(inspector: Inspector, request: PageRequest) -> Response:
    """Replace it by a record of full confidence, which the janitor never lowers."""
    with inspector.memory(request, reads=False) as memory:
        with memory.view as view:
            card = card_of(view, request.require("id"))
        if card is None:
            raise NotFound(f"there is no turn or record {request.require('id')!r} in this namespace")
        text, kind = (
            (card.record.text, card.record.kind) if isinstance(card, RecordCard) else (card.turn.text, Kind.FACT)
        )
        new = memory.remember(text, kind.value, key=f"pin:{card.id}", metadata={"pins": card.id})
        memory.forget(new.id, undo=True)  # it was pinned and unpinned before
        if isinstance(card, RecordCard):
            return _replace(inspector, request, memory, card.record, [new], "Pinned as your own statement.")
        return _respond(inspector, request, memory, ActionResult("Pinned as a record.", card.id, forget=(new.id,)))


def divide(inspector: Inspector, request: PageRequest) -> Response:
    """Make a record of each statement, and forget the record that held them all."""
    texts = list(dict.fromkeys(text.strip() for text in request.form.get("text", ()) if text.strip()))
    if len(texts) < 2:
        raise InputError("choose at least two statements to divide a record; to change its text, correct it")
    with inspector.memory(request, reads=False) as memory:
        old = _find_record(memory, request.require("id"))
        new = [memory.remember(text, old.kind.value, metadata={"divides": old.id}) for text in texts]
        return _replace(inspector, request, memory, old, new, f"Divided into {plural(len(new), 'record')}.")


def undo(inspector: Inspector, request: PageRequest) -> Response:
    """Undo an action: restore what it hid and forget what it made."""
    about = request.require("id")
    with inspector.memory(request, reads=False) as memory:
        for noun_id in request.form.get("restore", ()):
            memory.forget(noun_id, undo=True)
        for noun_id in request.form.get("forget", ()):
            memory.forget(noun_id)
        return _respond(inspector, request, memory, ActionResult("Undone.", about))


def _find_record(memory: Memory, record_id: str) -> Record:
    with memory.view as view:
        record = view.record(record_id)
    if record is None:
        raise NotFound(
            f"there is no record {record_id!r} in this namespace; a turn cannot be corrected, only forgotten"
        )
    return record


def _replace(
    inspector: Inspector, request: PageRequest, memory: Memory, old: Record, new: list[Record], message: str
) -> Response:
    memory.forget(old.id)
    result = ActionResult(message, old.id, tuple(record.id for record in new), (old.id,))
    return _respond(inspector, request, memory, result, new)


def _respond(
    inspector: Inspector, request: PageRequest, memory: Memory, result: ActionResult, new: list[Record] | None = None
) -> Response:
    """Return a message with an undo button and the card as it is now; without htmx, redirect to the item's page."""
    if not request.by_htmx:
        return inspector.redirect(f"/inspector/record?{urlencode({'id': result.about})}")
    with memory.view as view:
        card = card_of(view, result.about)
    return inspector.page("done.html", request, result=result, card=card, new=new or [])
