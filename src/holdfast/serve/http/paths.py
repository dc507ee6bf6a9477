"""Paths that say what they mean: no way up, no second spelling of a slash, nothing that is not part of a URL."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

__all__ = ["is_plain"]

_SPELLED = re.compile(rb"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_SMUGGLED = re.compile(rb"[\x00-\x1f\x7f\\/]")


def is_plain(raw: bytes) -> bool:
    """Whether a path, as it came over the wire, is one that is looked up as it stands."""
    if not _SPELLED.fullmatch(raw):
        return False
    pieces = raw[1:].split(b"/")
    for number, piece in enumerate(pieces):
        meant = unquote_to_bytes(piece)
        if meant in (b".", b"..") or _SMUGGLED.search(meant) or not _is_utf8(meant):
            return False
        if not piece and number < len(pieces) - 1:  # a slash after a slash
            return False
    return True


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
