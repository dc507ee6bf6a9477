"""Ids of turns and records: short, opaque, sorted by the time they were made."""

from __future__ import annotations

import secrets
from datetime import datetime

from holdfast.moments import to_micros

__all__ = ["new_id"]

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no i, l, o, u to misread


def new_id(prefix: str, at: datetime) -> str:
    """45 bits of milliseconds and 50 of chance, as 19 letters behind a prefix."""
    millis = max(0, to_micros(at) // 1000) & ((1 << 45) - 1)
    number = (millis << 50) | secrets.randbits(50)
    letters = []
    for _ in range(19):
        number, rest = divmod(number, 32)
        letters.append(_ALPHABET[rest])
    return f"{prefix}-{''.join(reversed(letters))}"
