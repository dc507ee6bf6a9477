"""Characters that a reader cannot see: which of them a text may keep, and which are shown by their number.

Kept is what a script or an emoji needs to look right: a joiner between Persian letters, inside an Indic cluster or
between two emoji; one emoji or text selector behind a symbol. Everything else that has no picture of its own is shown:
controls, bidirectional marks, tags, fillers, private and unassigned code points, marks beyond what a letter can carry.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

__all__ = ["hidden_places"]

_MOST_MARKS = 5
"""Marks on one letter: pointed Hebrew with its accents reaches five, Vietnamese two. Unicode's own limit for text that
can be normalised as a stream is 30, which no reader can tell apart."""

_PLAIN_BLANKS = frozenset("\n\t")
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\U0001d159\U00013441\U00013442")
"""Hangul fillers, the empty Braille cell, a note without its head, blank hieroglyphs: letters and symbols by category,
nothing to the eye. No property of Unicode holds them all; a test reads the names of all characters for others."""
_INVISIBLE_MARKS = frozenset("\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f\U00016fe4")
_EMOJI_SELECTORS = frozenset("\ufe0e\ufe0f")
_JOINERS = frozenset("\u200c\u200d")
_EMOJI_OUTSIDE_SYMBOLS = frozenset("‼⁉ℹ〰")
_KEYCAP_BASES = frozenset("0123456789#*")
_KEYCAP = "\u20e3"
_VIRAMA = 9  # Unicode's combining class of the sign that joins two consonants


def hidden_places(text: str) -> list[int]:
    """Where `text` has characters that must be shown by their number, in order. Linear in the text."""
    if text.isascii():
        if text.replace("\n", "").replace("\t", "").isprintable():
            return []
        return [i for i, character in enumerate(text) if not _is_plain(character)]
    doubtful = {character for character in set(text) if not _is_plain(character)}
    if not doubtful:
        return []
    return _walk(text, doubtful)


def _walk(text: str, doubtful: set[str]) -> list[int]:
    """Marks and joiners depend on what stands before them, so the text is read from left to right."""
    places = []
    marks = _MOST_MARKS  # a mark with nothing to sit on would sit on the frame's own letters
    for i, character in enumerate(text):
        if character not in doubtful:
            marks = _MOST_MARKS if character in _PLAIN_BLANKS else 0
            continue
        if _is_mark(character) and marks < _MOST_MARKS:
            marks += 1
        elif not _belongs(text, i):
            places.append(i)
            marks = _MOST_MARKS
    return places


@lru_cache(maxsize=4096)
def _is_plain(character: str) -> bool:
    """Whether it can be seen wherever it stands; blanks of every width can."""
    if character in _PLAIN_BLANKS:
        return True
    if character in _INVISIBLE_LETTERS or unicodedata.category(character) in ("Mn", "Me"):
        return False
    return character.isprintable() or unicodedata.category(character) == "Zs"


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    if character in _INVISIBLE_MARKS or "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef":
        return False
    return unicodedata.category(character) in ("Mn", "Me")


def _belongs(text: str, i: int) -> bool:
    """Whether a joiner or a selector does here what it is for."""
    before = text[i - 1] if i else ""
    after = text[i + 1 : i + 2]
    if text[i] in _EMOJI_SELECTORS:
        return _is_symbol(before) or (before in _KEYCAP_BASES and after == _KEYCAP)
    if text[i] not in _JOINERS or not before or not after:
        return False
    if text[i] == "\u200d" and _is_symbol(after):
        return _is_symbol(before) or _is_skin_tone(before) or (before == "\ufe0f" and _belongs(text, i - 1))
    return _is_joined(before) and _is_joined(after)


def _is_symbol(character: str) -> bool:
    if not character or character in _INVISIBLE_LETTERS:
        return False
    return character in _EMOJI_OUTSIDE_SYMBOLS or (
        not character.isascii() and unicodedata.category(character) in ("So", "Sm")
    )


def _is_skin_tone(character: str) -> bool:
    return "\U0001f3fb" <= character <= "\U0001f3ff"


def _is_joined(character: str) -> bool:
    """A letter or mark of a script whose letters join: the Arabic family, Mongolian, or one with a virama."""
    if unicodedata.combining(character) == _VIRAMA:
        return True
    if not unicodedata.category(character).startswith(("L", "M")) or character in _INVISIBLE_MARKS:
        return False
    return (
        "\u0620" <= character <= "\u07ff"  # Arabic, Syriac, Thaana, NKo
        or "\u08a0" <= character <= "\u0dff"  # Arabic again, and the Indic scripts
        or "\u1780" <= character <= "\u18aa"  # Khmer, Mongolian
    )
