"""Ids of turns and records: short, opaque, sorted by the time they were made."""

from __future__ import annotations

import secrets
from datetime import datetime
from hashlib import blake2b

from holdfast.moments import to_micros

__all__ = ["keyed_id", "new_id"]


def new_id(prefix: str, at: datetime) -> str:
    """44 bits of milliseconds (to the year 2527) and 40 of chance, as 21 hexadecimal letters behind a prefix."""
    millis = max(to_micros(at) // 1000, 0) & ((1 << 44) - 1)
    return f"{prefix}-{millis:011x}{secrets.token_hex(5)}"


def keyed_id(prefix: str, key: str) -> str:
    """The one id that a key has, of the same length; inside a namespace, so that others' keys do not matter."""
    return f"{prefix}-{blake2b(key.encode(), digest_size=16).hexdigest()[:21]}"
