"""BEAM benchmark: long chats of one person with an assistant; the gold is the numbers of chat messages.

A batch of the chat is a session with one date. The sources may be lists or objects; every integer in them counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel

from holdfast.errors import InputError
from holdfast_bench.ask import AskOptions, measure
from holdfast_bench.data import Haystack, Question, SetSession, SetTurn, read_json, read_shape
from holdfast_bench.machine import Progress

_UNANSWERABLE = "abstention"
_TIME = "%B-%d-%Y"
_MARKER = re.compile(r"\s*->->[^\n]{0,20}\Z")  # reference to the plan behind a user text: "->-> 1,1"


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


def run(data: Sequence[Path], options: AskOptions, progress: Progress | None = None) -> dict[str, object]:
    return measure("beam", read(data), options, progress)


def read(data: Sequence[Path]) -> list[Haystack]:
    """Return one haystack per chat."""
    return [_haystack(chat, path) for path in data for chat in read_shape(list[_Chat], read_json(path), path, "BEAM")]


def _haystack(chat: _Chat, path: Path) -> Haystack:
    sessions = list(_sessions(chat, path))
    if not sessions:
        raise InputError(f"{path}: the chat {chat.id} has no batches")
    session_of = {turn.id: session.session for session in sessions for turn in session.turns}
    questions = []
    for ability, probes in chat.probing_questions.items():
        for number, probe in enumerate(probes, 1):
            gold = frozenset(map(str, _integers(probe.source_chat_ids))) & session_of.keys()
            questions.append(
                Question(
                    id=f"{chat.id} {ability} {number}",
                    text=probe.question,
                    at=sessions[-1].at,
                    category=ability,
                    turns=gold,
                    sessions=frozenset(session_of[turn] for turn in gold),
                    answerable=ability != _UNANSWERABLE,
                )
            )
    return Haystack(f"chat {chat.id}", sessions, questions)


def _sessions(chat: _Chat, path: Path) -> Iterator[SetSession]:
    """Yield the batches; one without a date has the date of the one before it."""
    at: datetime | None = None
    for batch in chat.chat:
        messages = [message for exchange in batch.turns for message in exchange]
        anchor = batch.time_anchor or next((one.time_anchor for one in messages if one.time_anchor), None)
        if anchor is not None:
            try:
                at = datetime.strptime(anchor, _TIME).replace(tzinfo=UTC)
            except ValueError as error:
                raise InputError(f"{path}: chat {chat.id}, batch {batch.batch_number}: {error}") from error
        if at is None:
            raise InputError(f"{path}: chat {chat.id}: its first batch has no time_anchor")
        turns = [SetTurn(str(one.id), one.role, _clean(one)) for one in messages]
        yield SetSession(f"batch {batch.batch_number}", at, turns)


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
