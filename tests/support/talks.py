"""A conversation of our own for compaction: a week of a person, an assistant and a tool."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from holdfast.model import Origin, Role, Turn

__all__ = ["BEGIN", "FERRY", "talk", "turn"]

BEGIN = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
_ORIGIN = {
    Role.USER: Origin.USER,
    Role.ASSISTANT: Origin.ASSISTANT,
    Role.TOOL: Origin.TOOL,
    Role.SYSTEM: Origin.SYSTEM,
}


def turn(
    index: int,
    text: str,
    role: str = "user",
    *,
    at: datetime | None = None,
    speaker: str | None = None,
    g: float = 0.0,
) -> Turn:
    """A turn of the session "s", five minutes after the one before unless told otherwise."""
    who = Role(role)
    when = at or BEGIN + timedelta(minutes=5 * index)
    metadata = {} if speaker is None else {"speaker": speaker}
    return Turn(
        f"t{index:04}", "ivo", "s", index, who, _ORIGIN[who], text, when, when, 0.5, index, None, metadata, {"g": g}
    )


def talk(lines: str, begin: datetime = BEGIN) -> list[Turn]:
    """One turn a line, "role: text"; a line "+1 day" moves the time on."""
    turns: list[Turn] = []
    at = begin
    for line in lines.strip().splitlines():
        if line.startswith("+"):
            at += timedelta(days=int(line[1:].split()[0]))
            continue
        role, _, text = line.strip().partition(": ")
        turns.append(turn(len(turns), text, role, at=at + timedelta(minutes=len(turns))))
    return turns


FERRY = talk(
    """
user: Hi there!
assistant: Hello! How can I help you today?
user: I moved to Tromsø in January and I teach chemistry at the Brenna school now.
assistant: That sounds wonderful! How are you settling in?
user: Well enough. My landlady is called Solveig Aas and the rent is 9,400 kroner a month.
assistant: Noted. Is there anything you need for the flat?
user: The ferry to Senja leaves at 07:15 on Saturdays, I booked it for the 14th of March.
tool: {"tool": "calendar.create", "title": "Ferry to Senja", "start": "2026-03-14T07:15", "status": "confirmed"}
assistant: It is in your calendar.
user: thanks!!
+1 day
user: Yesterday I dropped the telescope and the mirror has a crack. A new one costs 210 euros at Kverneland Optikk.
assistant: I'm sorry to hear that. Do you want me to look for a used one?
user: Yes please. My budget is 150 euros.
assistant: I will look for used mirrors below 150 euros.
user: My budget for the mirror is 150 euros, as I said.
user: ok
+1 day
user: We decided to hold the science fair in the gym instead of the library, on 24 April.
assistant: The science fair moves to the gym. How many groups are there?
user: Eleven, with three pupils each.
user: great, talk soon
"""
)
