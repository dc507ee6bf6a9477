"""Transcripts with labels: conversations whose user turns say what of them should be remembered. One message a line.

    {"session": "s1", "role": "user", "content": "I moved to Ghent. Thanks!", "facts": ["I moved to Ghent"]}

`facts` may be empty (nothing should be remembered); a turn without it is context that nobody judged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.errors import InputError
from holdfast.json_lines import complain, lines_of_file
from holdfast.log.messages import read_message
from holdfast.model import NewTurn, Role, Turn
from holdfast.settings import LogSettings

__all__ = ["Labelled", "labelled_of_file", "read_labelled"]

_NAMELESS = "transcript"
_START = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of messages that give none: the same on every day, so that a comparison is."""


@dataclass(frozen=True)
class Labelled:
    """A user turn, what was said before it in its session, and what should be remembered of it."""

    turn: Turn
    before: tuple[Turn, ...]
    facts: tuple[str, ...]


def labelled_of_file(path: str | os.PathLike[str]) -> list[Labelled]:
    return _read(lines_of_file(path))


def read_labelled(messages: Iterable[Mapping[str, object]]) -> list[Labelled]:
    return _read((f"message {number}", message) for number, message in enumerate(messages, 1))


def _read(given: Iterable[tuple[str, object]]) -> list[Labelled]:
    sessions: dict[str, list[Turn]] = {}
    labelled: list[Labelled] = []
    faults: list[str] = []
    for number, (where, message) in enumerate(given):
        if not isinstance(message, Mapping):
            faults.append(f"{where}: no JSON object")
            continue
        facts = message.get("facts")
        if facts is not None and not (isinstance(facts, list | tuple) and all(isinstance(one, str) for one in facts)):
            faults.append(f'{where}: "facts" must be a list of texts')
            continue
        session = str(message.get("session") or _NAMELESS)
        said = {name: value for name, value in message.items() if name not in ("facts", "session")}
        new = read_message(said, number=number, now=_START, settings=LogSettings())
        if new is None:  # a heartbeat
            continue
        thread = sessions.setdefault(session, [])
        turn = _turn(new, number, session, len(thread))
        if facts is not None and new.role is Role.USER:
            labelled.append(Labelled(turn, tuple(thread), tuple(facts)))
        thread.append(turn)
    complain(faults)
    if not labelled:
        raise InputError(
            'no user turn carries "facts": give each one that was judged a list, empty where there is none'
        )
    return labelled


def _turn(new: NewTurn, number: int, session: str, index: int) -> Turn:
    return Turn(
        id=f"t-{number}", namespace=_NAMELESS, session=session, index=index, role=new.role, origin=new.origin,
        text=new.text, at=new.at, recorded_at=_START, stability=new.stability, seq=number + 1,
    )  # fmt: skip
