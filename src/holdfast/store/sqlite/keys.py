"""A namespace and a number in it, as the one integer that SQLite clusters rows by."""

from __future__ import annotations

from holdfast.store.protocol import Space

__all__ = ["number_of", "place", "vector_place"]

_NUM_BITS = 40  # 10^12 entries in each of 8 million namespaces
_SPACE_BIT = 39
_NUM_MASK = (1 << _SPACE_BIT) - 1


def place(ns: int, num: int) -> int:
    assert 0 <= num < 1 << _SPACE_BIT, "a number outside its namespace would be another's row"
    return (ns << _NUM_BITS) | num


def vector_place(ns: int, space: Space, num: int) -> int:
    assert 0 <= num < 1 << _SPACE_BIT, "a number outside its namespace would be another's row"
    return (ns << _NUM_BITS) | (space << _SPACE_BIT) | num


def number_of(pos: int) -> int:
    """The number back out of either kind of place."""
    return pos & _NUM_MASK
