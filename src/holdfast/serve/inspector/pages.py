"""Lists, a page at a time: turns by day, sessions, records, guidance, and merges to judge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Protocol, TypeVar
from urllib.parse import urlsplit, urlunsplit

from starlette.responses import PlainTextResponse, Response

from holdfast.admit.secrets import mask
from holdfast.errors import InputError, NotFound
from holdfast.insight.lookup import find
from holdfast.model import SIGNALS, Decision, Hit, Kind, Provenance, Record, Turn
from holdfast.results import DayStats, Version
from holdfast.serve.inspector.format import RecordCard, by_time, card_of, histogram, record_cards, turn_cards
from holdfast.serve.inspector.views import Asked, Desk
from holdfast.settings import Settings
from holdfast.store.protocol import Snapshot
from holdfast.store.types import COMPACTION
from holdfast.text.jsonio import plain
from holdfast.text.time import utc_now

# --- What was taken for one: the statements that a record took in, as admission compared them.


_MOST = 12
"""Statements side by side: a record that was said more often is judged by the first ones."""


@dataclass(frozen=True)
class Statement:
    text: str
    turn: Turn | None
    """Where it was said."""
    cosine: float | None
    """How near it was to what was known then; None for the first."""


def statements_of(view: Snapshot, record: Record) -> list[Statement]:
    """In the order of the log; each text once. Without a receipt, the turn speaks for itself."""
    found: dict[str, Statement] = {}
    for number, turn_id in enumerate(record.turn_ids[:_MOST]):
        turn = view.turn(turn_id)
        if turn is None:
            continue
        told = [_compared(decision) for decision in view.receipts(turn_id) if _is_about(decision, record)]
        compared = next((one for one in told if one), None)
        if compared is None:
            found.setdefault(turn.text, Statement(turn.text, turn, None))
            continue
        known, said, cosine = compared
        if number == 1:  # the first statement was the record itself then
            first = view.turn(record.turn_ids[0])
            found = {known: Statement(known, first, None)}
        found.setdefault(said, Statement(said, turn, cosine))
    return list(found.values())


def _is_about(decision: Decision, record: Record) -> bool:
    return decision.what == "merged" and decision.details.get("record") == record.id


def _compared(decision: Decision) -> tuple[str, str, float] | None:
    compared = decision.details.get("compared")
    if not isinstance(compared, dict) or not {"known", "said", "cosine"} <= compared.keys():
        return None
    return str(compared["known"]), str(compared["said"]), float(compared["cosine"])


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


# --- One turn or record from close by: its text, its reasons, where it came from, what became of it.


_LOOK_MOST = 50
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
                sources = turn_cards(view, reasons.turns[:_LOOK_MOST])
        if isinstance(card, RecordCard):
            chain: list[Version] = list(memory.history(noun_id).versions)[-_LOOK_MOST:]
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
            cards = turn_cards(view, turns[:_LOOK_MOST])
    return desk.page("expand.html", asked, cards=cards, id=noun_id, more=max(len(turns) - _LOOK_MOST, 0))


def text(desk: Desk, asked: Asked) -> Response:
    """All of a text as a file: nothing in it is read as markup."""
    with desk.memory(asked) as memory, memory.view as view:
        found = find(view, asked.needed("id"))
    name = "turn" if isinstance(found, Turn) else "record"
    return PlainTextResponse(found.text, headers={"Content-Disposition": f'attachment; filename="{name}.txt"'})


# --- Asking: a search with its reasons, and what a time was about.


_HITS = 20
_SEEK_KINDS = tuple(kind.value for kind in Kind)
_PERIODS = (("7 days ago", "a week"), ("30 days ago", "30 days"), ("365 days ago", "a year"), ("all", "all"))


@dataclass(frozen=True)
class ShownHit:
    hit: Hit
    words: float
    meaning: float
    """Of the best hit by words, and by meaning, as a share: what the bars show."""


def search(desk: Desk, asked: Asked) -> Response:
    question = (asked.given("q") or "").strip()
    kind = asked.chosen("kind", _SEEK_KINDS)
    given = {name: asked.given(name) for name in ("session", "since", "until", "as_of")}
    if not question:
        return desk.page("search.html", asked, q="", kind=kind, kinds=_SEEK_KINDS, given=given, hits=None, receipt=None)
    with desk.memory(asked) as memory:
        found = memory.search(
            question, _HITS, kind, given["session"], given["since"], given["until"], given["as_of"]
        )  # fmt: skip
    best_words = max((hit.lexical for hit in found), default=0.0) or 1.0
    hits = [ShownHit(hit, max(hit.lexical, 0.0) / best_words, min(max(hit.semantic, 0.0), 1.0)) for hit in found]
    return desk.page(
        "search.html", asked, q=question, kind=kind, kinds=_SEEK_KINDS, given=given, hits=hits, receipt=found.receipt
    )  # fmt: skip


def themes(desk: Desk, asked: Asked) -> Response:
    """Without a chat model's digest: a page that is opened must not call one."""
    since = asked.chosen("since", [name for name, _ in _PERIODS]) or "30 days ago"
    with desk.memory(asked) as memory:
        found = memory.themes(None if since == "all" else since, digest=False)
    return desk.page("themes.html", asked, themes=found, receipt=found.receipt, since=since, periods=_PERIODS)


