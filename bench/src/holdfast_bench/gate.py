"""What the gate lets through: how well its score tells what lasts, and how much small talk becomes a record.

- LoCoMo: the score that decides what becomes a record, against whether an observation cites the turn.
- DailyDialog: the share of turns that yield a record, in the production path.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from holdfast.admit.extract import answers_question
from holdfast.errors import InputError
from holdfast.gate.durability import weigh
from holdfast.model import Origin, Role, Turn
from holdfast.models.breaker import GuardedEmbedder
from holdfast.version import __version__
from holdfast_bench.admission import MODES, Mode, Progress, admitting, became, bench_embedder, bench_settings, share
from holdfast_bench.data import read_shape, read_text

SHORT_WORDS = 6
"""Turns of so many words or fewer are small talk, says the issue's bar."""

_END_OF_TURN = "__eou__"
_QUESTION_ACT = "2"
_CITED = re.compile(r"D:?(\d+):(\d+)")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_EXAMPLES = 20
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Scored:
    """A conversation's turns: the score of each, and whether an observation cites it."""

    name: str
    scores: list[float]
    cited: list[bool]


@dataclass(frozen=True, slots=True)
class _Said:
    text: str
    question: bool
    """By the set's own label of the dialogue act."""

    @property
    def short(self) -> bool:
        return len(_WORD.findall(self.text)) <= SHORT_WORDS

    @property
    def small(self) -> bool:
        return self.short or self.question


_Judged = tuple[_Said, bool]
"""A turn, and whether it yielded a record."""


def run(paths: Sequence[Path], progress: Progress | None = None) -> dict[str, object]:
    """Recognises LoCoMo (JSON) and DailyDialog (lines with __eou__) by their content; either may be left out."""
    start = time.perf_counter()
    tell = progress or (lambda step, done, total: None)
    scored: list[_Scored] = []
    dialogues: list[list[_Said]] = []
    for path in paths:
        content = read_text(path)
        if _END_OF_TURN in content:
            dialogues += _read_dialogues(content)
        else:
            scored += _score_conversations(path, content)
    embedder = bench_embedder(bench_settings())
    judged = {mode: _small_talk(dialogues, mode, embedder, tell) for mode in MODES} if dialogues else {}
    yields = {mode: _yields(turns) for mode, turns in judged.items()}
    return {
        "set": "gate",
        "n": sum(len(one.scores) for one in scored) + sum(map(len, dialogues)),
        "durability_auc": _mean_auc(scored),
        "short_or_question_yield": yields.get("rank", {}).get("short_or_question_yield"),
        "all_yield": yields.get("rank", {}).get("all_yield"),
        "filter": yields.get("filter"),
        "locomo": _locomo_figures(scored) if scored else None,
        "dailydialog": yields.get("rank"),
        "examples": [said.text for said, yielded in judged.get("rank", []) if said.small and yielded][:_EXAMPLES],
        "seconds": round(time.perf_counter() - start, 1),
        "embedder": embedder.profile.name,
        "version": __version__,
    }


# --- LoCoMo ----------------------------------------------------------------------------------------------------------


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


def _score_conversations(path: Path, content: str) -> list[_Scored]:
    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is neither LoCoMo (JSON) nor DailyDialog (lines with {_END_OF_TURN})") from error
    conversations = read_shape(list[_Conversation], data, path, "LoCoMo conversations")
    return [_score(one, path, number) for number, one in enumerate(conversations)]


def _score(one: _Conversation, path: Path, number: int) -> _Scored:
    cited = {found.groups() for text in _strings(one.observation) for found in _CITED.finditer(text)}
    scores, labels = [], []
    heard = bench_settings().admit.turns_heard
    for name in sorted((name for name in one.conversation if re.fullmatch(r"session_\d+", name)), key=_session_number):
        lines = read_shape(list[_Line], one.conversation[name], path, "LoCoMo conversations")
        for place, line in enumerate(lines):
            scores.append(_durability(line, lines[max(0, place - heard) : place]))
            found = _CITED.fullmatch(line.dia_id)
            labels.append(found is not None and found.groups() in cited)
    return _Scored(one.sample_id or f"{path.name} {number}", scores, labels)


def _session_number(name: str) -> int:
    return int(name.rpartition("_")[2])


