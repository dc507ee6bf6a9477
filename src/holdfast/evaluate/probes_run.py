"""Probes asked on the production path: the memory's own search, and the prompt that would be made of it (EVAL-1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from holdfast.errors import InputError
from holdfast.evaluate.bootstrap import interval
from holdfast.evaluate.metrics import percentile
from holdfast.evaluate.probes import Probe, probe_hash
from holdfast.evaluate.probes_target import Drifted, Target, find_target
from holdfast.memory import Memory
from holdfast.model import Hit
from holdfast.version import __version__

__all__ = [
    "MEASURES",
    "AskedProbe",
    "ProbeFigures",
    "ProbeReport",
    "ask",
    "figures",
    "run_probes",
    "set_apart",
    "table",
]

Progress = Callable[[int, int], None]
Interval = tuple[float, float]
Prompt = Callable[[str], str]

DEPTH = 10
"""Hits that are looked at: what search gives when nobody asks for more."""
_CUTS = (1, 3, 5)
MEASURES = (*(f"p@{cut}" for cut in _CUTS), "mrr")
_DIGITS = 4

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
