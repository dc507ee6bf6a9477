"""A question as recall asks it: its words, its meaning, who and when it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.models.embedder import Embedder
from holdfast.recall.shelf import Shelf
from holdfast.settings import RecallSettings
from holdfast.words import query_terms, script_of, terms

__all__ = ["Question", "Speaker", "asks_for_replies", "identifiers", "named_speaker", "named_terms", "read"]

_REPLIES = re.compile(
    r"\byou (?:\w+ ){0,2}(?:suggest|recommend|told|said|mention|provid|gave|advis|propos|list|explain|describ|creat"
    r"|wrote|shar|answer)\w*\b"
    r"|\b(?:did|do|can|could|would) you (?:\w+ )?(?:suggest|recommend|say|tell|advise|mention|propose|explain|describe"
    r"|list|give|provide)\b"
    r"|\byour (?:answer|suggestion|recommendation|advice|list|response|reply|explanation)s?\b"
    r"|\bremind me\b|\bour (?:previous|last|earlier|past) (?:conversation|chat|discussion)\b",
    re.IGNORECASE,
)


_NAMED_CHARS = 2000
_JOINT, _DIGIT, _LETTER = re.compile(r"\w[._/\\:@#+\-]\w|\w_\w"), re.compile(r"\d"), re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Question:
    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    """None when the semantic leg must stay silent."""
    degraded: str | None = None


@dataclass(frozen=True)
class Speaker:
    """The one speaker whom a question names, and the turns of theirs."""

    terms: frozenset[str]
    turns: NDArray[np.int64]


def read(text: str, speaker: Speaker | None, embedder: Embedder | None, settings: RecallSettings) -> Question:
    """The speaker's name is left out: it says whose turns are meant, not what is in them."""
    text = text[: settings.question_chars]
    found = query_terms(text, settings.question_terms)
    if speaker is not None:
        text = " ".join(word for word in text.split() if not speaker.terms.intersection(terms(word)))
        found = [term for term in found if term not in speaker.terms] or found
    vector, degraded = _embed(text.rstrip(" ?"), embedder)  # the mark pulls towards other questions
    return Question(found, vector, degraded)


def named_speaker(shelf: Shelf, text: str, settings: RecallSettings) -> Speaker | None:
    """The one speaker of the namespace whom the text names; none when it names two, or nobody."""
    names = query_terms(text[: settings.question_chars], settings.question_terms)
    found = shelf.holders.of([f"@{name}" for name in names])
    spoken = [(name, nums) for name, (nums, _) in zip(names, found, strict=True) if len(nums)]
    if not spoken or any(not np.array_equal(nums, spoken[0][1]) for _, nums in spoken):
        return None
    return Speaker(frozenset(name for name, _ in spoken), spoken[0][1])


def named_terms(text: str) -> frozenset[str]:
    """The terms of the question's names, numbers and identifiers: words with a capital or a digit."""
    words = [word for word in text[:_NAMED_CHARS].split() if any(char.isupper() or char.isdigit() for char in word)]
    return frozenset(query_terms(" ".join(words), len(words) * 8)) if words else frozenset()


def identifiers(found: Sequence[str]) -> list[str]:
    """Those terms that name one thing exactly: paths, versions, snake_case, error codes."""
    return [term for term in found if _JOINT.search(term) or (_DIGIT.search(term) and _LETTER.search(term))]


def asks_for_replies(text: str) -> bool:
    """Whether it asks for what the assistant said: then the user's own words are not preferred (RECALL-2)."""
    return bool(_REPLIES.search(text[:2000]))


def _embed(text: str, embedder: Embedder | None) -> tuple[NDArray[np.float32] | None, str | None]:
    if embedder is None or not text.strip():
        return None, None
    scripts = embedder.profile.scripts
    if scripts and script_of(text) not in scripts:
        return None, None
    try:
        vector = embedder.embed([text])[0]
    except ModelError as error:
        return None, f"words only: {error}"
    return (vector, None) if vector.any() else (None, None)
