"""Probes asked on the production path: the memory's own search, and the prompt that would be made of it (EVAL-1)."""

from __future__ import annotations

import gzip
import json
import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Hit
from holdfast.probe.probes import Drifted, Probe, Target, find_target, probe_hash
from holdfast.text.jsonio import plain
from holdfast.version import __version__

# --- Numbers out of measurements: small and pure.


Percentiles = dict[str, float]
"""{"p50": …, "p99": …}"""


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed (nearest rank: always one that was measured)."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"a share lies between 0 and 1, not {share}")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def median(values: Sequence[float]) -> float:
    return percentile(values, 0.5)


def percentiles(values: Sequence[float], digits: int = 4) -> Percentiles:
    return {"p50": round(median(values), digits), "p99": round(percentile(values, 0.99), digits)}


def ratio(value: float, base: float, digits: int = 2) -> float:
    """How many times the base; 0 when there is no base to compare with."""
    return round(value / base, digits) if base > 0 else 0.0


def top_share(exact: NDArray[np.float32], found: Sequence[int], count: int, tolerance: float = 1e-6) -> float:
    """Which share of the true top `count` was found, given the true score of everything.

    Of equals any will do: something found counts when its true score reaches the score of the last of the true top.
    """
    most = min(count, len(exact))
    if most == 0:
        return 1.0
    least = float(np.partition(exact, -most)[-most]) - tolerance
    return min(sum(float(exact[number]) >= least for number in set(found[:most])), most) / most


# --- 95 % intervals of means by drawing again from what was measured; always the same for the same seed.


_RESAMPLES = 2000
"""From seed to seed the ends have a spread of at most .001 (760 questions) or .003 (179)."""
_INTERVAL = (2.5, 97.5)
_DIGITS = 4


def draws(rows: int, seed: int = 0) -> NDArray[np.float64]:
    """How often each row is drawn, a line for each resample."""
    return np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows), _RESAMPLES).astype(np.float64)


def interval(values: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """Of the mean of these values; of differences, whether they are more than chance."""
    means = draws(len(values), seed) @ values / len(values)
    return ends(means)


def ends(resampled: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.percentile(resampled, _INTERVAL)
    return round(float(low), _DIGITS), round(float(high), _DIGITS)


Progress = Callable[[int, int], None]
Interval = tuple[float, float]
Prompt = Callable[[str], str]

DEPTH = 10
"""Hits that are looked at: what search gives when nobody asks for more."""
_CUTS = (1, 3, 5)
MEASURES = (*(f"p@{cut}" for cut in _CUTS), "mrr")

ProbeFigures = TypedDict("ProbeFigures", {"p@1": float, "p@3": float, "p@5": float, "mrr": float})
"""p@k: share of the probes with what they expect among the first k hits. mrr: mean of one over its rank, 0 below 10."""


class SearchTimes(TypedDict):
    p50: float
    p95: float


@dataclass(frozen=True)
class AskedProbe:
    question: str
    expect: tuple[str, ...]
    rank: int | None
    """Where what it expects was found; None if not among the first 10."""
    first: str | None
    """The id of the first hit."""
    in_prompt: bool | None
    ms: float


@dataclass(frozen=True)
class ProbeReport:
    hash: str
    """Of all probes that were given, drifted ones and drafts included."""
    probes: int
    asked: int
    drafts: int
    """Not asked: nobody has looked at them yet."""
    figures: ProbeFigures | None
    """Over those asked; None where none was. Likewise the next ones."""
    intervals: Mapping[str, Interval] | None
    in_prompt: float | None
    """Share of the probes whose answer stood in the prompt that context() makes."""
    in_prompt_note: str
    search_ms: SearchTimes | None
    embedder: str
    version: str
    drifted: tuple[Drifted, ...]
    """What they expect is not live any more: set apart, and to be mended by a person."""
    each: tuple[AskedProbe, ...]


def run_probes(
    memory: Memory,
    probes: Sequence[Probe],
    *,
    drafts: bool = False,
    prompt: Prompt | None = None,
    progress: Progress | None = None,
) -> ProbeReport:
    """Ask every probe that holds; `drafts` asks those too that nobody has looked at.

    `prompt` makes the text that a model would see for a question, ids and all; without it the memory's own context().
    """
    targets, drifted = set_apart(memory, probes, drafts=drafts)
    each = ask(memory, targets, prompt=prompt or _own_prompt(memory), progress=progress)
    reached = [one.in_prompt for one in each if one.in_prompt is not None]
    rows = table(each)
    return ProbeReport(
        hash=probe_hash(probes),
        probes=len(probes),
        asked=len(each),
        drafts=0 if drafts else sum(probe.draft for probe in probes),
        figures=figures(each) if each else None,
        intervals={name: interval(rows[:, at]) for at, name in enumerate(MEASURES)} if each else None,
        in_prompt=round(sum(reached) / len(reached), _DIGITS) if reached else None,
        in_prompt_note="" if reached else "no probe was left to ask",
        search_ms=_times([one.ms for one in each]),
        embedder=memory.status().embedder,
        version=__version__,
        drifted=tuple(drifted),
        each=tuple(each),
    )


def set_apart(memory: Memory, probes: Sequence[Probe], *, drafts: bool) -> tuple[list[Target], list[Drifted]]:
    """The probes that hold today, and those whose expectation does not."""
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
            'every probe is a draft: read them, mend the questions, and set "draft" to false (or ask them as they are '
            "with --drafts)"
        )
    return targets, drifted


def ask(
    memory: Memory, targets: Sequence[Target], *, prompt: Prompt | None = None, progress: Progress | None = None
) -> list[AskedProbe]:
    """With `prompt` it also looks whether the answer reaches the prompt."""
    asked: list[AskedProbe] = []
    for target in targets:
        start = time.perf_counter()
        hits = memory.search(target.probe.question, limit=DEPTH)
        ms = round((time.perf_counter() - start) * 1000, 3)
        asked.append(
            AskedProbe(
                target.probe.question,
                target.probe.expect,
                _rank(target, hits),
                hits[0].id if hits else None,
                None if prompt is None else _in_prompt(prompt(target.probe.question), target),
                ms,
            )
        )
        if progress is not None:
            progress(len(asked), len(targets))
    return asked


def _rank(target: Target, hits: Sequence[Hit]) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if target.answered_by(hit)), None)


