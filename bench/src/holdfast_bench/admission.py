"""Admission benchmark: which labelled sentences of ordinary chats become records.

A file holds chats in which a person labelled every sentence of the user: `## NAME` begins a chat, `A TEXT` is a turn of
the assistant, `U abk TEXT` begins a turn of the user with its first sentence and `+ abk TEXT` is its next one; B and C
are other people. The three signs are its worth months later (1, 0, b for borderline), whether it can be understood
alone (1, 0), and its kind (i fact, l relationship, h health, p preference, d decision, e event, r rule for the
assistant, t technical fact, n none).

A sentence is kept if a record of its turn holds at least .8 of its words; the record's text counts, not its display.
Borderline sentences count half, and as worthless in the strict figures. Many sentences have no full stop, and the files
do not say what stood between two of them: the figures are for a line break, `run_on` has those for a space.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict  # pydantic supports typing.TypedDict only from Python 3.12 on

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Kind, Record
from holdfast.probe.metrics import bootstrap_counts, interval_bounds
from holdfast.testing import FixedClock
from holdfast_bench.data import read_json, read_shape, read_text
from holdfast_bench.machine import Progress, RunInfo, run_info
from holdfast_bench.memories import (
    HELD,
    all_words,
    bench_embedder,
    bench_settings,
    coverage,
    share,
    temporary_memories,
)

Kept = NDArray[np.bool_]
Numbers = NDArray[np.float64]

BINS = 10
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_WORTH = {"0": 0.0, "b": 0.5, "1": 1.0}
_KINDS = {
    **dict.fromkeys("ilhet", Kind.FACT),
    "p": Kind.PREFERENCE,
    "d": Kind.DECISION,
    "r": Kind.GUIDANCE,
    "n": None,
}
_LABELLED = re.compile(r"([UBC+]) ([01b])([01])([a-z]) (.+)")
_ENDS = (".", "!", "?", "…", ".)", '."')
_NEW_LINE, _RUN_ON = "\n", " "
"""Separators after a sentence without a full stop: a new line, or none. Precision depends on it."""
_ASSISTANT = "A "
_NAME = "## "


class Bin(TypedDict):
    """Records of one range of confidence."""

    n: int
    confidence: float
    worth: float


class Gain(TypedDict):
    """Difference to an earlier run on the same sentences, with the 95 % interval of the paired bootstrap by chat."""

    precision: float
    precision_ci: tuple[float, float]
    recall: float
    recall_ci: tuple[float, float]


class SentenceFigures(TypedDict):
    """One sentence, for a later comparison."""

    id: str
    worth: float
    kept: bool


class RunOnFigures(TypedDict):
    """The same where sentences without a full stop run on in one line."""

    kept: int
    precision: float | None
    recall: float | None
    calibration_error: float | None


class _Earlier(TypedDict):
    sentences: list[SentenceFigures]


class AdmissionFigures(RunInfo):
    """Output of `bench admission`; n is the number of labelled sentences."""

    set: str
    n: int
    worth: float
    kept: int
    records: int
    precision: float | None
    precision_ci: tuple[float, float] | None
    recall: float | None
    recall_ci: tuple[float, float] | None
    strict_precision: float | None
    strict_recall: float | None
    kinds_right: float | None
    rules: int
    rules_kept: float | None
    rules_as_guidance: float | None
    guidance: int
    guidance_right: float | None
    calibration_error: float | None
    calibration: list[Bin]
    run_on: RunOnFigures
    gain: Gain | None
    sentences: list[SentenceFigures]


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    text: str
    worth: float
    alone: bool
    kind: Kind | None


@dataclass(frozen=True, slots=True)
class LabelledTurn:
    role: str
    text: str = ""
    """Of the assistant's turns."""
    speaker: str | None = None
    sentences: list[LabelledSentence] = field(default_factory=list)

    def message(self, gap: str) -> dict[str, object]:
        """Return the turn with its sentences joined: by a space after a full stop, by `gap` where there is none."""
        lines = [one.text + (" " if one.text.endswith(_ENDS) else gap) for one in self.sentences]
        text = "".join(lines).strip() or self.text
        return {"role": self.role, "content": text, "metadata": {"speaker": self.speaker} if self.speaker else {}}


@dataclass(frozen=True, slots=True)
class LabelledChat:
    name: str
    turns: list[LabelledTurn] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _JudgedSentence:
    id: str
    chat: int
    sentence: LabelledSentence
    kinds: tuple[Kind, ...]
    """Kinds of the records that hold it."""


