"""The booster: a second chance for guidance that the detector of rules did not see (COMP-3).

A sentence with a word that hints at guidance is compared with sentences that are guidance. An embedder that fails or is
slow contributes nothing: then the detector alone decides.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import Embedder
from holdfast.text.words import script_of

BOOST_DEADLINE_S = 2.0  # for the vectors of all texts of a run: a slower embedder contributes nothing

_HINT = re.compile(
    r"\b(?:prefer(?:s|red|ably|ence)?|avoid(?:s|ing)?|keep(?:s|ing)?|ensure|make sure|should(?:n['’]t)?|ought|rather"
    r"|like (?:it|you|your|my|to|answers|things|all|when)|best if|better if|important|helps? (?:me |if )|works best"
    r"|needs? to|has to|have to|want(?:ed)? (?:you|all|every|the|your|it)|would be (?:good|great|nice|better)"
    r"|appreciate|hate (?:it )?when|bothers me|in general|usually|default|stick(?:ing)? (?:to|with)|instead of"
    r"|whenever|remember|expect|leave out|skip|no need|rule|polic(?:y|ies)|convention|standard)\b",
    re.IGNORECASE,
)

PROTOTYPES = (
    "Please keep your answers short and to the point.",
    "I prefer short answers without long explanations.",
    "I would rather you gave me bullet points than long paragraphs.",
    "Write your replies in plain language without jargon.",
    "It would be better if you answered in my own language.",
    "I like it when you show me the result first.",
    "I hate it when your answers begin with an apology.",
    "No need to repeat my question in your answer.",
    "Leave out emojis and exclamation marks in your messages.",
    "You should ask me before you change or delete a file.",
    "I want you to check with me before you send or book anything.",
    "I expect you to tell me when you are not sure about something.",
    "It helps me if you name your sources.",
    "Use metric units and the 24-hour clock in your replies.",
    "Dates should be written with the year first.",
    "Call me by my first name when you write to me.",
    "Avoid giving me advice about my health unless I ask.",
    "Keep what I tell you about my family private.",
    "Suggestions for dinner should be vegetarian.",
    "When you plan a trip for me, keep the budget low.",
    "Do not schedule meetings for me early in the morning.",
    "We prefer tabs over spaces in this codebase.",
    "Every function in this project should have a test.",
    "The code needs to pass the linter before it is committed.",
    "Avoid adding new dependencies to the project.",
    "Keep functions small and names descriptive in our code.",
    "Our convention is to write commit messages in the imperative.",
    "Changes should go through a pull request and a review.",
    "Ensure that passwords and keys never appear in the logs.",
    "Our policy is to run the tests before every deployment.",
    "Stick to the standard library instead of extra packages.",
    "The default branch has to stay ready for release.",
)
"""Guidance that is not an order: wishes about answers, about what to ask first, about code."""

_CALIBRATED = {"static": 0.45, "onnx:bge-small-en-v1.5-int8": 0.68, "onnx:all-MiniLM-L6-v2-int8": 0.42}
"""By profile, from sentences of our own that all have a hint (tests/data/guidance_hints.py): so that about one in
thirty that is no guidance is protected. The seeds' .78 finds 3 of 34 that are, on the model it was made for."""

_known: dict[str, NDArray[np.float32]] = {}
"""The prototypes' vectors, by the embedder's fingerprint."""


def surface_hint(text: str) -> bool:
    """Return True if a word hints at guidance: prefer, avoid, keep, ensure, should, …"""
    return _HINT.search(text) is not None


class Booster:
    """Compares texts with the prototypes; `trouble` says why the embedder contributed nothing the last time."""

    def __init__(self, embedder: Embedder | None, threshold: float | None = None) -> None:
        self._embedder = embedder
        self._threshold = threshold
        self.trouble: str | None = None

    @property
    def threshold(self) -> float:
        """The cosine from which a text is protected."""
        if self._threshold is not None or self._embedder is None:
            return self._threshold or 1.0
        profile = self._embedder.profile
        return _CALIBRATED.get(profile.name, profile.thresholds.boost)

    def protects(self, texts: Sequence[str]) -> list[float]:
        """Of each text the largest cosine to a prototype; 0 where the embedder does not know its script, or all 0."""
        self.trouble = None
        nothing = [0.0] * len(texts)
        if self._embedder is None or not texts:
            return nothing
        scripts = self._embedder.profile.scripts
        known = [not scripts or script_of(text) in scripts for text in texts]
        outcome = _within(BOOST_DEADLINE_S, self._embedder, texts)
        if isinstance(outcome, str):
            self.trouble = outcome
            return nothing
        vectors, prototypes = outcome
        cosines = np.clip(np.max(np.einsum("id,pd->ip", vectors, prototypes), axis=1), 0.0, 1.0)
        return [float(cosine) if knows else 0.0 for cosine, knows in zip(cosines, known, strict=True)]


_Found = tuple[NDArray[np.float32], NDArray[np.float32]]


def _within(seconds: float, embedder: Embedder, texts: Sequence[str]) -> _Found | str:
    """The vectors of the texts and of the prototypes, or why there are none. A late answer is left to itself."""
    found: list[_Found | str] = []

    def embed() -> None:
        try:
            found.append((np.asarray(embedder.embed(texts), np.float32), _prototypes(embedder)))
        except Exception as error:  # a host's own embedder may raise anything; it must cost a boost, never a turn
            found.append(f"the booster contributed nothing: {embedder.profile.name} raised {error!r}")

    thread = threading.Thread(target=embed, name="holdfast-booster", daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else f"the booster contributed nothing: {embedder.profile.name} took over {seconds:g} s"


def _prototypes(embedder: Embedder) -> NDArray[np.float32]:
    fingerprint = embedder.profile.fingerprint
    if fingerprint not in _known:
        _known[fingerprint] = np.asarray(embedder.embed(PROTOTYPES), np.float32)
    return _known[fingerprint]
