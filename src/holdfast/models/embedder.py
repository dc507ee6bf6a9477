"""Embedder protocol, the profile that gives its cosines a meaning, and arithmetic on unit vectors."""

from __future__ import annotations

import json
import queue
import threading
import time
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from typing import Generic, Protocol, TypeVar, cast

import numpy as np
import simsimd
from numpy.typing import NDArray

from holdfast.errors import HoldfastError, InputError, ModelError, ModelMisbehaved, ModelUnavailable

Vectors = NDArray[np.float32]

# A BLAS that splits a product among threads keeps them spinning afterwards, which on two cores cost more processor time
# than everything else for a single turn (30 ms of 36; with one thread 13). It does so from a certain size on: for many
# rows that pays, few rows are multiplied in blocks below that size.
_MANY_ROWS = 128  # from here on threaded BLAS saves more than it costs
_BLOCK = 1 << 18  # multiplications that OpenBLAS does in one thread
_BLOCK_ROWS = 32


@dataclass(frozen=True)
class Thresholds:
    """Cosine thresholds; scales differ between models, so each profile has its own."""

    repeat: float
    """The seeds' .80: the same thing said again (GATE-4, input frequency)."""
    known: float
    """The seeds' .85: durable memory has it already (GATE-4, saturation)."""
    same: float
    """The seeds' .92: two wordings of one claim (MERGE-1)."""
    related: float
    """The seeds' .20: about the same matter (CTX-3)."""
    boost: float
    """The seeds' .78: close to a guidance prototype (COMP-3)."""
    relevant: float
    """Minimum for a hit without a shared word; below it is chance."""


@dataclass(frozen=True)
class Profile:
    """Name, identity, size and thresholds of an embedder."""

    name: str
    fingerprint: str
    """Name, weights hash and settings: vectors of different fingerprints are never compared (RECALL-12)."""
    dims: int
    thresholds: Thresholds
    scripts: frozenset[str]
    """Unicode scripts it was trained for ("Latin"), empty for all; it is not asked about others (RECALL-9)."""


