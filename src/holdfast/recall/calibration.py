"""A namespace's calibration: labels are looked up, the curve is drawn, and the newest one is read from the log.

A calibration is an operator's act: a line of the log, which a rebuild keeps as it is (INV-3). No view is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from holdfast.errors import InputError
from holdfast.gate.calibrate import distribution, isotonic, operating, suggest
from holdfast.gate.labels import Label
from holdfast.insight import Bin, Calibration, Operating, Step
from holdfast.json_lines import complain
from holdfast.model import Action, Entry
from holdfast.store.protocol import Snapshot
from holdfast.wire import plain

__all__ = ["as_act", "calibrate", "curve_of", "stored_calibration"]

_SUBJECT = "calibration"


def calibrate(view: Snapshot, labels: Sequence[Label], threshold: float, now: datetime) -> Calibration:
    """What the labels say of this namespace's scores, beside the threshold in use."""
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
    complain(faults)
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
