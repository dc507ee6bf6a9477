"""Masked copies of values that leave for a model or a page, and of what is written with redaction on (TRUST-4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import blake2b
from typing import TypeVar, cast

from holdfast.admit.secrets import mask, masked_text
from holdfast.log.acts import Line, TurnLine
from holdfast.model import NewTurn, Turn
from holdfast.settings import Settings
from holdfast.store.store import Store

_Value = TypeVar("_Value")
_PASSWORD_CHARS = 200
_NAME_BYTES = 4
"""Of the digest that tells two masked names apart."""


def masked_turn(turn: Turn, chars: int) -> Turn:
    """Return a turn without secrets. Of a longer text the beginning is kept, and a mark where it ends."""
    cut = turn.text if len(turn.text) <= chars else turn.text[:chars] + " …"
    return turn if (text := masked_text(cut)) == turn.text else replace(turn, text=text)


def masked(value: _Value) -> _Value:
    """Return a value with the secrets masked in all its strings, however deep."""
    return cast(_Value, _masked(value))


def _masked(value: object) -> object:
    if isinstance(value, str):
        text = masked_text(value)
        return value if text == value else text  # an enumeration stays one
    if isinstance(value, Mapping):
        return {_masked(name): _masked_named(str(name), one) for name, one in value.items()}
    if isinstance(value, tuple | list):
        found = [_masked(one) for one in value]
        if all(new is old for new, old in zip(found, value, strict=True)):
            return value
        return type(value)(found)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value) if field.init}
        changes = {name: new for name, old in parts.items() if (new := _masked(old)) is not old and new != old}
        return replace(value, **changes) if changes else value
    return value


def _masked_named(name: str, value: object) -> object:
    """Mask a value whose name may say that it is a password."""
    if isinstance(value, str) and len(value) <= _PASSWORD_CHARS:
        before = f"{name}: "
        found = [one for one in mask(before + value).found if one.kind in ("password", "pin")]
        if any(one.start <= len(before) and one.end == len(before + value) for one in found):
            return f"[secret: {found[0].kind}]"
    return _masked(value)


class Redaction:
    """Masks what is about to be written, so that not even the log keeps a secret (log.redact_secrets)."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def name(self, name: str) -> str:
        """Return a session or key without secrets; two different ones stay different."""
        text = mask(name).text
        if text == name:
            return name
        return f"{text} {blake2b(name.encode(), digest_size=_NAME_BYTES, key=self._secret[:64]).hexdigest()}"

    def masked(self, value: _Value) -> _Value:
        return masked(value)

    def turn(self, turn: NewTurn) -> NewTurn:
        key = None if turn.key is None else self.name(turn.key)
        return replace(turn, text=mask(turn.text).text, key=key, metadata=masked(turn.metadata))

    def line(self, line: Line) -> Line:
        """Return a line of an import: a turn, or an act with the text and metadata of an explicit memory."""
        if isinstance(line, TurnLine):
            return replace(line, session=self.name(line.session), turn=self.turn(line.turn))
        payload = masked(line.action.payload)
        if isinstance(session := line.action.payload.get("session"), str):
            payload = {**payload, "session": self.name(session)}
        return replace(line, action=replace(line.action, payload=payload))


def redaction_of(store: Store, settings: Settings) -> Redaction | None:
    """Return what masks secrets before they are written, if log.redact_secrets is set (ADMIT-7)."""
    return Redaction(store.secret()) if settings.log.redact_secrets else None
