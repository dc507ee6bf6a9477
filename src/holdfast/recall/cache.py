"""Decoded blocks kept in memory, newest use last, up to a number of bytes.

A block is known by its version, so a process sees what others wrote: a stale one is simply not found.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

__all__ = ["BlockCache"]

Value = TypeVar("Value")


class BlockCache:
    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._held = 0
        self._entries: OrderedDict[Hashable, tuple[Hashable, object, int]] = OrderedDict()
        self._gate = threading.Lock()

    def get(self, key: Hashable, version: Hashable, load: Callable[[], tuple[Value, int]]) -> Value:
        """The value of this key at this version, from memory or from `load` (value, bytes)."""
        with self._gate:
            entry = self._entries.get(key)
            if entry is not None and entry[0] == version:
                self._entries.move_to_end(key)
                return entry[1]  # type: ignore[return-value]
        value, size = load()
        self.keep(key, version, value, size)
        return value

    def last(self, key: Hashable) -> object | None:
        """The value of this key at whatever version it has; who asks knows what of it still holds."""
        with self._gate:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[1]

    def clear(self) -> None:
        """After an erase: nothing of it may stay, not even in memory."""
        with self._gate:
            self._entries.clear()
            self._held = 0

    def holds(self, key: Hashable) -> bool:
        return key in self._entries

    def keep(self, key: Hashable, version: Hashable, value: object, size: int) -> None:
        """Put a value in; whoever asks for the key at this version finds it while there is room."""
        with self._gate:
            old = self._entries.pop(key, None)
            self._held += size - (old[2] if old else 0)
            self._entries[key] = (version, value, size)
            while self._held > self._most and len(self._entries) > 1:
                _, (_, _, gone) = self._entries.popitem(last=False)
                self._held -= gone
