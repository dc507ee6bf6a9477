"""A rendered block read back, line by line: what shows that stored text wrote none of its lines."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from holdfast.context.escape import decode
from holdfast.context.frame import Frame, Tier
from holdfast.context.render import BAR, NAMED_FIELDS, UNDATED, Item, render
from holdfast.errors import InputError

__all__ = ["Parsed", "parse"]

_POSITIONAL = 3  # id, origin, kind; the rest are named
_SESSION = ", session "


@dataclass(frozen=True)
class Parsed:
    tiers: dict[Tier, list[Item]] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)


def parse(frame: Frame, text: str) -> Parsed:
    """The items and notices of a block that this frame's renderer wrote; InputError names the first line it did not."""
    if not text.startswith(frame.opening) or not text.endswith(frame.closing):
        raise InputError(f"this is not a block of the frame {frame.mark}: its first or last line is missing")
    parsed = Parsed()
    tiers = iter(Tier)
    notice, end = frame.line("notice: \n").split("\n", 1)
    lines = text[len(frame.opening) : -len(frame.closing)].split("\n")[:-1]
    day, sources = f"[{UNDATED}]", list[_Quoted]()
    for number, line in enumerate(lines, 1 + frame.opening.count("\n")):
        if line.startswith(notice):
            parsed.notices.append(decode(line[len(notice) : -len(end) + 1]))
        elif parsed.notices:
            raise InputError(f"line {number} of the block follows a notice: {line[:80]!r}")
        elif line.startswith("[["):
            tier = next((tier for tier in tiers if line + "\n" == frame.heading(tier)), None)
            if tier is None:
                raise InputError(f"line {number} of the block is no heading of the frame {frame.mark}: {line[:80]!r}")
            parsed.tiers[tier] = []
            day = f"[{UNDATED}]"
        elif line.startswith(BAR) and sources:
            sources[-1].lines.append(line[len(BAR) :])
        elif line.startswith("[id ") and parsed.tiers:
            sources.append(_Quoted(parsed.tiers[list(parsed.tiers)[-1]], day, line))
        elif line.startswith(("[on ", f"[{UNDATED}")) and parsed.tiers:
            day = line
        else:
            raise InputError(f"line {number} of the block is neither the frame's nor quoted: {line[:80]!r}")
    for quoted in sources:
        quoted.tier.append(_item(quoted))
    if render(frame, parsed.tiers, parsed.notices) != text:
        raise InputError(f"this block of the frame {frame.mark} reads like one, but its renderer writes it otherwise")
    return parsed


@dataclass(frozen=True)
class _Quoted:
    tier: list[Item]
    day: str
    source: str
    lines: list[str] = field(default_factory=list)


def _item(quoted: _Quoted) -> Item:
    day, _, session = quoted.day[1:-1].partition(_SESSION)
    fields = quoted.source[1:-1].split(", ")
    if not quoted.source.endswith("]") or len(fields) < _POSITIONAL:
        raise InputError(f"no source is named by {quoted.source[:80]!r}")
    named = dict.fromkeys(NAMED_FIELDS, "")
    for one in fields[_POSITIONAL:]:
        name, _, value = one.partition(" ")
        if name not in named:
            raise InputError(f"an item has no field {name!r}: {quoted.source[:80]!r}")
        named[name] = decode(value)
    return Item(
        id=decode(fields[0].removeprefix("id ")),
        text=decode("\n".join(quoted.lines)),
        origin=decode(fields[1]),
        kind=decode(fields[2]),
        at=None if day == UNDATED else _midnight(day.removeprefix("on ")),
        session=decode(session),
        **named,
    )


def _midnight(day: str) -> datetime:
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"no day is named by {day[:80]!r}") from error
