"""Calibration of the score: P(useful | G) from labels by isotonic regression, and a suggested threshold (GATE-13)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.errors import InputError
from holdfast.model import Action, Entry
from holdfast.results import Bin, Calibration, Operating, Step
from holdfast.store.snapshot import Snapshot
from holdfast.text.jsonio import plain, raise_faults, read_json_lines

BINS = 20
"""Bars of the distribution, .05 each: the gate's weights are multiples of .05, so scores heap up at such steps."""
_WORTH = 0.5
"""Keep what is useful more often than not: of all thresholds on a rising curve this one errs least, if keeping a
useless turn costs what losing a useful one does. F1 would always suggest something, with ten labels too, and moves
with the share of useful ones among those labelled."""


def isotonic(scores: Sequence[float], useful: Sequence[bool]) -> tuple[Step, ...]:
    """The rising step function nearest to the labels, by pooling adjacent violators."""
    starts, which = np.unique(np.asarray(scores, float), return_inverse=True)
    counts = np.bincount(which)
    sums = np.bincount(which, weights=np.asarray(useful, float))
    steps: list[tuple[float, float, int]] = []  # (from G on, useful, labels)
    for start, total, count in zip(starts.tolist(), sums.tolist(), counts.tolist(), strict=True):
        steps.append((start, total, count))
        # A step that is not above the one before is one with it.
        while len(steps) > 1 and steps[-1][1] * steps[-2][2] <= steps[-2][1] * steps[-1][2]:
            _, more, others = steps.pop()
            start, total, count = steps.pop()
            steps.append((start, total + more, count + others))
    return tuple(Step(start, total / count, count) for start, total, count in steps)


def probability(curve: Sequence[Step], g: float) -> float:
    """P(useful | G) as the curve has it; below its first step the first step's holds."""
    return [curve[0].p, *(step.p for step in curve if step.g <= g)][-1]


def suggest(curve: Sequence[Step]) -> float | None:
    """The lowest G from which a turn is useful more often than not; None where none is."""
    return next((step.g for step in curve if step.p >= _WORTH), None)


def operating(threshold: float, scores: Sequence[float], useful: Sequence[bool]) -> Operating:
    kept = [worth for g, worth in zip(scores, useful, strict=True) if g >= threshold]
    right, wanted = sum(kept), sum(useful)
    return Operating(threshold, right / len(kept) if kept else 0.0, right / wanted if wanted else 0.0)


def distribution(
    turns: Sequence[float], useful: Sequence[float] = (), useless: Sequence[float] = ()
) -> tuple[Bin, ...]:
    """Return a histogram of the scores of turns and of labels, in equal bins from 0 to 1."""
    columns = zip(_bars(turns), _bars(useful), _bars(useless), strict=True)
    return tuple(Bin(number / BINS, *counts) for number, counts in enumerate(columns))


def _bars(scores: Sequence[float]) -> list[int]:
    # A score of .35 that arithmetic left at .3499999 belongs to the bar it was meant for.
    places = np.clip(np.floor(np.asarray(scores, float) * BINS + 1e-9).astype(int), 0, BINS - 1)
    return [int(count) for count in np.bincount(places, minlength=BINS)]


# --- Labels for the gate: a score, or the turn that has it, and whether it was worth remembering.


_FORM = '{"turn": ID, "useful": true} or {"g": 0.4, "useful": false}'


@dataclass(frozen=True, slots=True)
class Label:
    useful: bool
    where: str
    """Name of the label in errors: "label 3", "labels.jsonl:3"."""
    turn: str | None = None
    g: float | None = None
    """One of the two is given."""


def read_labels(given: Iterable[Mapping[str, object] | tuple[str | float, bool] | Label]) -> list[Label]:
    """Mappings with "turn" or "g" and "useful", or pairs of a turn id or G with whether it was useful."""
    return _read((f"label {number}", one) for number, one in enumerate(given, 1))


def labels_of_file(path: str | os.PathLike[str]) -> list[Label]:
    """One JSON object a line; every bad line is named with its number."""
    found = _read(read_json_lines(path))
    if not found:
        raise InputError(f"{Path(path).name} holds no labels; write one a line: {_FORM}")
    return found


