"""Token counters: an estimate that needs no tokenizer (the default), and exact counts with extra `tokens`.

The estimate splits a text into the pieces that byte-pair tokenizers work on (words with the blank before them, three
digits, signs, line ends). Each piece costs what such pieces cost on average in o200k, by length, script and whether the
word is a common English one. docs/evidence/context.md has the measured error; training/tokens.py fits the
costs.

No piece crosses a line end that is followed by a visible character, so the count of a text is at most the sum of the
counts of its lines: a budget may be kept line by line.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.errors import InputError, MissingExtra
from holdfast.models.embedder import shipped_vocabulary
from holdfast.text.words import parts

if TYPE_CHECKING:
    from holdfast.settings import TokenSettings

ENCODINGS = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""Vocabularies that the extra contains; tiktoken would download them."""
_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de"
_LOWER = "a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_SIGNS = r"!-/:-@\[-`{-~"
PIECES = re.compile(
    rf"[{_SIGNS} ]?[{_UPPER}]*[{_LOWER}]+(?:'[a-z]{{1,2}}(?![a-z]))?"
    rf"|[{_SIGNS} ]?[{_UPPER}]+"
    r"|[0-9]{1,3}"
    r"| ?[^\x00-\x7f]+"
    rf"| ?[{_SIGNS}]+[\r\n]*"
    r"|[^\S\r\n]*[\r\n]+"
    r"|[^\S\r\n]+(?![^\s\x00-\x1f])"
    r"|[\s\x00-\x1f\x7f]"
)
_DIGITS_AND_DELETE = frozenset("0123456789\x7f")
_CACHED_PIECES = 32_768
"""Pieces with cached cost, 4 MB; the cache is cleared when full, so that a hostile text cannot fill memory."""
_MAX_CACHED_CHARS = 24

BLOCKS: tuple[tuple[int, str], ...] = (
    (0x0000, "latin"), (0x0080, "rare2"), (0x00A0, "latin signs"), (0x00C0, "latin"), (0x0250, "phonetic"),
    (0x0300, "marks"), (0x0370, "greek"), (0x0400, "cyrillic, more"), (0x0410, "cyrillic"), (0x0450, "cyrillic, more"),
    (0x0530, "armenian"), (0x0590, "hebrew"), (0x0600, "arabic"), (0x0671, "arabic, more"), (0x0700, "rare2"),
    (0x0800, "rare3"), (0x0900, "devanagari"), (0x0980, "bengali"), (0x0A00, "gurmukhi"), (0x0A80, "gujarati"),
    (0x0B00, "oriya"), (0x0B80, "tamil"), (0x0C00, "telugu"), (0x0C80, "kannada"), (0x0D00, "malayalam"),
    (0x0D80, "sinhala"), (0x0E00, "thai"), (0x0E80, "lao"), (0x0F00, "tibetan"), (0x1000, "myanmar"),
    (0x10A0, "georgian"), (0x1100, "jamo"), (0x1200, "ethiopic"), (0x13A0, "rare3"), (0x1780, "khmer"),
    (0x1800, "rare3"), (0x1E00, "latin"), (0x1F00, "greek"), (0x2000, "punctuation"), (0x2070, "symbols"),
    (0x2C00, "rare3"), (0x3000, "cjk signs"), (0x3040, "hiragana"), (0x30A0, "katakana"), (0x3100, "rare3"),
    (0x3400, "rare han"), (0x4E00, "han"), (0xA000, "rare3"), (0xAC00, "hangul"), (0xD7B0, "rare3"),
    (0xFB50, "arabic"), (0xFE00, "selectors"), (0xFE10, "rare3"), (0xFF00, "cjk signs"), (0xFF66, "rare3"),
    (0x10000, "rare4"), (0x1F000, "emoji"), (0x20000, "rare4"),
)  # fmt: skip
"""First code point of each group of characters. "more" are letters that Russian and Arabic do not use: languages with
them are rarer and split into more tokens. Characters of groups without a cost are counted one by one."""
_STARTS = [start for start, _ in BLOCKS]


class TokenCounter(Protocol):
    """Protocol of a token counter; counts are deterministic and not negative."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


def open_counter(settings: TokenSettings) -> TokenCounter:
    """Open the counter of the settings; raises InputError for an unknown one and MissingExtra for a missing package."""
    spec = settings.counter
    kind, _, path = spec.partition(":")
    counter: TokenCounter
    if spec == "estimate":
        counter = TokenEstimator()
    elif spec in ENCODINGS:
        counter = OpenAICounter(spec)
    elif kind == "tokenizer" and path:
        counter = TokenizerCounter(path)
    else:
        known = f"estimate, {', '.join(ENCODINGS)}, or tokenizer:PATH (a tokenizer.json)"
        raise InputError(f"unknown token counter {spec!r}. Use {known}")
    return counter if settings.factor == 1 else ScaledCounter(counter, settings.factor)


class TokenEstimator:
    """The default counter; its counts are rather a little too high than too low."""

    name = "estimate"

    def __init__(self) -> None:
        costs = json.loads(files("holdfast.models").joinpath("estimate.json").read_text(encoding="utf-8"))
        self._margin: float = costs["margin"]
        self._pieces = _PieceCosts(costs)

    def count(self, text: str) -> int:
        costs = self._pieces
        if len(costs) > _CACHED_PIECES:
            costs.clear()
        # A long text is read part by part: no other thread runs while a pattern does.
        return math.ceil(self._margin * sum(sum(map(costs.__getitem__, PIECES.findall(part))) for part in parts(text)))


class _PieceCosts(dict[str, float]):
    """Cost of each piece, computed on demand."""

    def __init__(self, costs: dict[str, Any]) -> None:
        super().__init__()
        self._costs = costs
        self._characters: dict[str, float] = _CharacterCosts(costs["letter"])

    def __missing__(self, piece: str) -> float:
        cost = self._cost(piece)
        if len(piece) <= _MAX_CACHED_CHARS:
            self[piece] = cost
        return cost

    def _cost(self, piece: str) -> float:
        core = piece.strip(" ")
        prefix = prefix_of(piece)
        if prefix == "signed":
            core = core[1:]
        first = core[:1]
        if first < " " or first in _DIGITS_AND_DELETE:
            return 1.0 + len(piece) // int(self._costs["blanks"])
        if first.isascii() and not first.isalpha():
            return _by_length(self._costs["signs"], len(core.rstrip("\r\n")))
        if first.isalpha() and block_of(first) == "latin":
            return self._word(core.partition("'")[0], prefix)
        return float(self._costs["run"].get(block_of(first), 0.0)) + sum(map(self._characters.__getitem__, core))

    def _word(self, word: str, prefix: str) -> float:
        if not word.isascii():
            return _by_length(self._costs["accented"][prefix], len(word))
        kind = "common" if word.lower() in common_words() else "uncommon"
        if len(word) > 1 and word.isupper():
            kind = "capitals"
        return _by_length(self._costs[kind][prefix], len(word))


class _CharacterCosts(dict[str, float]):
    def __init__(self, letter: dict[str, float]) -> None:
        super().__init__()
        self._letter = letter

    def __missing__(self, character: str) -> float:
        cost = float(self._letter.get(block_of(character), len(character.encode("utf-8", "surrogatepass"))))
        if len(self) < _CACHED_PIECES:
            self[character] = cost
        return cost


def _by_length(table: list[float], length: int) -> float:
    """Return the table entry for a length; beyond the end, the last entry's cost per character."""
    return float(table[length - 1] if length <= len(table) else table[-1] * length / len(table))


class OpenAICounter:
    """Exact counts for an OpenAI encoding (extra `tokens`); special tokens count as plain text."""

    def __init__(self, name: str) -> None:
        try:
            import splintr
        except ImportError as error:
            raise MissingExtra(f"the token counter {name}", "tokens") from error
        self.name = name
        self._tokenizer = splintr.Tokenizer.from_pretrained(ENCODINGS[name])

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode_ordinary(text))


class TokenizerCounter:
    """Exact counts for a tokenizer.json file (extra `tokens`)."""

    def __init__(self, path: str | Path) -> None:
        try:
            import tokenizers
        except ImportError as error:
            raise MissingExtra(f"the token counter tokenizer:{path}", "tokens") from error
        self.name = f"tokenizer:{path}"
        try:
            text = Path(path).expanduser().read_text(encoding="utf-8")
            self._tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises a plain Exception for an unusable file
            raise InputError(f"{path} cannot be read as a tokenizer.json: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


class ScaledCounter:
    """Counts of another counter times a factor, for a model whose tokenizer is not available."""

    def __init__(self, counter: TokenCounter, factor: float) -> None:
        self.name = f"{counter.name}×{factor:g}"
        self._counter = counter
        self._factor = factor

    def count(self, text: str) -> int:
        return math.ceil(self._counter.count(text) * self._factor)


def block_of(character: str) -> str:
    return BLOCKS[bisect_right(_STARTS, ord(character)) - 1][1]


def prefix_of(piece: str) -> str:
    """Classify what precedes a word: a blank ("spaced"), one sign ("signed") or another piece ("bare")."""
    if piece[0] == " ":
        return "spaced"
    return "signed" if piece[1:2].isalpha() and piece[0].isascii() and not piece[0].isalnum() else "bare"


@cache
def common_words() -> frozenset[str]:
    """Return the English words of the shipped vocabulary; nearly all of them are one token."""
    return frozenset(word for word in shipped_vocabulary() if len(word) > 1 and word.isascii() and word.isalpha())
