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

# A run this long does not repeat by chance, so it counts as heard before wherever it stands in the session.
_TELLING_RUN = 4
# How many of the session's last turns a host may have left out of the history it sends again.
_NEAR_END = 16
# The diff of edited histories compares at most this many of the session's last turns.
_DIFF_WINDOW = 2000


@dataclass(frozen=True)
class Place:
    """What alignment knows of a turn that is already in the log."""

    index: int
    digest: bytes
    at: datetime | None
    """When it was said, if the caller gave a time; None if the clock did, which proves nothing."""
    role: Role
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
    found = iter(_lay(session, [_Said(turn, digest(turn.role, turn.text)) for turn in keyless]))
    return [next(found) if turn.key is None else None for turn in turns]


@dataclass(frozen=True)
class _Said:
    turn: NewTurn
    mark: bytes

    def is_at(self, place: Place) -> bool:
        if place.digest != self.mark:
            return False
        return place.at is None or not self.turn.at_given or place.at == self.turn.at


def _lay(session: Sequence[Place], said: Sequence[_Said]) -> list[int | None]:
    if not said or not session:
        return [None] * len(said)
    if all(one.turn.at_given for one in said) and all(place.at is not None for place in session):
        return _by_time(session, said)
    if whole := _without_gap(session, said):
        return whole
    # System prompts are sent anew with each history, and change: one that is known is not said again, and none of
    # them is part of the talk that is aligned.
    spoken = [one for one in said if one.turn.role is not Role.SYSTEM]
    heard = iter(_talk([place for place in session if place.role is not Role.SYSTEM], spoken))
    prompts = {place.digest: place.index for place in session if place.role is Role.SYSTEM}
    return [prompts.get(one.mark) if one.turn.role is Role.SYSTEM else next(heard) for one in said]


def _by_time(session: Sequence[Place], said: Sequence[_Said]) -> list[int | None]:
    """Role, text and time are the turn; the same again at the same time is another only if it comes more often."""
    known: dict[tuple[bytes, datetime | None], list[int]] = {}
    for place in reversed(session):
        known.setdefault((place.digest, place.at), []).append(place.index)
    found = []
    for one in said:
        indexes = known.get((one.mark, one.turn.at))
        found.append(indexes.pop() if indexes else None)
    return found


def _talk(session: Sequence[Place], said: Sequence[_Said]) -> list[int | None]:
    if not said or not session:
        return [None] * len(said)
    return _without_gap(session, said) or _at_the_end(session, said) or _edited(session, said)


def _without_gap(session: Sequence[Place], said: Sequence[_Said]) -> list[int | None] | None:
    """The leading turns lie on the session without a gap: the longest such run, the latest of equals."""
    best = (0, 0)
    for start in range(len(session)):
        if session[start].digest != said[0].mark:
            continue
        reach = min(len(said), len(session) - start)
        if reach < best[1] or not all(said[i].is_at(session[start + i]) for i in range(reach)):
            continue
        if start == 0 or start + reach == len(session) or reach >= _TELLING_RUN:
            best = (start, reach)
    start, length = best
    if not length:
        return None
    return [session[start + i].index if i < length else None for i in range(len(said))]


def _at_the_end(session: Sequence[Place], said: Sequence[_Said]) -> list[int | None] | None:
    """The leading turns are the session's last ones, but for some that the host left out: fewer than it kept."""
    # What is new stands at the end of the list, so the last turn the session knows must lie near the session's end.
    near = {place.digest for place in session[-_NEAR_END:]}
    counts = [number + 1 for number, one in enumerate(said) if one.mark in near][-_NEAR_END:]
    for count in reversed(counts):
        found: list[int | None] = [None] * len(said)
        at, left_out = count - 1, 0
        for place in reversed(session):
            if said[at].is_at(place):
                found[at] = place.index
                at -= 1
            elif place.role is not Role.TOOL:
                left_out += 1
            if at < 0 or left_out > count - at:
                break
        if at < 0 and left_out < count:
            return found
    return None


def _edited(session: Sequence[Place], said: Sequence[_Said]) -> list[int | None]:
    """The history was edited in the middle: long runs in common are what was heard, the rest is new."""
    window = session[-_DIFF_WINDOW:]
    found: list[int | None] = [None] * len(said)
    matcher = SequenceMatcher(None, [place.digest for place in window], [one.mark for one in said], autojunk=False)
    anchored = False
    for block in matcher.get_matching_blocks():
        reaches_end = block.size > 1 and block.a + block.size == len(window)
        anchored = anchored or block.size >= _TELLING_RUN or reaches_end
        for i in range(block.size if anchored else 0):
            place = window[block.a + i]
            if said[block.b + i].is_at(place):
                found[block.b + i] = place.index
    return found
