"""The booster protects guidance that gives no order, and a failing or slow embedder contributes nothing."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from holdfast.models.embedder import Profile, shipped_embedder
from holdfast.rules import booster as booster_module
from holdfast.rules.booster import PROTOTYPES, Booster, surface_hint
from holdfast.testing import FailingEmbedder, HashEmbedder
from tests.support.guidance_hints import GUIDANCE, NO_GUIDANCE


class Counting:
    """An embedder that notes what it is asked, and may wait or raise first."""

    def __init__(self, fingerprint: str, wait: threading.Event | None = None, error: Exception | None = None) -> None:
        self._embedder = HashEmbedder()
        self._fingerprint = fingerprint
        self._wait = wait
        self._error = error
        self.asked: list[Sequence[str]] = []

    @property
    def profile(self) -> Profile:
        profile = self._embedder.profile
        return Profile("counting", self._fingerprint, profile.dims, profile.thresholds, profile.scripts)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(texts)
        if self._wait is not None:
            self._wait.wait(30)
        if self._error is not None:
            raise self._error
        return self._embedder.embed(texts)


@pytest.mark.requirement("COMP-3")
def test_there_are_enough_prototypes_and_each_protects_itself() -> None:
    assert 20 <= len(set(PROTOTYPES)) <= 40
    assert all(cosine > 0.99 for cosine in Booster(shipped_embedder()).protects(PROTOTYPES))


@pytest.mark.requirement("COMP-3")
@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("I prefer the window open", True),
        ("Avoid the motorway.", True),
        ("You should've told me", True),
        ("KEEP it short", True),
        ("The goalkeeper was late", False),
        ("It rained in Bergen", False),
        ("", False),
    ],
)
def test_a_word_may_hint_at_guidance(text: str, hint: bool) -> None:
    assert surface_hint(text) is hint


@pytest.mark.requirement("COMP-3")
def test_the_threshold_lets_hardly_anything_through_that_only_sounds_like_guidance() -> None:
    """The calibration: of our sentences with a hint, half of the guidance and one in thirty of the rest."""
    booster = Booster(shipped_embedder())
    meant = booster.protects([text for text in GUIDANCE if surface_hint(text)])
    sounds = booster.protects([text for text in NO_GUIDANCE if surface_hint(text)])
    assert np.mean([cosine >= booster.threshold for cosine in meant]) >= 0.45
    assert np.mean([cosine >= booster.threshold for cosine in sounds]) <= 0.05


@pytest.mark.requirement("COMP-3")
def test_the_threshold_is_a_given_one_or_the_profiles() -> None:
    assert Booster(HashEmbedder()).threshold == HashEmbedder().profile.thresholds.boost
    assert Booster(HashEmbedder(), 0.9).threshold == 0.9


@pytest.mark.requirement("COMP-3", "INV-5")
@pytest.mark.parametrize("error", [ValueError("odd"), MemoryError()])
def test_an_embedder_that_raises_contributes_nothing_and_says_why(error: Exception) -> None:
    booster = Booster(Counting(f"raising {error!r}", error=error))
    assert booster.protects(["Keep it short.", "Avoid jargon."]) == [0.0, 0.0]
    assert booster.trouble is not None and repr(error) in booster.trouble


@pytest.mark.requirement("COMP-3", "INV-5")
def test_an_embedder_that_is_down_contributes_nothing_until_it_is_back() -> None:
    embedder = FailingEmbedder(down=True)
    booster = Booster(embedder)
    assert booster.protects(["Keep it short."]) == [0.0]
    embedder.down = False
    assert booster.protects(["Keep it short."])[0] > 0
    assert booster.trouble is None


@pytest.mark.requirement("COMP-3", "INV-5")
def test_a_slow_embedder_contributes_nothing_within_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booster_module, "BOOST_DEADLINE_S", 0.05)
    late = threading.Event()
    booster = Booster(Counting("slow", wait=late))
    assert booster.protects(["Keep it short."]) == [0.0]
    assert booster.trouble is not None and "0.05 s" in booster.trouble
    late.set()


@pytest.mark.requirement("COMP-3", "INV-5")
def test_without_an_embedder_nothing_is_boosted() -> None:
    assert Booster(None).protects(["Keep it short."]) == [0.0]
    assert Booster(shipped_embedder()).protects([]) == []


@pytest.mark.requirement("COMP-3")
def test_the_prototypes_are_embedded_once_for_a_model() -> None:
    embedder = Counting("once")
    Booster(embedder).protects(["Keep it short."])
    Booster(embedder).protects(["Avoid jargon."])
    assert [len(texts) for texts in embedder.asked] == [1, len(PROTOTYPES), 1]


@pytest.mark.requirement("COMP-3", "RECALL-9")
def test_a_script_that_the_model_does_not_know_is_not_compared() -> None:
    assert Booster(shipped_embedder()).protects(["Пиши коротко и без смайликов."]) == [0.0]
