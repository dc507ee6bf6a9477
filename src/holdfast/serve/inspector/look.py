"""One turn or record from close by: its text, its reasons, where it came from, what became of it."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response

from holdfast.errors import NotFound
from holdfast.insight import Version
from holdfast.model import SIGNALS, Turn
from holdfast.recall.why import find
from holdfast.serve.inspector.asked import Asked
from holdfast.serve.inspector.cards import RecordCard, card_of, turn_cards
from holdfast.serve.inspector.desk import Desk
from holdfast.wire import plain

__all__ = ["expand", "noun", "text"]

_MOST = 50
"""Turns of a record and records of a chain that are listed with it."""
_SIGNAL_WORDS = {
    "g": "the score", "t": "technical", "h": "novelty", "r": "repetition", "d": "structure", "p": "specificity",
    "a": "action", "dtech": "technical structure", "gconv": "as talk", "gtech": "as work", "input_freq": "asked before",
    "mem_saturation": "known already",
}  # fmt: skip


def noun(desk: Desk, asked: Asked) -> Response:
    noun_id = asked.needed("id")
    with desk.memory(asked) as memory:
        reasons = memory.why(noun_id)
        with memory.view as view:
            card = card_of(view, noun_id)
            if card is None:  # erased between the two
                raise NotFound(f"there is no turn or record {noun_id!r} in this namespace")
            if isinstance(card, RecordCard):
                sources = turn_cards(view, reasons.turns[:_MOST])
        if isinstance(card, RecordCard):
            chain: list[Version] = list(memory.history(noun_id).versions)[-_MOST:]
            return desk.page(
                "record.html", asked, card=card, why=reasons, sources=sources, chain=chain,
                metadata=plain(card.record.metadata),
            )  # fmt: skip
    signals = [(name, _SIGNAL_WORDS[name], card.turn.signals[name]) for name in SIGNALS] if card.judged else []
    return desk.page("turn.html", asked, card=card, why=reasons, signals=signals, metadata=plain(card.turn.metadata))


def expand(desk: Desk, asked: Asked) -> Response:
    """The turns that a digest stands for."""
    noun_id = asked.needed("id")
    with desk.memory(asked) as memory:
        turns = memory.expand(noun_id)
        with memory.view as view:
            cards = turn_cards(view, turns[:_MOST])
    return desk.page("expand.html", asked, cards=cards, id=noun_id, more=max(len(turns) - _MOST, 0))


def text(desk: Desk, asked: Asked) -> Response:
    """All of a text as a file: nothing in it is read as markup."""
    with desk.memory(asked) as memory, memory.view as view:
        found = find(view, asked.needed("id"))
    name = "turn" if isinstance(found, Turn) else "record"
    return PlainTextResponse(found.text, headers={"Content-Disposition": f'attachment; filename="{name}.txt"'})
