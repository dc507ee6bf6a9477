"""What a probe expects, as it is today: still live, or drifted because it was replaced, forgotten or is not there."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.errors import NotFound
from holdfast.evaluate.probes import Probe
from holdfast.memory import Memory
from holdfast.model import Hit, Kind, Why

__all__ = ["Drifted", "Target", "find_target"]


@dataclass(frozen=True)
class Drifted:
    question: str
    expect: tuple[str, ...]
    why: tuple[str, ...]
    """What became of each id it expects."""


@dataclass(frozen=True)
class Target:
    """A probe that holds, with everything that answers it."""

    probe: Probe
    records: frozenset[str]
    turns: frozenset[str]
    """A hit that stands for one of these turns, itself or by a record of it, answers."""
    sources: frozenset[str]
    """Turns that the expected records came from: as they are they answer; another record of theirs does not."""
    made: frozenset[str]
    """Records of the expected turns."""

    @property
    def ids(self) -> frozenset[str]:
        """Every id under which the answer may stand in a prompt."""
        return self.records | self.turns | self.sources | self.made

    def answered_by(self, hit: Hit) -> bool:
        if hit.kind is Kind.TURN:
            return hit.id in self.turns or hit.id in self.sources
        return hit.id in self.records or not self.turns.isdisjoint(hit.turn_ids)


def find_target(memory: Memory, probe: Probe) -> Target | Drifted:
    """It holds while one of the ids it expects does."""
    records: set[str] = set()
    turns: set[str] = set()
    sources: set[str] = set()
    made: set[str] = set()
    gone: list[str] = []
    for noun_id in probe.expect:
        try:
            told = memory.why(noun_id)
        except NotFound:
            gone.append(f"{noun_id} is not in this namespace")
            continue
        ended = _turn_ended(told) if told.kind is Kind.TURN else _record_ended(memory, noun_id)
        if ended is not None:
            gone.append(ended)
        elif told.kind is Kind.TURN:
            turns.add(noun_id)
            made.update(record.id for record in told.records)
        else:
            records.add(noun_id)
            sources.update(turn.id for turn in told.turns)
    if records or turns:
        return Target(probe, frozenset(records), frozenset(turns), frozenset(sources), frozenset(made))
    return Drifted(probe.question, probe.expect, tuple(gone))


def _record_ended(memory: Memory, record_id: str) -> str | None:
    """What ended a record; None while it is live."""
    version = next(one for one in memory.history(record_id).versions if one.record.id == record_id)
    if version.live:
        return None
    if version.record.superseded_by is not None:
        return f"{record_id} was replaced by {version.record.superseded_by}"
    return f"{record_id} was forgotten"


def _turn_ended(told: Why) -> str | None:
    """A turn ends when it is forgotten, or when every record it made was replaced."""
    acts = [decision.what for decision in told.decisions if decision.what in ("forgotten", "restored")]
    if acts and acts[-1] == "forgotten":
        return f"{told.id} was forgotten"
    successors = [record.superseded_by for record in told.records]
    if successors and all(successor is not None for successor in successors):
        return f"what {told.id} says was replaced by {', '.join(dict.fromkeys(map(str, successors)))}"
    return None
