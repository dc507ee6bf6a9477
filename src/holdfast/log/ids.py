"""Ids of turns and records: short, opaque, sorted by the time they were made."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime

from holdfast.moments import to_micros

__all__ = ["new_id"]

_TIME_BYTES, _CHANCE_BYTES = 6, 6
_LAST_MILLI = (1 << (8 * _TIME_BYTES)) - 1


def new_id(prefix: str, at: datetime) -> str:
    """48 bits of milliseconds and 48 of chance, as 20 letters behind a prefix."""
    millis = min(max(to_micros(at) // 1000, 0), _LAST_MILLI)
    number = millis.to_bytes(_TIME_BYTES, "big") + secrets.token_bytes(_CHANCE_BYTES)
    return f"{prefix}-{base64.b32hexencode(number).decode().rstrip('=').lower()}"
