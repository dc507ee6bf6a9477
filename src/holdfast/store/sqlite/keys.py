"""A namespace and a number in it, as the one integer that SQLite clusters rows by."""

from __future__ import annotations

from holdfast.store.codes import SLOTS
from holdfast.store.nouns import Space

__all__ = ["NS_SHIFT", "NUMBER_MASK", "SLOTS", "number_of", "place", "vector_place"]

# 63 bits: 4 million namespaces of 17 billion entries each, and for vectors 16 models and 8 spaces between.
_NUM_BITS = 34
_SPACE_BITS = 3
# Records lay at 4 from the first, when there were fewer spaces.
_SPACE_CODE = {Space.TURN: 0, Space.PASSAGE: 1, Space.TOLD: 2, Space.WINDOW: 3, Space.RECORD: 4, Space.CLAIM: 5}
_SLOT_BITS = (SLOTS - 1).bit_length()
NS_SHIFT = _NUM_BITS + _SPACE_BITS + _SLOT_BITS
NUMBER_MASK = (1 << _NUM_BITS) - 1


def place(ns: int, num: int) -> int:
    """Where the entry of this number lies in the log, or the record among the records."""
    return vector_place(ns, 0, Space.TURN, num)


def vector_place(ns: int, slot: int, space: Space, num: int) -> int:
    assert 0 <= num <= NUMBER_MASK and 0 <= slot < SLOTS, "a number outside its namespace would be another's row"
    return (ns << NS_SHIFT) | (slot << (_NUM_BITS + _SPACE_BITS)) | (_SPACE_CODE[space] << _NUM_BITS) | num


def number_of(pos: int) -> int:
    """The number back out of a place."""
    return pos & NUMBER_MASK