@dataclass(frozen=True, slots=True)
class _JudgedRecord:
    record: Record
    sentence: LabelledSentence
    """Of the sentences it holds the one with most worth; otherwise the one that covers most of it."""


class _Judged(NamedTuple):
    sentences: list[_JudgedSentence]
    records: list[_JudgedRecord]

    def arrays(self) -> tuple[Kept, Numbers]:
        """Return which sentences were kept, and their worth."""
        kept = np.array([bool(one.kinds) for one in self.sentences])
        return kept, np.array([one.sentence.worth for one in self.sentences])


def run(paths: Sequence[Path], progress: Progress | None = None, baseline: Path | None = None) -> AdmissionFigures:
    """Ingest each chat in its own namespace, because the users are different people."""
    started = time.perf_counter()
    chats = [chat for path in paths for chat in read_chats(path)]
    settings, clock = bench_settings(), FixedClock(_START)
    with closing(bench_embedder(settings)) as embedder:
        judged: list[_Judged] = []
        for gap in (_NEW_LINE, _RUN_ON):
            found = _Judged([], [])
            with temporary_memories(settings, embedder, clock) as memory_of:
                for number, chat in enumerate(chats):
                    with memory_of(f"chat {number}") as memory:
                        _judge_chat(memory, chat, number, gap, clock.now, found)
                    if progress is not None:
                        progress("chats, run on" if judged else "chats", number + 1, len(chats))
            judged.append(found)
        info = run_info(started, embedder)
    (sentences, records), run_on = judged
    kept, worth = judged[0].arrays()
    of_chat = np.array([one.chat for one in sentences])
    rows: list[SentenceFigures] = [
        {"id": one.id, "worth": one.sentence.worth, "kept": bool(one.kinds)} for one in sentences
    ]
    precision, recall = _rates(kept, worth)
    precisions, recalls = _resampled(kept, worth, of_chat)
    strict_precision, strict_recall = _rates(kept, (worth == 1).astype(float))
    rules = [one for one in sentences if one.sentence.kind is Kind.GUIDANCE and one.sentence.worth]
    guidance = [one for one in records if one.record.kind is Kind.GUIDANCE]
    worthy = [one for one in records if one.sentence.worth]
    return {
        "set": "admission",
        "n": len(sentences),
        "worth": float(worth.sum()),
        "kept": int(kept.sum()),
        "records": len(records),
        "precision": precision,
        "precision_ci": interval_bounds(precisions),
        "recall": recall,
        "recall_ci": interval_bounds(recalls),
        "strict_precision": strict_precision,
        "strict_recall": strict_recall,
        "kinds_right": share(sum(one.record.kind is one.sentence.kind for one in worthy), len(worthy)),
        "rules": len(rules),
        "rules_kept": share(sum(bool(one.kinds) for one in rules), len(rules)),
        "rules_as_guidance": share(sum(Kind.GUIDANCE in one.kinds for one in rules), len(rules)),
        "guidance": len(guidance),
        "guidance_right": share(sum(one.sentence.kind is Kind.GUIDANCE for one in guidance), len(guidance)),
        "calibration_error": _calibration_error(records),
        "calibration": _bins(records),
        "run_on": _run_on_figures(run_on),
        "gain": None if baseline is None else _gain(rows, baseline, of_chat),
        "sentences": rows,
        **info,
    }


def read_chats(path: Path) -> list[LabelledChat]:
    chats: list[LabelledChat] = []
    for number, line in enumerate(read_text(path).split("\n"), 1):
        line = line.strip()
        labelled = _LABELLED.fullmatch(line)
        if line.startswith(_NAME):
            chats.append(LabelledChat(line.removeprefix(_NAME)))
        elif not line:
            continue
        elif chats and line.startswith(_ASSISTANT):
            chats[-1].turns.append(LabelledTurn("assistant", line.removeprefix(_ASSISTANT)))
        elif chats and labelled and labelled[4] in _KINDS:
            who, worth, alone, kind, text = labelled.groups()
            if who != "+":
                chats[-1].turns.append(LabelledTurn("user", speaker=None if who == "U" else who))
            if not chats[-1].turns or chats[-1].turns[-1].role != "user":
                raise InputError(f"{path}:{number}: + continues a turn of the user, and there is none before it")
            chats[-1].turns[-1].sentences.append(LabelledSentence(text, _WORTH[worth], alone == "1", _KINDS[kind]))
        else:
            raise InputError(f"{path}:{number}: neither `## NAME`, `A TEXT` nor a labelled sentence: {line[:60]!r}")
    if not any(turn.sentences for chat in chats for turn in chat.turns):
        raise InputError(f"{path} contains no labelled sentences")
    return chats


