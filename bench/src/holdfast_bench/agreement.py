"""Whether both engines find the same: every question of a set, asked of a file and of a server."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from holdfast.errors import InputError
from holdfast.models.breaker import open_embedder
from holdfast.probe.metrics import percentiles
from holdfast.version import __version__
from holdfast_bench.ask import Outcome, Progress, Remembering, Scores, Ways, ask, means, settings_of
from holdfast_bench.data import sample
from holdfast_bench.locomo import read

_TOP = 10


def run(server: str, data: Sequence[Path], ways: Ways, progress: Progress | None = None) -> dict[str, object]:
    """Questions of LoCoMo, in a schema of the server that is dropped afterwards."""
    from holdfast.store.postgres.schema import throwaway_schema

    started = time.perf_counter()
    haystacks = sample(read(data), ways.limit)
    total = sum(len(haystack.questions) for haystack in haystacks)
    settings = settings_of(ways)
    opened = open_embedder(settings.embedder.profile, settings.embedder.timeout_s)
    if opened is None:
        raise InputError("meaning is half of what is compared, so an embedder is needed: use --profile static")
    here: list[Outcome] = []
    there: list[Outcome] = []
    with closing(opened), throwaway_schema(server) as place:
        embedder = Remembering(opened)
        for haystack in haystacks:
            here += ask(haystack, settings, embedder)
            there += ask(haystack, settings, embedder, place)
            if progress is not None:
                progress(haystack.name, len(there), total)
    return {
        "set": "engines-locomo",
        "n": total,
        "top_10_agree": _share(here, there),
        "sqlite": _figures(here),
        "postgres": _figures(there),
        "farthest": _farthest(here, there),
        "search_ms": {
            "sqlite": percentiles([one.ms for one in here]),
            "postgres": percentiles([one.ms for one in there]),
        },
        "records": settings.admit.enabled,
        "seconds": round(time.perf_counter() - started, 1),
        "version": __version__,
    }


def _share(here: Sequence[Outcome], there: Sequence[Outcome]) -> float:
    """Of the questions, those with the same first ten turns in the same order."""
    same = sum(one.turns[:_TOP] == other.turns[:_TOP] for one, other in zip(here, there, strict=True))
    return round(same / len(here), 4) if here else 1.0


def _figures(outcomes: Sequence[Outcome]) -> dict[str, Scores | None]:
    return {level: means(outcomes, level) for level in ("turn", "session")}


def _farthest(here: Sequence[Outcome], there: Sequence[Outcome]) -> float:
    """The largest difference of any figure, in points of a hundred."""
    apart = [0.0]
    for level in ("turn", "session"):
        one, other = means(here, level) or {}, means(there, level) or {}
        apart += [abs(one[name] - other[name]) * 100 for name in one]
    return round(max(apart), 2)
