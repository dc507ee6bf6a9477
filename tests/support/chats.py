"""Conversations of our own, of any length, for compaction: somebody who restores boats, an assistant, a tool."""

from __future__ import annotations

import random

from holdfast.memory import Memory
from holdfast.model import Record, Turn

__all__ = ["RULES", "SMALL_TALK", "boatyard", "ingest", "records"]

Message = dict[str, object]

RULES = (
    "Never order epoxy from the dealer in Vigo again.",
    "From now on, write all lengths in centimetres.",
    "Always ask me before you book the crane.",
    "Please don't mention the regatta to Benedikt.",
    "You must send every invoice to Marguerite first.",
)
SMALL_TALK = ("ok", "thanks!", "great", "hi", "good night", "lol", "sure", "yes")

_BOATS = ("the ketch Albatross", "the dinghy Pim", "the old ferry", "Ottilie's sloop", "the pilot cutter")
_WORK = ("sanded", "varnished", "caulked", "measured", "painted", "rigged", "weighed", "photographed")
_PEOPLE = ("Ottilie", "Benedikt", "Marguerite", "Iñaki", "old Halvard")
_ENDS = (
    "and it took {n} hours",
    "and the wood cost {n} euros",
    "because the surveyor comes on the {d}th",
    "while {who} looked after berth {n}",
    "so the launch moves to the {d}th of June",
)
_REPLIES = (
    "Noted. Do you want a reminder about {boat}?",
    "That leaves berth {n} free until the {d}th.",
    "I have put {n} euros under materials for {boat}.",
    "Good to hear. Shall I tell {who}?",
)


def boatyard(count: int, rules: int = 0, seed: int = 0) -> list[Message]:
    """So many turns, the same for the same numbers; rules of the user are spread among all but the last ten."""
    chance = random.Random(f"boatyard {count} {seed}")

    def words() -> dict[str, object]:
        return {
            "boat": chance.choice(_BOATS), "who": chance.choice(_PEOPLE),
            "n": chance.randrange(2, 900), "d": chance.randrange(4, 20),
        }  # fmt: skip

    said: list[Message] = []
    for number in range(count):
        if number % 2:
            said.append({"role": "assistant", "content": chance.choice(_REPLIES).format(**words())})
            continue
        end = chance.choice(_ENDS).format(**words())
        text = f"Today we {chance.choice(_WORK)} {chance.choice(_BOATS)} with {chance.choice(_PEOPLE)}, {end}."
        said.append({"role": "user", "content": text})
    for number in range(rules):
        at = chance.randrange(max(count - 10, 1))
        said[at] = {"role": "user", "content": RULES[number % len(RULES)]}
    return said


def records(memory: Memory, kind: str = "record") -> list[Record]:
    """All of them, newest first."""
    return [one for one in memory.recent(1000, kind=kind) if isinstance(one, Record)]


def ingest(memory: Memory, messages: list[Message], session: str = "yard") -> list[Turn]:
    turns = memory.ingest_many(messages, session=session)
    memory.flush()
    return turns