def _own_prompt(memory: Memory) -> Prompt:
    return lambda question: memory.context([{"role": "user", "content": question}]).text


def _in_prompt(text: str, target: Target) -> bool:
    """Every item of a prompt carries its id (CTX-6)."""
    return any(noun_id in text for noun_id in target.ids)


def table(each: Sequence[AskedProbe]) -> NDArray[np.float64]:
    """A row for each probe, a column for each of MEASURES."""
    rows = [
        [*(float(one.rank is not None and one.rank <= cut) for cut in _CUTS), 1 / one.rank if one.rank else 0.0]
        for one in each
    ]
    return np.array(rows, np.float64).reshape(-1, len(MEASURES))


def figures(each: Sequence[AskedProbe]) -> ProbeFigures:
    means = [round(float(value), _DIGITS) for value in table(each).mean(axis=0)]
    return {"p@1": means[0], "p@3": means[1], "p@5": means[2], "mrr": means[3]}


def _times(ms: Sequence[float]) -> SearchTimes | None:
    return {"p50": percentile(ms, 0.5), "p95": percentile(ms, 0.95)} if ms else None


# --- Files that a person gives a benchmark: text or JSON, packed or not.


def read_text(path: Path) -> str:
    """The whole file, unpacked if its name ends in .gz."""
    try:
        packed = path.read_bytes()
        return (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def read_json(path: Path) -> object:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}") from error


# --- A set's file in the shape its bench expects, or an error that says where it differs.


Shape = TypeVar("Shape")


def read_shape(shape: type[Shape], data: object, path: Path, what: str) -> Shape:
    try:
        return TypeAdapter(shape).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise InputError(f"{path} is not a file of {what}: {where}: {first['msg']}") from error


# --- No step back: a run of probes beside a stored one, probe by probe (EVAL-1).


TOLERANCE = 0.02
"""What a measure may fall: of 50 probes one. Search is the same from run to run, so a fall is real for these probes."""
_DECIDES = ("p@1", "mrr")


@dataclass(frozen=True)
class Change:
    measure: str
    before: float
    now: float
    change: float
    interval: tuple[float, float]
    """95 % of the change, over the probes asked both times."""
    fell: bool
    """By more than is tolerated, or by more than chance. Only p@1 and MRR decide."""


@dataclass(frozen=True)
class GateReport:
    passed: bool
    tolerance: float
    compared: int
    """Probes asked both times; what drifted since, or was drifted then, is left out."""
    left_out: int
    changes: tuple[Change, ...]
    worse: tuple[str, ...]
    """Questions whose answer is farther down than it was."""
    report: ProbeReport


def save_baseline(path: Path, report: ProbeReport) -> None:
    path.write_text(json.dumps(plain(report), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def read_baseline(path: Path) -> ProbeReport:
    return read_shape(ProbeReport, read_json(path), path, "a baseline of probes (`eval run FILE --save-baseline`)")


def gate(report: ProbeReport, baseline: ProbeReport, tolerance: float = TOLERANCE) -> GateReport:
    if not 0 <= tolerance <= 1:
        raise InputError(f"the tolerance must be a share from 0 to 1, not {tolerance!r}")
    if report.hash != baseline.hash:
        raise InputError(
            f"the baseline is of other probes (hash {baseline.hash}, these are {report.hash}); save a new one with "
            "--save-baseline once you have looked at it"
        )
    then = {one.question: one for one in baseline.each}
    both = [(then[one.question], one) for one in report.each if one.question in then]
    if not both:
        raise InputError("no probe was asked both times, so there is nothing to compare")
    before, now = table([old for old, _ in both]), table([new for _, new in both])
    changes = tuple(
        _change(
            name, float(before[:, at].mean()), float(now[:, at].mean()), interval(now[:, at] - before[:, at]), tolerance
        )
        for at, name in enumerate(MEASURES)
    )
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


def _change(name: str, before: float, now: float, spread: tuple[float, float], tolerance: float) -> Change:
    change = round(now - before, _DIGITS)
    fell = name in _DECIDES and (change < -tolerance or spread[1] < 0)
    return Change(name, round(before, _DIGITS), round(now, _DIGITS), change, spread, fell)