def _read(given: Iterable[tuple[str, object]]) -> list[Label]:
    labels: list[Label] = []
    faults: list[str] = []
    for where, one in given:
        label = _label(where, one)
        if isinstance(label, Label):
            labels.append(label)
        else:
            faults.append(f"{where}: {label}")
    raise_faults(faults)
    return labels


def _label(where: str, one: object) -> Label | str:
    """The label, or what is wrong with it."""
    if isinstance(one, Label):
        return one
    if one is None:
        return f"no JSON object; write {_FORM}"
    if isinstance(one, tuple) and len(one) == 2:
        one = {"turn" if isinstance(one[0], str) else "g": one[0], "useful": one[1]}
    if not isinstance(one, Mapping):
        return f"no label; write {_FORM}"
    turn, g, useful = one.get("turn"), one.get("g"), one.get("useful")
    if not isinstance(useful, bool):
        return '"useful" must be true or false'
    if (turn is None) == (g is None):
        return f'"turn" or "g", one of them; write {_FORM}'
    if turn is not None:
        return Label(useful, where, turn=turn) if isinstance(turn, str) else '"turn" must be the id of a turn'
    if isinstance(g, bool) or not isinstance(g, int | float) or not 0 <= g <= 1:
        return f'"g" must be a number from 0 to 1, not {g!r}'
    return Label(useful, where, g=float(g))


# --- A namespace's calibration: labels are looked up, the curve is drawn, and the newest one is read from the
# log.
#
# A calibration is an operator's act: a line of the log, which a rebuild keeps as it is (INV-3). No view is made of it.


_SUBJECT = "calibration"


def calibrate(view: Snapshot, labels: Sequence[Label], threshold: float, now: datetime) -> Calibration:
    """Fit the labels to this namespace's scores and compare with the threshold in use."""
    if not labels:
        raise InputError("there are no labels to calibrate with")
    scores = _scores(view, labels)
    useful = [label.useful for label in labels]
    curve = isotonic(scores, useful)
    suggested = suggest(curve)
    turns = view.scores()
    return Calibration(
        turns=len(turns),
        distribution=distribution(
            turns,
            [g for g, worth in zip(scores, useful, strict=True) if worth],
            [g for g, worth in zip(scores, useful, strict=True) if not worth],
        ),
        labels=len(labels),
        useful=sum(useful),
        curve=curve,
        suggested=None if suggested is None else operating(suggested, scores, useful),
        current=operating(threshold, scores, useful),
        at=now,
    )


def _scores(view: Snapshot, labels: Sequence[Label]) -> list[float]:
    """G of each label; all that have none are told of at once."""
    scores: list[float] = []
    faults: list[str] = []
    for label in labels:
        if label.g is not None:
            scores.append(label.g)
            continue
        turn = view.turn(label.turn or "")
        if turn is None:
            faults.append(f"{label.where}: there is no turn {label.turn!r} in this namespace")
        elif not any(turn.signals.values()):
            faults.append(f"{label.where}: {label.turn} has no score: the gate judges the user's turns alone")
        else:
            scores.append(turn.signals["g"])
    raise_faults(faults)
    return scores


def as_act(calibration: Calibration, now: datetime) -> Action:
    payload = plain(calibration)
    assert isinstance(payload, dict)
    return Action(Entry.CALIBRATE, _SUBJECT, now, payload)


def curve_of(view: Snapshot) -> tuple[Step, ...]:
    """P(useful | G) as it was stored last; empty if it never was."""
    acts = view.acts(_SUBJECT)
    said: Mapping[str, Any] = acts[-1].payload if acts else {"curve": []}
    return tuple(Step(**step) for step in said["curve"])


def stored_calibration(view: Snapshot) -> Calibration:
    """The newest one of the log over today's scores; without one, the scores alone."""
    scores = view.scores()
    bars = distribution(scores)
    acts = view.acts(_SUBJECT)
    if not acts:
        return Calibration(len(scores), bars, 0, 0, (), None, None, None)
    said: Mapping[str, Any] = acts[-1].payload
    return Calibration(
        turns=len(scores),
        distribution=tuple(
            Bin(bar.low, bar.turns, old["useful"], old["useless"])
            for bar, old in zip(bars, said["distribution"], strict=True)
        ),
        labels=said["labels"],
        useful=said["useful"],
        curve=curve_of(view),
        suggested=said["suggested"] and Operating(**said["suggested"]),
        current=said["current"] and Operating(**said["current"]),
        at=acts[-1].at,
    )
