"""Ids of turns and records: short, opaque, sorted by the time they were made."""

from __future__ import annotations

import secrets
from datetime import datetime

from holdfast.moments import to_micros

__all__ = ["new_id"]


def new_id(prefix: str, at: datetime) -> str:
    """44 bits of milliseconds (to the year 2527) and 40 of chance, as 21 hexadecimal letters behind a prefix."""
    millis = max(to_micros(at) // 1000, 0) & ((1 << 44) - 1)
    return f"{prefix}-{millis:011x}{secrets.token_hex(5)}"
