"""The recent as such, and one conversation in order: by index, never by scan."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from holdfast.model import Exchange, Role, Turn
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space

_PAGE = 500
_ANSWER_WITHIN = 16  # turns after a question among which its answer is looked for (tool calls may stand between)


def recent_turns(
    view: Snapshot, limit: int, since: datetime | None, until: datetime | None, session: str | None
) -> list[Turn]:
    """Newest first by the time they were said."""
    hidden = set(view.hidden(Space.TURN))
    turns = view.recent_turns(limit + len(hidden), since, until, session)
    return [turn for turn in turns if turn.seq not in hidden][:limit]


def recent_exchanges(
    view: Snapshot, limit: int, since: datetime | None, until: datetime | None, session: str | None
) -> list[Exchange]:
    """Questions of the user with their answers, newest question first."""
    hidden = set(view.hidden(Space.TURN))
    exchanges: list[Exchange] = []
    for turn in view.recent_turns(2**31, since, until, session):
        if turn.role is Role.USER and turn.seq not in hidden:
            exchanges.append(Exchange(turn, _answer(view, turn, hidden), turn.at))
            if len(exchanges) == limit:
                break
    return exchanges


def _answer(view: Snapshot, question: Turn, hidden: set[int]) -> Turn | None:
    for turn in view.thread(question.session, question.index, _ANSWER_WITHIN):
        if turn.role is Role.USER:
            return None
        if turn.role is Role.ASSISTANT and turn.text and turn.seq not in hidden:
            return turn
    return None


def read_thread(view: Snapshot, session: str) -> Iterator[Turn]:
    """The turns of a session in order, page by page."""
    hidden = set(view.hidden(Space.TURN))
    after = -1
    while page := view.thread(session, after, _PAGE):
        yield from (turn for turn in page if turn.seq not in hidden)
        after = page[-1].index
