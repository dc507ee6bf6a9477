"""A family of patterns: one thing a text can show, under the name that a receipt and the settings give it.

Every pattern reads a text in one pass, whoever wrote it. Three habits keep it so: an alternative starts only where a
run starts (a word, a line, a look-behind), what repeats without end is possessive, what may give back is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Family", "Pattern", "Reading", "Telltale", "any_of", "lines", "one_of", "spoken", "words"]

# Apostrophes that keyboards and word processors write for '.
_PLAIN = str.maketrans("’‘ʼ＇", "''''")
_GLUED_STOP = re.compile(r"\.\w")


@dataclass(frozen=True)
class Reading:
    """A text as the patterns read it: with plain apostrophes, and in lower case for what is said rather than coded."""

    text: str

    @classmethod
    def of(cls, text: str) -> Reading:
        return cls(text if text.isascii() else text.translate(_PLAIN))

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def plain(self) -> bool:
        return self.text.isascii()

    @cached_property
    def signs(self) -> frozenset[str]:
        """Its characters; a full stop only if something is glued to it, for others end sentences."""
        signs = frozenset(self.text)
        return signs if _GLUED_STOP.search(self.text) else signs - {"."}


@dataclass(frozen=True, slots=True)
class Telltale:
    """What every match of a pattern shows at least one of, in plain ASCII texts: most chat shows none of it, and is
    spared the search.
    """

    signs: frozenset[str]
    """Characters; "." stands for one that something is glued to."""
    parts: tuple[str, ...]

    @classmethod
    def of(cls, signs: str = "", *parts: str) -> Telltale:
        return cls(frozenset(signs), parts)

    def shown(self, reading: Reading, text: str) -> bool:
        if not reading.plain or not self.signs.isdisjoint(reading.signs):
            return True
        return any(map(text.__contains__, self.parts))


@dataclass(frozen=True, slots=True)
class Pattern:
    regex: re.Pattern[str]
    any_case: bool
    """Its letters are lower-case and it reads the lower-case text: a third of the time that IGNORECASE takes."""
    telltale: Telltale | None = None

    def found(self, reading: Reading) -> bool:
        text = reading.lowered if self.any_case else reading.text
        if self.telltale is not None and not self.telltale.shown(reading, text):
            return False
        return self.regex.search(text) is not None

    def count(self, reading: Reading) -> int:
        if not self.found(reading):
            return 0
        return sum(1 for _ in self.regex.finditer(reading.lowered if self.any_case else reading.text))


@dataclass(frozen=True, slots=True)
class Family:
    """Fires when all of its patterns are found, wherever they are: a deed and its object, say."""

    name: str
    patterns: tuple[Pattern, ...]

    def fires(self, reading: Reading) -> bool:
        return all(pattern.found(reading) for pattern in self.patterns)


def any_of(*alternatives: str, telltale: Telltale | None = None) -> Pattern:
    """What a machine reads: letters mean their case, a blank is a blank, `^` and `$` are line ends."""
    return Pattern(re.compile("|".join(alternatives), re.MULTILINE), False, telltale)


def spoken(*alternatives: str, unspaced: str = r"(?!)", telltale: Telltale | None = None) -> Pattern:
    """What people say: whole words in any case, between them any white space (" ?" is one blank or none).

    `unspaced` is found inside words too, for scripts that do not part them.
    """
    joined = re.sub(r" (?!\?)", r"\\s++", "|".join(alternatives))
    return Pattern(re.compile(rf"\b(?=\w)(?:{joined})\b|{unspaced}"), True, telltale)


def one_of(listed: str) -> str:
    """The words and phrases of a list with commas, as one alternative."""
    return f"(?:{'|'.join(' '.join(part.split()) for part in listed.split(','))})"


def words(*alternatives: str) -> str:
    """Alternatives that begin with a word. One \\b for all of them: most places of a text are done with at once."""
    return rf"\b(?=\w)(?:{'|'.join(alternatives)})"


def lines(*alternatives: str) -> str:
    """Alternatives that begin a line, after blanks (not \\s, which would read every empty line again from each)."""
    return rf"^[ \t]*+(?:{'|'.join(alternatives)})"