class Embedder(Protocol):
    """Converts texts to unit vectors; a text without any known token gets the zero vector."""

    @property
    def profile(self) -> Profile: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 [len(texts), dims]; a vector must not depend on the other texts of the batch.

        Raises ModelError if the model cannot answer; the caller keeps the turns and tries again later.
        """
        ...


def unit(vectors: Vectors) -> Vectors:
    """Scale each row to length one; a zero row stays zero. No BLAS: its sums may depend on the size of the batch."""
    lengths: Vectors = np.sqrt(np.sum(vectors * vectors, axis=1, keepdims=True))
    lengths[lengths == 0] = 1
    return vectors / lengths


def round_to_half(vectors: Vectors) -> Vectors:
    """Round to half precision, so that the store can keep them in half the space without loss.

    A cosine changes by about 1e-5, a hundredth of the error of the int8 codes in a scan.
    """
    return vectors.astype("<f2").astype("<f4")


def dot_product(vectors: Vectors, vector: Vectors) -> Vectors:
    """Return the dot product of each vector with one."""
    found: Vectors = dot_products(vector[None], vectors)[0]
    return found


def dot_products(few: Vectors, many: Vectors) -> Vectors:
    """Return the dot products of each of the few (rows) with each of the many (columns)."""
    if len(few) >= _MANY_ROWS:
        return few @ many.T
    if len(few) == 1 and len(many):
        return np.asarray(simsimd.cdist(few, many, "dot", out_dtype="float32"))
    found = np.empty((len(few), len(many)), np.float32)
    for row in range(0, len(few), _BLOCK_ROWS):
        part = few[row : row + _BLOCK_ROWS]
        step = max(_BLOCK // part.size, 1)
        for at in range(0, len(many), step):
            np.matmul(part, many[at : at + step].T, out=found[row : row + _BLOCK_ROWS, at : at + step])
    return found


# --- Circuit breaker for models (SAFE-1), and embedders opened behind one.


T = TypeVar("T")

_SPECS = "static, onnx:PATH, onnx:bge-small, onnx:minilm, remote:URL#MODEL, none"


class Breaker:
    """Closed → open after `failures` in a row → half-open after the wait → closed, or open for twice as long.

    Only ModelError counts as a failure. Safe to share between threads; `clock` is monotonic seconds.
    """

    def __init__(
        self,
        name: str,
        *,
        failures: int = 3,  # one lost packet is not an outage
        first_wait_s: float = 1.0,  # a restarting server is back within seconds
        longest_wait_s: float = 60.0,  # after an outage of hours, recovery must not take more than a minute
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._allowed = failures
        self._first_wait_s = first_wait_s
        self._longest_wait_s = longest_wait_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._why = ""
        self._open_until: float | None = None
        self._wait_s = first_wait_s
        self._probing = False

    @property
    def degraded(self) -> str | None:
        """None while closed, else a sentence with what is down, why, and when it is retried."""
        with self._lock:
            return self._describe()

    def call(self, work: Callable[[], T]) -> T:
        """Run the work and record the outcome; raises ModelUnavailable immediately while open."""
        probe = self._enter()
        try:
            result = work()
        except ModelError as error:
            self._record_failure(str(error), probe)
            raise
        except BaseException:  # an interrupt or a bug of the caller says nothing about the model
            if probe:
                with self._lock:
                    self._probing = False
            raise
        self._reset()
        return result

    def _enter(self) -> bool:
        """Return True if this call is the probe of a half-open breaker."""
        with self._lock:
            if self._open_until is None:
                return False
            if self._probing or self._clock() < self._open_until:
                raise ModelUnavailable(self._describe() or self._name)
            self._probing = True
            return True

    def _record_failure(self, why: str, probe: bool) -> None:
        with self._lock:
            self._failed += 1
            self._why = why
            if probe:
                self._probing = False
                self._wait_s = min(self._wait_s * 2, self._longest_wait_s)
            elif self._open_until is not None or self._failed < self._allowed:
                return  # not yet an outage, or a call that began before it
            self._open_until = self._clock() + self._wait_s

    def _reset(self) -> None:
        with self._lock:
            self._failed = 0
            self._why = ""
            self._open_until = None
            self._wait_s = self._first_wait_s
            self._probing = False

    def _describe(self) -> str | None:
        if self._open_until is None:
            return None
        left = self._open_until - self._clock()
        when = f"in {left:.1f} s" if left > 0 else "now, by one call" if self._probing else "with the next call"
        return f"{self._name} is down after {self._failed} failures in a row, retried {when}: {self._why}"


class GuardedEmbedder:
    """An embedder behind a breaker; checks that its vectors have the right shape and are finite."""

    def __init__(self, embedder: Embedder, breaker: Breaker | None = None) -> None:
        self._embedder = embedder
        self._breaker = breaker or Breaker(f"embedder {embedder.profile.name}")

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    @property
    def degraded(self) -> str | None:
        return self._breaker.degraded

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._breaker.call(lambda: self._checked(texts))

    def close(self) -> None:
        """Close the embedder's connections, if it has any."""
        close = getattr(self._embedder, "close", None)
        if close is not None:
            close()

    def _checked(self, texts: Sequence[str]) -> NDArray[np.float32]:
        name = self._embedder.profile.name
        try:
            vectors = np.array(self._embedder.embed(texts), np.float32)  # a copy: the model may reuse its array
        except HoldfastError:
            raise
        except Exception as error:  # a host's own embedder may raise anything; it must never cost a turn
            raise ModelMisbehaved(f"embedder {name} raised {type(error).__name__}: {error}") from error
        wanted = (len(texts), self._embedder.profile.dims)
        if vectors.shape != wanted:
            raise ModelMisbehaved(f"embedder {name} returned vectors of shape {vectors.shape} instead of {wanted}")
        if not np.isfinite(vectors).all():
            raise ModelMisbehaved(f"embedder {name} returned vectors with numbers that are not finite")
        return unit(vectors)


