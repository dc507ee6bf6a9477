"""The seam to a token counter: a text in, a number out. A budget is kept in the counts of the one that was chosen."""

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
from holdfast.models.static import read_vocabulary

if TYPE_CHECKING:
    from holdfast.settings import TokenSettings

# --- How many tokens a text has, to a few per cent, without a tokenizer.
#
# A text is cut into the pieces that byte-pair tokenizers work on (words with the blank before them, three digits,
# signs, line ends), and each piece costs what such pieces cost on average in o200k, by length, script and whether
# the word is a common English one. The costs and the measured error are in docs/context.md; training/tokens.py
# makes and measures them.
#
# The count is a sum over pieces and no piece crosses a line end that is followed by a visible character, so the
# count of a text is never more than the sum of the counts of its lines: a budget may be kept line by line.


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
_PIECES_KEPT = 32_768
"""Pieces remembered with their cost; 4 MB when full. Then they are forgotten: a hostile text could fill memory."""
_LONGEST_KEPT = 24

BLOCKS: tuple[tuple[int, str], ...] = (
    (0x0000, "latin"),
    (0x0080, "rare2"),
    (0x00A0, "latin signs"),
    (0x00C0, "latin"),
    (0x0250, "phonetic"),
    (0x0300, "marks"),
    (0x0370, "greek"),
    (0x0400, "cyrillic, more"),
    (0x0410, "cyrillic"),
    (0x0450, "cyrillic, more"),
    (0x0530, "armenian"),
    (0x0590, "hebrew"),
    (0x0600, "arabic"),
    (0x0671, "arabic, more"),
    (0x0700, "rare2"),
    (0x0800, "rare3"),
    (0x0900, "devanagari"),
    (0x0980, "bengali"),
    (0x0A00, "gurmukhi"),
    (0x0A80, "gujarati"),
    (0x0B00, "oriya"),
    (0x0B80, "tamil"),
    (0x0C00, "telugu"),
    (0x0C80, "kannada"),
    (0x0D00, "malayalam"),
    (0x0D80, "sinhala"),
    (0x0E00, "thai"),
    (0x0E80, "lao"),
    (0x0F00, "tibetan"),
    (0x1000, "myanmar"),
    (0x10A0, "georgian"),
    (0x1100, "jamo"),
    (0x1200, "ethiopic"),
    (0x13A0, "rare3"),
    (0x1780, "khmer"),
    (0x1800, "rare3"),
    (0x1E00, "latin"),
    (0x1F00, "greek"),
    (0x2000, "punctuation"),
    (0x2070, "symbols"),
    (0x2C00, "rare3"),
    (0x3000, "cjk signs"),
    (0x3040, "hiragana"),
    (0x30A0, "katakana"),
    (0x3100, "rare3"),
    (0x3400, "rare han"),
    (0x4E00, "han"),
    (0xA000, "rare3"),
    (0xAC00, "hangul"),
    (0xD7B0, "rare3"),
    (0xFB50, "arabic"),
    (0xFE00, "selectors"),
    (0xFE10, "rare3"),
    (0xFF00, "cjk signs"),
    (0xFF66, "rare3"),
    (0x10000, "rare4"),
    (0x1F000, "emoji"),
    (0x20000, "rare4"),
)
"""Where each group of characters begins. "more" are letters that Russian and Arabic do not use: the languages that do
are rarer, and split into more tokens. What lies in no group that texts hold costs what its characters cost alone."""
_STARTS = [start for start, _ in BLOCKS]


def block_of(character: str) -> str:
    return BLOCKS[bisect_right(_STARTS, ord(character)) - 1][1]


def place_of(piece: str) -> str:
    """Whether a word stands behind a blank, behind one sign, or behind another piece."""
    if piece[0] == " ":
        return "spaced"
    return "signed" if piece[1:2].isalpha() and piece[0].isascii() and not piece[0].isalnum() else "bare"


@cache
def common_words() -> frozenset[str]:
    """English words of the shipped embedder's vocabulary: nearly all of them are one token."""
    words = read_vocabulary(files("holdfast.models").joinpath("static_256", "vocab.txt").read_text(encoding="utf-8"))
    return frozenset(word for word in words if len(word) > 1 and word.isascii() and word.isalpha())


class Estimate:
    """The default counter: no download, no extra; it counts a little too much rather than too little."""

    name = "estimate"

    def __init__(self) -> None:
        costs = json.loads(files("holdfast.models").joinpath("estimate.json").read_text(encoding="utf-8"))
        self._margin: float = costs["margin"]
        self._pieces = _PieceCosts(costs)

    def count(self, text: str) -> int:
        costs = self._pieces
        if len(costs) > _PIECES_KEPT:
            costs.clear()
        return math.ceil(self._margin * sum(map(costs.__getitem__, PIECES.findall(text))))


