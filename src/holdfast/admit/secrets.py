"""Secrets by the shape of their value: found, named and masked before a text leaves the log (ADMIT-7).

The rules have gitleaks' shape (a prefix or a keyword, a pattern, a test of the value) and are our own. Each pattern
reads a text once, by anyone: it begins with a fixed string and only where a run of its own characters begins,
and what repeats is possessive or bounded.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from holdfast.text.words import compile_late

DATA = json.loads(Path(__file__).with_name("secrets.json").read_text(encoding="utf-8"))
"""Prefixes, forms and names of secrets in many languages."""
Span = tuple[str, int, int]
"""A kind, and the place where it stands."""


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """One secret: what it is and where it stood in the text as given."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Masked:
    """The text with each secret replaced by "[secret: kind]", and what was found."""

    text: str
    found: tuple[FoundSecret, ...]


def mask(text: str) -> Masked:
    """Masks every secret. Masking a masked text changes nothing."""
    found = _apart(sorted(_find(text), key=lambda one: (one.start, -one.end)))
    parts: list[str] = []
    done = 0
    for one in found:
        parts += (text[done : one.start], f"[secret: {one.kind}]")
        done = one.end
    return Masked("".join((*parts, text[done:])), tuple(found))


def _apart(found: list[FoundSecret]) -> list[FoundSecret]:
    """Overlaps become one span, under the name of the part that says most (a provider's, not "password")."""
    kept: list[FoundSecret] = []
    for one in found:
        if kept and one.start < kept[-1].end:
            last = kept.pop()
            kind = one.kind if last.kind in _VAGUE and one.kind not in _VAGUE else last.kind
            one = FoundSecret(kind, last.start, max(last.end, one.end))
        kept.append(one)
    return kept


_MASK = compile_late(r"\[secret: [a-z0-9 -]{1,40}\]")


def _find(text: str) -> Iterator[FoundSecret]:
    if "[secret: " in text:  # the name in a mask says nothing about what follows it
        text = _MASK.sub(lambda mask: "*" * len(mask[0]), text)
    for rule in _RULES:
        if rule.hint in text:
            yield from rule.find(text)
    lower = text.lower()
    if len(lower) != len(text):  # a few letters grow (İ): then only the others are lowered, so that places agree
        lower = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    if any(hint in lower for hint in DATA["name_hints"]) or _SPOKEN.search(lower):
        from holdfast.admit.spoken_secrets import find  # 100 ms of patterns, which most texts do not need

        for kind, start, end in find(text, lower):
            yield FoundSecret(kind, start, end)


_SPOKEN = compile_late(
    r"\d\D{0,2}\d\D{0,2}\d|[^\W\d_][-.]?[0-9@#$%^&*_+=]|[0-9][-.]?[^\W\d_]"
    r"|maiden|security|secret (?:question|answer)|combination"
    r"|seed|mnemonic|wallet|phrase|(?<![\w'])[a-z]{3,8}(?:,? [a-z]{3,8}){11}"
)
"""In every text with a secret of the other kinds: a few digits, signs among letters, or what is asked for in words."""


# What a value must look like ---------------------------------------------------------------------------------------

KEY_ENTROPY = 3.0
"""Bits a character of a random key of 8 characters or more; "aaaa1111" has 1, "Password1" 2.9, hex keys about 3.5."""
_RANDOM = compile_late(
    # 8 or more, digits among letters: version numbers, dates, paths, words and "apple2024" have no such run
    r"(?<![A-Za-z0-9])(?=[A-Za-z]*+[0-9])(?=[0-9]*+[A-Za-z])"
    r"(?!(?:[A-Za-z]?[a-z]++\d{1,4}|\d{1,4}[a-z]++|[A-Z]++\d{1,4})(?![A-Za-z0-9]))[A-Za-z0-9]{8}"
    # base64 without any digit happens; a word of 24 letters with a capital inside does not
    r"|(?<![A-Za-z0-9])(?=[A-Za-z]*?[a-z][A-Z])[A-Za-z]{24}"
)


def is_random(value: str) -> bool:
    """Return True if a part of the value looks machine-made."""
    return _RANDOM.search(value, 0, _ENOUGH) is not None


def entropy(value: str) -> float:
    value = value[:_ENOUGH]
    shares = [value.count(char) / len(value) for char in set(value)]
    return -sum(share * math.log2(share) for share in shares)


_ENOUGH = 200
"""Characters of a value that are looked at."""


def has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value)


# Providers: a prefix that nothing else has ---------------------------------------------------------------------------


_LOOKS: dict[str, Callable[[str], bool]] = {
    "": lambda value: True,
    "random": is_random,
    "digit": lambda value: any(map(str.isdigit, value)),
    "given": lambda value: not is_placeholder(value),
    "typed": lambda value: not is_placeholder(value) and not value.isdigit(),
}
"""Tests of a value, by their names in secrets.json."""


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    hint: str
    """A string that every match holds: without it the pattern is not even tried."""
    pattern: re.Pattern[str]
    looks: Callable[[str], bool] = _LOOKS[""]

    def find(self, text: str) -> Iterator[FoundSecret]:
        for match in self.pattern.finditer(text):
            if self.looks(match["v"]):
                yield FoundSecret(self.kind, *match.span("v"))


def _key(kind: str, form: str, hint: str, looks: str) -> _Rule:
    """A value that stands at the start of a word (or after an escaped line end: "\\nsk-…")."""
    return _Rule(kind, hint, compile_late(rf"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))(?P<v>{form})"), _LOOKS[looks])


_RULES: tuple[_Rule, ...] = (
    *(_key(kind, prefix + body, hint, looks) for kind, prefix, body, hint, looks in DATA["prefixes"]),
    *(_Rule(kind, hint, compile_late(form), _LOOKS[looks]) for kind, hint, form, looks in DATA["patterns"]),
)


# A place for a value -------------------------------------------------------------------------------------------------

_VAGUE = frozenset({"password", "pin", "secret", "token", "key", "credentials", "code"})
_PLACEHOLDERS = frozenset(DATA["placeholders"])
_BLANKED = compile_late(
    r"[xX*.•…_#?-]++|\$(?:[{(].*+|[A-Z_][A-Z0-9_]*+)|%(?:\w++%|\(?\w*\)?[sd])|\{.*\}|<.*>|\[secret.*+|\[.*\]|your.*+"
    r"|(?i:my|the|some|an?|enter|insert|new|old|user|test)[_\- ]\w*?(?i:pass|token|key|secret|here)\w*+",
    re.DOTALL,
)
"""***, $TOKEN, {{ token }}, <token>, [secret: password], your-key-here: a place for a value, not a value."""


SHORT_WORD = 3


def is_placeholder(value: str) -> bool:
    bare = value.strip("\"'`.,:;!?=")
    return (
        bare.lower() in _PLACEHOLDERS
        or (value.endswith("=") and bare.lower() in _VAGUE)
        or len(bare) < SHORT_WORD
        or _BLANKED.fullmatch(bare) is not None
    )


# Masked copies of values, and of what is written with redaction on ---------------------------------------------------

_CACHED_CHARS, _LONG_CHARS = 6000, 40_000
_cached = lru_cache(maxsize=2048)(lambda text: mask(text).text)
_cached_long = lru_cache(maxsize=16)(lambda text: mask(text).text)  # the ends of a tool's result among the last turns


def masked_text(text: str) -> str:
    """Return a text without its secrets. What is short comes again with every turn, so it is looked at once."""
    if len(text) <= _CACHED_CHARS:
        return _cached(text)
    return _cached_long(text) if len(text) <= _LONG_CHARS else mask(text).text
