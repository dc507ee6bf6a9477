"""The default embedder: a packaged table of token vectors. It needs only numpy, no network and no model server.

The tokenizer is BERT's uncased WordPiece: greedy longest match against a fixed vocabulary.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelMisbehaved
from holdfast.models.embedder import Profile, Thresholds, unit

CHARS_PER_PIECE = 64
"""A text is cut to this many characters per piece before anything else, so that 10 MB cost as much as 32 KB.
English has about 4.5 characters per piece: only a text that is nearly all blanks or blobs loses pieces by it."""
_HOME = files("holdfast.models") / "static_256"
_WEIGHTS = "holdfast-static-256.npz"
_VOCABULARY = "vocab.txt"
_CACHED_TEXTS = 4096
"""Texts with a cached vector of 1.3 KB: the index, the sentence vectors and admission ask for the same ones."""
_MAX_CACHED_CHARS = 600  # a longer text is not a sentence, and is requested only once
_MAX_WORD = 100  # a longer word is unknown, as in BERT: it is a blob
_CACHED_WORDS = 32_768  # words with cached pieces; 6 MB when full of words of 8 letters
_CACHED_CHARACTERS = 10_000
"""Characters with cached class; without a bound a hostile text could fill memory with all of Unicode."""
ID_BYTES = 4
_CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip  # ideographs, which BERT separates (not kana, not hangul)

THRESHOLDS = Thresholds(
    # The seeds' .80, .85 and .92 are MiniLM's; these pass the same share of STS-B and MRPC pairs here
    # (model.json, calibration.equivalent_thresholds.from_minilm).
    repeat=0.765,
    known=0.82,
    same=0.90,
    related=0.20,  # the seeds' value: 95 % of random pairs are below .157
    boost=0.60,  # a starting point, not calibrated on labelled guidance
    # Random pairs: median .01, 95th percentile .157, so a spread of .09; four spreads above the median is .37. A
    # trade-off, and a poor one: of LoCoMo's (development half) gold turns without a shared word 24 % reach .25, 12 %
    # .30, 5 % .35, 1 % .40; an unrelated turn reaches it in 85, 59, 30 and 12 % of the questions.
    relevant=0.35,
)


def shipped_vocabulary() -> list[str]:
    """Return BERT's uncased vocabulary from the package."""
    return read_vocabulary((_HOME / _VOCABULARY).read_text(encoding="utf-8"))


@cache
def shipped_embedder() -> StaticEmbedder:
    """Return the packaged model, shared by the whole process; its table is only read."""
    return StaticEmbedder()