def _strings(value: object) -> Iterable[str]:
    """Citations stand as a string, a list of them, or several in one string."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _strings(inner)


def _durability(line: _Line, before: Sequence[_Line]) -> float:
    """Both speakers are people: each turn is judged as the user's, with what was said before it as context."""
    context = [_turn(one.text, Role.USER if one.speaker == line.speaker else Role.ASSISTANT) for one in before[-1:]]
    return weigh(line.text, answers_question(context), [one.text for one in before]).whole


def _turn(text: str, role: Role) -> Turn:
    origin = Origin.USER if role is Role.USER else Origin.ASSISTANT
    return Turn("t-0", "bench", "s", 0, role, origin, text, _SOME_DAY, _SOME_DAY, 0.5, 1)


def area_under_curve(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """The chance that a positive scores above a negative, ties counting half; None without both."""
    values, labels = np.array(scores, float), np.array(positive, bool)
    high, low = values[labels], np.sort(values[~labels])
    if not len(high) or not len(low):
        return None
    below, upto = np.searchsorted(low, high, "left"), np.searchsorted(low, high, "right")
    return float((below + upto).sum()) / (2 * len(high) * len(low))


def _mean_auc(scored: Sequence[_Scored]) -> float | None:
    """Per conversation, then averaged: nothing is fitted here, so this is the figure of cross-validation too."""
    found = [auc for one in scored if (auc := area_under_curve(one.scores, one.cited)) is not None]
    return round(sum(found) / len(found), 4) if found else None


def _locomo_figures(scored: Sequence[_Scored]) -> dict[str, object]:
    scores = [score for one in scored for score in one.scores]
    cited = [label for one in scored for label in one.cited]
    pooled = area_under_curve(scores, cited)
    each = {one.name: area_under_curve(one.scores, one.cited) for one in scored}
    return {
        "n": len(scores),
        "positive": sum(cited),
        "pooled_auc": None if pooled is None else round(pooled, 4),
        "conversations": {name: None if auc is None else round(auc, 4) for name, auc in each.items()},
    }


# --- DailyDialog -----------------------------------------------------------------------------------------------------


def _read_dialogues(content: str) -> list[list[_Said]]:
    """A line: the turns, each ended by __eou__, then tab by tab the topic, an act for each turn, an emotion for each.

    Without acts a turn is a question when it ends in a question mark.
    """
    dialogues = []
    for line in filter(str.strip, content.split("\n")):
        text, *labels = line.split("\t")
        turns = [part.strip() for part in text.split(_END_OF_TURN) if part.strip()]
        acts = labels[1].split() if len(labels) > 1 else []
        if len(acts) == len(turns):
            asks = [act == _QUESTION_ACT for act in acts]
        else:
            asks = [turn.endswith("?") for turn in turns]
        dialogues.append([_Said(turn, ask) for turn, ask in zip(turns, asks, strict=True)])
    return dialogues


def _small_talk(
    dialogues: Sequence[Sequence[_Said]], mode: Mode, embedder: GuardedEmbedder, tell: Progress
) -> list[_Judged]:
    """Every dialogue is a person of its own: what strangers say is no neighbour of it (INV-4)."""
    judged: list[_Judged] = []
    with admitting(bench_settings(mode), embedder) as memory_of:
        for number, dialogue in enumerate(dialogues):
            with memory_of(f"dialogue {number}") as memory:
                turns = memory.ingest_many([{"role": "user", "content": said.text} for said in dialogue])
                memory.flush()
                judged += [(said, became(memory, turn.id).yielded) for said, turn in zip(dialogue, turns, strict=True)]
            tell(f"small talk, {mode}", number + 1, len(dialogues))
    return judged


def _yields(judged: Sequence[_Judged]) -> dict[str, object]:
    small = [pair for pair in judged if pair[0].small]
    return {
        "n": len(judged),
        "short_or_question_n": len(small),
        "short_or_question_yield": _yield_of(small),
        "short_yield": _yield_of([pair for pair in judged if pair[0].short]),
        "question_yield": _yield_of([pair for pair in judged if pair[0].question]),
        "short_or_question_mark_yield": _yield_of(
            [pair for pair in judged if pair[0].short or pair[0].text.endswith("?")]
        ),
        "all_yield": _yield_of(judged),
    }


def _yield_of(judged: Sequence[_Judged]) -> float | None:
    return share(sum(yielded for _, yielded in judged), len(judged))