def open_embedder(spec: str, timeout_s: float) -> GuardedEmbedder | None:
    """Open the embedder of a spec ("static", "onnx:PATH", "remote:URL#MODEL"); None for "none" (search by words only).

    Each kind is imported only when it is used. Raises InputError for an unknown spec.
    """
    kind, _, rest = spec.partition(":")
    if spec == "none":
        return None
    if spec == "static":
        return GuardedEmbedder(shipped_embedder())
    if kind == "onnx" and rest:
        from holdfast.models.onnx import open_onnx

        return GuardedEmbedder(open_onnx(rest))
    if kind == "remote" and rest:
        from holdfast.models.remote import open_remote

        return GuardedEmbedder(open_remote(rest, timeout_s))
    raise InputError(f"unknown embedder {spec!r}. Use one of: {_SPECS}")


# --- The default embedder: a packaged table of token vectors. It needs only numpy, no network and no model
# server.
#
# The tokenizer is BERT's uncased WordPiece: greedy longest match against a fixed vocabulary.


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

    def token_vectors(self, text: str, limit: int) -> NDArray[np.float32]:
        """Return the unit vectors of the first `limit` pieces of a text, in order."""
        ids = np.frombuffer(self.pieces.encode(text, limit), dtype="<i4")
        return unit(self._rows.take(ids, axis=0).astype(np.float32))

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


# --- Deadlines for work that may hang: it runs in another thread, and the caller stops waiting (SAFE-1).
#
# A thread cannot be stopped from outside. A late one is abandoned and counted; when it returns, it is used again. The
# number of abandoned threads is limited, so that a model that hangs forever costs a few threads, not one per call.

_IDLE_S = 30.0  # seconds without work after which a thread ends
_MAX_LATE = 16


class DeadlineExceeded(ModelUnavailable):
    """The work did not finish in time."""


class _Task(Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: T | None = None
        self._error: BaseException | None = None
        self.done = threading.Event()
        self.abandoned = False

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:  # raised in the waiting thread
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return cast("T", self._result)


_Queue = queue.SimpleQueue["_Task[object]"]


class DeadlineExecutor:
    """Runs work in another thread while the caller waits for a limited time. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._idle: list[_Queue] = []
        self._late = 0

    def run(self, work: Callable[[], T], seconds: float) -> T:
        """Return the work's result or raise its error; DeadlineExceeded if it, or too many before it, take longer."""
        task = _Task(work)
        self._submit(cast("_Task[object]", task))
        if not task.done.wait(max(seconds, 0.0)):
            with self._lock:
                if not task.done.is_set():
                    task.abandoned = True
                    self._late += 1
                    raise DeadlineExceeded(f"{self._name} did not answer within {seconds * 1000:.0f} ms")
        return task.result()

    def _submit(self, task: _Task[object]) -> None:
        with self._lock:
            if self._late >= _MAX_LATE:
                raise DeadlineExceeded(f"{self._name} does not answer: {self._late} calls still wait for it")
            tasks = self._idle.pop() if self._idle else None
        if tasks is None:
            tasks = queue.SimpleQueue()
            # A daemon: a program must be able to end while something hangs.
            threading.Thread(target=self._work, args=(tasks,), name=f"holdfast-{self._name}", daemon=True).start()
        tasks.put(task)

    def _work(self, tasks: _Queue) -> None:
        while True:
            try:
                task = tasks.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if tasks in self._idle:
                        self._idle.remove(tasks)
                        return
                continue  # the queue was just taken: a task is on its way
            task.run()
            with self._lock:
                task.done.set()
                self._late -= task.abandoned
                self._idle.append(tasks)
            del task  # frees what it holds before the next one comes


class DeadlineEmbedder:
    """Embedder for one context: all calls share one time limit, each text is embedded once, and it fails only once."""

    def __init__(self, embedder: Embedder, executor: DeadlineExecutor, breaker: Breaker, seconds: float) -> None:
        self._embedder = embedder
        self._executor = executor
        self._breaker = breaker
        self._left = seconds
        self._known: dict[tuple[str, ...], NDArray[np.float32]] = {}
        self._failed: str | None = None

    @property
    def profile(self) -> Profile:
        return self._embedder.profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        key = tuple(texts)
        if self._failed is not None:
            raise ModelUnavailable(self._failed)
        if key not in self._known:
            started = time.monotonic()
            try:
                self._known[key] = self._breaker.call(
                    lambda: self._executor.run(lambda: self._embedder.embed(texts), self._left)
                )
            except ModelError as error:
                self._failed = str(error)
                raise
            self._left -= time.monotonic() - started
        return self._known[key]
