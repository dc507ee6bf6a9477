"""The seam to a token counter: a text in, a number out. A budget is kept in the counts of the one that was chosen."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from holdfast.errors import InputError, MissingExtra
from holdfast.models.estimate import Estimate

if TYPE_CHECKING:
    from holdfast.settings import TokenSettings

__all__ = ["ENCODINGS", "Encoding", "Estimate", "Scaled", "TokenCounter", "TokenizerFile", "open_counter"]

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
