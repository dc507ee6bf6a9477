"""What a person may do: forget, bring back, correct, pin, divide. Each can be undone, and each is a line of the log.

A correction has no verb of its own: the new text is remembered with what it is for in its metadata, then the old record
is forgotten; `why` tells of both (insight/history.py). If the second step fails, both are there and nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response

from holdfast.errors import InputError, NotFound
from holdfast.memory import Memory
from holdfast.model import Kind, Record
from holdfast.serve.inspector.format import RecordCard, card_of, several
from holdfast.serve.inspector.views import Asked, Desk


@dataclass(frozen=True)
class Done:
    """What was done, and what would take it back."""

    message: str
    about: str
    """The id whose card is shown anew."""
    forget: tuple[str, ...] = ()
    restore: tuple[str, ...] = ()


def forget(desk: Desk, asked: Asked) -> Response:
    noun_id = asked.needed("id")
    with desk.memory(asked, reads=False) as memory:
        memory.forget(noun_id)
        return _told(desk, asked, memory, Done("Forgotten. The log keeps it.", noun_id, restore=(noun_id,)))


def restore(desk: Desk, asked: Asked) -> Response:
    noun_id = asked.needed("id")
    with desk.memory(asked, reads=False) as memory:
        memory.forget(noun_id, undo=True)
        return _told(desk, asked, memory, Done("It is recalled again.", noun_id, forget=(noun_id,)))


def correct(desk: Desk, asked: Asked) -> Response:
    text = asked.needed("text").strip()
    with desk.memory(asked, reads=False) as memory:
        old = _record(memory, asked.needed("id"))
        if text == old.text:
            raise InputError("the text is the one that is remembered already; change it, or pin the record as it is")
        new = memory.remember(text, old.kind.value, metadata={"corrects": old.id})
        return _replaced(desk, asked, memory, old, [new], "Corrected: the old text is forgotten.")


def pin(desk: Desk, asked: Asked) -> Response:
    """At the operator's word: a record of full confidence that no janitor lowers takes its place."""
    with desk.memory(asked, reads=False) as memory:
        with memory.view as view:
            card = card_of(view, asked.needed("id"))
        if card is None:
            raise NotFound(f"there is no turn or record {asked.needed('id')!r} in this namespace")
        text, kind = (
            (card.record.text, card.record.kind) if isinstance(card, RecordCard) else (card.turn.text, Kind.FACT)
        )
        new = memory.remember(text, kind.value, key=f"pin:{card.id}", metadata={"pins": card.id})
        memory.forget(new.id, undo=True)  # pinned once before, and taken back
        if isinstance(card, RecordCard):
            return _replaced(desk, asked, memory, card.record, [new], "Pinned: it stands at your word now.")
        return _told(desk, asked, memory, Done("Pinned as a record of its own.", card.id, forget=(new.id,)))


def divide(desk: Desk, asked: Asked) -> Response:
    """These are two: each statement becomes a record of its own, and the one that held them is forgotten."""
    texts = list(dict.fromkeys(text.strip() for text in asked.form.get("text", ()) if text.strip()))
    if len(texts) < 2:
        raise InputError("to divide a record choose two statements or more; to change its text, correct it")
    with desk.memory(asked, reads=False) as memory:
        old = _record(memory, asked.needed("id"))
        new = [memory.remember(text, old.kind.value, metadata={"divides": old.id}) for text in texts]
        return _replaced(desk, asked, memory, old, new, f"Divided into {several(len(new), 'record')}.")


def undo(desk: Desk, asked: Asked) -> Response:
    """Takes an act back: what it hid returns, what it made is forgotten."""
    about = asked.needed("id")
    with desk.memory(asked, reads=False) as memory:
        for noun_id in asked.form.get("restore", ()):
            memory.forget(noun_id, undo=True)
        for noun_id in asked.form.get("forget", ()):
            memory.forget(noun_id)
        return _told(desk, asked, memory, Done("Taken back.", about))


def _record(memory: Memory, record_id: str) -> Record:
    with memory.view as view:
        record = view.record(record_id)
    if record is None:
        raise NotFound(
            f"there is no record {record_id!r} in this namespace; a turn cannot be corrected, only forgotten"
        )
    return record


def _replaced(desk: Desk, asked: Asked, memory: Memory, old: Record, new: list[Record], message: str) -> Response:
    memory.forget(old.id)
    return _told(
        desk, asked, memory, Done(message, old.id, tuple(record.id for record in new), (old.id,)), new
    )  # fmt: skip


def _told(desk: Desk, asked: Asked, memory: Memory, done: Done, new: list[Record] | None = None) -> Response:
    """A small message with an undo and the card as it is now; without htmx, the noun's own page."""
    if not asked.by_htmx:
        return desk.go(f"/inspector/record?{urlencode({'id': done.about})}")
    with memory.view as view:
        card = card_of(view, done.about)
    return desk.page("done.html", asked, done=done, card=card, new=new or [])
