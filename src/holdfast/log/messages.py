"""Checks of the input: names, texts, messages and metadata become NewTurns, or an error that says why not."""

from __future__ import annotations

import json
import math
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import Any

from holdfast.errors import BadMessage, BadText, NamespaceRequired
from holdfast.log.parts import Part, split_content
from holdfast.model import Metadata, NewTurn, Origin, Role, to_micros
from holdfast.settings import LogSettings
from holdfast.text.time import Moment, read_moment

MAX_NAME_BYTES = 1024  # namespaces, sessions and keys are part of every index entry, so they are kept short
_STABILITY = {Role.USER: 0.5, Role.ASSISTANT: 0.25}  # LOG-2
_OTHER_STABILITY = 0.2  # LOG-2


_UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    r"\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Not the joiners U+200C and U+200D and the variation selectors: words of Persian and emoji need them."""


def check_name(what: str, name: object, settings: LogSettings) -> str:
    """Return the name, or raise BadText with the reason why it cannot be used."""
    if not isinstance(name, str):
        raise BadText(f"a {what} must be a string, not {type(name).__name__}")
    if not name or name.isspace():
        raise BadText(f"a {what} must not be empty")
    if "\x00" in name:
        raise BadText(f"a {what} must not contain NUL")
    if what == "namespace":  # two that look the same are the same
        name = unicodedata.normalize("NFC", name)
        if unseen := _UNSEEN.search(name):
            raise BadText(
                f"a namespace must not contain control characters, direction marks or invisible ones: {unseen[0]!a}"
            )
    try:
        size = len(name.encode())
    except UnicodeEncodeError as error:
        raise BadText(
            f"the {what} contains a lone surrogate at position {error.start}, which is not valid text"
        ) from error
    if size > MAX_NAME_BYTES:
        raise BadText(f"the {what} has {size} bytes; the limit is {MAX_NAME_BYTES}")
    return name


def resolve_namespace(
    user: str | None = None,
    *,
    session_key: str | None = None,
    agent: str | None = None,
    default: str | None = None,
    settings: LogSettings,
) -> str:
    """Return the namespace of the first of these that is given: user id, session key, agent id, default (LOG-6).

    The operating-system login is never used, and none of them is an error, never "all" (INV-4).
    """
    if user is not None:
        return check_name("namespace", user, settings)
    if session_key is not None:
        return check_name("namespace", f"session-key:{check_name('session key', session_key, settings)}", settings)
    if agent is not None:
        return check_name("namespace", f"agent:{check_name('agent id', agent, settings)}", settings)
    if default is not None:
        return check_name("namespace", default, settings)
    raise NamespaceRequired(
        "whose memory is it? Pass namespace=…, or name a default with HOLDFAST_NAMESPACE; the login name is never used"
    )


_ORIGIN_OF_ROLE = {
    Role.USER: Origin.USER,
    Role.ASSISTANT: Origin.ASSISTANT,
    Role.SYSTEM: Origin.SYSTEM,
    Role.TOOL: Origin.TOOL,
}
_ROLES, _ORIGINS = frozenset(Role), frozenset(Origin)
# Names of roles in other chat APIs.
_ROLE_ALIASES = {
    "human": Role.USER, "ai": Role.ASSISTANT, "model": Role.ASSISTANT, "developer": Role.SYSTEM, "function": Role.TOOL,
}  # fmt: skip
_FIELDS = {"role", "content", "at", "key", "origin", "stability", "metadata", "session", "heartbeat"}
_SPEAKER = ("speaker", "name")
"""Metadata that names who speaks: of a message's own text, not of a document in it."""
_DEEPEST = 64  # levels: metadata that is nested deeper is an attack or a mistake


def check_text(what: str, text: object, settings: LogSettings) -> str:
    """Return the text, or raise BadText if it cannot be stored byte for byte."""
    if not isinstance(text, str):
        raise BadText(f"{what} must be a string, not {type(text).__name__}")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise BadText(
            f"{what} contains a lone surrogate (U+{ord(text[error.start]):04X}) at position {error.start}, "
            "which UTF-8 cannot encode; decode the source with errors='replace' or repair it first"
        ) from error
    if size > settings.max_text_bytes:
        raise BadText(f"{what} has {size:,} bytes; the limit is {settings.max_text_bytes:,} (log.max_text_bytes)")
    return text


def read_turn(
    text: object,
    *,
    role: str,
    at: Moment | None,
    key: str | None,
    origin: str | None,
    stability: float | None,
    metadata: Metadata | None,
    now: datetime,
    settings: LogSettings,
) -> NewTurn:
    """Check every field of a turn before anything is written.

    What an agent wrote is never a turn of the user or the system: it has the role assistant (TRUST-2).
    """
    known_role = _read_role(role)
    channel = _read_origin(origin, known_role)
    if channel is Origin.AGENT and known_role in (Role.USER, Role.SYSTEM):
        known_role = Role.ASSISTANT
    return NewTurn(
        role=known_role,
        origin=channel,
        text=check_text("the text of a turn", text, settings),
        at=now if at is None else read_moment(at, now),
        at_given=at is not None,
        stability=_read_stability(stability, known_role, channel, settings),
        key=None if key is None else check_name("key", key, settings),
        metadata=read_metadata(metadata, settings),
    )


