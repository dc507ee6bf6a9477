"""A conversation handed over again adds only what is new (LOG-7).

Hosts send a rolling history: the whole conversation, or its last messages, again with every call. Without keys the
only evidence is the sequence itself, so the new list is laid onto the session's own: the same role and text at the
same place is the same turn, and a second "ok" further on is a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from hashlib import blake2b

from holdfast.model import NewTurn, Role

__all__ = ["Place", "align", "digest"]

# A run this long does not repeat by chance, so it counts as heard before wherever it stands in the session.
_TELLING_RUN = 4
# The diff of edited histories compares at most this many of the session's last turns.
_DIFF_WINDOW = 2000


@dataclass(frozen=True, slots=True)
class Place:
    """What alignment knows of a turn that is already in the log."""

    index: int
    digest: bytes
    at: datetime | None
    """When it was said, if the caller gave a time; None if the clock did, which proves nothing."""
    keyed: bool = False


def digest(role: Role, text: str) -> bytes:
    """Eight bytes that stand for a role and a text."""
    return blake2b(text.encode(), digest_size=8, person=role.value.encode()).digest()


def align(session: Sequence[Place], turns: Sequence[NewTurn]) -> list[int | None]:
    """For each turn the index of the session's turn that it is, or None if the session does not hold it yet.

    Turns with a key are left to the key: they are None here, and the log knows a key when it sees one again.
    """
    keyless = [turn for turn in turns if turn.key is None]
    if len(keyless) < len(turns):  # in a list that uses keys, only what came without one can be repeated without one
        session = [place for place in session if not place.keyed]
    found = iter(_lay(session, keyless))
    return [next(found) if turn.key is None else None for turn in turns]


def _lay(session: Sequence[Place], turns: Sequence[NewTurn]) -> list[int | None]:
    if not turns or not session:
        return [None] * len(turns)
    marks = [digest(turn.role, turn.text) for turn in turns]
    start, length = _overlap(session, turns, marks)
    if length:
        return [session[start + i].index if i < length else None for i in range(len(turns))]
    return _edited(session, turns, marks)


def _same(place: Place, turn: NewTurn, mark: bytes) -> bool:
    if place.digest != mark:
        return False
    return place.at is None or not turn.at_given or place.at == turn.at


def _overlap(session: Sequence[Place], turns: Sequence[NewTurn], marks: Sequence[bytes]) -> tuple[int, int]:
    """Where the leading turns lie on the session without a gap, and how many: the longest run, the latest of equals."""
    best = (0, 0)
    for start in range(len(session)):
        if session[start].digest != marks[0]:
            continue
        reach = min(len(turns), len(session) - start)
        if reach < best[1] or not all(_same(session[start + i], turns[i], marks[i]) for i in range(reach)):
            continue
        if start == 0 or start + reach == len(session) or reach >= _TELLING_RUN:
            best = (start, reach)
    return best


def _edited(session: Sequence[Place], turns: Sequence[NewTurn], marks: Sequence[bytes]) -> list[int | None]:
    """The history was edited (a new system prompt, a dropped message): long runs in common are what was heard."""
    window = session[-_DIFF_WINDOW:]
    found: list[int | None] = [None] * len(turns)
    matcher = SequenceMatcher(None, [place.digest for place in window], list(marks), autojunk=False)
    anchored = False
    for block in matcher.get_matching_blocks():
        reaches_end = block.size > 1 and block.a + block.size == len(window)
        anchored = anchored or block.size >= _TELLING_RUN or reaches_end
        if anchored:
            for i in range(block.size):
                place = window[block.a + i]
                if _same(place, turns[block.b + i], marks[block.b + i]):
                    found[block.b + i] = place.index
    if anchored:  # system prompts are sent anew with each history; one that is known is not said again
        known = {place.digest: place.index for place in session}
        for number, turn in enumerate(turns):
            if turn.role is Role.SYSTEM and found[number] is None:
                found[number] = known.get(marks[number])
    return found
