"""BEAM: long chats of one person with an assistant; a question's sources are the numbers of chat messages.

A batch of the chat is a session: it has one date. The sources may be lists or objects: every integer in them counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from holdfast.errors import InputError
from holdfast_bench.ask import Progress, Ways, measure
from holdfast_bench.data import Haystack, Question, Said, Sitting, read_set

_UNANSWERABLE = "abstention"
_WHEN = "%B-%d-%Y"
_MARKER = re.compile(r"\s*->->[^\n]{0,20}\Z")
"""The plan's bullet that a user text was written for: "->-> 1,1"."""


class _Message(BaseModel):
    role: str
    id: int
    content: str
    time_anchor: str | None = None


class _Batch(BaseModel):
    batch_number: int
    turns: list[list[_Message]]
    time_anchor: str | None = None


class _Probe(BaseModel):
    question: str
    source_chat_ids: object = None


class _Chat(BaseModel):
    id: int | str
    chat: list[_Batch]
    probing_questions: dict[str, list[_Probe]]


def run(data: Sequence[Path], ways: Ways, progress: Progress | None = None) -> dict[str, object]:
    return measure("beam", read(data), ways, progress)


def read(data: Sequence[Path]) -> list[Haystack]:
    """One haystack for each chat of the files."""
    return [_haystack(chat, path) for path in data for chat in read_set(path, _Chat, "BEAM")]


def _haystack(chat: _Chat, path: Path) -> Haystack:
    sittings = list(_sittings(chat, path))
    if not sittings:
        raise InputError(f"{path}: the chat {chat.id} holds no batches")
    sessions = {turn.id: sitting.session for sitting in sittings for turn in sitting.turns}
    questions = []
    for ability, probes in chat.probing_questions.items():
        for number, probe in enumerate(probes, 1):
            gold = frozenset(map(str, _integers(probe.source_chat_ids))) & sessions.keys()
            questions.append(
                Question(
                    id=f"{chat.id} {ability} {number}",
                    text=probe.question,
                    at=sittings[-1].at,
                    category=ability,
                    turns=gold,
                    sessions=frozenset(sessions[turn] for turn in gold),
                    answerable=ability != _UNANSWERABLE,
                )
            )
    return Haystack(f"chat {chat.id}", sittings, questions)


def _sittings(chat: _Chat, path: Path) -> Iterator[Sitting]:
    """A batch without a date has that of the one before it."""
    at: datetime | None = None
    for batch in chat.chat:
        messages = [message for exchange in batch.turns for message in exchange]
        anchor = batch.time_anchor or next((one.time_anchor for one in messages if one.time_anchor), None)
        if anchor is not None:
            try:
                at = datetime.strptime(anchor, _WHEN).replace(tzinfo=UTC)
            except ValueError as error:
                raise InputError(f"{path}: chat {chat.id}, batch {batch.batch_number}: {error}") from error
        if at is None:
            raise InputError(f"{path}: chat {chat.id}: its first batch has no time_anchor")
        turns = [Said(str(one.id), one.role, _clean(one)) for one in messages]
        yield Sitting(f"batch {batch.batch_number}", at, turns)


def _clean(message: _Message) -> str:
    return _MARKER.sub("", message.content) if message.role == "user" else message.content


def _integers(sources: object) -> Iterator[int]:
    if isinstance(sources, int) and not isinstance(sources, bool):
        yield sources
    elif isinstance(sources, dict):
        for inner in sources.values():
            yield from _integers(inner)
    elif isinstance(sources, list):
        for inner in sources:
            yield from _integers(inner)