# --- The first page: how much there is, whether all is well, and how the gates behaved.


_OVERVIEW_PERIODS = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("all", "all"))
_NEWEST = 5
"""Turns on the first page."""


def _refused(day: DayStats) -> int:
    return sum(day.refused.values())


_READINGS = (
    ("Turns judged", lambda day: day.turns),
    ("Promoted to records", lambda day: day.added + day.superseded),
    ("Merged", lambda day: day.merged + day.dropped),
    ("Refused", _refused),
)


def overview(desk: Desk, asked: Asked) -> Response:
    period = asked.chosen("days", [name for name, _ in _OVERVIEW_PERIODS]) or "all"
    since = None if period == "all" else utc_now() - timedelta(days=int(period))
    with desk.memory(asked) as memory:
        status = memory.status()
        stats = memory.stats(since)
        scores = memory.calibrate()
        with memory.view as view:
            newest = turn_cards(view, view.turns_page(_NEWEST))
        gate = memory.settings.gate
    return desk.page(
        "overview.html",
        asked,
        status=status,
        stats=stats,
        newest=newest,
        mode=gate.conversation,
        refusals=list(stats.total.refused.items()),
        periods=_OVERVIEW_PERIODS,
        period=period,
        plots=by_time(stats.days, _READINGS, desk.settings.days),
        scores=histogram(scores.distribution, gate.threshold, scores.turns),
    )


# --- Whether all is well, and what the server was set to. Nothing here changes anything.


_SECRET = ("key", "token", "secret", "password")
_RUNS = ("check", "doctor")


def health(desk: Desk, asked: Asked) -> Response:
    run = asked.chosen("run", _RUNS)
    with desk.memory(asked) as memory:
        status = memory.status()
        faults = memory.check() if run == "check" else None
        too_many = status.records > desk.settings.doctor_records
        diagnosis = memory.doctor(fix=False) if run == "doctor" and not too_many else None
        with memory.view as view:
            lines, models = view.line_counts(), view.models()
    return desk.page(
        "health.html", asked, status=status, place=_shown("", status.store), faults=faults, diagnosis=diagnosis,
        lines=lines, models=models, too_many=too_many,
    )  # fmt: skip


def settings(desk: Desk, asked: Asked) -> Response:
    known, usual = desk.memories.settings, Settings()
    sections = [
        (field.name, list(_rows(getattr(known, field.name), getattr(usual, field.name))))
        for field in fields(Settings)
        if is_dataclass(getattr(known, field.name))
    ]
    loose = [(name, _shown(name, value), False) for name, value in (("namespace", known.namespace),)]
    return desk.page("settings.html", asked, sections=[("general", loose), *sections], bound=desk.memories.bound)


def _rows(known: object, usual: object) -> Iterator[tuple[str, str, bool]]:
    """(name, value, whether it was changed)"""
    assert is_dataclass(known)
    for field in fields(known):
        value = getattr(known, field.name)
        yield field.name, _shown(field.name, value), value != getattr(usual, field.name)


def _shown(name: str, value: object) -> str:
    """A value without what must not be read over a shoulder: passwords in addresses, keys, what looks like one."""
    if isinstance(value, str) and value and any(name.endswith(word) for word in _SECRET):
        return "set, and not shown"
    if not isinstance(value, str):
        return str(value)
    return mask(_without_password(value)).text


def _without_password(value: str) -> str:
    if "@" not in value or "://" not in value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError:  # no address after all
        return value
    return urlunsplit(parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}"))
