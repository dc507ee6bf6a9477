"""The one renderer: items in, framed text out, the same for every surface (CTX-6).

Text is made of whole lines, and each begins with a bracket, a bar or a word of the frame: a tokenizer that splits at
line ends (o200k, cl100k) counts the whole as the sum of its pieces, so a budget may be kept piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from holdfast.context.escape import encode, encode_field
from holdfast.context.frame import Frame, Tier
from holdfast.moments import read_moment

__all__ = ["BAR", "NAMED_FIELDS", "UNDATED", "Item", "day_line", "render", "render_item", "render_notice"]

UNDATED = "undated"
NAMED_FIELDS = ("speaker", "place")
BAR = "| "


@dataclass(frozen=True)
class Item:
    """One thing the context may hold. Every string may come from anyone: none of them is trusted."""

    id: str
    text: str
    origin: str
    """Who vouches for it: an origin of turns (user, tool, …) or a provenance of records (user_stated, …)."""
    kind: str
    """turn, fact, preference, guidance, rule, …"""
    at: datetime | None = None
    """When it was said, of which the day in UTC is shown; None for what has no date, as rules have none."""
    speaker: str = ""
    session: str = ""
    place: str = ""
    """Where an authored item stands, as FILE:LINE."""


def render(frame: Frame, tiers: Mapping[Tier, Sequence[Item]], notices: Iterable[str] = ()) -> str:
    """The whole block: the frame's words, then the parts that hold something, in the order of the tiers.

    Notices (the budget could not be kept, a model did not answer) come last: what stands before them stays the same.
    """
    pieces = [frame.opening]
    for tier in Tier:
        if items := tiers.get(tier):
            pieces.append(frame.heading(tier))
            pieces += (render_item(frame, item, after) for after, item in zip((None, *items), items, strict=False))
    pieces += (render_notice(frame, notice) for notice in notices)
    pieces.append(frame.closing)
    return "".join(pieces)


def render_item(frame: Frame, item: Item, after: Item | None = None) -> str:
    """One item as it stands behind `after` in its tier (None: first): its day and session where they change, the line
    that names it, and its text behind bars.
    """
    quoted = encode(item.text, frame.mark).replace("\n", "\n" + BAR)
    return f"{day_line(frame, item, after)}[{_source(frame, item)}]\n{BAR}{quoted}\n"


def day_line(frame: Frame, item: Item, after: Item | None) -> str:
    """The line of its day and session that an item begins with behind `after`; empty where none is needed."""
    if after is item:
        return ""
    day = _day(frame, item)
    return "" if day == (_day(frame, after) if after else f"[{UNDATED}]\n") else day


def render_notice(frame: Frame, notice: str) -> str:
    return frame.line("notice: " + encode_field(notice, frame.mark))


def _day(frame: Frame, item: Item) -> str:
    """`[on 2026-05-03, session s1]`: said once for the items that share it."""
    day = f"on {read_moment(item.at, item.at).date().isoformat()}" if item.at else UNDATED
    session = f", session {encode_field(item.session, frame.mark)}" if item.session else ""
    return f"[{day}{session}]\n"


def _source(frame: Frame, item: Item) -> str:
    """`id t-19a3, user, turn, speaker Ana`, or of a rule `id r7, authored, rule, place AGENTS.md:12`."""
    fields = ["id " + encode_field(item.id, frame.mark)]
    fields += (encode_field(value, frame.mark) for value in (item.origin, item.kind))
    named = ((name, getattr(item, name)) for name in NAMED_FIELDS)
    fields += (f"{name} {encode_field(value, frame.mark)}" for name, value in named if value)
    return ", ".join(fields)
