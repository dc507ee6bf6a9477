"""A line of the log as a line of an export, and back: what a file says is checked like what a caller says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from holdfast.errors import InputError
from holdfast.log.lines import ActLine, Line, TurnLine
from holdfast.log.messages import check_text, read_metadata, read_turn
from holdfast.log.names import check_name
from holdfast.model import Action, Entry, Kind, Metadata, Provenance
from holdfast.moments import read_moment
from holdfast.settings import LogSettings

__all__ = ["read_line", "whole_number", "written"]

_ENTRIES = frozenset(Entry)
_LARGEST = 2**53  # what every reader of JSON can hold exactly
_SHOWN = 200  # characters of what another room says of it
_OF_TURN = (
    "seq", "entry", "id", "session", "index", "role", "origin", "text", "at", "at_given", "recorded_at", "stability",
    "key", "metadata",
)  # fmt: skip
_OF_ACT = ("seq", "entry", "id", "at", "recorded_at", "payload")


def written(line: Line) -> dict[str, object]:
    """The line as plain JSON values. Acts are written alike whatever their kind: later kinds need nothing here."""
    if isinstance(line, ActLine):
        act = line.action
        told = (line.seq, act.entry, act.subject, _iso(act.at), _iso(line.recorded_at), act.payload)
        return dict(zip(_OF_ACT, told, strict=True))
    turn = line.turn
    said = (
        line.seq, Entry.TURN, line.id, line.session, line.index, turn.role, turn.origin, turn.text, _iso(turn.at),
        turn.at_given, _iso(line.recorded_at), turn.stability, turn.key, turn.metadata,
    )  # fmt: skip
    return dict(zip(_OF_TURN, said, strict=True))


def read_line(said: Mapping[str, object], settings: LogSettings) -> Line:
    """The line, or InputError with the reason it cannot be one."""
    entry = said.get("entry")
    if not isinstance(entry, str) or entry not in _ENTRIES:
        raise InputError(f"unknown kind of line {entry!r}; a newer Holdfast may know it: pip install -U holdfast")
    fields = _OF_TURN if entry == Entry.TURN else _OF_ACT
    if missing := [name for name in fields if name not in said]:
        raise InputError(f"a line of kind {entry} needs {', '.join(missing)}")
    if unknown := sorted(said.keys() - set(fields)):
        raise InputError(f"a line of kind {entry} has no {', '.join(unknown)}; a newer Holdfast may know them")
    seq = whole_number("seq", said["seq"], 1)
    noun = check_name("id", said["id"], settings)
    at, recorded_at = _moment("at", said["at"]), _moment("recorded_at", said["recorded_at"])
    if entry != Entry.TURN:
        payload = read_metadata(said["payload"], settings)
        action = Action(Entry(entry), noun, at, payload)
        _check_payload(action, settings)
        return ActLine(seq, recorded_at, action)
    turn = read_turn(
        said["text"],
        role=said["role"],  # type: ignore[arg-type]  # read_turn says what is wrong with what is no string
        at=at,
        key=said["key"],  # type: ignore[arg-type]
        origin=_origin(said["origin"]),
        stability=said["stability"],  # type: ignore[arg-type]
        metadata=said["metadata"],  # type: ignore[arg-type]
        now=at,
        settings=settings,
    )
    if not isinstance(said["at_given"], bool):
        raise InputError(f"at_given must be true or false, not {said['at_given']!r}")
    session, index = check_name("session", said["session"], settings), whole_number("index", said["index"], 0)
    return TurnLine(seq, noun, session, index, recorded_at, turn if said["at_given"] else replace(turn, at_given=False))


def whole_number(name: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _LARGEST:
        raise InputError(f"{name} must be a whole number from {least} on, not {value!r}")
    return value


def _origin(origin: object) -> str:
    if not isinstance(origin, str):
        raise InputError(f"origin must be a string, not {origin!r}")
    return origin


def _iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _moment(name: str, value: object) -> datetime:
    """An exact time: a relative one would be another each time the file is read."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise InputError(f"{name} must be an ISO time with its zone (2026-05-01T08:30:00Z), not {value!r}")
    return read_moment(at, datetime.now(UTC))


# --- acts that are read again later: what cannot be read then is refused now


def _check_payload(action: Action, settings: LogSettings) -> None:
    check = _CHECKS.get(action.entry)
    try:
        if check is not None:
            check(action.payload, settings)
    except (ValueError, TypeError, KeyError) as error:
        shown = " ".join(str(error).split())[:_SHOWN]
        raise InputError(f"the payload of this {action.entry.value} cannot be used: {shown}") from error


def _check_remember(payload: Metadata, settings: LogSettings) -> None:
    if Kind(str(payload["kind"])) is Kind.TURN:
        raise ValueError("a turn is no record")
    Provenance(str(payload["provenance"]))
    if not check_text("the text of a record", payload["text"], settings).strip():
        raise ValueError("its text is empty")
    confidence = payload["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        raise ValueError(f"confidence must be a number from 0 to 1, not {confidence!r}")


def _check_propose(payload: Metadata, settings: LogSettings) -> None:
    from holdfast.admit.proposed import unpack

    unpack(payload)


def _check_compact(payload: Metadata, settings: LogSettings) -> None:
    from holdfast.log.compaction import read_compaction

    read_compaction(payload)


def _check_rebuild(payload: Metadata, settings: LogSettings) -> None:
    whole_number("upto", payload["upto"], 0)


def _check_calibrate(payload: Metadata, settings: LogSettings) -> None:
    from pydantic import TypeAdapter

    from holdfast.insight import Calibration

    TypeAdapter(Calibration).validate_python(payload)


def _check_erase(payload: Metadata, settings: LogSettings) -> None:
    from holdfast.log.tombstones import read_tombstone

    read_tombstone(payload)


_CHECKS: Mapping[Entry, Callable[[Metadata, LogSettings], None]] = {
    Entry.REMEMBER: _check_remember,
    Entry.PROPOSE: _check_propose,
    Entry.REBUILD: _check_rebuild,
    Entry.COMPACT: _check_compact,
    Entry.ERASE: _check_erase,
    Entry.CALIBRATE: _check_calibrate,
}
