"""A stream of bytes as lines, each no longer than allowed; a longer one is skipped, never held."""

from __future__ import annotations

from collections.abc import Callable, Iterator

__all__ = ["lines"]

_CHUNK = 1 << 16


def lines(read: Callable[[int], bytes], most: int) -> Iterator[bytes | None]:
    """Lines without their ends, blank ones left out; None stands for one that was too long.

    `read(n)` gives up to n bytes and nothing at the end. A last line without an end counts too.
    """
    held, skipping = bytearray(), False
    while chunk := read(_CHUNK):
        searched = len(held)
        held += chunk
        start = 0
        while (end := held.find(b"\n", max(searched, start))) >= 0:
            line = bytes(held[start:end])
            start = end + 1
            if skipping or len(line) > most:
                skipping = False
                yield None
            elif line.strip():
                yield line
        del held[:start]
        if len(held) > most:
            held.clear()
            skipping = True
    if skipping:
        yield None
    elif held.strip():
        yield bytes(held)
