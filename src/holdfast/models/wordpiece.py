"""BERT's uncased word pieces: a text becomes ids of a fixed vocabulary, by greedy longest match."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

__all__ = ["CHARS_PER_PIECE", "ID_BYTES", "WordPiece", "read_vocabulary"]

MAX_WORD = 100
"""A longer "word" is not spelled out but unknown, as in BERT: it is a blob, not a word."""
CHARS_PER_PIECE = 64
"""A text is cut to this many characters per wanted piece before anything else, so that 10 MB cost what 32 KB cost.
English has about 4.5 characters a piece: only a text that is nearly all blanks or blobs loses pieces by it."""
WORDS_KEPT = 32_768
"""Words remembered with their pieces, the least recently used go first; 6 MB when full of 8-letter words."""
CHARACTERS_KEPT = 10_000
"""Characters remembered with their class; without a bound a hostile text could fill memory with all of Unicode."""
ID_BYTES = 4


def read_vocabulary(text: str) -> list[str]:
    """The pieces of a vocab.txt, whose line number is the piece's id (the LF and the CRLF variant are both around)."""
    return text.removesuffix("\n").replace("\r", "").split("\n")


class WordPiece:
    """Text → vocabulary ids, without [CLS] and [SEP].

    With `split_symbols`, a symbol the vocabulary does not have (an emoji) no longer takes the word it is glued to
    with it. Only words that would be unknown as a whole are touched; every other text keeps BERT's pieces.

    Safe to share between threads: the tables are only read, and lru_cache and dict guard their own state.
    """

    def __init__(self, vocabulary: Sequence[str], *, split_symbols: bool) -> None:
        self.size = len(vocabulary)
        self.unknown = vocabulary.index("[UNK]")
        self.unknown_packed = _packed([self.unknown])
        self._whole = {piece: i for i, piece in enumerate(vocabulary) if not piece.startswith("##")}
        self._inner = {piece[2:]: i for i, piece in enumerate(vocabulary) if piece.startswith("##") and len(piece) > 2}
        self._longest_whole = max(map(len, self._whole))
        self._longest_inner = max(map(len, self._inner), default=0)
        self._split_symbols = split_symbols
        self._classes = _Classes()
        self._remembered = lru_cache(maxsize=WORDS_KEPT)(self._spell)

    def encode(self, text: str, limit: int) -> bytes:
        """The first `limit` ids as packed int32 (for np.frombuffer: a list of ints would cost more than the rest)."""
        words = self._words(text[: limit * CHARS_PER_PIECE])[:limit]  # a word is one piece at least
        if len(max(words, key=len, default="")) <= MAX_WORD:
            return b"".join(map(self._remembered, words))[: limit * ID_BYTES]
        spelled = (self._remembered(word) if len(word) <= MAX_WORD else self.unknown_packed for word in words)
        return b"".join(spelled)[: limit * ID_BYTES]

    def _words(self, text: str) -> list[str]:
        return unicodedata.normalize("NFD", text).lower().translate(self._classes).split()

    def _spell(self, word: str) -> bytes:
        ids = self._greedy(word)
        if ids is None and self._split_symbols:
            # A run of symbols is one unknown, however long: three emojis do not say more than one.
            parts = ("".join(run) for _, run in groupby(word, key=self._is_strange_symbol))
            ids = [i for part in parts for i in self._greedy(part) or (self.unknown,)]
        return _packed(ids) if ids else self.unknown_packed

    def _greedy(self, word: str) -> list[int] | None:
        ids: list[int] = []
        at, end = 0, len(word)
        table, longest = self._whole, self._longest_whole
        while at < end:
            for stop in range(min(end, at + longest), at, -1):
                found = table.get(word[at:stop])
                if found is not None:
                    break
            else:
                return None
            ids.append(found)
            at = stop
            table, longest = self._inner, self._longest_inner
        return ids

    def _is_strange_symbol(self, char: str) -> bool:
        return char not in self._whole and unicodedata.category(char)[0] == "S"


def _packed(ids: Sequence[int]) -> bytes:
    return b"".join(i.to_bytes(ID_BYTES, "little") for i in ids)


class _Classes(dict[int, str]):
    """For str.translate: drops a character, spaces it out or keeps it; filled as characters turn up."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in " \t\n\r":
            out = " "
        elif code < 128:
            out = char if char.isalnum() else "" if code < 32 or code == 127 else f" {char} "
        else:
            out = _spaced(code, char, unicodedata.category(char))
        if len(self) < CHARACTERS_KEPT:
            self[code] = out
        return out


def _spaced(code: int, char: str, category: str) -> str:
    if category in ("Zs", "Zl", "Zp"):
        return " "
    if category in ("Cc", "Cf", "Co", "Mn") or code == 0xFFFD:  # Mn: the accents that NFD has split off
        return ""
    return f" {char} " if category[0] == "P" or _is_cjk(code) else char


def _is_cjk(code: int) -> bool:
    """The ideographs that BERT takes one by one (not kana, not hangul)."""
    return (
        0x4E00 <= code <= 0x9FFF
        or 0x3400 <= code <= 0x4DBF
        or 0x20000 <= code <= 0x2A6DF
        or 0x2A700 <= code <= 0x2CEAF
        or 0xF900 <= code <= 0xFAFF
        or 0x2F800 <= code <= 0x2FA1F
    )