class _PieceCosts(dict[str, float]):
    """Pieces with their cost, worked out when first met."""

    def __init__(self, costs: dict[str, Any]) -> None:
        super().__init__()
        self._costs = costs
        self._characters: dict[str, float] = _CharacterCosts(costs["letter"])

    def __missing__(self, piece: str) -> float:
        cost = self._cost(piece)
        if len(piece) <= _LONGEST_KEPT:
            self[piece] = cost
        return cost

    def _cost(self, piece: str) -> float:
        core = piece.strip(" ")
        place = place_of(piece)
        if place == "signed":
            core = core[1:]
        first = core[:1]
        if first < " " or first in _DIGITS_AND_DELETE:
            return 1.0 + len(piece) // int(self._costs["blanks"])
        if first.isascii() and not first.isalpha():
            return _by_length(self._costs["signs"], len(core.rstrip("\r\n")))
        if first.isalpha() and block_of(first) == "latin":
            return self._word(core.partition("'")[0], place)
        return float(self._costs["run"].get(block_of(first), 0.0)) + sum(map(self._characters.__getitem__, core))

    def _word(self, word: str, place: str) -> float:
        if not word.isascii():
            return _by_length(self._costs["accented"][place], len(word))
        kind = "common" if word.lower() in common_words() else "uncommon"
        if len(word) > 1 and word.isupper():
            kind = "capitals"
        return _by_length(self._costs[kind][place], len(word))


class _CharacterCosts(dict[str, float]):
    def __init__(self, letter: dict[str, float]) -> None:
        super().__init__()
        self._letter = letter

    def __missing__(self, character: str) -> float:
        cost = float(self._letter.get(block_of(character), len(character.encode("utf-8", "surrogatepass"))))
        if len(self) < _PIECES_KEPT:
            self[character] = cost
        return cost


def _by_length(table: list[float], length: int) -> float:
    """The table's entry, and beyond its end as much a character as its last entry has."""
    return float(table[length - 1] if length <= len(table) else table[-1] * length / len(table))


ENCODINGS = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""Vocabularies that the extra carries inside: tiktoken would download them."""
_HELP = f"Known are: estimate, {', '.join(ENCODINGS)}, tokenizer:PATH (a tokenizer.json)"


class TokenCounter(Protocol):
    """Anything that counts tokens. The same text has the same count, and no text has a negative one."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


class Encoding:
    """Exact counts of a vocabulary of OpenAI's (extra `tokens`). Special tokens in a text are counted as plain text."""

    def __init__(self, name: str) -> None:
        try:
            import splintr
        except ImportError as error:
            raise MissingExtra(f"the token counter {name}", "tokens") from error
        self.name = name
        self._tokenizer = splintr.Tokenizer.from_pretrained(ENCODINGS[name])

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode_ordinary(text))


class TokenizerFile:
    """Exact counts of any model whose tokenizer.json one has (extra `tokens`)."""

    def __init__(self, path: str | Path) -> None:
        try:
            import tokenizers
        except ImportError as error:
            raise MissingExtra(f"the token counter tokenizer:{path}", "tokens") from error
        self.name = f"tokenizer:{path}"
        try:
            text = Path(path).expanduser().read_text(encoding="utf-8")
            self._tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises a bare Exception for a file it cannot use
            raise InputError(f"{path} cannot be read as a tokenizer.json: {error}") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)


class Scaled:
    """Another counter's counts times a factor, rounded up: for a model whose own tokenizer cannot be had."""

    def __init__(self, counter: TokenCounter, factor: float) -> None:
        self.name = f"{counter.name}×{factor:g}"
        self._counter = counter
        self._factor = factor

    def count(self, text: str) -> int:
        return math.ceil(self._counter.count(text) * self._factor)


def open_counter(settings: TokenSettings) -> TokenCounter:
    """The counter that the settings name; InputError says which there are, MissingExtra what to install."""
    counter = _open(settings.counter)
    return counter if settings.factor == 1 else Scaled(counter, settings.factor)


def _open(spec: str) -> TokenCounter:
    kind, _, place = spec.partition(":")
    if spec == "estimate":
        return Estimate()
    if spec in ENCODINGS:
        return Encoding(spec)
    if kind == "tokenizer" and place:
        return TokenizerFile(place)
    raise InputError(f"no such token counter: {spec!r}. {_HELP}")
