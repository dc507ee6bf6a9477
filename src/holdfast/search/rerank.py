"""Reranking: the first hits read once more, each together with the question, by the cross-encoder (models/ask.py).

It reads in rank order until its time is over; what it has not read keeps its place behind what it has. Its score counts
as much as search's own, both standardised over the hits that were read. What replaces what, and who said it, is decided
afterwards, as without it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InputError, ModelError
from holdfast.index.candidates import CandidateTables
from holdfast.model import Record, Turn
from holdfast.models.ask import INSTALL, AskModels, PairText, Reranker
from holdfast.search.rank import owners_of
from holdfast.store.types import Space

RERANKED = 20
"""Hits that are read: about 6 ms each; fifty gained nothing over twenty (training/ask/README.md)."""
RERANK_S = 2.0
"""Seconds that search(rerank=True) may take for it; the processor needs about .15."""
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip  # as in training, whatever the locale
_LEAST_S = 0.03  # with less left it does not begin: a few pairs are no ranking
_WEIGHT = 0.5  # of the cross-encoder's score; chosen on the development halves


def rerank_seconds(ask: AskModels | None) -> float:
    """Return the time that reranking may take; InputError if the model is not installed."""
    if ask is None or ask.reranker is None:
        raise InputError(f"reranking needs the ask models, which are not installed: {INSTALL} (in a clone)")
    return RERANK_S


def rerank(
    tables: CandidateTables,
    order: Sequence[int],
    nouns: Mapping[int, Turn | Record],
    fused: NDArray[np.float32],
    question: str,
    reranker: Reranker,
    seconds: float,
) -> tuple[list[int], int, str | None]:
    """Return the positions in their new order, the number of hits that were read, and what went wrong.

    `nouns` holds the first of `order`. A turn and its records are read once. `fused` is changed accordingly: the same
    scores, in the new order.
    """
    until = time.monotonic() + seconds
    groups: dict[int, list[int]] = {}
    for at, owner in zip(order, owners_of(tables, np.array(order, np.int64)).tolist(), strict=True):
        groups.setdefault(owner, []).append(at)
    first = [group for group in list(groups.values())[:RERANKED] if group[0] in nouns]
    earlier = _turns_before(tables, [group[0] for group in first])
    scores: list[float] = []
    slowest = _LEAST_S
    for group in first:
        started = time.monotonic()
        if started + slowest > until:
            break
        at = group[0]
        try:
            scores.append(reranker.score(question, _pair(nouns[at], earlier.get(at))))
        except ModelError as error:
            return list(order), 0, f"not reranked: {error}"
        slowest = max(slowest if scores[1:] else 0.0, time.monotonic() - started)
    read = first[: len(scores)]
    if len(read) < 2:
        return list(order), 0, None
    own = np.array([fused[group[0]] for group in read], np.float32)
    mixed = _standard(own) * np.float32(1 - _WEIGHT) + _standard(np.array(scores, np.float32)) * np.float32(_WEIGHT)
    ranked = [at for place in np.argsort(-mixed, kind="stable").tolist() for at in read[place]]
    fused[ranked] = np.sort(fused[ranked])[::-1]
    chosen = set(ranked)
    return ranked + [at for at in order if at not in chosen], len(read), None


def _turns_before(tables: CandidateTables, positions: Sequence[int]) -> dict[int, Turn]:
    """Return the turn before each in its session; none for records and for the first of a session."""
    found: dict[int, Turn] = {}
    for table, start, nums in zip(tables.parts, tables.starts, tables.numbers(positions), strict=True):
        if table.space is Space.TURN:
            before = {num: int(table.pool.before[num]) for num in nums}
            turns = table.view.turns([back for num, back in before.items() if back != num])
            found |= {start + num: turns[back] for num, back in before.items() if back in turns and back != num}
    return found


def _pair(noun: Turn | Record, before: Turn | None) -> PairText:
    date = f"{noun.at.day} {_MONTHS[noun.at.month - 1]} {noun.at.year}"
    return PairText(noun.text, _speaker(noun), date, "" if before is None else f"{_speaker(before)}: {before.text}")


def _speaker(noun: Turn | Record) -> str:
    named = noun.metadata.get("speaker") or noun.metadata.get("name")
    return str(named or (noun.role if isinstance(noun, Turn) else "user"))


def _standard(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return standard scores; zeros if they hardly differ."""
    spread = float(scores.std())
    return (scores - scores.mean()) / np.float32(spread) if spread > 1e-6 else np.zeros_like(scores)