def _judge_chat(memory: Memory, chat: LabelledChat, number: int, gap: str, now: datetime, judged: _Judged) -> None:
    started = now - timedelta(minutes=len(chat.turns))
    messages = [
        {**turn.message(gap), "at": (started + timedelta(minutes=place)).isoformat()}
        for place, turn in enumerate(chat.turns)
    ]
    turns = memory.ingest_many(messages, session=chat.name)
    memory.flush()
    for place, (labelled, turn) in enumerate(zip(chat.turns, turns, strict=True)):
        if not labelled.sentences:
            continue
        made = memory.why(turn.id).records
        texts = [all_words(one.text) for one in made]
        wanted = [all_words(one.text) for one in labelled.sentences]
        for line, (sentence, words) in enumerate(zip(labelled.sentences, wanted, strict=True)):
            kinds = tuple(one.kind for one, text in zip(made, texts, strict=True) if coverage(words, text) >= HELD)
            judged.sentences.append(_JudgedSentence(f"{chat.name}/{place}/{line}", number, sentence, kinds))
        for record, text in zip(made, texts, strict=True):
            if record.turn_ids[:1] == (turn.id,):  # a record that a later turn strengthened counts once
                best = max(
                    range(len(wanted)),
                    key=lambda one: (
                        (1, labelled.sentences[one].worth)
                        if coverage(wanted[one], text) >= HELD
                        else (0, coverage(text, wanted[one]))
                    ),
                )
                judged.records.append(_JudgedRecord(record, labelled.sentences[best]))


def _rates(kept: Kept, worth: Numbers) -> tuple[float | None, float | None]:
    """Return precision and recall."""
    found = float(worth[kept].sum())
    total = float(worth.sum())
    return share(found, int(kept.sum())), round(found / total, 4) if total else None


def _resampled(kept: Kept, worth: Numbers, of_chat: NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Return precision and recall of resampled chats: sentences of one chat are not independent."""
    chats = int(of_chat.max()) + 1
    sums = [np.bincount(of_chat, values, chats) for values in (worth * kept, kept.astype(float), worth)]
    found, count, total = (bootstrap_counts(chats) @ one for one in sums)
    return found / np.maximum(count, 1), found / np.maximum(total, 0.5)


def _bins(records: Iterable[_JudgedRecord]) -> list[Bin]:
    """Group the records by confidence, in ranges of equal width."""
    grouped: dict[int, list[_JudgedRecord]] = {}
    for one in records:
        grouped.setdefault(min(BINS - 1, int(one.record.confidence * BINS)), []).append(one)
    return [
        {
            "n": len(some),
            "confidence": round(sum(one.record.confidence for one in some) / len(some), 4),
            "worth": round(sum(one.sentence.worth for one in some) / len(some), 4),
        }
        for _, some in sorted(grouped.items())
    ]


def _calibration_error(records: Sequence[_JudgedRecord]) -> float | None:
    """Return the mean distance of confidence and worth over the bins, weighted by their records."""
    error = sum(one["n"] * abs(one["confidence"] - one["worth"]) for one in _bins(records))
    return share(error, len(records))


def _run_on_figures(judged: _Judged) -> RunOnFigures:
    kept, worth = judged.arrays()
    precision, recall = _rates(kept, worth)
    return {
        "kept": int(kept.sum()),
        "precision": precision,
        "recall": recall,
        "calibration_error": _calibration_error(judged.records),
    }


def _gain(rows: Sequence[SentenceFigures], path: Path, of_chat: NDArray[np.int64]) -> Gain:
    """Compare with the output of an earlier run; both must have judged the same sentences."""
    earlier = read_shape(_Earlier, read_json(path), path, "figures of an earlier run")
    before = {one["id"]: one["kept"] for one in earlier["sentences"]}
    if before.keys() != {one["id"] for one in rows}:
        raise InputError(f"{path} is the output of a run on other sentences; run both on the same --data")
    worth = np.array([one["worth"] for one in rows])
    now = np.array([one["kept"] for one in rows])
    was = np.array([before[one["id"]] for one in rows])
    gains = [(new or 0.0) - (old or 0.0) for new, old in zip(_rates(now, worth), _rates(was, worth), strict=True)]
    pairs = zip(_resampled(now, worth, of_chat), _resampled(was, worth, of_chat), strict=True)
    bounds = [interval_bounds(new - old) for new, old in pairs]
    return {
        "precision": round(gains[0], 4),
        "precision_ci": bounds[0],
        "recall": round(gains[1], 4),
        "recall_ci": bounds[1],
    }
