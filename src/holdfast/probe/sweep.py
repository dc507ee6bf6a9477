"""Parameter sweep over the weights of recall, tuned on half of the probes and checked on the other half (EVAL-1).

The best of two dozen configurations on few probes is partly luck, so a proposal is made only if the other half confirms
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from hashlib import blake2b

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.probe.metrics import bootstrap_interval
from holdfast.probe.probes import Probe, probe_hash
from holdfast.probe.run import MEASURES, AskedProbe, ProbeFigures, ask_probes, find_targets, probe_figures, score_table
from holdfast.settings import RankWeights, Settings

WEIGHTS = (
    "words", "statement", "worth", "window", "user_preference", "answer_share", "session_share", "when_weight", "k1",
    "b", "number_preference", "time_preference",
)  # fmt: skip
"""Weights that are tried by default, each halved and doubled: 24 configurations."""
_SHARES = ("b", "answer_share", "session_share")  # at most 1
_FACTORS = (0.5, 2.0)
_MIN_PROBES = 8  # fewer than four in each half show nothing
_MRR = MEASURES.index("mrr")

Steps = Mapping[str, Sequence[float]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Tried:
    """One configuration: its difference from the current settings, and its figures on each half."""

    settings: Mapping[str, float]
    tuned: ProbeFigures
    checked: ProbeFigures


@dataclass(frozen=True)
class Sweep:
    hash: str
    tuned_on: int
    checked_on: int
    drifted: int
    tried: int
    base: Tried
    """The current settings."""
    front: tuple[Tried, ...]
    """Pareto front of p@3 and MRR on the tuning half, without those that lower p@1."""
    best: Tried | None
    """First of the front that the other half confirms: higher MRR there, p@1 and p@3 not lower."""
    change: tuple[float, float] | None
    """95 % interval of the change of MRR on the other half."""


def default_steps(settings: RankWeights) -> Steps:
    def step(name: str, factor: float) -> float:
        value: float = round(getattr(settings, name) * factor, 6)
        return min(value, 1.0) if name in _SHARES else value

    return {name: tuple(step(name, factor) for factor in _FACTORS) for name in WEIGHTS}


def read_steps(options: Iterable[str]) -> Steps:
    """Read NAME=VALUE[,VALUE…] options, where NAME is one of the weights of recall."""
    numbers = {field.name for field in fields(RankWeights)}
    steps: dict[str, list[float]] = {}
    for one in options:
        name, _, values = one.removeprefix("recall.").removeprefix("weights.").partition("=")
        if name not in numbers:
            raise InputError(f"{one!r}: recall has no number {name!r}; use one of {', '.join(sorted(numbers))}")
        try:
            steps.setdefault(name, []).extend(float(value) for value in values.split(","))
        except ValueError as error:
            raise InputError(f"{one!r}: write NAME=VALUE[,VALUE…] with numbers, as in words=.2,.4") from error
    return steps


def sweep(
    open_memory: Callable[[Settings], AbstractContextManager[Memory]],
    probes: Sequence[Probe],
    settings: Settings,
    steps: Steps | None = None,
    *,
    drafts: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Try each step alone, then all that helped together; `open_memory` opens the same memory with other settings."""
    tries = [
        {name: value} for name, values in (steps or default_steps(settings.recall.weights)).items() for value in values
    ]
    total = len(tries) + 2
    with open_memory(settings) as memory:
        targets, drifted = find_targets(memory, probes, drafts=drafts)
        if len(targets) < _MIN_PROBES:
            raise InputError(f"a sweep needs {_MIN_PROBES} probes that have not drifted, and there are {len(targets)}")
        base_asked = ask_probes(memory, targets)
    halves = _halves(base_asked)

    def run(changes: Mapping[str, float], number: int) -> tuple[Tried, list[AskedProbe]]:
        weights = replace(settings.recall.weights, **changes)
        changed = replace(settings, recall=replace(settings.recall, weights=weights))
        with open_memory(changed) as memory:
            asked = ask_probes(memory, targets)
        if progress is not None:
            progress(number, total)
        return _tried(changes, asked, halves), asked

    base = _tried({}, base_asked, halves)
    runs = [run(changes, number) for number, changes in enumerate(tries, 1)]
    combined = _helpful_steps(base, [one for one, _ in runs])
    if len(combined) > 1:
        runs.append(run(combined, total))
    front = _pareto_front(base, [one for one, _ in runs])
    best = next((one for one in front if _is_confirmed(base, one)), None)
    asked = next((asked for one, asked in runs if one is best), base_asked)
    rows = score_table(asked)[halves[1], _MRR] - score_table(base_asked)[halves[1], _MRR]
    return Sweep(
        hash=probe_hash(probes),
        tuned_on=len(halves[0]),
        checked_on=len(halves[1]),
        drifted=len(drifted),
        tried=len(runs) + 1,
        base=base,
        front=tuple(front),
        best=best,
        change=None if best is None else bootstrap_interval(rows),
    )


def _halves(asked: Sequence[AskedProbe]) -> tuple[list[int], list[int]]:
    """Split the probes in two, independently of their order in the file."""
    order = sorted(
        range(len(asked)), key=lambda at: blake2b(asked[at].question.encode(errors="surrogatepass")).digest()
    )
    return order[::2], order[1::2]


def _tried(
    changes: Mapping[str, float], asked: Sequence[AskedProbe], halves: tuple[Sequence[int], Sequence[int]]
) -> Tried:
    tuned, checked = ([asked[at] for at in half] for half in halves)
    return Tried(dict(changes), probe_figures(tuned), probe_figures(checked))


def _helpful_steps(base: Tried, runs: Sequence[Tried]) -> dict[str, float]:
    """Return for each weight the step that helped most on the tuning half."""
    best: dict[str, Tried] = {}
    for one in runs:
        (name,) = one.settings
        if one.tuned["mrr"] > best.get(name, base).tuned["mrr"] and one.tuned["p@1"] >= base.tuned["p@1"]:
            best[name] = one
    return {name: one.settings[name] for name, one in best.items()}


def _pareto_front(base: Tried, runs: Sequence[Tried]) -> list[Tried]:
    """Return the front, best MRR first; the current settings are in it unless something is better."""
    valid = [one for one in [base, *runs] if one.tuned["p@1"] >= base.tuned["p@1"]]
    front = [one for one in valid if not any(_dominates(other.tuned, one.tuned) for other in valid)]
    distinct = {(one.tuned["p@3"], one.tuned["mrr"]): one for one in reversed(front)}  # of equals the first one tried
    return sorted(distinct.values(), key=lambda one: (-one.tuned["mrr"], -one.tuned["p@3"]))


def _dominates(one: ProbeFigures, other: ProbeFigures) -> bool:
    return (one["p@3"] >= other["p@3"] and one["mrr"] >= other["mrr"]) and (
        one["p@3"] > other["p@3"] or one["mrr"] > other["mrr"]
    )


def _is_confirmed(base: Tried, one: Tried) -> bool:
    now, before = one.checked, base.checked
    return (
        now["mrr"] > before["mrr"] and now["p@1"] >= before["p@1"] and now["p@3"] >= before["p@3"] and one is not base
    )
