"""Retrieval sets: sessions of dated turns, questions with the turns that answer them, and readers for their files."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from holdfast.errors import InputError

Shape = TypeVar("Shape")

END_OF_TURN = "__eou__"
"""Ends each turn in a line of DailyDialog."""
DIALOGUE_ACTS = {"1": "inform", "2": "question", "3": "directive", "4": "commissive"}


@dataclass(frozen=True, slots=True)
class SetTurn:
    """One turn; its id is unique in its haystack and is used in the gold answers."""

    id: str
    role: str
    text: str
    speaker: str | None = None
    """Name of the speaker, if the role does not identify one."""


@dataclass(frozen=True, slots=True)
class SetSession:
    """One session; the sets give dates for sessions only, so all its turns have this time."""

    session: str
    at: datetime
    turns: Sequence[SetTurn]


@dataclass(frozen=True, slots=True)
class Question:
    id: str
    text: str
    at: datetime
    """Time of the question; "last week" is relative to it."""
    category: str
    turns: frozenset[str] = frozenset()
    """Gold turns; a set may know the gold sessions only."""
    sessions: frozenset[str] = frozenset()
    answerable: bool = True

    @property
    def counts(self) -> bool:
        """True if it enters the means: it is answerable, and its gold is known."""
        return self.answerable and bool(self.sessions)


@dataclass(frozen=True, slots=True)
class Haystack:
    """The sessions of one store and the questions asked there."""

    name: str
    sessions: Sequence[SetSession]
    questions: Sequence[Question]


def read_text(path: Path) -> str:
    """Read a whole file, decompressed if its name ends in .gz."""
    try:
        packed = path.read_bytes()
        return (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode()
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from error


def read_json(path: Path) -> object:
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}") from error


def read_shape(shape: type[Shape], data: object, path: Path, what: str) -> Shape:
    """Validate data against a type; InputError says where it differs."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(shape).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the top"
        raise InputError(f"{path} is not a file of {what}: {where}: {first['msg']}") from error


def strings_in(value: object) -> Iterator[str]:
    """Yield every string in nested lists and objects, in order, without recursion."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, list | dict):
            waiting.extend(reversed(list(one.values()) if isinstance(one, dict) else one))


def read_dialogues(content: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield (turns, acts) of each line of DailyDialog: the turns, then by tabs a topic and one act per turn."""
    for line in filter(str.strip, content.split("\n")):
        text, *labels = line.split("\t")
        acts = labels[1].split() if len(labels) > 1 else []
        turns = [turn.strip() for turn in text.split(END_OF_TURN) if turn.strip()]
        yield turns, [DIALOGUE_ACTS.get(act, act) for act in acts]


def sample(haystacks: Sequence[Haystack], limit: int | None) -> list[Haystack]:
    """Return a deterministic sample of `limit` questions; haystacks without a question are left out.

    The choice is random, not every n-th question: sets list their kinds of questions in a fixed order.
    """
    total = sum(len(haystack.questions) for haystack in haystacks)
    if limit is None or limit >= total:
        return list(haystacks)
    kept = set(random.Random(f"sample {limit}").sample(range(total), limit))
    chosen = []
    start = 0
    for haystack in haystacks:
        questions = [question for at, question in enumerate(haystack.questions, start) if at in kept]
        start += len(haystack.questions)
        if questions:
            chosen.append(replace(haystack, questions=questions))
    return chosen
