"""Lists, a page at a time: turns by day, sessions, records, guidance, and merges to judge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Protocol, TypeVar

from starlette.responses import Response

from holdfast.errors import InputError, NotFound
from holdfast.model import Kind, Provenance
from holdfast.serve.inspector.asked import Asked
from holdfast.serve.inspector.cards import record_cards, turn_cards
from holdfast.serve.inspector.desk import Desk
from holdfast.serve.inspector.merged import statements_of
from holdfast.store.nouns import COMPACTION

__all__ = ["guidance", "merges", "records", "session", "sessions", "timeline"]

_KINDS = tuple(kind.value for kind in Kind if kind is not Kind.TURN)
_STATES = {"live": True, "past": False}
_DIGESTS = 20
"""Of a session, above its turns: the newest; more are found among the records."""


class _Named(Protocol):
    @property
    def id(self) -> str: ...


_Card = TypeVar("_Card", bound=_Named)


def timeline(desk: Desk, asked: Asked) -> Response:
    """Turns by the day they were said on, newest first; with `day`, from that day back."""
    day = asked.given("day")
    until = None if day is None else _end_of(day)
    with desk.memory(asked) as memory, memory.view as view:
        cards = turn_cards(view, view.turns_page(desk.settings.page + 1, asked.given("before"), until))
    cards, older = _paged(cards, desk.settings.page)
    days = [(day, list(said)) for day, said in groupby(cards, lambda card: card.turn.at.date())]
    return desk.page("timeline.html", asked, days=days, older=_address(asked, older), day=day)


def sessions(desk: Desk, asked: Asked) -> Response:
    with desk.memory(asked) as memory, memory.view as view:
        found = view.sessions(desk.settings.page + 1, asked.given("before"))
        count = view.counts().sessions
    more = len(found) > desk.settings.page
    found = found[: desk.settings.page]
    older = asked.address(before=found[-1].name) if more else None
    return desk.page("sessions.html", asked, sessions=found, count=count, older=older)


def session(desk: Desk, asked: Asked) -> Response:
    """One conversation as a thread, from a place in it on, with what stands for its old turns."""
    name, after = asked.needed("name"), asked.number("after", -1)
    with desk.memory(asked) as memory, memory.view as view:
        if view.session_number(name) is None:
            raise NotFound(f"there is no session {name!r} in this namespace")
        last = view.last_index(name)
        cards = turn_cards(view, view.thread(name, after, desk.settings.page + 1))
        made = [
            record
            for kind in (Kind.SUMMARY, Kind.GUIDANCE)
            for record in view.recent_records(_DIGESTS, kind, None, None, name)
            if COMPACTION in record.metadata
        ]
        digests = record_cards(view, made) if after < 0 else []
    cards, more = _paged(cards, desk.settings.page)
    later = asked.address(after=str(cards[-1].turn.index)) if more else None
    return desk.page("session.html", asked, name=name, cards=cards, digests=digests, turns=last + 1, later=later)


def records(desk: Desk, asked: Asked) -> Response:
    kind, said = asked.chosen("kind", _KINDS), asked.chosen("provenance", tuple(Provenance))
    state = asked.chosen("state", [*_STATES, "all"]) or "live"
    with desk.memory(asked) as memory, memory.view as view:
        found = view.records_page(
            desk.settings.page + 1,
            asked.given("before"),
            None if kind is None else Kind(kind),
            None if said is None else Provenance(said),
            _STATES.get(state),
        )
        cards, older = _paged(record_cards(view, found), desk.settings.page)
    return desk.page(
        "records.html", asked, cards=cards, older=_address(asked, older), kinds=_KINDS, kind=kind,
        provenances=tuple(Provenance), provenance=said, state=state,
    )  # fmt: skip


def guidance(desk: Desk, asked: Asked) -> Response:
    """What binds: rules that were said and are kept word for word, and those of the server's rule files."""
    with desk.memory(asked) as memory, memory.view as view:
        found = view.records_page(desk.settings.page + 1, asked.given("before"), Kind.GUIDANCE, None, True)
        cards, older = _paged(record_cards(view, found), desk.settings.page)
    nodes = desk.rule_files.read(desk.rules)
    files = [(path, list(of_file)) for path, of_file in groupby(nodes, lambda node: node.path)]
    return desk.page(
        "guidance.html", asked, cards=cards, older=_address(asked, older), files=files, notices=nodes.notices,
        elevated=COMPACTION,
    )  # fmt: skip


def merges(desk: Desk, asked: Asked) -> Response:
    """Records that took in more than one statement, with all of them, to be judged."""
    with desk.memory(asked) as memory, memory.view as view:
        found = view.records_page(desk.settings.page + 1, asked.given("before"), live=True, merged=True)
        cards, older = _paged(record_cards(view, found), desk.settings.page)
        judged = [(card, statements_of(view, card.record)) for card in cards]
    return desk.page("merges.html", asked, judged=judged, older=_address(asked, older))


def _paged(cards: Sequence[_Card], most: int) -> tuple[list[_Card], str | None]:
    """What is shown, and the id behind which the next page begins."""
    shown = list(cards[:most])
    return shown, shown[-1].id if len(cards) > most else None


def _address(asked: Asked, before: str | None) -> str | None:
    return None if before is None else asked.address(before=before)


def _end_of(day: str) -> datetime:
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{day[:40]!r} is no day; give one as 2026-05-31") from error
