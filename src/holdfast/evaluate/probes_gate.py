"""No step back: a run of probes beside a stored one, probe by probe (EVAL-1)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InputError
from holdfast.evaluate.bootstrap import interval
from holdfast.evaluate.files import read_json
from holdfast.evaluate.probes_run import MEASURES, ProbeReport, table
from holdfast.evaluate.shapes import read_shape
from holdfast.wire import plain

__all__ = ["TOLERANCE", "Change", "GateReport", "gate", "read_baseline", "save_baseline"]

TOLERANCE = 0.02
"""What a measure may fall: of 50 probes one. Search is the same from run to run, so a fall is real for these probes."""
_DECIDES = ("p@1", "mrr")
_DIGITS = 4


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
