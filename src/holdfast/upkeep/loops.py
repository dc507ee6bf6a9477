"""Memory that feeds on itself: records that repeat the assistant, turns that hold what was recalled; broken links."""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.admit.echo import is_echo
from holdfast.admit.secrets import mask
from holdfast.model import Provenance, Record, Role
from holdfast.settings import Settings
from holdfast.store.codes import role_number
from holdfast.store.nouns import Space
from holdfast.store.protocol import Snapshot
from holdfast.upkeep.indexes import Looked, pages
from holdfast.upkeep.memo import Example

__all__ = ["broken_links", "framed_turns", "looped_records", "secret_turns"]

_FRAME = re.compile(r"\[\[memory [a-z2-7]{12} (?:begins|ends)\]\]")
"""The first and last line of what context() hands to a model (context/frame.py)."""
_BEFORE = 6
"""Turns before a statement that it may be an echo of; admission looks as far (admit.turns_shown)."""


def looped_records(view: Snapshot, records: Sequence[Record], settings: Settings) -> Looked:
    """Records in the user's name whose turn only repeats what the assistant had just said; of a sample."""
    stated = [record for record in records if record.provenance is Provenance.USER_STATED and record.turn_ids]
    sample = stated[:: max(len(stated) // settings.doctor.sample, 1)]
    looked = Looked(len(sample), [])
    for record in sample:
        turn = view.turn(record.turn_ids[0])
        if turn is None or record.metadata.get("confirmed"):
            continue
        before = view.thread(turn.session, max(turn.index - _BEFORE, 0) - 1, min(turn.index, _BEFORE))
        heard = [one.text for one in before if one.role is Role.ASSISTANT and one.index < turn.index]
        if is_echo(record.text, heard) or _FRAME.search(record.text):
            looked.wrong.append(Example(record.id, record.text, "it repeats what the assistant had just said"))
    return looked


def framed_turns(view: Snapshot) -> Looked:
    """Turns of the user that hold a frame of ours: what was recalled was ingested again."""
    user, looked = role_number(Role.USER), Looked(0, [])
    for part in pages(view, Space.TURN):
        for turn in part:
            looked.of += turn.sort == user
            if turn.sort == user and _FRAME.search(turn.text):
                looked.wrong.append(Example(f"turn {turn.num}", turn.text, "it holds what memory had recalled"))
    return looked


def secret_turns(view: Snapshot, settings: Settings) -> Looked:
    """Turns that hold a secret although the log is to keep none; of a sample, the newest first."""
    turns = list(view.recent_turns(settings.doctor.sample, None, None, None))
    return Looked(
        len(turns), [Example(turn.id, turn.text, "it holds a secret") for turn in turns if mask(turn.text).found]
    )


def broken_links(view: Snapshot) -> Looked:
    """Records that were replaced by one that is not there, by themselves, or in a circle."""
    successions = view.successions()
    looked = Looked(len(successions), [])
    for old, new in successions.items():
        record = view.record(old)
        text = "" if record is None else record.text
        if view.record(new) is None:
            looked.wrong.append(Example(old, text, f"it was replaced by {new}, which is not there"))
        elif record is not None and record.valid_to is None:
            looked.wrong.append(Example(old, text, f"it was replaced by {new}, and still holds"))
        elif _circles(successions, old):
            looked.wrong.append(Example(old, text, "what replaced it was replaced by it"))
    return looked


def _circles(successions: dict[str, str], start: str) -> bool:
    seen, at = {start}, successions[start]
    while at in successions and at not in seen:
        seen.add(at)
        at = successions[at]
    return at == start
