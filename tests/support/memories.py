"""What the tests of memory share: quick settings, messages in few words, and embedders with a temper."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.model import Clock, Hits, Turn, utc_now
from holdfast.models.embedder import Embedder, Profile
from holdfast.settings import CompactSettings, JanitorSettings, Settings, StoreSettings
from holdfast.testing import HashEmbedder
from holdfast.text.jsonio import plain

Message = dict[str, object]

QUICK = replace(Settings(), store=StoreSettings(durable=False), janitor=JanitorSettings(count=False))
"""No fsync: a test that does not cut the power does not need it. And nothing is counted behind its back."""
EAGER = replace(QUICK, _tuning=(IndexSizes(tail=1, vector_tail=1),), compact=CompactSettings(automatic=False))
"""Every turn goes into the word index and a vector segment as soon as the worker sees it."""


class OpenMemory(Protocol):
    def __call__(
        self,
        namespace: str = "ana",
        *,
        file: str = "memory.db",
        embedder: Embedder | str | None = None,
        settings: Settings = QUICK,
        clock: Clock = utc_now,
    ) -> Memory: ...


def user(text: str, **more: object) -> Message:
    return {"role": "user", "content": text, **more}


def assistant(text: str, **more: object) -> Message:
    return {"role": "assistant", "content": text, **more}


def system(text: str, **more: object) -> Message:
    return {"role": "system", "content": text, **more}


def texts(turns: Sequence[Turn]) -> list[str]:
    return [turn.text for turn in turns]


def found(hits: Hits) -> list[str]:
    return [hit.text for hit in hits]


@cache
def month() -> tuple[Message, ...]:
    """The demo's month of conversations: session, role, content, at, key."""
    lines = (files("holdfast.demo") / "month.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(json.loads(line) for line in lines)


def ingest_month(memory: Memory, most: int | None = None) -> None:
    """The month, session by session."""
    messages = month()[:most]
    for name in dict.fromkeys(str(message["session"]) for message in messages):
        memory.ingest_many([message for message in messages if message["session"] == name], session=name)


QUESTIONS = (
    "what is my name",
    "piano tuning",
    "metric and the 24-hour clock",
    "who is allergic to what",
    "the deploy failed",
    "birthday",
    "Bree",
)


def answers(memory: Memory, questions: Sequence[str] = QUESTIONS) -> object:
    """Everything a namespace has to say, as plain values; times taken and file sizes aside."""
    said = [
        [plain(list(memory.search(question, limit=20, kind=kind))) for question in questions]
        for kind in (None, "turn", "fact")
    ]
    turns = memory.recent(1000)
    sessions = dict.fromkeys(turn.session for turn in turns)
    return {
        "search": said,
        "recent": plain(turns),
        "exchanges": plain(memory.recent(1000, kind="exchange")),
        "records": plain(memory.recent(1000, kind="record")),
        "threads": {name: plain(memory.thread(name)) for name in sessions},
        "why": [plain(memory.why(turn.id)) for turn in turns[:20]],
    }


class OtherEmbedder(HashEmbedder):
    """Another model with vectors of the same shape: every vector is turned by a fixed permutation."""

    @property
    def profile(self) -> Profile:
        return replace(super().profile, name="other", fingerprint="other|1")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ascontiguousarray(np.roll(super().embed(texts), 7, axis=1))


class CountingEmbedder(HashEmbedder):
    """Keeps every text it was asked to embed, in order."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.extend(texts)
        return super().embed(texts)


class WaitingEmbedder(HashEmbedder):
    """Answers only while it is let: `asked` is set as soon as somebody waits for it."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.go = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.set()
        assert self.go.wait(30)
        return super().embed(texts)