def read_turns(
    content: object,
    *,
    role: str,
    at: Moment | None,
    key: str | None,
    origin: str | None,
    stability: float | None,
    metadata: Metadata | None,
    now: datetime,
    settings: LogSettings,
) -> list[NewTurn]:
    """Read the content of a message as turns: one for its own text, one for each other part, in order (TRUST-1).

    The first has the message's key, the others the key and their number (`KEY#part-2`). `metadata["message"]` is the
    same for all turns of a message that has more than its own text.
    """
    parts = split_content(content, _read_role(role))
    given = read_metadata(metadata, settings)
    first = next((number for number, part in enumerate(parts) if part.own), 0)
    split = {} if len(parts) == 1 and parts[0].own else {"message": _message_name(key, given, role, parts)}
    turns = []
    for number, part in enumerate(parts):
        about = given if part.own else {name: given[name] for name in given if name not in _SPEAKER}
        about = about if part.own or number == first else {}
        turn = read_turn(
            part.text,
            role=role if part.role is None else part.role,
            at=at,
            key=key if key is None or number == 0 else f"{key}#part-{number + 1}",
            origin=origin if part.origin is None else _lower(part.origin, origin),
            stability=stability if part.own else None,
            metadata={**about, **part.metadata, **split},
            now=now,
            settings=settings,
        )
        turns.append(turn)
    return turns


def _lower(origin: Origin, of_message: str | None) -> Origin:
    """Return the origin of a part: what comes in a message of an agent is not what a user attached."""
    return Origin.TOOL if origin is Origin.USER_PASTED and of_message == Origin.AGENT else origin


def _message_name(key: str | None, metadata: Metadata, role: str, parts: list[Part]) -> str:
    """Return the key or id of a message, or else a name made of what it says."""
    known = metadata.get("id") if key is None else key
    if isinstance(known, str) and known:
        return known
    said = "\0".join([role, *(part.text for part in parts)])
    return f"m-{blake2b(said.encode(errors='replace'), digest_size=8).hexdigest()}"


def read_message(message: object, *, number: int, now: datetime, settings: LogSettings) -> list[NewTurn]:
    """Read a chat message ({"role", "content", "at"?, "key"?, …}) as turns; none for a heartbeat (LOG-5).

    Gemini's "parts" are its content; an item of OpenAI's responses without a role is a part of a tool or the assistant.
    """
    if not isinstance(message, Mapping):
        raise BadMessage(f"message {number} must be a mapping with role and content, not {type(message).__name__}")
    if message.get("heartbeat"):
        return []
    message = _in_usual_shape(message)
    if "role" not in message or "content" not in message:
        raise BadMessage(f'message {number} needs "role" and "content"; it has {sorted(map(str, message))}')
    extra = {str(name): value for name, value in message.items() if name not in _FIELDS}
    own = message.get("metadata") or {}
    if not isinstance(own, Mapping):
        raise BadMessage(f"message {number}: metadata must be a mapping, not {type(own).__name__}")
    try:
        content = message["content"]
        return read_turns(
            "" if content is None else content,  # an assistant message that only calls tools
            role=message["role"],
            at=message.get("at"),
            key=message.get("key"),
            origin=message.get("origin"),
            stability=message.get("stability"),
            metadata={**extra, **own},
            now=now,
            settings=settings,
        )
    except ValueError as error:
        raise type(error)(f"message {number}: {error}") from error


def _in_usual_shape(message: Mapping[str, Any]) -> Mapping[str, Any]:
    if "content" in message or "role" in message:
        if "content" in message or "parts" not in message:
            return message
        return {**{name: value for name, value in message.items() if name != "parts"}, "content": message["parts"]}
    if not isinstance(message.get("type"), str):
        return message
    ours = {name: message[name] for name in _FIELDS & message.keys()}
    item = {name: value for name, value in message.items() if name not in _FIELDS}
    return {**ours, "role": "assistant" if str(message["type"]).endswith("_call") else "tool", "content": [item]}


def _read_role(role: object) -> Role:
    if isinstance(role, str):
        name = role.strip().lower()
        if name in _ROLE_ALIASES:
            return _ROLE_ALIASES[name]
        if name in _ROLES:
            return Role(name)
    raise BadMessage(f"unknown role {role!r}: use one of {', '.join(Role)}")


