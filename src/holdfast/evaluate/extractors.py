"""Two extractors, or two prompts, on the same transcripts: what each finds, and whether they really differ (EVAL-2).

Only extraction is measured: no gate, floor, merge or ranking stands between. Every turn is put to both, so the
comparison is paired: McNemar's exact test over the facts that only one of them found, and over the turns on which only
one of them rightly kept silent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from holdfast.admit.claim import Extractor
from holdfast.admit.extract import DeterministicExtractor
from holdfast.admit.pasted import own_words
from holdfast.admit.propose import LlmExtractor
from holdfast.errors import InputError, ModelError
from holdfast.evaluate.bootstrap import draws, ends
from holdfast.evaluate.transcripts import Labelled
from holdfast.models.chat import open_chat
from holdfast.settings import Settings
from holdfast.words import FUNCTION_WORDS, terms

__all__ = ["Comparison", "ExtractorFigures", "Paired", "compare", "open_extractor"]

Progress = Callable[[int, int], None]

_SAME = 0.6
"""Share of a fact's telling words that a candidate must hold, every number among them, to be that fact: "I" may become
"the user" and a clause may be left out, another number may not."""
_DIGITS = 4


@dataclass(frozen=True)
class ExtractorFigures:
    name: str
    candidates: int
    found: int
    """Facts that a candidate states."""
    recall: float
    precision: float
    """Share of the candidates that state a fact."""
    f1: float
    silent: int
    """Turns without a fact that gave no candidate."""
    failed: int
    """Turns on which a model gave no usable answer: nothing was found there."""


@dataclass(frozen=True)
class Paired:
    """What only one of the two got right, and how likely such a difference is by chance (McNemar, exact)."""

    of: int
    only_first: int
    only_second: int
    p: float


@dataclass(frozen=True)
class Comparison:
    turns: int
    facts: int
    first: ExtractorFigures
    second: ExtractorFigures
    facts_found: Paired
    kept_silent: Paired
    f1_change: tuple[float, float]
    """95 % interval of the second's F1 less the first's, over turns drawn again."""


@dataclass(frozen=True)
class _Outcome:
    """What one extractor made of one turn."""

    found: tuple[bool, ...]
    """Fact by fact."""
    candidates: int
    right: int
    failed: bool


def compare(
    first: tuple[str, Extractor],
    second: tuple[str, Extractor],
    labelled: Sequence[Labelled],
    own_chars: int = 40_000,
    progress: Progress | None = None,
) -> Comparison:
    """`own_chars`: a turn is read for the user's own words up to there, as admission does."""
    pairs: list[tuple[_Outcome, _Outcome]] = []
    for one in labelled:
        read = replace(one, turn=replace(one.turn, text=own_words(one.turn.text, own_chars).text))
        pairs.append((_outcome(first[1], read), _outcome(second[1], read)))
        if progress is not None:
            progress(len(pairs), len(labelled))
    ours, theirs = [one for one, _ in pairs], [one for _, one in pairs]
    facts = [(a, b) for one, other in pairs for a, b in zip(one.found, other.found, strict=True)]
    silence = [(not one.candidates, not other.candidates) for one, other in pairs if not one.found]
    return Comparison(
        turns=len(labelled),
        facts=len(facts),
        first=_figures(first[0], ours),
        second=_figures(second[0], theirs),
        facts_found=_paired(facts),
        kept_silent=_paired(silence),
        f1_change=_f1_change(ours, theirs),
    )


def _outcome(extractor: Extractor, one: Labelled) -> _Outcome:
    try:
        candidates = [found.text for found in extractor.extract(one.turn, one.before) if not found.slight]
    except ModelError:
        return _Outcome((False,) * len(one.facts), 0, 0, True)
    found = tuple(any(_states(text, fact) for text in candidates) for fact in one.facts)
    right = sum(any(_states(text, fact) for fact in one.facts) for text in candidates)
    return _Outcome(found, len(candidates), right, False)


def _states(candidate: str, fact: str) -> bool:
    """Whether the candidate holds enough of the fact's telling words, and every number of it."""
    wanted = {term for term in terms(fact) if term not in FUNCTION_WORDS} or set(terms(fact))
    held = set(terms(candidate))
    if any(any(map(str.isdigit, term)) and term not in held for term in wanted):
        return False
    return bool(wanted) and len(wanted & held) >= _SAME * len(wanted)


def _figures(name: str, outcomes: Sequence[_Outcome]) -> ExtractorFigures:
    candidates, right = sum(one.candidates for one in outcomes), sum(one.right for one in outcomes)
    found, facts = sum(sum(one.found) for one in outcomes), sum(len(one.found) for one in outcomes)
    return ExtractorFigures(
        name=name,
        candidates=candidates,
        found=found,
        recall=_share(found, facts),
        precision=_share(right, candidates),
        f1=round(float(_f1(np.array(found), np.array(facts), np.array(right), np.array(candidates))), _DIGITS),
        silent=sum(not one.found and not one.candidates for one in outcomes),
        failed=sum(one.failed for one in outcomes),
    )


def _paired(both: Sequence[tuple[bool, bool]]) -> Paired:
    first = sum(one and not other for one, other in both)
    second = sum(other and not one for one, other in both)
    apart = first + second
    # Exact and two-sided: as many heads in so many throws of a fair coin, or fewer.
    tail = sum(math.comb(apart, count) for count in range(min(first, second) + 1)) / 2**apart
    return Paired(len(both), first, second, round(min(1.0, 2 * tail), _DIGITS))


def _f1_change(ours: Sequence[_Outcome], theirs: Sequence[_Outcome]) -> tuple[float, float]:
    drawn = draws(len(ours))
    scores = []
    for outcomes in (ours, theirs):
        rows = np.array([[sum(one.found), len(one.found), one.right, one.candidates] for one in outcomes], np.float64)
        scores.append(_f1(*(drawn @ rows).T))
    return ends(scores[1] - scores[0])


def _f1(found: np.ndarray, facts: np.ndarray, right: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Of recall over facts and precision over candidates; 0 where either is."""
    recall = found / np.maximum(facts, 1)
    precision = right / np.maximum(candidates, 1)
    return np.where(recall + precision > 0, 2 * recall * precision / np.maximum(recall + precision, 1e-12), 0.0)


def _share(part: int, whole: int) -> float:
    return round(part / whole, _DIGITS) if whole else 0.0


def open_extractor(spec: str, settings: Settings) -> tuple[str, Extractor]:
    """`rules`, or a chat model as URL#MODEL, with @CRITERION behind it for another prompt."""
    model, _, criterion = spec.rpartition("@") if "@" in spec.rpartition("#")[2] else (spec, "", "")
    admit = replace(settings.admit, criterion=criterion) if criterion else settings.admit  # type: ignore[arg-type]
    if model == "rules":
        return spec, DeterministicExtractor(admit)
    chat = open_chat(model, timeout_s=settings.chat.timeout_s, max_reply_chars=settings.chat.max_reply_chars)
    if chat is None:
        raise InputError("no such extractor: 'none'. Write rules, or URL#MODEL with @CRITERION behind it if you like")
    return spec, LlmExtractor(chat, admit, timeout_s=settings.chat.timeout_s)
