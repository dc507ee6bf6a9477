"""Evaluation of extractors on labelled transcripts (EVAL-2), and noise metrics of a memory (EVAL-4).

Transcripts have one message per line; user turns have a list of facts that should be remembered, possibly empty. Turns
without `facts` are only context.

    {"session": "s1", "role": "user", "content": "I moved to Ghent. Thanks!", "facts": ["I moved to Ghent"]}

Only extraction is measured, without gate, floor, merge or ranking. Both extractors read every turn, so the comparison
is paired: McNemar's exact test over the facts that only one of them found, and over the turns on which only one of them
correctly found nothing.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from holdfast.admit.extract import AdmitWeights, DeterministicExtractor, Extractor
from holdfast.admit.floor import judge_turn
from holdfast.admit.llm import LlmExtractor
from holdfast.errors import InputError, ModelError
from holdfast.gate.own_words import own_words
from holdfast.log.messages import read_message
from holdfast.memory import Memory
from holdfast.model import Kind, NewTurn, Role, Turn
from holdfast.models.chat import open_chat
from holdfast.probe.metrics import DIGITS, bootstrap_counts, interval_bounds, ratio
from holdfast.settings import LogSettings, Settings, tuned
from holdfast.text.jsonio import raise_faults, read_json_lines
from holdfast.text.time import Moment
from holdfast.text.words import FUNCTION_WORDS, terms

Progress = Callable[[int, int], None]

_DEFAULT_SESSION = "transcript"
_START = datetime(2026, 1, 1, tzinfo=UTC)  # time of messages without one; fixed, so that comparisons are reproducible
_MIN_SHARED = 0.6
"""Share of a fact's content words, and all its numbers, that a candidate must contain to state it: "I" may become "the
user" and a clause may be missing, but a number may not differ."""
_MAX_HIT_CHARS = 20_000


@dataclass(frozen=True)
class LabelledTurn:
    """A user turn, the turns before it in its session, and the facts that should be remembered."""

    turn: Turn
    before: tuple[Turn, ...]
    facts: tuple[str, ...]


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
    """Turns without facts for which it found nothing."""
    failed: int
    """Turns for which a model gave no usable answer."""


@dataclass(frozen=True)
class Paired:
    """Cases that only one extractor got right, and the probability of that difference by chance (McNemar, exact)."""

    of: int
    only_first: int
    only_second: int
    p: float


@dataclass(frozen=True)
class ExtractorComparison:
    turns: int
    facts: int
    first: ExtractorFigures
    second: ExtractorFigures
    facts_found: Paired
    kept_silent: Paired
    f1_change: tuple[float, float]
    """95 % bootstrap interval of the second's F1 minus the first's."""


@dataclass(frozen=True)
class _TurnResult:
    """Result of one extractor for one turn."""

    found: tuple[bool, ...]
    """For each fact, whether it was found."""
    candidates: int
    right: int
    failed: bool


@dataclass(frozen=True)
class Noise:
    redundant_adds_per_week: float
    """Records added although a similar one exists; an upper limit for duplicates."""
    refused: Mapping[str, int]
    """Candidates that the quality floor refused, by reason."""
    recalls: int
    """Number of questions behind the next three fields, which are None without questions."""
    hits_per_recall: float | None
    sub_floor_records_per_recall: float | None
    """Returned records of which the floor would refuse every sentence …"""
    sub_floor_turns_per_recall: float | None
    """… and such turns: thanks, commands and questions, which search should not return."""


def compare(
    first: tuple[str, Extractor],
    second: tuple[str, Extractor],
    labelled: Sequence[LabelledTurn],
    own_chars: int = 40_000,
    progress: Progress | None = None,
) -> ExtractorComparison:
    """Compare two extractors; as in admission, only the user's own words in the first `own_chars` are read."""
    pairs: list[tuple[_TurnResult, _TurnResult]] = []
    for one in labelled:
        read = replace(one, turn=replace(one.turn, text=own_words(one.turn.text, own_chars).text))
        pairs.append((_extract(first[1], read), _extract(second[1], read)))
        if progress is not None:
            progress(len(pairs), len(labelled))
    ours, theirs = [one for one, _ in pairs], [one for _, one in pairs]
    facts = [(a, b) for one, other in pairs for a, b in zip(one.found, other.found, strict=True)]
    silence = [(not one.candidates, not other.candidates) for one, other in pairs if not one.found]
    return ExtractorComparison(
        turns=len(labelled),
        facts=len(facts),
        first=_figures(first[0], ours),
        second=_figures(second[0], theirs),
        facts_found=_paired(facts),
        kept_silent=_paired(silence),
        f1_change=_f1_change(ours, theirs),
    )


def open_extractor(spec: str, settings: Settings) -> tuple[str, Extractor]:
    """Open `rules`, or a chat model as URL#MODEL, optionally with @CRITERION for another prompt."""
    model, _, criterion = spec.rpartition("@") if "@" in spec.rpartition("#")[2] else (spec, "", "")
    admit = replace(tuned(settings, AdmitWeights), **({"criterion": criterion} if criterion else {}))  # type: ignore[arg-type]
    if model == "rules":
        return spec, DeterministicExtractor(admit)
    chat = open_chat(model, settings.chat.timeout_s)
    if chat is None:
        raise InputError("unknown extractor 'none'. Use rules, or URL#MODEL, optionally with @CRITERION")
    return spec, LlmExtractor(chat, admit, timeout_s=settings.chat.timeout_s)


