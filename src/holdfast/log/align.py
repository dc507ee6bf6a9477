"""Alignment of a conversation with its session, so that a history that is ingested again adds only new turns (LOG-7).

Hosts send a rolling history: the whole conversation, or its last messages, again with every call. Without keys the
only evidence is the sequence, so the new list is aligned with the session: the same role and text at the same place is
the same turn, and a second "ok" further on is a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from hashlib import blake2b

from holdfast.model import NewTurn, Role

_CERTAIN_RUN = 4  # turns: a run this long does not repeat by chance, so it is known wherever it is in the session
_NEAR_END = 16  # of the session's last turns, those that a host may have left out of the history it sends again
_DIFF_WINDOW = 2000  # of the session's last turns, those that the diff of edited histories compares


@dataclass(frozen=True)
class TurnPlace:
    """A turn of the log, as alignment needs it."""

    index: int
    digest: bytes
    at: datetime | None
    """Its time, if the caller gave one; None for the time of the clock, which proves nothing."""
    role: Role
    keyed: bool = False


def digest(role: Role, text: str) -> bytes:
    """Return eight bytes that identify a role and a text."""
    return blake2b(text.encode(), digest_size=8, person=role.value.encode()).digest()


def align(session: Sequence[TurnPlace], turns: Sequence[NewTurn]) -> list[int | None]:
    """Return the index in the session for each turn that it contains already, and None for new turns.

    Turns with a key are None here: the log recognises the key.
    """
    keyless = [turn for turn in turns if turn.key is None]
    if len(keyless) < len(turns):  # in a list that uses keys, only what came without one can be repeated without one
        session = [place for place in session if not place.keyed]
    found = iter(_align(session, [_NewTurn(turn, digest(turn.role, turn.text)) for turn in keyless]))
    return [next(found) if turn.key is None else None for turn in turns]


@dataclass(frozen=True)
class _NewTurn:
    turn: NewTurn
    mark: bytes

    def is_at(self, place: TurnPlace) -> bool:
        if place.digest != self.mark:
            return False
        return place.at is None or not self.turn.at_given or place.at == self.turn.at


def _align(session: Sequence[TurnPlace], new: Sequence[_NewTurn]) -> list[int | None]:
    if not new or not session:
        return [None] * len(new)
    if all(one.turn.at_given for one in new) and all(place.at is not None for place in session):
        return _by_time(session, new)
    if whole := _without_gap(session, new):
        return whole
    # System prompts are sent again with each history, and change: they are compared on their own.
    spoken = [one for one in new if one.turn.role is not Role.SYSTEM]
    known = iter(_align_talk([place for place in session if place.role is not Role.SYSTEM], spoken))
    prompts = {place.digest: place.index for place in session if place.role is Role.SYSTEM}
    return [prompts.get(one.mark) if one.turn.role is Role.SYSTEM else next(known) for one in new]


def _by_time(session: Sequence[TurnPlace], new: Sequence[_NewTurn]) -> list[int | None]:
    """Compare role, text and time; the same again at the same time is a new turn only if it occurs more often."""
    known: dict[tuple[bytes, datetime | None], list[int]] = {}
    for place in reversed(session):
        known.setdefault((place.digest, place.at), []).append(place.index)
    found = []
    for one in new:
        indexes = known.get((one.mark, one.turn.at))
        found.append(indexes.pop() if indexes else None)
    return found


def _align_talk(session: Sequence[TurnPlace], new: Sequence[_NewTurn]) -> list[int | None]:
    if not new or not session:
        return [None] * len(new)
    return _without_gap(session, new) or _at_the_end(session, new) or _edited(session, new)


def _without_gap(session: Sequence[TurnPlace], new: Sequence[_NewTurn]) -> list[int | None] | None:
    """Find the longest run of the session that the list begins with; of equally long ones, the latest."""
    best = (0, 0)
    for start in range(len(session)):
        if session[start].digest != new[0].mark:
            continue
        reach = min(len(new), len(session) - start)
        if reach < best[1] or not all(new[i].is_at(session[start + i]) for i in range(reach)):
            continue
        if start == 0 or start + reach == len(session) or reach >= _CERTAIN_RUN:
            best = (start, reach)
    start, length = best
    if not length:
        return None
    return [session[start + i].index if i < length else None for i in range(len(new))]


def _at_the_end(session: Sequence[TurnPlace], new: Sequence[_NewTurn]) -> list[int | None] | None:
    """Find the session's last turns at the beginning of the list, without some that the host left out.

    The host may have left out fewer turns than it kept.
    """
    # New turns are at the end of the list, so the last known turn must be near the end of the session.
    near = {place.digest for place in session[-_NEAR_END:]}
    counts = [number + 1 for number, one in enumerate(new) if one.mark in near][-_NEAR_END:]
    for count in reversed(counts):
        found: list[int | None] = [None] * len(new)
        at, left_out = count - 1, 0
        for place in reversed(session):
            if new[at].is_at(place):
                found[at] = place.index
                at -= 1
            elif place.role is not Role.TOOL:
                left_out += 1
            if at < 0 or left_out > count - at:
                break
        if at < 0 and left_out < count:
            return found
    return None


def _edited(session: Sequence[TurnPlace], new: Sequence[_NewTurn]) -> list[int | None]:
    """Find long runs that an edited history and the session have in common; the rest is new."""
    window = session[-_DIFF_WINDOW:]
    found: list[int | None] = [None] * len(new)
    matcher = SequenceMatcher(None, [place.digest for place in window], [one.mark for one in new], autojunk=False)
    anchored = False
    for block in matcher.get_matching_blocks():
        reaches_end = block.size > 1 and block.a + block.size == len(window)
        anchored = anchored or block.size >= _CERTAIN_RUN or reaches_end
        for i in range(block.size if anchored else 0):
            place = window[block.a + i]
            if new[block.b + i].is_at(place):
                found[block.b + i] = place.index
    return found