def _read_origin(origin: object, role: Role) -> Origin:
    """Read the channel. Only turns of the user can be the user's own words: an origin never raises a role (LOG-2)."""
    usual = _ORIGIN_OF_ROLE[role]
    if origin is None:
        return usual
    if not isinstance(origin, str) or origin not in _ORIGINS:
        raise BadMessage(f"unknown origin {origin!r}: use one of {', '.join(Origin)}")
    if origin == Origin.USER and role is not Role.USER:
        raise BadMessage(f"a turn of role {role.value} cannot have the origin user: that would raise it (LOG-2)")
    return Origin(origin)


def _read_stability(stability: object, role: Role, origin: Origin, settings: LogSettings) -> float:
    if stability is None:
        return _OTHER_STABILITY if origin is Origin.AGENT else _STABILITY.get(role, _OTHER_STABILITY)
    if isinstance(stability, bool) or not isinstance(stability, int | float) or not 0.0 <= stability <= 1.0:
        raise BadMessage(f"stability must be a number from 0 to 1, not {stability!r}")
    return float(stability)


def read_metadata(metadata: object, settings: LogSettings) -> Metadata:
    """Return metadata that consists of JSON values and is not nested too deep, or raise an error."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping) or not all(isinstance(name, str) for name in metadata):
        raise BadMessage("metadata must be a mapping with string keys")
    if not metadata:
        return {}
    text = check_text("metadata", _as_json(metadata, "metadata"), settings)
    plain = json.loads(text)
    assert isinstance(plain, dict)
    return plain


def _as_json(value: object, what: str) -> str:
    if _depth(value) > _DEEPEST:
        raise BadMessage(f"{what} is nested more than {_DEEPEST} deep")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise BadMessage(f"{what} must contain JSON values only: {error}") from error


def _depth(value: object) -> int:
    """Return how deep a value is nested, without recursion: deep input must not exhaust the stack."""
    deepest, waiting = 0, [(value, 1)]
    while waiting and deepest <= _DEEPEST:
        here, depth = waiting.pop()
        deepest = max(deepest, depth)
        if isinstance(here, Mapping):
            if not all(isinstance(name, str) for name in here):
                raise BadMessage("metadata must be a mapping with string keys, all the way down")
            waiting.extend((inner, depth + 1) for inner in here.values())
        elif isinstance(here, list | tuple):
            waiting.extend((inner, depth + 1) for inner in here)
        elif isinstance(here, float) and not math.isfinite(here):
            raise BadMessage("metadata must contain JSON values only, and neither NaN nor infinity")
    return deepest


def new_id(prefix: str, at: datetime) -> str:
    """Return a new id, sortable by time: a prefix, 44 bits of milliseconds (to the year 2527) and 40 random bits."""
    millis = max(to_micros(at) // 1000, 0) & ((1 << 44) - 1)
    return f"{prefix}-{millis:011x}{secrets.token_hex(5)}"


def keyed_id(prefix: str, key: str) -> str:
    """Return the id of a key, of the same length as other ids. It is unique in a namespace."""
    return f"{prefix}-{blake2b(key.encode(), digest_size=16).hexdigest()[:21]}"


# --- Alignment of a conversation with its session, so that a history that is ingested again adds only new turns
# (LOG-7).
#
# Hosts send a rolling history: the whole conversation, or its last messages, again with every call. Without keys the
# only evidence is the sequence, so the new list is aligned with the session: the same role and text at the same place
# is the same turn, and a second "ok" further on is a new one.


_CERTAIN_RUN = 4  # turns: a run this long does not repeat by chance, so it is known wherever it is in the session
_NEAR_END = 16  # of the session's last turns, those that a host may have left out of the history it sends again
ALIGN_WINDOW = 2000
"""Of the session's last turns, those that the diff of edited histories compares."""


@dataclass(frozen=True)
class TurnPlace:
    """A turn of the log, as alignment needs it."""

    index: int
    digest: bytes
    at: datetime | None
    """Its time, if the caller gave one; None for the time of the clock, which proves nothing."""
    role: Role
    keyed: bool = False


def gap_behind(index: int) -> TurnPlace:
    """Return a place for turns that were not read: no turn is at it."""
    return TurnPlace(index + 1, b"", None, Role.USER)


def digest(role: Role, text: str) -> bytes:
    """Return eight bytes that identify a role and a text."""
    return blake2b(text.encode(), digest_size=8, person=role.value.encode()).digest()


def act_digest(payload: str) -> bytes:
    """Return eight bytes that show whether the payload of an act has changed."""
    return blake2b(payload.encode(), digest_size=8, person=b"act").digest()


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
    marks = {one.mark for one in new}
    if all(one.turn.at_given for one in new) and all(place.at for place in session if place.digest in marks):
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
            if not place.digest:  # nobody knows how many were left out there
                break
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
    window = session[-ALIGN_WINDOW:]
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
