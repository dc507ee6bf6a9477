"""Small ask models for tests, written by training/ask/export.py: a text's vector is the mean of its tokens' vectors."""

from __future__ import annotations

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.models.bert import WIDTH
from holdfast.search.ask import FEATURES

_EXPORT = Path(__file__).parents[2] / "training" / "ask" / "export.py"


def write_models(folder: Path, seed: int = 0, threshold: float | None = None) -> Path:
    """Write ask.onnx.gz and rerank.onnx.gz, and abstain.json that abstains below a constant probability of one half."""
    spec = spec_from_file_location("export", _EXPORT)
    assert spec is not None and spec.loader is not None
    export = module_from_spec(spec)
    spec.loader.exec_module(export)
    folder.mkdir(exist_ok=True)
    for kind in ("ask", "rerank"):
        (folder / f"{kind}.onnx.gz").write_bytes(export.packed(export.build(_weights(seed), kind)[0]))
    if threshold is not None:
        fitted = {"weights": dict.fromkeys(FEATURES, 0.0), "bias": 0.0, "threshold": threshold}
        (folder / "abstain.json").write_text(json.dumps(fitted))
    return folder


def _weights(seed: int) -> dict[str, NDArray[np.float32]]:
    """One layer that looks at all tokens alike, adds them up and passes them on."""
    chance = np.random.default_rng(seed)
    weights: dict[str, NDArray[np.float64]] = {"pos.weight": np.zeros((256, WIDTH)), "typ.weight": np.zeros((2, WIDTH))}
    for name, outputs, inputs in (
        ("q", WIDTH, WIDTH), ("k", WIDTH, WIDTH), ("f1", 4 * WIDTH, WIDTH), ("f2", WIDTH, 4 * WIDTH),
    ):  # fmt: skip
        weights |= {f"layers.0.{name}.weight": np.zeros((outputs, inputs)), f"layers.0.{name}.bias": np.zeros(outputs)}
    for name, factor in (("v", 1.0), ("o", 30.0 + seed)):
        weights |= {f"layers.0.{name}.weight": factor * np.eye(WIDTH), f"layers.0.{name}.bias": np.zeros(WIDTH)}
    for name in ("n", "layers.0.n1", "layers.0.n2"):
        weights |= {f"{name}.weight": np.ones(WIDTH), f"{name}.bias": np.zeros(WIDTH)}
    weights |= {"pool.weight": chance.normal(size=(WIDTH, WIDTH)) / 20, "pool.bias": np.zeros(WIDTH)}
    weights |= {"head.weight": chance.normal(size=(1, WIDTH)), "head.bias": np.zeros(1)}
    return {name: value.astype(np.float32) for name, value in weights.items()}
