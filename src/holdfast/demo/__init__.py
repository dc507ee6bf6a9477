"""One person's sample month: her conversations, and questions whose answers are known."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

NAMESPACE = "bree"
FIRST_SESSION = "2026-09-01-a"
"""The session in which she introduces herself."""


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    question: str
    session: str
    keys: tuple[str, ...]
    """Keys of the turns that answer it."""
    answer: str
    note: str
    """The difficulty of the question."""
    show: bool
    """True if `holdfast demo` asks it."""


def month() -> Traversable:
    """The messages, as JSON lines in the order they were said."""
    return files(__package__) / "month.jsonl"


def questions() -> tuple[SampleQuestion, ...]:
    stored = json.loads((files(__package__) / "questions.json").read_text(encoding="utf-8"))
    return tuple(
        SampleQuestion(
            one["question"], one["session"], tuple(one["keys"]), one["answer"], one["note"], one.get("show", False)
        )
        for one in stored
    )
