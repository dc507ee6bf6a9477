"""A sweep over the weights of recall: tuned on half of the probes, checked on the other half (EVAL-1).

What wins among two dozen on few probes wins partly by luck. So the half that chose does not judge: a proposal stands
only if the other half does not contradict it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, replace
from hashlib import blake2b

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.probe.probes import Probe, probe_hash
from holdfast.probe.run import MEASURES, AskedProbe, ProbeFigures, ask, figures, interval, set_apart, table
from holdfast.settings import RecallSettings, Settings

WEIGHTS = (
    "words", "told", "worth", "window", "user_preference", "answer_share", "session_share", "when_weight", "k1",
    "b", "number_preference", "time_preference",
)  # fmt: skip
"""What is tried when nobody says what to try: each halved and doubled, which makes 24."""
_SHARES = ("b", "answer_share", "session_share")  # more than all of it is not to be had
_FACTORS = (0.5, 2.0)
_LEAST = 8  # probes: with fewer than four in a half nothing can be told
_MRR = MEASURES.index("mrr")

Steps = Mapping[str, Sequence[float]]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Tried:
    """One configuration: what differs from the settings in use, and what it gives on each half."""

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
    """The settings in use."""
    front: tuple[Tried, ...]
    """On the half that chose: none is better in p@3 and MRR at once, and p@1 is no lower than now."""
    best: Tried | None
    """The one of the front that the other half bears out: p@1, p@3 and MRR no lower there, MRR higher."""
    change: tuple[float, float] | None
    """95 % interval of what the best one adds to MRR on the other half."""


def usual_steps(settings: RecallSettings) -> Steps:
    def step(name: str, factor: float) -> float:
        value: float = round(getattr(settings, name) * factor, 6)
        return min(value, 1.0) if name in _SHARES else value

    return {name: tuple(step(name, factor) for factor in _FACTORS) for name in WEIGHTS}


def read_steps(given: Iterable[str]) -> Steps:
    """NAME=VALUE[,VALUE…], a name of the recall settings."""
    numbers = {field.name for field in fields(RecallSettings) if field.type == "float"}
    steps: dict[str, list[float]] = {}
    for one in given:
        name, _, values = one.removeprefix("recall.").partition("=")
        if name not in numbers:
            raise InputError(
                f"{one!r}: there is no number recall.{name} to try; there are {', '.join(sorted(numbers))}"
            )
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
    """Try each step alone, then together those that helped; `open_memory` opens the same memory with other settings."""
    tries = [{name: value} for name, values in (steps or usual_steps(settings.recall)).items() for value in values]
    total = len(tries) + 2
    with open_memory(settings) as memory:
        targets, drifted = set_apart(memory, probes, drafts=drafts)
        if len(targets) < _LEAST:
            raise InputError(f"a sweep needs {_LEAST} probes that hold, and there are {len(targets)}")
        base_asked = ask(memory, targets)
    halves = _halves(base_asked)

    def tried(changes: Mapping[str, float], number: int) -> tuple[Tried, list[AskedProbe]]:
        changed = replace(settings, recall=replace(settings.recall, **changes))  # type: ignore[arg-type]
        with open_memory(changed) as memory:
            asked = ask(memory, targets)
        if progress is not None:
            progress(number, total)
        return _tried(changes, asked, halves), asked

    base = _tried({}, base_asked, halves)
    runs = [tried(changes, number) for number, changes in enumerate(tries, 1)]
    together = _together(base, [one for one, _ in runs])
    if len(together) > 1:
        runs.append(tried(together, total))
    front = _front(base, [one for one, _ in runs])
    best = next((one for one in front if _borne_out(base, one)), None)
    asked = next((asked for one, asked in runs if one is best), base_asked)
    rows = table(asked)[halves[1], _MRR] - table(base_asked)[halves[1], _MRR]
    return Sweep(
        hash=probe_hash(probes),
        tuned_on=len(halves[0]),
        checked_on=len(halves[1]),
        drifted=len(drifted),
        tried=len(runs) + 1,
        base=base,
        front=tuple(front),
        best=best,
        change=None if best is None else interval(rows),
    )


def _halves(asked: Sequence[AskedProbe]) -> tuple[list[int], list[int]]:
    """Every other probe, in an order that has nothing to do with the file's."""
    order = sorted(
        range(len(asked)), key=lambda at: blake2b(asked[at].question.encode(errors="surrogatepass")).digest()
    )
    return order[::2], order[1::2]


def _tried(
    changes: Mapping[str, float], asked: Sequence[AskedProbe], halves: tuple[Sequence[int], Sequence[int]]
) -> Tried:
    tuned, checked = ([asked[at] for at in half] for half in halves)
    return Tried(dict(changes), figures(tuned), figures(checked))


def _together(base: Tried, runs: Sequence[Tried]) -> dict[str, float]:
    """Of each weight the step that helped most on the half that chooses."""
    best: dict[str, Tried] = {}
    for one in runs:
        (name,) = one.settings
        if one.tuned["mrr"] > best.get(name, base).tuned["mrr"] and one.tuned["p@1"] >= base.tuned["p@1"]:
            best[name] = one
    return {name: one.settings[name] for name, one in best.items()}


def _front(base: Tried, runs: Sequence[Tried]) -> list[Tried]:
    """Best MRR first; the settings in use are in it as long as nothing beats them."""
    able = [one for one in [base, *runs] if one.tuned["p@1"] >= base.tuned["p@1"]]
    front = [one for one in able if not any(_dominates(other.tuned, one.tuned) for other in able)]
    apart = {(one.tuned["p@3"], one.tuned["mrr"]): one for one in reversed(front)}  # of equals the first that was tried
    return sorted(apart.values(), key=lambda one: (-one.tuned["mrr"], -one.tuned["p@3"]))


def _dominates(one: ProbeFigures, other: ProbeFigures) -> bool:
    return (one["p@3"] >= other["p@3"] and one["mrr"] >= other["mrr"]) and (
        one["p@3"] > other["p@3"] or one["mrr"] > other["mrr"]
    )


def _borne_out(base: Tried, one: Tried) -> bool:
    now, before = one.checked, base.checked
    return (
        now["mrr"] > before["mrr"] and now["p@1"] >= before["p@1"] and now["p@3"] >= before["p@3"] and one is not base
    )
