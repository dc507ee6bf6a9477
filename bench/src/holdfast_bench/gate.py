"""Gate benchmark: how well the durability score predicts what lasts, and how much small talk becomes a record.

- LoCoMo: the score that decides on records, against whether an observation cites the turn.
- DailyDialog: the share of turns that yield a record, on the production path.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from holdfast.admit.extract import AdmitWeights, answers_question
from holdfast.errors import InputError
from holdfast.gate.durability import weigh
from holdfast.model import Origin, Role, Turn
from holdfast.models.embedder import GuardedEmbedder
from holdfast.settings import tuned
from holdfast_bench.data import END_OF_TURN, read_dialogues, read_shape, read_text, strings_in
from holdfast_bench.machine import Progress, run_info
from holdfast_bench.memories import MODES, Mode, bench_embedder, bench_settings, share, temporary_memories

SHORT_WORDS = 6
"""Turns of up to this many words are small talk, by the issue's definition."""

_CITATION = re.compile(r"D:?(\d+):(\d+)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_EXAMPLES = 20
_TIME = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class _Conversation:
    conversation: Mapping[str, object]
    observation: Mapping[str, object]
    sample_id: str = ""


@dataclass(frozen=True)
class _Line:
    speaker: str
    dia_id: str
    text: str


@dataclass(frozen=True, slots=True)
class _ScoredConversation:
    """The score of each turn, and whether an observation cites it."""

    name: str
    scores: list[float]
    cited: list[bool]

    @property
    def auc(self) -> float | None:
        return area_under_curve(self.scores, self.cited)


@dataclass(frozen=True, slots=True)
class _DialogueTurn:
    text: str
    question: bool
    """By the set's own dialogue act."""

    @property
    def short(self) -> bool:
        return len(_WORD.findall(self.text)) <= SHORT_WORDS

    @property
    def small_talk(self) -> bool:
        return self.short or self.question


_Yield = tuple[_DialogueTurn, bool]  # a turn, and whether it yielded a record


def run(paths: Sequence[Path], progress: Progress | None = None) -> dict[str, object]:
    """Measure LoCoMo (JSON) and DailyDialog (lines with __eou__), recognised by content; either may be missing."""
    start = time.perf_counter()
    report = progress or (lambda step, done, total: None)
    scored: list[_ScoredConversation] = []
    dialogues: list[list[_DialogueTurn]] = []
    for path in paths:
        content = read_text(path)
        if END_OF_TURN in content:
            dialogues += _dialogues(content)
        else:
            scored += _score_conversations(path, content)
    embedder = bench_embedder(bench_settings())
    yields = {mode: _yields(dialogues, mode, embedder, report) for mode in MODES} if dialogues else {}
    rank = _yield_figures(yields["rank"]) if yields else {}
    aucs = [auc for one in scored if (auc := one.auc) is not None]
    small_talk = [turn.text for turn, yielded in yields.get("rank", []) if turn.small_talk and yielded]
    return {
        "set": "gate",
        "n": sum(len(one.scores) for one in scored) + sum(map(len, dialogues)),
        # Nothing is fitted here, so the mean over conversations is the cross-validated figure too.
        "durability_auc": round(sum(aucs) / len(aucs), 4) if aucs else None,
        "short_or_question_yield": rank.get("short_or_question_yield"),
        "all_yield": rank.get("all_yield"),
        "filter": _yield_figures(yields["filter"]) if yields else None,
        "locomo": _locomo_figures(scored) if scored else None,
        "dailydialog": rank or None,
        "examples": small_talk[:_EXAMPLES],
        **run_info(start, embedder),
    }


def area_under_curve(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Return the probability that a positive scores above a negative, ties counting half; None without both."""
    values, labels = np.array(scores, float), np.array(positive, bool)
    high, low = values[labels], np.sort(values[~labels])
    if not len(high) or not len(low):
        return None
    below, upto = np.searchsorted(low, high, "left"), np.searchsorted(low, high, "right")
    return float((below + upto).sum()) / (2 * len(high) * len(low))


def _score_conversations(path: Path, content: str) -> list[_ScoredConversation]:
    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is neither LoCoMo (JSON) nor DailyDialog (lines with {END_OF_TURN})") from error
    conversations = read_shape(list[_Conversation], data, path, "LoCoMo conversations")
    return [_score(one, path, number) for number, one in enumerate(conversations)]


def _score(one: _Conversation, path: Path, number: int) -> _ScoredConversation:
    cited = {found.groups() for text in strings_in(one.observation) for found in _CITATION.finditer(text)}
    scores, labels = [], []
    context = tuned(bench_settings(), AdmitWeights).turns_before
    sessions = (name for name in one.conversation if re.fullmatch(r"session_\d+", name))
    for name in sorted(sessions, key=lambda name: int(name.rpartition("_")[2])):
        lines = read_shape(list[_Line], one.conversation[name], path, "LoCoMo conversations")
        for place, line in enumerate(lines):
            scores.append(_durability(line, lines[max(0, place - context) : place]))
            found = _CITATION.fullmatch(line.dia_id)
            labels.append(found is not None and found.groups() in cited)
    return _ScoredConversation(one.sample_id or f"{path.name} {number}", scores, labels)


def _durability(line: _Line, before: Sequence[_Line]) -> float:
    """Score each turn as the user's, because both speakers are people, with the turns before it as context."""
    context = [_turn(one.text, Role.USER if one.speaker == line.speaker else Role.ASSISTANT) for one in before[-1:]]
    return weigh(line.text, answers_question(context), [one.text for one in before]).whole


def _turn(text: str, role: Role) -> Turn:
    origin = Origin.USER if role is Role.USER else Origin.ASSISTANT
    return Turn("t-0", "bench", "s", 0, role, origin, text, _TIME, _TIME, 0.5, 1)


def _locomo_figures(scored: Sequence[_ScoredConversation]) -> dict[str, object]:
    scores = [score for one in scored for score in one.scores]
    cited = [label for one in scored for label in one.cited]
    aucs = {one.name: one.auc for one in scored}
    pooled = area_under_curve(scores, cited)
    return {
        "n": len(scores),
        "positive": sum(cited),
        "pooled_auc": None if pooled is None else round(pooled, 4),
        "conversations": {name: None if auc is None else round(auc, 4) for name, auc in aucs.items()},
    }


def _dialogues(content: str) -> Iterable[list[_DialogueTurn]]:
    """Read DailyDialog; without acts a turn is a question if it ends in a question mark."""
    for turns, acts in read_dialogues(content):
        labelled = len(acts) == len(turns)
        asks = [act == "question" for act in acts] if labelled else [turn.endswith("?") for turn in turns]
        yield [_DialogueTurn(turn, ask) for turn, ask in zip(turns, asks, strict=True)]


def _yields(
    dialogues: Sequence[Sequence[_DialogueTurn]], mode: Mode, embedder: GuardedEmbedder, report: Progress
) -> list[_Yield]:
    """Ingest each dialogue in its own namespace, because the speakers are different people (INV-4)."""
    found: list[_Yield] = []
    with temporary_memories(bench_settings(mode), embedder) as memory_of:
        for number, dialogue in enumerate(dialogues):
            with memory_of(f"dialogue {number}") as memory:
                turns = memory.ingest_many([{"role": "user", "content": one.text} for one in dialogue])
                memory.flush()
                found += [(one, bool(memory.why(turn.id).records)) for one, turn in zip(dialogue, turns, strict=True)]
            report(f"small talk, {mode}", number + 1, len(dialogues))
    return found


def _yield_figures(yields: Sequence[_Yield]) -> dict[str, object]:
    def yield_of(chosen: Callable[[_DialogueTurn], bool]) -> float | None:
        found = [yielded for turn, yielded in yields if chosen(turn)]
        return share(sum(found), len(found))

    return {
        "n": len(yields),
        "short_or_question_n": sum(turn.small_talk for turn, _ in yields),
        "short_or_question_yield": yield_of(lambda turn: turn.small_talk),
        "short_yield": yield_of(lambda turn: turn.short),
        "question_yield": yield_of(lambda turn: turn.question),
        "short_or_question_mark_yield": yield_of(lambda turn: turn.short or turn.text.endswith("?")),
        "all_yield": yield_of(lambda turn: True),
    }
