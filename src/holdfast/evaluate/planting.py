"""Rules of our own, planted in other people's conversations: what a compaction must not lose, and must not take over.

A hundred are the user's, each with a question about it; fifty more are said by the assistant and again by a tool. None
of them was changed after the detector was seen to miss it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from holdfast.errors import InputError
from holdfast.evaluate.haystack import Haystack, Said, Sitting

__all__ = ["Planted", "plant"]

_OWN, _OTHERS = "planted rule", "planted claim"


@dataclass(frozen=True)
class Planted:
    """A rule with where it stands; only the user's have a question."""

    haystack: str
    turn: str
    text: str
    question: str | None = None


def plant(haystacks: Sequence[Haystack], free: int, seed: int = 0) -> tuple[list[Haystack], list[Planted]]:
    """The conversations with the rules in them, as many in each, none among the last `free` turns of a sitting."""
    listed = json.loads((files("holdfast.evaluate") / "planted.json").read_text(encoding="utf-8"))
    seeds = [
        (Said(f"{_OWN} {number}", "user", one["rule"]), one["question"]) for number, one in enumerate(listed["rules"])
    ]
    seeds += [
        (Said(f"{_OTHERS} {role} {number}", role, text), None)
        for role in ("assistant", "tool")
        for number, text in enumerate(listed["others"])
    ]
    chance = random.Random(f"planted {seed}")
    chance.shuffle(seeds)
    grown, planted = [], []
    for number, haystack in enumerate(haystacks):
        mine = seeds[number :: len(haystacks)]
        grown.append(_with(haystack, [said for said, _ in mine], free, chance))
        planted += [Planted(haystack.name, said.id, said.text, question) for said, question in mine]
    return grown, planted


def _with(haystack: Haystack, seeds: Sequence[Said], free: int, chance: random.Random) -> Haystack:
    places = [
        (at, spot) for at, sitting in enumerate(haystack.sittings) for spot in range(max(len(sitting.turns) - free, 0))
    ]
    if not places:
        raise InputError(f"{haystack.name} has no sitting of more than {free} turns to plant a rule in")
    chosen = sorted(chance.choices(places, k=len(seeds)), reverse=True)
    turns = [list(sitting.turns) for sitting in haystack.sittings]
    for (at, spot), said in zip(chosen, seeds, strict=True):
        turns[at].insert(spot, said)
    sittings: list[Sitting] = [
        replace(sitting, turns=said) for sitting, said in zip(haystack.sittings, turns, strict=True)
    ]
    return replace(haystack, sittings=sittings)
