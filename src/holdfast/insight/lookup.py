"""Reading turns and records back: by id, newest first, as exchanges, and as one session in order. All by index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from holdfast.errors import InputError, NotFound
from holdfast.log.messages import keyed_id
from holdfast.model import Exchange, Kind, Record, Role, Turn
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space
from holdfast.text.words import terms

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


@dataclass(frozen=True)
class RecordPage:
    """A page of records, newest first."""

    records: tuple[Record, ...]
    next: str | None
    """Pass it as `before` for the next page; None if this page was not full."""

    @classmethod
    def of(cls, records: Sequence[Record], limit: int) -> Self:
        return cls(tuple(records), records[-1].id if len(records) == limit else None)


def list_records(
    view: Snapshot, kind: Kind | None, about: str | None, query: str | None, limit: int, before: str | None
) -> list[Record]:
    """Return the live records that hold all words of `about` and `query`, newest first, behind the record `before`."""
    wanted = frozenset(terms(f"{about or ''} {query or ''}"))
    if (about or query) and not wanted:
        raise InputError("about and query hold no word to look for")
    if before is not None and view.record(before) is None:
        raise NotFound(f"there is no record {before!r} in this namespace to go on behind")
    found: list[Record] = []
    while len(found) < limit and (page := view.recent_records(_PAGE, kind, before=before)):
        found += [one for one in page if not wanted or wanted.issubset(terms(one.display))]
        before = page[-1].id
    return found[:limit]


def keyed_version(view: Snapshot, key: str, text: str) -> tuple[str, Record | None]:
    """Return the id under which a new text for a key is stored, and the live record that it replaces."""
    record_id, number = keyed_id("r", key), 0
    live: Record | None = None
    while (known := view.record(record_id)) is not None:
        live = known if view.is_live(known) else None
        if live is not None and live.text == text:
            return live.id, None
        number += 1
        record_id = keyed_id("r", f"{key}\0{number}")
    return record_id, live
