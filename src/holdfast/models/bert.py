"""A BERT encoder in numpy: the token table that our models share, and their layers.

The table is bge-small's (MIT), frozen and kept as 8-bit codes; models trained on top of it (gate/reader.py) bring their
own layers. One input goes through at a time: it costs no more than a batch on one thread, and an answer never depends
on what else is asked (INV-3).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Floats = NDArray[np.float32]
Arrays = Mapping[str, NDArray[np.generic]]

WIDTH = 384
_PARTS = tuple(f"{part}.{what}" for part in ("q", "k", "v", "o", "i", "f", "n1", "n2") for what in ("weight", "bias"))


class TokenTable:
    """The vectors of single tokens."""

    def __init__(self) -> None:
        with (files("holdfast.models") / "bert_384" / "tokens.npz").open("rb") as file, np.load(file) as arrays:
            self._codes: NDArray[np.uint8] = arrays["codes"]
            self._scale, self._zero = np.float32(arrays["scale"]), np.float32(arrays["zero"])

    def of(self, ids: Sequence[int]) -> Floats:
        """Return one row per token."""
        rows: Floats = (self._codes.take(ids, axis=0).astype(np.float32) - self._zero) * self._scale
        return rows


_ALONE = threading.Lock()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_ALONE.acquire, after_in_parent=_ALONE.release, after_in_child=_ALONE.release)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread: matrices this small gain nothing from more, and wait for each other on busy cores."""
    with _ALONE, _pools().limit(limits=1, user_api="blas"):
        yield


@cache
def _pools() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def token_table() -> TokenTable:
    """Return the shared table, loaded once per process."""
    return TokenTable()


class TransformerLayer:
    """One transformer layer with weights as training writes them."""

    def __init__(self, weights: Mapping[str, Floats], prefix: str, heads: int) -> None:
        self._heads = heads
        get = {name: weights[f"{prefix}.{name}"] for name in _PARTS}
        self._qkv = np.concatenate([get["q.weight"], get["k.weight"], get["v.weight"]]).T.copy()
        self._qkv_bias = np.concatenate([get["q.bias"], get["k.bias"], get["v.bias"]])
        self._o, self._o_bias = get["o.weight"].T.copy(), get["o.bias"]
        self._i, self._i_bias = get["i.weight"].T.copy(), get["i.bias"]
        self._f, self._f_bias = get["f.weight"].T.copy(), get["f.bias"]
        self._norms = (get["n1.weight"], get["n1.bias"]), (get["n2.weight"], get["n2.bias"])

    def __call__(self, x: Floats) -> Floats:
        """Transform the vectors of one text: (length, width) in and out."""
        length, width = x.shape
        size = width // self._heads
        qkv = (x @ self._qkv + self._qkv_bias).reshape(length, 3, self._heads, size)
        q, k, v = (qkv[:, part].transpose(1, 0, 2) for part in range(3))
        scores = q @ k.transpose(0, 2, 1)
        scores *= np.float32(size**-0.5)
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        mixed = (scores @ v).transpose(1, 0, 2).reshape(length, width)
        x = layer_norm(x + (mixed @ self._o + self._o_bias), *self._norms[0])
        inner = _gelu(x @ self._i + self._i_bias)
        return layer_norm(x + (inner @ self._f + self._f_bias), *self._norms[1])


def layer_norm(x: Floats, weight: Floats, bias: Floats) -> Floats:
    """Normalise each row, then scale and shift it."""
    x = x - x.mean(-1, keepdims=True)
    x *= 1.0 / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(1e-12))
    return x * weight + bias


def _gelu(x: Floats) -> Floats:
    """The tanh form of GELU: within .001 of the exact one, in a third of its time."""
    inner = x * x
    inner *= np.float32(0.044715)
    inner += 1
    inner *= x
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= np.float32(0.5)
    return inner


def restore(arrays: Arrays) -> dict[str, Floats]:
    """Return weights as floats: 8-bit rows with their scales, and what was kept in half precision."""
    found: dict[str, Floats] = {}
    for name, value in arrays.items():
        if name.startswith("q:"):
            found[name[2:]] = value.astype(np.float32) * arrays[f"s:{name[2:]}"].astype(np.float32)[:, None]
        elif not name.startswith("s:") and name != "meta":
            found[name] = value.astype(np.float32)
    return found
