"""Many byte strings looked for at once: whatever their number, a file is read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

__all__ = ["LEAST", "MOST", "ByteSearch"]

LEAST = 6
"""Bytes: numbers of a large file spell shorter strings by chance (at 6, one of 1,000 strings in 30 GB)."""
MOST = 1024
"""Longer ones are cut: a piece of a file overlaps the next by more."""
_HEAD = 3  # bytes that a table of 16 million places tells at once


class ByteSearch:
    def __init__(self, strings: Iterable[bytes]) -> None:
        self._by_key: dict[int, list[bytes]] = defaultdict(list)
        for string in set(strings):
            assert LEAST <= len(string) <= MOST
            self._by_key[int.from_bytes(string[:LEAST], "big")].append(string)
        self._keys = np.array(sorted(self._by_key), np.uint64)
        self._heads = np.zeros(1 << 8 * _HEAD, np.bool_)
        self._heads[(self._keys >> np.uint64(8 * (LEAST - _HEAD))).astype(np.int64)] = True

    def found(self, piece: bytes) -> set[bytes]:
        """Those of the strings that stand in a piece."""
        if len(piece) < LEAST or not len(self._keys):
            return set()
        raw = np.frombuffer(piece, np.uint8)
        count = len(raw) - LEAST + 1
        heads = np.zeros(count, np.int32)
        for at in range(_HEAD):
            heads = (heads << 8) | raw[at : at + count]
        places = np.flatnonzero(self._heads[heads])
        keys = heads[places].astype(np.uint64)
        for at in range(_HEAD, LEAST):
            keys = (keys << np.uint64(8)) | raw[places + at]
        slots = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        hit = self._keys[slots] == keys
        found: set[bytes] = set()
        for place, key in zip(places[hit].tolist(), keys[hit].tolist(), strict=True):
            found.update(one for one in self._by_key[key] if piece.startswith(one, place))
        return found
