"""Two extractors, or two prompts, on the same transcripts: what each finds, and whether they really differ (EVAL-2).

Only extraction is measured: no gate, floor, merge or ranking stands between. Every turn is put to both, so the
comparison is paired: McNemar's exact test over the facts that only one of them found, and over the turns on which only
one of them rightly kept silent.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from holdfast.admit.extract import DeterministicExtractor, Extractor
from holdfast.admit.floor import judge_turn
from holdfast.admit.llm import LlmExtractor
from holdfast.errors import InputError, ModelError
from holdfast.gate.own_words import own_words
from holdfast.log.messages import read_message
from holdfast.memory import Memory
from holdfast.model import Hit, Kind, NewTurn, Role, Turn
from holdfast.models.chat import open_chat
from holdfast.probe.run import draws, ends
from holdfast.settings import LogSettings, Settings
from holdfast.text.jsonio import complain, lines_of_file
from holdfast.text.time import Moment
from holdfast.text.words import FUNCTION_WORDS, terms

# --- Transcripts with labels: conversations whose user turns say what of them should be remembered. One message a
# line.
#
# {"session": "s1", "role": "user", "content": "I moved to Ghent. Thanks!", "facts": ["I moved to Ghent"]}
#
# `facts` may be empty (nothing should be remembered); a turn without it is context that nobody judged.


_NAMELESS = "transcript"
_START = datetime(2026, 1, 1, tzinfo=UTC)
"""The time of messages that give none: the same on every day, so that a comparison is."""


@dataclass(frozen=True)
class Labelled:
    """A user turn, what was said before it in its session, and what should be remembered of it."""

    turn: Turn
    before: tuple[Turn, ...]
    facts: tuple[str, ...]


def labelled_of_file(path: str | os.PathLike[str]) -> list[Labelled]:
    return _read(lines_of_file(path))


def read_labelled(messages: Iterable[Mapping[str, object]]) -> list[Labelled]:
    return _read((f"message {number}", message) for number, message in enumerate(messages, 1))


def _read(given: Iterable[tuple[str, object]]) -> list[Labelled]:
    sessions: dict[str, list[Turn]] = {}
    labelled: list[Labelled] = []
    faults: list[str] = []
    for number, (where, message) in enumerate(given):
        if not isinstance(message, Mapping):
            faults.append(f"{where}: no JSON object")
            continue
        facts = message.get("facts")
        if facts is not None and not (isinstance(facts, list | tuple) and all(isinstance(one, str) for one in facts)):
            faults.append(f'{where}: "facts" must be a list of texts')
            continue
        session = str(message.get("session") or _NAMELESS)
        said = {name: value for name, value in message.items() if name not in ("facts", "session")}
        new = read_message(said, number=number, now=_START, settings=LogSettings())
        if new is None:  # a heartbeat
            continue
        thread = sessions.setdefault(session, [])
        turn = _turn(new, number, session, len(thread))
        if facts is not None and new.role is Role.USER:
            labelled.append(Labelled(turn, tuple(thread), tuple(facts)))
        thread.append(turn)
    complain(faults)
    if not labelled:
        raise InputError(
            'no user turn carries "facts": give each one that was judged a list, empty where there is none'
        )
    return labelled


def _turn(new: NewTurn, number: int, session: str, index: int) -> Turn:
    return Turn(
        id=f"t-{number}", namespace=_NAMELESS, session=session, index=index, role=new.role, origin=new.origin,
        text=new.text, at=new.at, recorded_at=_START, stability=new.stability, seq=number + 1,
    )  # fmt: skip


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


# --- How much of what is kept and served helps nobody (EVAL-4).


_CHARS = 20_000  # of a hit that are judged


@dataclass(frozen=True)
class Noise:
    redundant_adds_per_week: float
    """Records added beside one that is near in meaning: copies at worst."""
    refused: Mapping[str, int]
    """Candidates that the floor refused, by reason."""
    recalls: int
    """Questions asked for the next three; 0 without questions."""
    hits_per_recall: float | None
    sub_floor_records_per_recall: float | None
    """Records served that the floor would refuse today, every sentence of them …"""
    sub_floor_turns_per_recall: float | None
    """… and turns: thanks, commands and questions. The log keeps them; search should not put them forward."""


def measure_noise(memory: Memory, questions: Iterable[str] = (), since: Moment | None = None) -> Noise:
    """From the counters of admission and, with questions, from what search serves for them."""
    stats = memory.stats(since)
    recalls = [memory.search(question) for question in questions]
    served = [hit for hits in recalls for hit in hits]
    junk = [hit for hit in served if _sub_floor(hit)]
    return Noise(
        redundant_adds_per_week=stats.redundant_adds_per_week,
        refused=stats.total.refused,
        recalls=len(recalls),
        hits_per_recall=_each(len(served), len(recalls)),
        sub_floor_records_per_recall=_each(sum(hit.kind is not Kind.TURN for hit in junk), len(recalls)),
        sub_floor_turns_per_recall=_each(sum(hit.kind is Kind.TURN for hit in junk), len(recalls)),
    )


def _sub_floor(hit: Hit) -> bool:
    judged = judge_turn(hit.text[:_CHARS])
    return all(one.refusal is not None for one in judged)


def _each(count: int, recalls: int) -> float | None:
    return round(count / recalls, _DIGITS) if recalls else None
