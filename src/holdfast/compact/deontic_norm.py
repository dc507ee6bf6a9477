"""What a rule is: its words, where they lie, what kind of rule, and the words that decided."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

__all__ = ["Finding", "Modality", "Norm", "Said"]


class Modality(StrEnum):
    OBLIGATION = "obligation"
    PROHIBITION = "prohibition"
    PERMISSION = "permission"
    PRESCRIPTION = "prescription"
    """How a thing is done: "use tabs", "dates are written day first"."""


@dataclass(frozen=True, slots=True)
class Norm:
    """A sentence that is a rule: text[start:stop] of the text it was found in."""

    text: str
    start: int
    stop: int
    modality: Modality
    cue: str
    """The words that decided, for receipts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a language's reader found in one sentence."""

    modality: Modality
    cue: str
    reader: str = ""
    """Which of the language's readers found it."""


_PLAIN = str.maketrans("’‘ʼ＇\n\t\r", "''''   ")
_TOKEN = re.compile(r"[^\W_][\w'./-]*+|[,;:()–—]|\?")
_MOST = 1500
"""Characters of a sentence that are read: contracts have long ones, and a dump is none."""


class Said:
    """One sentence as the patterns read it: plain apostrophes, lower case, on one line."""

    def __init__(self, text: str) -> None:
        self.text = text[:_MOST].translate(_PLAIN)
        self.lower = self.text.lower()

    @cached_property
    def tokens(self) -> list[str]:
        """Its words and the marks between them, in lower case."""
        return [token.rstrip(".'-/") for token in _TOKEN.findall(self.lower)]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.tokens)