def measure_noise(memory: Memory, questions: Iterable[str] = (), since: Moment | None = None) -> Noise:
    """Measure noise from the counters of admission and, with questions, from the results of search."""
    stats = memory.stats(since)
    recalls = [memory.search(question) for question in questions]
    hits = [hit for found in recalls for hit in found]
    junk = [hit for hit in hits if all(one.refusal is not None for one in judge_turn(hit.text[:_MAX_HIT_CHARS]))]
    records = sum(hit.kind is not Kind.TURN for hit in junk)
    counts = (len(hits), records, len(junk) - records)
    per_recall = [round(count / len(recalls), DIGITS) if recalls else None for count in counts]
    return Noise(stats.redundant_adds_per_week, stats.total.refused, len(recalls), *per_recall)


def read_labelled_file(path: str | os.PathLike[str]) -> list[LabelledTurn]:
    return _parse(read_json_lines(path))


def read_labelled(messages: Iterable[Mapping[str, object]]) -> list[LabelledTurn]:
    return _parse((f"message {number}", message) for number, message in enumerate(messages, 1))


def _parse(lines: Iterable[tuple[str, object]]) -> list[LabelledTurn]:
    sessions: dict[str, list[Turn]] = {}
    labelled: list[LabelledTurn] = []
    faults: list[str] = []
    for number, (where, message) in enumerate(lines):
        if not isinstance(message, Mapping):
            faults.append(f"{where}: not a JSON object")
            continue
        facts = message.get("facts")
        if facts is not None and not (isinstance(facts, list | tuple) and all(isinstance(one, str) for one in facts)):
            faults.append(f'{where}: "facts" must be a list of texts')
            continue
        session = str(message.get("session") or _DEFAULT_SESSION)
        fields = {name: value for name, value in message.items() if name not in ("facts", "session")}
        thread = sessions.setdefault(session, [])
        for new in read_message(fields, number=number, now=_START, settings=LogSettings()):
            turn = _turn(new, number, session, len(thread))
            if facts is not None and new.role is Role.USER:
                labelled.append(LabelledTurn(turn, tuple(thread), tuple(facts)))
            thread.append(turn)
    raise_faults(faults)
    if not labelled:
        raise InputError('no user turn has "facts"; give each judged turn a list, which may be empty')
    return labelled


def _turn(new: NewTurn, number: int, session: str, index: int) -> Turn:
    return Turn(
        id=f"t-{number}", namespace=_DEFAULT_SESSION, session=session, index=index, role=new.role, origin=new.origin,
        text=new.text, at=new.at, recorded_at=_START, stability=new.stability, seq=number + 1,
    )  # fmt: skip


def _extract(extractor: Extractor, one: LabelledTurn) -> _TurnResult:
    try:
        candidates = [found.text for found in extractor.extract(one.turn, one.before) if not found.slight]
    except ModelError:
        return _TurnResult((False,) * len(one.facts), 0, 0, True)
    found = tuple(any(_states(text, fact) for text in candidates) for fact in one.facts)
    right = sum(any(_states(text, fact) for fact in one.facts) for text in candidates)
    return _TurnResult(found, len(candidates), right, False)


def _states(candidate: str, fact: str) -> bool:
    """Return True if the candidate contains enough content words and all numbers of the fact."""
    wanted = {term for term in terms(fact) if term not in FUNCTION_WORDS} or set(terms(fact))
    present = set(terms(candidate))
    if any(any(map(str.isdigit, term)) and term not in present for term in wanted):
        return False
    return bool(wanted) and len(wanted & present) >= _MIN_SHARED * len(wanted)


def _figures(name: str, outcomes: Sequence[_TurnResult]) -> ExtractorFigures:
    candidates, right = sum(one.candidates for one in outcomes), sum(one.right for one in outcomes)
    found, facts = sum(sum(one.found) for one in outcomes), sum(len(one.found) for one in outcomes)
    return ExtractorFigures(
        name=name,
        candidates=candidates,
        found=found,
        recall=ratio(found, facts, DIGITS),
        precision=ratio(right, candidates, DIGITS),
        f1=round(float(_f1(np.array(found), np.array(facts), np.array(right), np.array(candidates))), DIGITS),
        silent=sum(not one.found and not one.candidates for one in outcomes),
        failed=sum(one.failed for one in outcomes),
    )


def _paired(both: Sequence[tuple[bool, bool]]) -> Paired:
    first = sum(one and not other for one, other in both)
    second = sum(other and not one for one, other in both)
    discordant = first + second
    # Exact and two-sided: the probability of at most this many heads of a fair coin.
    tail = sum(math.comb(discordant, count) for count in range(min(first, second) + 1)) / 2**discordant
    return Paired(len(both), first, second, round(min(1.0, 2 * tail), DIGITS))


def _f1_change(ours: Sequence[_TurnResult], theirs: Sequence[_TurnResult]) -> tuple[float, float]:
    counts = bootstrap_counts(len(ours))
    scores = []
    for outcomes in (ours, theirs):
        rows = np.array([[sum(one.found), len(one.found), one.right, one.candidates] for one in outcomes], np.float64)
        scores.append(_f1(*(counts @ rows).T))
    return interval_bounds(scores[1] - scores[0])


def _f1(found: np.ndarray, facts: np.ndarray, right: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Return F1 of recall over facts and precision over candidates; 0 if both are 0."""
    recall = found / np.maximum(facts, 1)
    precision = right / np.maximum(candidates, 1)
    return np.where(recall + precision > 0, 2 * recall * precision / np.maximum(recall + precision, 1e-12), 0.0)