class StaticEmbedder:
    """A text's vector is the sum of its pieces' vectors, scaled to unit length; a piece's weight is its length.

    It hardly reacts to negation or word order: never merge, refuse or supersede on its cosine alone (MERGE-3).
    The table stays int8 (7.8 MB); only the rows a text needs become floats.
    """

    def __init__(self, max_tokens: int = 512) -> None:
        card = json.loads((_HOME / "model.json").read_text(encoding="utf-8"))
        with (
            (_HOME / _WEIGHTS).open("rb") as file,
            np.load(file) as arrays,
        ):  # the CRC of the zip detects a damaged file
            self._rows: NDArray[np.int8] = arrays["rows"]
            self._scales: NDArray[np.float32] = arrays["scales"].astype(np.float32)
        self.pieces = WordPiece(shipped_vocabulary(), split_symbols=True)
        if len(self._rows) != self.pieces.size:
            raise ModelMisbehaved(
                f"static model: {len(self._rows)} vectors for {self.pieces.size} tokens. Reinstall holdfast."
            )
        self._max_tokens = max_tokens
        self._cached = lru_cache(maxsize=_CACHED_TEXTS)(self._embed)
        weights, vocabulary = card["files"][_WEIGHTS][:16], card["files"][_VOCABULARY][:16]
        self._profile = Profile(
            name="static",
            fingerprint=f"{card['name']}|{weights}|{vocabulary}|max_tokens={max_tokens};symbols=split;all_unknown=zero",
            dims=int(self._rows.shape[1]),
            thresholds=THRESHOLDS,
            scripts=frozenset({"Latin"}),
        )

    @property
    def profile(self) -> Profile:
        return self._profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed one text after the other, which is four times as fast as np.add.reduceat over a batch of 64."""
        vectors = np.empty((len(texts), self._profile.dims), dtype=np.float32)
        for i, text in enumerate(texts):
            vectors[i] = self._cached(text) if len(text) <= _MAX_CACHED_CHARS else self._embed(text)
        return vectors

    def _embed(self, text: str) -> NDArray[np.float32]:
        packed = self.pieces.encode(text, self._max_tokens)
        # Otherwise texts of unknown pieces only, such as 👍 and 👎, would have cosine 1.
        if packed == self.pieces.unknown_packed * (len(packed) // ID_BYTES):
            return np.zeros(self._rows.shape[1], np.float32)
        ids = np.frombuffer(packed, dtype="<i4")
        summed = np.einsum("i,ij->j", self._scales.take(ids), self._rows.take(ids, axis=0))
        vector: NDArray[np.float32] = unit(summed[None])[0]
        return vector


def read_vocabulary(text: str) -> list[str]:
    """Return the pieces of a vocab.txt; the line number is the id. Line ends may be LF or CRLF."""
    return text.removesuffix("\n").replace("\r", "").split("\n")


class WordPiece:
    """Converts text to vocabulary ids, without [CLS] and [SEP]. Safe to share between threads.

    With `split_symbols`, an unknown symbol (an emoji) does not make the word it is attached to unknown. Only words that
    would otherwise be unknown are affected; every other text keeps BERT's pieces.
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
        self._classes = _CharacterTable()
        self._cached = lru_cache(maxsize=_CACHED_WORDS)(self._encode_word)

    def encode(self, text: str, limit: int) -> bytes:
        """Return the first `limit` ids as packed int32 for np.frombuffer, which is much faster than a list of ints."""
        words = self._words(text[: limit * CHARS_PER_PIECE])[:limit]  # a word has at least one piece
        if len(max(words, key=len, default="")) <= _MAX_WORD:
            return b"".join(map(self._cached, words))[: limit * ID_BYTES]
        encoded = (self._cached(word) if len(word) <= _MAX_WORD else self.unknown_packed for word in words)
        return b"".join(encoded)[: limit * ID_BYTES]

    def _words(self, text: str) -> list[str]:
        return unicodedata.normalize("NFD", text).lower().translate(self._classes).split()

    def _encode_word(self, word: str) -> bytes:
        ids = self._greedy(word)
        if ids is None and self._split_symbols:
            # A run of symbols is one unknown piece, of any length: three emojis say no more than one.
            parts = ("".join(run) for _, run in groupby(word, key=self._is_unknown_symbol))
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

    def _is_unknown_symbol(self, char: str) -> bool:
        return char not in self._whole and unicodedata.category(char)[0] == "S"


def _packed(ids: Sequence[int]) -> bytes:
    return b"".join(i.to_bytes(ID_BYTES, "little") for i in ids)


class _CharacterTable(dict[int, str]):
    """Table for str.translate that drops, separates or keeps characters; filled on demand."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char in " \t\n\r":
            out = " "
        elif code < 128:
            out = char if char.isalnum() else "" if code < 32 or code == 127 else f" {char} "
        else:
            out = _translated(code, char, unicodedata.category(char))
        if len(self) < _CACHED_CHARACTERS:
            self[code] = out
        return out


def _translated(code: int, char: str, category: str) -> str:
    if category in ("Zs", "Zl", "Zp"):
        return " "
    if category in ("Cc", "Cf", "Co", "Mn") or code == 0xFFFD:  # Mn: accents that NFD separated
        return ""
    return f" {char} " if category[0] == "P" or any(first <= code <= last for first, last in _CJK) else char
