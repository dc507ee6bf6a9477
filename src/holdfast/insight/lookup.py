"""Reading turns and records back: by id, newest first, as exchanges, and as one session in order. All by index."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from holdfast.errors import NotFound
from holdfast.model import Exchange, Record, Role, Turn
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space

_PAGE = 500
_ANSWER_WITHIN = 16  # turns after a question in which its answer is looked for; tool calls may come between


def find(view: Snapshot, item_id: str) -> Turn | Record:
    """Return the turn or record with this id, or raise NotFound."""
    item = view.turn(item_id) or view.record(item_id)
    if item is None and (at := view.erased_at(item_id)) is not None:
        raise NotFound(f"{item_id!r} was erased on {at:%d %B %Y at %H:%M} UTC; nothing of it is kept")
    if item is None:
        raise NotFound(f"there is no turn or record {item_id!r} in this namespace; search and recent print the ids")
    return item


def recent_turns(
    view: Snapshot, limit: int, since: datetime | None, until: datetime | None, session: str | None
) -> list[Turn]:
    """Return turns, newest first by event time."""
    hidden = set(view.hidden(Space.TURN))
    turns = view.recent_turns(limit + len(hidden), since, until, session)
    return [turn for turn in turns if turn.seq not in hidden][:limit]


def recent_exchanges(
    view: Snapshot, limit: int, since: datetime | None, until: datetime | None, session: str | None
) -> list[Exchange]:
    """Return the user's questions with their answers, newest question first."""
    hidden = set(view.hidden(Space.TURN))
    exchanges: list[Exchange] = []
    for turn in view.recent_turns(2**31, since, until, session):
        if turn.role is Role.USER and turn.seq not in hidden:
            exchanges.append(Exchange(turn, _answer(view, turn, hidden), turn.at))
            if len(exchanges) == limit:
                break
    return exchanges


def read_thread(view: Snapshot, session: str) -> Iterator[Turn]:
    """Yield the turns of a session in order, page by page."""
    hidden = set(view.hidden(Space.TURN))
    after = -1
    while page := view.thread(session, after, _PAGE):
        yield from (turn for turn in page if turn.seq not in hidden)
        after = page[-1].index


def _answer(view: Snapshot, question: Turn, hidden: set[int]) -> Turn | None:
    for turn in view.thread(question.session, question.index, _ANSWER_WITHIN):
        if turn.role is Role.USER:
            return None
        if turn.role is Role.ASSISTANT and turn.text and turn.seq not in hidden:
            return turn
    return None
