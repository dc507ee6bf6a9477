"""Drafts of probes from what a memory holds, for a person to mend: no model is asked.

A drafted question is made of the words of its answer, so search finds it too easily. It says what to ask about; how one
would really ask is for a person to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from holdfast.admit.floor import judge_turn
from holdfast.errors import InputError
from holdfast.evaluate.probes import Probe
from holdfast.memory import Memory
from holdfast.model import Kind, Record, Role, Turn
from holdfast.recall.theme_words import read_words

__all__ = ["draft_probes"]

_MOST = 1000  # newest records, or turns where there are no records, that are drawn from
_WORDS = 4  # of the answer that a drafted question names
_LEAST = 2  # … and one alone asks for half of what there is
_NOTE = 200  # characters of the answer that a person sees beside it
_ASKS = {
    Kind.PREFERENCE: "What do I like or dislike about {}?",
    Kind.DECISION: "What was decided about {}?",
    Kind.GUIDANCE: "Which rule did I give about {}?",
}
_WHICH, _WHAT = "Which number goes with {}?", "What do you know about {}?"


def draft_probes(memory: Memory, count: int = 50) -> list[Probe]:
    """At most so many, drawn evenly and the same each time, oldest first; of turns where there are no records."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
        raise InputError(f"count must be a whole number from 1 to {_MOST}, not {count!r}")
    records = [one for one in memory.recent(_MOST, kind="record") if isinstance(one, Record) and not one.superseded_by]
    nouns: Sequence[Record | Turn] = records or _statements(memory.recent(_MOST))
    drafts: dict[str, tuple[Record | Turn, Probe]] = {}
    for noun in sorted(nouns, key=lambda one: blake2b(one.id.encode(), digest_size=8).digest()):
        question = _question(noun)
        if question is not None and question not in drafts:
            drafts[question] = (noun, Probe(question, (noun.id,), " ".join(noun.text.split())[:_NOTE], draft=True))
        if len(drafts) == count:
            break
    if not drafts:
        raise InputError(f"there is nothing in {memory.namespace!r} to ask about yet: no record, and no statement")
    return [probe for noun, probe in sorted(drafts.values(), key=lambda one: (one[0].at, one[0].id))]


def _statements(turns: Iterable[Turn]) -> list[Turn]:
    """The user's turns that state something."""
    return [
        turn
        for turn in turns
        if turn.role is Role.USER and any(one.refusal is None for one in judge_turn(turn.text[:_MOST]))
    ]


def _question(noun: Record | Turn) -> str | None:
    """None where too little of it names anything."""
    told = dict.fromkeys(word[1] for word in read_words(noun.text[:_MOST]).words if word is not None)
    names = [word for word in told if not any(char.isdigit() for char in word)][:_WORDS]
    if len(names) < _LEAST:
        return None
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    numbered = any(char.isdigit() for char in noun.text)
    kind = noun.kind if isinstance(noun, Record) else Kind.TURN
    return _ASKS.get(kind, _WHICH if numbered else _WHAT).format(listed)
