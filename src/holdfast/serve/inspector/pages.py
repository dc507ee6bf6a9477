"""The pages of the inspector."""

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
from holdfast.model import SIGNALS, Decision, Hit, Kind, Provenance, Record, Turn, utc_now
from holdfast.results import DayStats, Version
from holdfast.serve.inspector.format import RecordCard, by_time, card_of, histogram, record_cards, turn_cards
from holdfast.serve.inspector.views import Inspector, PageRequest
from holdfast.settings import Settings, sections
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import COMPACTION
from holdfast.text.jsonio import plain

# --- merged statements

_MAX_STATEMENTS = 12
"""A record that was said more often is judged by the first ones."""


@dataclass(frozen=True)
class MergedStatement:
    text: str
    turn: Turn | None
    cosine: float | None
    """Similarity to the record at that time; None for the first."""


def statements_of(view: Snapshot, record: Record) -> list[MergedStatement]:
    """Return the statements that were merged into a record, in log order, each text once."""
    found: dict[str, MergedStatement] = {}
    for number, turn_id in enumerate(record.turn_ids[:_MAX_STATEMENTS]):
        turn = view.turn(turn_id)
        if turn is None:
            continue
        comparisons = [_compared(decision) for decision in view.receipts(turn_id) if _is_about(decision, record)]
        compared = next((one for one in comparisons if one), None)
        if compared is None:
            found.setdefault(turn.text, MergedStatement(turn.text, turn, None))
            continue
        known, text, cosine = compared
        if number == 1:  # the first statement was the record itself
            first = view.turn(record.turn_ids[0])
            found = {known: MergedStatement(known, first, None)}
        found.setdefault(text, MergedStatement(text, turn, cosine))
    return list(found.values())


def _is_about(decision: Decision, record: Record) -> bool:
    return decision.what == "merged" and decision.details.get("record") == record.id


def _compared(decision: Decision) -> tuple[str, str, float] | None:
    compared = decision.details.get("compared")
    if not isinstance(compared, dict) or not {"known", "said", "cosine"} <= compared.keys():
        return None
    return str(compared["known"]), str(compared["said"]), float(compared["cosine"])


# --- lists

_KINDS = tuple(kind.value for kind in Kind if kind is not Kind.TURN)
_STATES = {"live": True, "past": False}
_DIGESTS = 20
"""Newest digests of a session that are shown above its turns."""


class _Named(Protocol):
    @property
    def id(self) -> str: ...


_Card = TypeVar("_Card", bound=_Named)


def timeline(inspector: Inspector, request: PageRequest) -> Response:
    """Show turns by day, newest first; with `day`, from that day back."""
    day = request.get("day")
    until = None if day is None else _end_of(day)
    with inspector.memory(request) as memory, memory.view as view:
        newest = view.recent_turns(inspector.settings.page + 1, until=until, before=request.get("before"))
        cards = turn_cards(view, list(newest))
    cards, older = _paged(cards, inspector.settings.page)
    days = [(day, list(turns)) for day, turns in groupby(cards, lambda card: card.turn.at.date())]
    return inspector.page("timeline.html", request, days=days, older=_page_url(request, older), day=day)


def sessions(inspector: Inspector, request: PageRequest) -> Response:
    with inspector.memory(request) as memory, memory.view as view:
        found = view.sessions(inspector.settings.page + 1, request.get("before"))
        count = view.counts().sessions
    more = len(found) > inspector.settings.page
    found = found[: inspector.settings.page]
    older = request.url(before=found[-1].name) if more else None
    return inspector.page("sessions.html", request, sessions=found, count=count, older=older)


def session(inspector: Inspector, request: PageRequest) -> Response:
    """Show one session from a given turn on, with the digests of its old turns."""
    name, after = request.require("name"), request.number("after", -1)
    with inspector.memory(request) as memory, memory.view as view:
        if view.session_number(name) is None:
            raise NotFound(f"there is no session {name!r} in this namespace")
        last = view.last_index(name)
        cards = turn_cards(view, view.thread(name, after, inspector.settings.page + 1))
        made = [
            record
            for kind in (Kind.SUMMARY, Kind.GUIDANCE)
            for record in view.recent_records(_DIGESTS, kind, None, None, name)
            if COMPACTION in record.metadata
        ]
        digests = record_cards(view, made) if after < 0 else []
    cards, more = _paged(cards, inspector.settings.page)
    later = request.url(after=str(cards[-1].turn.index)) if more else None
    return inspector.page("session.html", request, name=name, cards=cards, digests=digests, turns=last + 1, later=later)


def records(inspector: Inspector, request: PageRequest) -> Response:
    kind, provenance = request.choice("kind", _KINDS), request.choice("provenance", tuple(Provenance))
    state = request.choice("state", [*_STATES, "all"]) or "live"
    with inspector.memory(request) as memory, memory.view as view:
        found = view.recent_records(
            inspector.settings.page + 1,
            None if kind is None else Kind(kind),
            before=request.get("before"),
            provenance=None if provenance is None else Provenance(provenance),
            live=_STATES.get(state),
        )
        cards, older = _paged(record_cards(view, found), inspector.settings.page)
    return inspector.page(
        "records.html", request, cards=cards, older=_page_url(request, older), kinds=_KINDS, kind=kind,
        provenances=tuple(Provenance), provenance=provenance, state=state,
    )  # fmt: skip


