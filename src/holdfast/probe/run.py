"""Running probes on the production path, and comparing a run with a saved baseline (EVAL-1)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic supports typing.TypedDict only from Python 3.12 on

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.probe.metrics import DIGITS, bootstrap_interval, percentile
from holdfast.probe.probes import Drifted, Probe, Target, find_target, probe_hash
from holdfast.text.jsonio import plain
from holdfast.version import __version__

Progress = Callable[[int, int], None]
Interval = tuple[float, float]
Prompt = Callable[[str], str]

DEPTH = 10
"""Number of hits that are looked at: the default limit of search."""
_CUTS = (1, 3, 5)
MEASURES = (*(f"p@{cut}" for cut in _CUTS), "mrr")
TOLERANCE = 0.02
"""Allowed drop of a measure: one of 50 probes. Search is deterministic, so a drop is real for these probes."""
_DECIDING = ("p@1", "p@3", "mrr")

ProbeFigures = TypedDict("ProbeFigures", {"p@1": float, "p@3": float, "p@5": float, "mrr": float})
"""p@k: share of probes with their answer in the first k hits. mrr: mean reciprocal rank, 0 beyond rank 10."""


class SearchTimes(TypedDict):
    p50: float
    p95: float


@dataclass(frozen=True)
class AskedProbe:
    question: str
    expect: tuple[str, ...]
    rank: int | None
    """Rank of the answer; None if it is not in the first 10."""
    first: str | None
    """Id of the first hit."""
    in_prompt: bool | None
    ms: float


@dataclass(frozen=True)
class ProbeReport:
    hash: str
    """Of all given probes, including drifted ones and drafts."""
    probes: int
    asked: int
    drafts: int
    """Probes that are not asked because no person has reviewed them."""
    figures: ProbeFigures | None
    """None, like the next fields, if no probe was asked."""
    intervals: Mapping[str, Interval] | None
    in_prompt: float | None
    """Share of probes whose answer was in the prompt made by context()."""
    in_prompt_note: str
    search_ms: SearchTimes | None
    embedder: str
    version: str
    drifted: tuple[Drifted, ...]
    """Probes whose expected answer is no longer live; a person should fix them."""
    each: tuple[AskedProbe, ...]


@dataclass(frozen=True)
class MetricChange:
    measure: str
    before: float
    now: float
    change: float
    interval: tuple[float, float]
    """95 % interval of the change, over the probes asked both times."""
    fell: bool
    """True if p@1, p@3 or MRR dropped by more than the tolerance, or by more than chance."""


@dataclass(frozen=True)
class GateReport:
    passed: bool
    tolerance: float
    compared: int
    """Number of probes asked both times."""
    left_out: int
    """Probes that have drifted in one of the runs."""
    changes: tuple[MetricChange, ...]
    worse: tuple[str, ...]
    """Questions whose answer has a lower rank than before."""
    report: ProbeReport


def run_probes(
    memory: Memory,
    probes: Sequence[Probe],
    *,
    drafts: bool = False,
    prompt: Prompt | None = None,
    progress: Progress | None = None,
) -> ProbeReport:
    """Ask every probe that has not drifted, with `drafts` also those that no person has reviewed.

    `prompt` returns the text that a model would see for a question, with ids; the default is the memory's context().
    """
    targets, drifted = find_targets(memory, probes, drafts=drafts)
    own = prompt or (lambda question: memory.context([{"role": "user", "content": question}]).text)
    each = ask_probes(memory, targets, prompt=own, progress=progress)
    reached = [one.in_prompt for one in each if one.in_prompt is not None]
    ms = [one.ms for one in each]
    rows = score_table(each)
    return ProbeReport(
        hash=probe_hash(probes),
        probes=len(probes),
        asked=len(each),
        drafts=0 if drafts else sum(probe.draft for probe in probes),
        figures=probe_figures(each) if each else None,
        intervals={name: bootstrap_interval(rows[:, at]) for at, name in enumerate(MEASURES)} if each else None,
        in_prompt=round(sum(reached) / len(reached), DIGITS) if reached else None,
        in_prompt_note="" if reached else "no probe was left to ask",
        search_ms={"p50": percentile(ms, 0.5), "p95": percentile(ms, 0.95)} if ms else None,
        embedder=memory.status().embedder,
        version=__version__,
        drifted=tuple(drifted),
        each=tuple(each),
    )


def find_targets(memory: Memory, probes: Sequence[Probe], *, drafts: bool) -> tuple[list[Target], list[Drifted]]:
    """Split probes into those with a live answer and those that have drifted."""
    targets: list[Target] = []
    drifted: list[Drifted] = []
    for probe in probes:
        if drafts or not probe.draft:
            found = find_target(memory, probe)
            if isinstance(found, Target):
                targets.append(found)
            else:
                drifted.append(found)
    if not targets and not drifted:
        raise InputError(
            'every probe is a draft: review them, fix the questions, and set "draft" to false (or use --drafts)'
        )
    return targets, drifted


def ask_probes(
    memory: Memory, targets: Sequence[Target], *, prompt: Prompt | None = None, progress: Progress | None = None
) -> list[AskedProbe]:
    """Search for each probe; with `prompt` also check whether the answer reaches the prompt."""
    asked: list[AskedProbe] = []
    for target in targets:
        start = time.perf_counter()
        hits = memory.search(target.probe.question, limit=DEPTH)
        ms = round((time.perf_counter() - start) * 1000, 3)
        rank = next((rank for rank, hit in enumerate(hits, 1) if target.answered_by(hit)), None)
        text = None if prompt is None else prompt(target.probe.question)
        inside = None if text is None else any(item_id in text for item_id in target.ids)  # items show ids (CTX-6)
        first = hits[0].id if hits else None
        asked.append(AskedProbe(target.probe.question, target.probe.expect, rank, first, inside, ms))
        if progress is not None:
            progress(len(asked), len(targets))
    return asked


def score_table(each: Sequence[AskedProbe]) -> NDArray[np.float64]:
    """Return a row per probe and a column per measure."""
    rows = [
        [*(float(one.rank is not None and one.rank <= cut) for cut in _CUTS), 1 / one.rank if one.rank else 0.0]
        for one in each
    ]
    return np.array(rows, np.float64).reshape(-1, len(MEASURES))


def probe_figures(each: Sequence[AskedProbe]) -> ProbeFigures:
    means = [round(float(value), DIGITS) for value in score_table(each).mean(axis=0)]
    return {"p@1": means[0], "p@3": means[1], "p@5": means[2], "mrr": means[3]}


def save_baseline(path: Path, report: ProbeReport) -> None:
    path.write_text(json.dumps(plain(report), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def read_baseline(path: Path) -> ProbeReport:
    try:
        return TypeAdapter(ProbeReport).validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise InputError(f"{path} is not a baseline (`eval run FILE --save-baseline` writes one): {reason}") from error


def gate(report: ProbeReport, baseline: ProbeReport, tolerance: float = TOLERANCE) -> GateReport:
    if not 0 <= tolerance <= 1:
        raise InputError(f"the tolerance must be between 0 and 1, not {tolerance!r}")
    if report.hash != baseline.hash:
        raise InputError(
            f"the baseline has other probes (hash {baseline.hash}, not {report.hash}); check the report and save a new "
            "one with --save-baseline"
        )
    then = {one.question: one for one in baseline.each}
    both = [(then[one.question], one) for one in report.each if one.question in then]
    if not both:
        raise InputError("there is nothing to compare: no probe was asked both times")
    before, now = score_table([old for old, _ in both]), score_table([new for _, new in both])
    changes = tuple(_change(name, before[:, at], now[:, at], tolerance) for at, name in enumerate(MEASURES))
    return GateReport(
        passed=not any(change.fell for change in changes),
        tolerance=tolerance,
        compared=len(both),
        left_out=len({*then, *(one.question for one in report.each)}) - len(both),
        changes=changes,
        worse=tuple(
            new.question for (old, new), was, is_ in zip(both, before[:, -1], now[:, -1], strict=True) if is_ < was
        ),
        report=report,
    )


def _change(name: str, before: NDArray[np.float64], now: NDArray[np.float64], tolerance: float) -> MetricChange:
    old, new = float(before.mean()), float(now.mean())
    interval = bootstrap_interval(now - before)
    change = round(new - old, DIGITS)
    fell = name in _DECIDING and (change < -tolerance or interval[1] < 0)
    return MetricChange(name, round(old, DIGITS), round(new, DIGITS), change, interval, fell)
