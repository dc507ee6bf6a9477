"""How much of what is kept and served helps nobody (EVAL-4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.admit.floor import judge_turn
from holdfast.memory import Memory
from holdfast.model import Hit, Kind
from holdfast.moments import Moment

__all__ = ["Noise", "measure_noise"]

_CHARS = 20_000  # of a hit that are judged
_DIGITS = 4


@dataclass(frozen=True)
class Noise:
    redundant_adds_per_week: float
    """Records added beside one that is near in meaning: copies at worst."""
    refused: Mapping[str, int]
    """Candidates that the floor refused, by reason."""
    recalls: int
    """Questions asked for the next three; 0 without questions."""
    hits_per_recall: float | None
    sub_floor_records_per_recall: float | None
    """Records served that the floor would refuse today, every sentence of them …"""
    sub_floor_turns_per_recall: float | None
    """… and turns: thanks, commands and questions. The log keeps them; search should not put them forward."""


def measure_noise(memory: Memory, questions: Iterable[str] = (), since: Moment | None = None) -> Noise:
    """From the counters of admission and, with questions, from what search serves for them."""
    stats = memory.stats(since)
    recalls = [memory.search(question) for question in questions]
    served = [hit for hits in recalls for hit in hits]
    junk = [hit for hit in served if _sub_floor(hit)]
    return Noise(
        redundant_adds_per_week=stats.redundant_adds_per_week,
        refused=stats.total.refused,
        recalls=len(recalls),
        hits_per_recall=_each(len(served), len(recalls)),
        sub_floor_records_per_recall=_each(sum(hit.kind is not Kind.TURN for hit in junk), len(recalls)),
        sub_floor_turns_per_recall=_each(sum(hit.kind is Kind.TURN for hit in junk), len(recalls)),
    )


def _sub_floor(hit: Hit) -> bool:
    judged = judge_turn(hit.text[:_CHARS])
    return all(one.refusal is not None for one in judged)


def _each(count: int, recalls: int) -> float | None:
    return round(count / recalls, _DIGITS) if recalls else None
