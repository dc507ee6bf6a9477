"""The format of a life: months of one person's chat, what should be remembered of it, questions and tasks.

`keys` is a list of groups of alternatives; a text holds them if it holds one alternative of each group. The last group
is the value, the groups before it name the subject: a text with all groups can be read alone, one with only the value
needs its turn. Matching ignores case, kinds of quotes and hyphens between letters, begins at the beginning of a word
("allerg" finds "allergic") and takes a number only whole.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from holdfast.errors import InputError
from holdfast_bench.data import read_json, read_shape

Keys = tuple[tuple[str, ...], ...]
Sources = Collection[str]
"""Ids of the life's turns that a text comes from."""

WHOLE, LOOSE = 2, 1
"""Grades: the text says it by itself, or only to a reader who knows the turn."""
_SPACE = re.compile(r"\s+")
_HYPHEN = re.compile(r"(?<=[^\W\d_])-(?=[^\W\d_])")
_QUOTES = str.maketrans({"’": "'", "“": '"', "”": '"'})
_DANGLING = re.compile(
    r"(?:and |but |so |also |well |yes |no |ok |okay )*"
    r"(?:he|she|it|they|that|this|those|these|his|her|their|its|same)\b"
)
_RELATIVE_DAY = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday"
    r"|(?:this|next|last|on) (?:week|month|weekend|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|this (?:morning|evening|afternoon)|heute|morgen|gestern|aujourd'hui|demain|hier|hoy|mañana|ayer|hoje|amanhã"
    r"|ontem|oggi|domani|ieri|vandaag|gisteren|i dag|i morgen|i går|idag|imorgon|dziś|dzis|jutro|wczoraj|dnes|zítra"
    r"|bugün|yarın)\b"
)
_DATE = re.compile(r"\d{4}-\d\d")


@dataclass(frozen=True)
class LifeTurn:
    id: str
    session: str
    at: datetime
    role: str
    text: str


@dataclass(frozen=True)
class LifeFact:
    """A fact about the person, or a standing rule for the assistant."""

    id: str
    text: str
    """The ideal statement, which can be read alone."""
    about: str
    keys: Annotated[Keys, Field(min_length=1)]
    turns: Annotated[tuple[str, ...], Field(min_length=1)]
    until: str | None
    """The turn at which it stopped being true."""
    replaced_by: str | None


@dataclass(frozen=True)
class NoiseTurn:
    turn: str
    why: str


@dataclass(frozen=True)
class Restated:
    of: str
    turns: tuple[str, ...]


@dataclass(frozen=True)
class LifeQuestion:
    id: str
    text: str
    at: datetime
    kind: str
    keys: Keys
    stale: Annotated[tuple[str, ...], Field(validation_alias="not")]
    """Strings that show an answer which is no longer true."""
    turns: tuple[str, ...]
    facts: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        return self.kind != "unknown"


@dataclass(frozen=True)
class LifeTask:
    id: str
    text: str
    at: datetime
    rules: tuple[str, ...]
    avoid: tuple[str, ...] = ()
    """Private facts that do not belong in its context."""


