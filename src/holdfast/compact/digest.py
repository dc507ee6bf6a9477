"""What a summary looks like: a date for each day, and below it who said what, in the order of time.

The date stands by every line, so that "yesterday" and "next week" in it mean what they meant when it was said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from holdfast.model import Turn

__all__ = ["Line", "Method", "Part", "Summary", "day_of", "render", "speaker_of"]

Method = Literal["extractive", "abstractive"]
_SPEAKER_CHARS = 40
_ENDS = (".", "!", "?", "…", ":", ";", ",", "。", "！", "？", '"', "”", ")")


@dataclass(frozen=True, slots=True)
class Part:
    """A turn, and what of its text is to be summarised: without the guidance that survives word for word (COMP-2)."""

    turn: Turn
    text: str

    @classmethod
    def whole(cls, turn: Turn) -> Part:
        return cls(turn, turn.text)


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said, and in which turn."""

    turn: Turn
    text: str
    own: bool = True
    """In the speaker's own words; else it is told of the turn."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A digest of a cluster, how far it can be trusted, and where it comes from (COMP-6, COMP-7)."""

    text: str
    method: Method
    alignment: float
    """Cosine of the summary and its cluster."""
    coverage: float
    """Share of what the cluster tells that the summary tells too."""
    turn_ids: tuple[str, ...]
    """Of every turn of the cluster, in order of time: what `expand` gives back."""
    since: datetime
    until: datetime

    @property
    def confidence(self) -> float:
        """In [0, 1]; the weaker side decides more: well aligned with half of a cluster is not well."""
        return max(0.0, min(1.0, self.alignment * self.coverage)) ** 0.5 if self.alignment > 0 else 0.0

    @property
    def decay_rate(self) -> float:
        return 1.0 - self.confidence


def speaker_of(turn: Turn) -> str:
    """The name that the caller gave the speaker, or the role. On one line: it stands at the beginning of one."""
    name = turn.metadata.get("speaker")
    given = " ".join(name.split())[:_SPEAKER_CHARS] if isinstance(name, str) else ""
    return given or turn.role.value


def day_of(turn: Turn) -> str:
    return turn.at.astimezone(UTC).date().isoformat()


def render(lines: Iterable[Line]) -> str:
    """The lines under their days, what was said in one turn on one line."""
    shown: list[str] = []
    day = turn = ""
    for line in lines:
        if (today := day_of(line.turn)) != day:
            day = today
            shown.append(day)
        if not line.own:
            shown.append(f"- {line.text}")
        elif line.turn.id == turn:
            shown[-1] += f"{' ' if shown[-1].endswith(_ENDS) else '; '}{line.text}"
        else:
            turn = line.turn.id
            shown.append(f"{speaker_of(line.turn)}: {line.text}")
    return "\n".join(shown)