def guidance(inspector: Inspector, request: PageRequest) -> Response:
    """Show guidance that was said and is kept word for word, and the rules of the server's files."""
    with inspector.memory(request) as memory, memory.view as view:
        found = view.recent_records(inspector.settings.page + 1, Kind.GUIDANCE, before=request.get("before"))
        cards, older = _paged(record_cards(view, found), inspector.settings.page)
    nodes = inspector.rule_files.read(inspector.rules)
    files = [(path, list(of_file)) for path, of_file in groupby(nodes, lambda node: node.path)]
    return inspector.page(
        "guidance.html", request, cards=cards, older=_page_url(request, older), files=files, notices=nodes.notices,
        elevated=COMPACTION,
    )  # fmt: skip


def merges(inspector: Inspector, request: PageRequest) -> Response:
    """Show records into which several statements were merged, to be judged."""
    with inspector.memory(request) as memory, memory.view as view:
        found = view.recent_records(inspector.settings.page + 1, before=request.get("before"), merged=True)
        cards, older = _paged(record_cards(view, found), inspector.settings.page)
        judged = [(card, statements_of(view, card.record)) for card in cards]
    return inspector.page("merges.html", request, judged=judged, older=_page_url(request, older))


def _paged(cards: Sequence[_Card], most: int) -> tuple[list[_Card], str | None]:
    """Return the cards of this page, and the id after which the next page begins."""
    shown = list(cards[:most])
    return shown, shown[-1].id if len(cards) > most else None


def _page_url(request: PageRequest, before: str | None) -> str | None:
    return None if before is None else request.url(before=before)


def _end_of(day: str) -> datetime:
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{day[:40]!r} is not a date; use the form 2026-05-31") from error


# --- one turn or record

_MAX_RELATED = 50
"""Turns of a record, and versions of it, that are listed."""
_SIGNAL_LABELS = {
    "g": "the score", "t": "technical", "h": "novelty", "r": "repetition", "d": "structure", "p": "specificity",
    "a": "action", "dtech": "technical structure", "gconv": "as talk", "gtech": "as work", "input_freq": "asked before",
    "mem_saturation": "known already",
}  # fmt: skip


def item(inspector: Inspector, request: PageRequest) -> Response:
    noun_id = request.require("id")
    with inspector.memory(request) as memory:
        reasons = memory.why(noun_id)
        with memory.view as view:
            card = card_of(view, noun_id)
            if card is None:  # erased between the two
                raise NotFound(f"there is no turn or record {noun_id!r} in this namespace")
            if isinstance(card, RecordCard):
                sources = turn_cards(view, reasons.turns[:_MAX_RELATED])
        if isinstance(card, RecordCard):
            chain: list[Version] = list(memory.history(noun_id).versions)[-_MAX_RELATED:]
            return inspector.page(
                "record.html", request, card=card, why=reasons, sources=sources, chain=chain,
                metadata=plain(card.record.metadata),
            )  # fmt: skip
    signals = [(name, _SIGNAL_LABELS[name], card.turn.signals[name]) for name in SIGNALS] if card.judged else []
    return inspector.page(
        "turn.html", request, card=card, why=reasons, signals=signals, metadata=plain(card.turn.metadata)
    )


def expand(inspector: Inspector, request: PageRequest) -> Response:
    """Show the turns behind a digest."""
    noun_id = request.require("id")
    with inspector.memory(request) as memory:
        turns = memory.expand(noun_id)
        with memory.view as view:
            cards = turn_cards(view, turns[:_MAX_RELATED])
    return inspector.page("expand.html", request, cards=cards, id=noun_id, more=max(len(turns) - _MAX_RELATED, 0))


def text(inspector: Inspector, request: PageRequest) -> Response:
    """Return a whole text as a file, so that nothing in it is read as markup."""
    with inspector.memory(request) as memory, memory.view as view:
        found = find(view, request.require("id"))
    name = "turn" if isinstance(found, Turn) else "record"
    shown = found.text if request.get("reveal") else mask(found.text).text
    return PlainTextResponse(shown, headers={"Content-Disposition": f'attachment; filename="{name}.txt"'})


# --- search and themes

_HITS = 20
_FILTERS = {"session": "", "since": "7 days ago", "until": "2026-05-31", "as_of": "2026-05-31"}
"""Text parameters of Memory.search that the form offers, with examples."""
_SEARCH_KINDS = tuple(kind.value for kind in Kind)
_PERIODS = (("7 days ago", "a week"), ("30 days ago", "30 days"), ("365 days ago", "a year"), ("all", "all"))