@dataclass(frozen=True)
class Life:
    name: str
    turns: Annotated[tuple[LifeTurn, ...], Field(min_length=1)]
    facts: tuple[LifeFact, ...]
    rules: tuple[LifeFact, ...]
    noise: tuple[NoiseTurn, ...]
    same: tuple[Restated, ...]
    questions: Annotated[tuple[LifeQuestion, ...], Field(min_length=1)]
    tasks: tuple[LifeTask, ...]

    @cached_property
    def turn(self) -> Mapping[str, LifeTurn]:
        return {turn.id: turn for turn in self.turns}

    @cached_property
    def place(self) -> Mapping[str, int]:
        return {turn.id: number for number, turn in enumerate(self.turns)}

    @cached_property
    def fact(self) -> Mapping[str, LifeFact]:
        """Facts and rules by id."""
        return {one.id: one for one in (*self.facts, *self.rules)}

    @cached_property
    def why_noise(self) -> Mapping[str, str]:
        return {one.turn: one.why for one in self.noise}

    def sessions(self) -> list[tuple[str, list[LifeTurn]]]:
        """Return the sessions in the order of their first turns."""
        grouped: dict[str, list[LifeTurn]] = {}
        for turn in self.turns:
            grouped.setdefault(turn.session, []).append(turn)
        return sorted(grouped.items(), key=lambda pair: pair[1][0].at)

    def said(self, text: str, sources: Sources) -> dict[str, int]:
        """Return the grade of every fact and rule that a text says.

        What is said when something ends, or later, does not say that it still holds.
        """
        grades = {}
        for one in self.fact.values():
            ended = one.until is not None and any(self.place[turn] >= self.place[one.until] for turn in sources)
            if not ended and (level := grade(text, sources, one)):
                grades[one.id] = level
        return grades

    def says_successor(self, text: str, sources: Sources, fact: LifeFact) -> bool:
        """Return True if the text says what came in the place of the fact."""
        return fact.replaced_by is not None and grade(text, sources, self.fact[fact.replaced_by]) > 0

    def answers(self, question: LifeQuestion, text: str, sources: Sources) -> bool:
        """Return True if the text holds the answer and comes from a gold turn or from the reply to one."""
        return holds(question.keys, text) and not self._gold[question.id].isdisjoint(sources)

    def is_stale(self, question: LifeQuestion, text: str) -> bool:
        folded = fold_text(text)
        return any(fold_text(one) in folded for one in question.stale) and not holds(question.keys, text)

    @cached_property
    def _gold(self) -> Mapping[str, frozenset[str]]:
        return {one.id: frozenset(self._with_replies(one.turns)) for one in self.questions}

    def _with_replies(self, turns: Sequence[str]) -> Iterator[str]:
        """Yield the turns and the replies that follow at once: an assistant that repeats a fact says it too."""
        for one in turns:
            yield one
            for reply in self.turns[self.place[one] + 1 :]:
                if reply.session != self.turn[one].session or reply.role == "user":
                    break
                yield reply.id

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the file itself."""
        for one in self.fact.values():
            turns = [*one.turns, *([one.until] if one.until else [])]
            yield from (f"{one.id} names the unknown turn {turn}" for turn in turns if turn not in self.turn)
            if one.replaced_by is not None and one.replaced_by not in self.fact:
                yield f"{one.id} is replaced by {one.replaced_by}, which is not in the file"
            if not holds(one.keys, one.text):
                yield f"the text of {one.id} does not hold its keys"
            for turn in one.turns:
                if turn in self.turn and not holds(one.keys[-1:], self.turn[turn].text):
                    yield f"the turn {turn} does not hold the value of {one.id}"
        named = [(one.id, one.turns, one.facts) for one in self.questions]
        named += [(one.id, (), (*one.rules, *one.avoid)) for one in self.tasks]
        named += [(f"noise {one.turn}", (one.turn,), ()) for one in self.noise]
        named += [(f"same {one.of}", one.turns, (one.of,)) for one in self.same]
        for name, turns_of, facts in named:
            yield from (f"{name} names the unknown turn {turn}" for turn in turns_of if turn not in self.turn)
            yield from (f"{name} names the unknown fact {fact}" for fact in facts if fact not in self.fact)


def read_life(path: Path) -> Life:
    life = read_shape(Life, read_json(path), path, "a life")
    if fault := next(life.faults(), None):
        raise InputError(f"{path}: {fault}")
    return life


def fold_text(text: str) -> str:
    """Return the text as it is matched: lower case, plain quotes, single spaces, no hyphens between letters."""
    return _HYPHEN.sub(" ", _SPACE.sub(" ", text.translate(_QUOTES)).lower())


def holds(keys: Keys, text: str) -> bool:
    folded = fold_text(text)
    return bool(keys) and all(any(_key(one).search(folded) for one in group) for group in keys)


def grade(text: str, sources: Sources, fact: LifeFact) -> int:
    """Return WHOLE, LOOSE or 0."""
    from_its_turn = not set(fact.turns).isdisjoint(sources)
    if holds(fact.keys, text) and (from_its_turn or len(fact.keys) > 1):
        return WHOLE
    return LOOSE if from_its_turn and holds(fact.keys[-1:], text) else 0


def is_dangling(text: str) -> bool:
    """Return True if the text begins with he, it, that, …: it cannot be read alone."""
    return _DANGLING.match(fold_text(text)) is not None


def names_relative_day(text: str) -> bool:
    """Return True if the text names a day that only the day it was said can tell."""
    return _RELATIVE_DAY.search(fold_text(text)) is not None and not _DATE.search(text)


@cache
def _key(alternative: str) -> re.Pattern[str]:
    wanted = fold_text(alternative)
    start = r"(?<![^\W_])" if wanted[:1].isalnum() else ""
    return re.compile(start + re.escape(wanted) + (r"(?!\d)" if wanted[-1:].isdigit() else ""))
