"""The ask models: an encoder that brings a question near the turn that answers it, and a cross-encoder for reranking.

They are optional. Weights come from the distribution holdfast-models or from the folder that HOLDFAST_MODELS names
("none" switches them off), and run in onnxruntime (extra `models`): int8 layers on top of the table of token vectors
that this package ships. One text goes through at a time, so a result never depends on what else is asked (INV-3), and
that is no slower than batches. Numpy layers, as the reader has them, would take four to seven times as long.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError, ModelMisbehaved
from holdfast.models.bert import WIDTH, token_table
from holdfast.models.embedder import THRESHOLDS, Embedder, GuardedEmbedder, Profile, shipped_embedder, unit

if TYPE_CHECKING:
    import onnxruntime

INSTALL = "pip install ./models '.[models]'"
"""From a clone of the repository."""
ENCODER, RERANKER, ABSTENTION = "ask.onnx.gz", "rerank.onnx.gz", "abstain.json"
CLS, SEP = 101, 102
MODELS_VARIABLE = "HOLDFAST_MODELS"
"""Also read by engine.py, which loads this module only if there may be models."""
_PACKAGE = "holdfast_models"
_MAX_TOKENS = 160  # of a text; a longer turn is read by its passages too
_QUESTION, _PREFIX, _TURN, _BEFORE = 40, 16, 112, 32  # tokens of each part of a pair, as in training


@dataclass(frozen=True)
class WeightsFile:
    """One model's weights: where they are, and the hash that they must have."""

    path: Path
    sha256: str

    def run(self, ids: Sequence[int], segments: Sequence[int]) -> NDArray[np.float32]:
        """Return the output for one input."""
        feed = {"words": token_table().of(ids)[None], "segments": np.array([segments], np.int64)}
        try:
            out = np.asarray(_session(self).run(["out"], feed)[0], np.float32)
        except ModelMisbehaved:
            raise
        except Exception as error:  # onnxruntime's exceptions have no common base class
            raise ModelMisbehaved(f"{self.path} failed on {len(ids)} tokens: {error}") from error
        if not np.isfinite(out).all():
            raise ModelMisbehaved(f"{self.path} returned numbers that are not finite")
        return out


@cache
def _session(weights: WeightsFile) -> onnxruntime.InferenceSession:
    """Load a network, once per process; a file other than the pinned one is refused."""
    from holdfast.models.onnx import open_session

    data = weights.path.read_bytes()
    if hashlib.sha256(data).hexdigest() != weights.sha256:
        raise ModelMisbehaved(f"{weights.path} is not the file that was released (sha256). Install again: {INSTALL}")
    return open_session(gzip.decompress(data), str(weights.path), "models", threads=1)


class AskEncoder:
    """Embeds questions and turns alike; loaded when the first text comes."""

    def __init__(self, weights: WeightsFile) -> None:
        self._weights = weights
        self._profile = Profile(
            name="ask",
            fingerprint=f"holdfast-ask|{weights.sha256[:16]}|max_tokens={_MAX_TOKENS}",
            dims=WIDTH,
            thresholds=THRESHOLDS,  # of the static model; nothing compares its cosines with them
            scripts=frozenset({"Latin"}),
        )

    @property
    def profile(self) -> Profile:
        return self._profile

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        for at, text in enumerate(texts):
            if ids := _tokens(text, _MAX_TOKENS - 2):
                vectors[at] = self._weights.run([CLS, *ids, SEP], [0] * (len(ids) + 2))
        return unit(vectors)


@dataclass(frozen=True)
class PairText:
    """A turn or record as the reranker reads it."""

    text: str
    speaker: str
    date: str
    """As "8 May 2023"."""
    before: str = ""
    """The turn before it in its session, as "speaker: text"."""


class Reranker:
    """Reads a question together with one turn; loaded when the first pair comes."""

    def __init__(self, weights: WeightsFile) -> None:
        self._weights = weights

    def score(self, question: str, pair: PairText) -> float:
        """Return the score of one pair: the higher, the more likely the turn answers the question."""
        asked = _tokens(question, _QUESTION)
        first = [CLS, *asked, SEP]
        second = [
            *_tokens(f"{pair.speaker}, {pair.date}: ", _PREFIX), *_best_part(_tokens(pair.text, 8 * _TURN), asked), SEP,
        ]  # fmt: skip
        if pair.before:
            second += [*_tokens(pair.before, _BEFORE), SEP]
        return float(self._weights.run(first + second, [0] * len(first) + [1] * len(second))[0])


@dataclass(frozen=True)
class Abstention:
    """When to return nothing (search/ask.py): a logistic function, and the probability below which it says so."""

    weights: tuple[float, ...]
    bias: float
    threshold: float


@dataclass(frozen=True)
class AskModels:
    encoder: Embedder
    reranker: Reranker | None
    abstention: Abstention | None = None


def open_models(environ: Mapping[str, str] = os.environ) -> AskModels | None:
    """Return the installed models, or None if there are none; nothing is loaded yet."""
    given = environ.get(MODELS_VARIABLE, "")
    if given == "none":
        return None
    found = _in_folder(Path(given).expanduser()) if given else _installed()
    if ENCODER not in found or find_spec("onnxruntime") is None:
        if given:
            raise InputError(
                f"{MODELS_VARIABLE}={given} cannot be used: it needs {ENCODER} there, and onnxruntime. {INSTALL}"
            )
        return None
    reranker = Reranker(found[RERANKER]) if RERANKER in found else None
    return AskModels(
        GuardedEmbedder(AskEncoder(found[ENCODER])), reranker, _abstention(found[ENCODER].path.parent / ABSTENTION)
    )


def _abstention(path: Path) -> Abstention | None:
    if not path.is_file():
        return None
    fitted = json.loads(path.read_text(encoding="utf-8"))
    return Abstention(tuple(fitted["weights"].values()), fitted["bias"], fitted["threshold"])


def _in_folder(folder: Path) -> dict[str, WeightsFile]:
    paths = [folder / name for name in (ENCODER, RERANKER)]
    return {
        path.name: WeightsFile(path, hashlib.sha256(path.read_bytes()).hexdigest()) for path in paths if path.is_file()
    }


def _installed() -> dict[str, WeightsFile]:
    if find_spec(_PACKAGE) is None:
        return {}
    package = import_module(_PACKAGE)
    files = {name: WeightsFile(package.FOLDER / name, sha256) for name, sha256 in package.FILES.items()}
    return {name: file for name, file in files.items() if file.path.is_file()}


def _tokens(text: str, most: int) -> list[int]:
    found: list[int] = np.frombuffer(shipped_embedder().pieces.encode(text, most), "<i4").tolist()
    return found


def _best_part(ids: list[int], asked: Sequence[int]) -> list[int]:
    """Return the stretch of a long turn that shares most with the question; of equals the first."""
    wanted = set(asked)
    starts = range(0, max(len(ids) - _TURN // 2, 1), _TURN // 2)
    start = max(starts, key=lambda at: len(wanted.intersection(ids[at : at + _TURN])))
    return ids[start : start + _TURN]