@dataclass(frozen=True)
class HitRow:
    hit: Hit
    words: float
    """Score by words, as a share of the best one."""
    meaning: float


def search(inspector: Inspector, request: PageRequest) -> Response:
    question = (request.get("q") or "").strip()
    kind = request.choice("kind", _SEARCH_KINDS)
    filters = {name: request.get(name) for name in _FILTERS}
    shared = {"q": question, "kind": kind, "kinds": _SEARCH_KINDS, "filters": filters, "examples": _FILTERS}
    if not question:
        return inspector.page("search.html", request, **shared, hits=None, receipt=None)
    with inspector.memory(request) as memory:
        found = memory.search(
            question, _HITS, kind, filters["session"], filters["since"], filters["until"], filters["as_of"]
        )
    best_words = max((hit.lexical for hit in found), default=0.0) or 1.0
    hits = [HitRow(hit, max(hit.lexical, 0.0) / best_words, min(max(hit.semantic, 0.0), 1.0)) for hit in found]
    return inspector.page("search.html", request, **shared, hits=hits, receipt=found.receipt)


def themes(inspector: Inspector, request: PageRequest) -> Response:
    """Show themes without a digest: opening a page must not call a chat model."""
    since = request.choice("since", [name for name, _ in _PERIODS]) or "30 days ago"
    with inspector.memory(request) as memory:
        found = memory.themes(None if since == "all" else since, digest=False)
    return inspector.page("themes.html", request, themes=found, receipt=found.receipt, since=since, periods=_PERIODS)


# --- overview

_OVERVIEW_PERIODS = (("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("all", "all"))
_NEWEST = 5  # turns


def _refused(day: DayStats) -> int:
    return sum(day.refused.values())


_COUNTS = (
    ("Turns judged", lambda day: day.turns),
    ("Promoted to records", lambda day: day.added + day.superseded),
    ("Merged", lambda day: day.merged + day.dropped),
    ("Refused", _refused),
)


def overview(inspector: Inspector, request: PageRequest) -> Response:
    period = request.choice("days", [name for name, _ in _OVERVIEW_PERIODS]) or "all"
    since = None if period == "all" else utc_now() - timedelta(days=int(period))
    with inspector.memory(request) as memory:
        status = memory.status()
        stats = memory.stats(since)
        scores = memory.calibrate()
        with memory.view as view:
            newest = turn_cards(view, list(view.recent_turns(_NEWEST)))
        gate = memory.settings.gate
    return inspector.page(
        "overview.html",
        request,
        status=status,
        stats=stats,
        newest=newest,
        mode=gate.conversation,
        refusals=list(stats.total.refused.items()),
        periods=_OVERVIEW_PERIODS,
        period=period,
        plots=by_time(stats.days, _COUNTS, inspector.settings.days),
        scores=histogram(scores.distribution, gate.threshold, scores.turns),
    )


# --- health and settings

_SECRET = ("key", "token", "secret", "password")
_RUNS = ("check", "doctor")


def health(inspector: Inspector, request: PageRequest) -> Response:
    run = request.choice("run", _RUNS)
    with inspector.memory(request) as memory:
        status = memory.status()
        problems = memory.check() if run == "check" else None
        too_many = status.records > inspector.settings.doctor_records
        diagnosis = memory.doctor(fix=False) if run == "doctor" and not too_many else None
        with memory.view as view:
            lines, models = view.line_counts(), view.models()
    return inspector.page(
        "health.html", request, status=status, place=_redact("", status.store), problems=problems, diagnosis=diagnosis,
        lines=lines, models=models, too_many=too_many,
    )  # fmt: skip


def settings(inspector: Inspector, request: PageRequest) -> Response:
    known, default = inspector.memories.settings, Settings()
    rows = [(name, list(_rows(group, getattr(default, name)))) for name, group in sections(known)]
    general = [("namespace", _redact("namespace", known.namespace), False)]
    return inspector.page(
        "settings.html", request, sections=[("general", general), *rows], bound=inspector.memories.bound
    )


def _rows(known: object, default: object) -> Iterator[tuple[str, str, bool]]:
    """Yield (name, value, whether it was changed)."""
    assert is_dataclass(known)
    for field in fields(known):
        value = getattr(known, field.name)
        if is_dataclass(value):
            for name, shown, changed in _rows(value, getattr(default, field.name)):
                yield f"{field.name}.{name}", shown, changed
            continue
        yield field.name, _redact(field.name, value), value != getattr(default, field.name)


def _redact(name: str, value: object) -> str:
    """Return a value without passwords in URLs, keys, and what looks like one."""
    if isinstance(value, str) and value and any(name.endswith(word) for word in _SECRET):
        return "set, not shown"
    if not isinstance(value, str):
        return str(value)
    return mask(_without_password(value)).text


def _without_password(value: str) -> str:
    if "@" not in value or "://" not in value:
        return value
    try:
        parts = urlsplit(value)
    except ValueError:  # not a URL after all
        return value
    return urlunsplit(parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}"))
