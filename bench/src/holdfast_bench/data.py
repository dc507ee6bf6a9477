"""What a retrieval set is made of: sessions of dated turns, and questions that name the turns which answer them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from holdfast.errors import InputError
from holdfast.probe.run import read_json

if TYPE_CHECKING:
    from pydantic import BaseModel

_Item = TypeVar("_Item", bound="BaseModel")


@dataclass(frozen=True, slots=True)
class Said:
    """One turn; `id` is what gold speaks of, unique in its haystack."""

    id: str
    role: str
    text: str
    speaker: str | None = None
    """Who of several people says it, where the role does not tell."""


@dataclass(frozen=True, slots=True)
class Sitting:
    """One session: the sets date sessions, not turns, so every turn of it was said then."""

    session: str
    at: datetime
    turns: Sequence[Said]


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    at: datetime
    """When it is asked: what "last week" counts from."""
    category: str
    turns: frozenset[str] = frozenset()
    """The gold; a set may know the sessions only."""
    sessions: frozenset[str] = frozenset()
    answerable: bool = True

    @property
    def counts(self) -> bool:
        """Whether it enters the means: it can be answered, and its gold is known."""
        return self.answerable and bool(self.sessions)


@dataclass(frozen=True, slots=True)
class Haystack:
    """What one search looks through, and the questions asked there."""

    name: str
    sittings: Sequence[Sitting]
    questions: Sequence[Question]


def read_set(path: Path, shape: type[_Item], what: str) -> list[_Item]:
    """The file as a list of the set's items; what does not fit is named with its place."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(list[shape]).validate_python(read_json(path))  # type: ignore[valid-type]
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the top"
        raise InputError(f"{path} is no {what} file: at {place}: {first['msg']}") from error


def without_gold(questions: Iterable[Question]) -> int:
    """Questions that could be answered if it were known where."""
    return sum(question.answerable and not question.sessions for question in questions)


def sample(haystacks: Sequence[Haystack], limit: int | None) -> list[Haystack]:
    """So many of all questions, always the same; haystacks nobody asks are left out.

    Drawn, not every n-th: sets list their kinds of questions in a fixed order, and a stride may meet the same few.
    """
    total = sum(len(haystack.questions) for haystack in haystacks)
    if limit is None or limit >= total:
        return list(haystacks)
    kept = set(random.Random(f"sample {limit}").sample(range(total), limit))
    chosen = []
    start = 0
    for haystack in haystacks:
        asked = [question for at, question in enumerate(haystack.questions, start) if at in kept]
        start += len(haystack.questions)
        if asked:
            chosen.append(replace(haystack, questions=asked))
    return chosen
