"""A family of patterns: one thing a text can show, under the name that a receipt and the settings give it.

Every pattern reads a text in one pass, whoever wrote it. Three habits keep it so: an alternative starts only where a
run starts (a word, a line, a look-behind), what repeats without end is possessive, what may give back is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

__all__ = ["Family", "Pattern", "Reading", "any_of", "lines", "one_of", "spoken", "words"]

# Apostrophes that keyboards and word processors write for '.
_PLAIN = str.maketrans("’‘ʼ＇", "''''")


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


@dataclass(frozen=True, slots=True)
class Pattern:
    regex: re.Pattern[str]
    any_case: bool
    """Its letters are lower-case and it reads the lower-case text: a third of the time that IGNORECASE takes."""

    def found(self, reading: Reading) -> bool:
        return self.regex.search(reading.lowered if self.any_case else reading.text) is not None

    def count(self, reading: Reading) -> int:
        return sum(1 for _ in self.regex.finditer(reading.lowered if self.any_case else reading.text))


@dataclass(frozen=True, slots=True)
class Family:
    """Fires when all of its patterns are found, wherever they are: a deed and its object, say."""

    name: str
    patterns: tuple[Pattern, ...]

    def fires(self, reading: Reading) -> bool:
        return all(pattern.found(reading) for pattern in self.patterns)


def any_of(*alternatives: str) -> Pattern:
    """What a machine reads: letters mean their case, a blank is a blank, `^` and `$` are line ends."""
    return Pattern(re.compile("|".join(alternatives), re.MULTILINE), any_case=False)


def spoken(*alternatives: str, unspaced: str = r"(?!)") -> Pattern:
    """What people say: whole words in any case, between them any white space (" ?" is one blank or none).

    `unspaced` is found inside words too, for scripts that do not part them.
    """
    joined = re.sub(r" (?!\?)", r"\\s++", "|".join(alternatives))
    return Pattern(re.compile(rf"\b(?=\w)(?:{joined})\b|{unspaced}"), any_case=True)


def one_of(listed: str) -> str:
    """The words and phrases of a list with commas, as one alternative."""
    return f"(?:{'|'.join(' '.join(part.split()) for part in listed.split(','))})"


def words(*alternatives: str) -> str:
    """Alternatives that begin with a word. One \\b for all of them: most places of a text are done with at once."""
    return rf"\b(?=\w)(?:{'|'.join(alternatives)})"


def lines(*alternatives: str) -> str:
    """Alternatives that begin a line, after blanks (not \\s, which would read every empty line again from each)."""
    return rf"^[ \t]*+(?:{'|'.join(alternatives)})"
