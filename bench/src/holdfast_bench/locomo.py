"""LoCoMo benchmark: long conversations of two people; evidence is given as dialogue ids ("D3:11").

Both people speak as users and are distinguished by the metadata `speaker`. A photo is its text followed by the caption
of the set, as in the set's own retrieval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from holdfast.errors import InputError
from holdfast_bench.ask import AskOptions, measure
from holdfast_bench.data import Haystack, Question, SetSession, SetTurn, read_json, read_shape
from holdfast_bench.machine import Progress

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_UNANSWERABLE = 5
_TIME = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_DIALOGUE_ID = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")


class _Line(BaseModel):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _Question(BaseModel):
    question: str
    category: int
    evidence: list[str] = []
    evidence_audited: list[str] | None = None


class _Conversation(BaseModel):
    sample_id: str
    conversation: dict[str, object]
    qa: list[_Question]


def run(data: Sequence[Path], options: AskOptions, progress: Progress | None = None) -> dict[str, object]:
    return measure("locomo", read(data), options, progress)


def read(data: Sequence[Path]) -> list[Haystack]:
    """Return one haystack per conversation."""
    return [
        _haystack(talk, path)
        for path in data
        for talk in read_shape(list[_Conversation], read_json(path), path, "LoCoMo")
    ]


def _haystack(talk: _Conversation, path: Path) -> Haystack:
    sessions = sorted(_sessions(talk, path), key=lambda session: session.at)
    if not sessions:
        raise InputError(f"{path}: the conversation {talk.sample_id} has no sessions")
    session_of = {turn.id: session.session for session in sessions for turn in session.turns}
    questions = [
        _question(f"{talk.sample_id} {number}", asked, session_of, sessions[-1].at)
        for number, asked in enumerate(talk.qa, 1)
    ]
    return Haystack(talk.sample_id, sessions, questions)


def _sessions(talk: _Conversation, path: Path) -> Iterator[SetSession]:
    lines = TypeAdapter(list[_Line])
    for name, session in talk.conversation.items():
        if not _SESSION.fullmatch(name):
            continue
        try:
            at = datetime.strptime(str(talk.conversation.get(f"{name}_date_time")), _TIME).replace(tzinfo=UTC)
            turns = [_turn(line) for line in lines.validate_python(session)]
        except (ValidationError, ValueError) as error:
            raise InputError(f"{path}: {talk.sample_id}, {name} cannot be read: {error}") from error
        yield SetSession(name, at, turns)


def _turn(line: _Line) -> SetTurn:
    text = f"{line.text} [shares a photo: {line.blip_caption}]" if line.blip_caption else line.text
    return SetTurn(next(_dialogue_ids([line.dia_id]), line.dia_id), "user", text, line.speaker)


def _question(name: str, asked: _Question, session_of: Mapping[str, str], at: datetime) -> Question:
    evidence = asked.evidence if asked.evidence_audited is None else asked.evidence_audited
    gold = frozenset(_dialogue_ids(evidence)) & session_of.keys()
    return Question(
        id=name,
        text=asked.question,
        at=at,
        category=CATEGORIES.get(asked.category, str(asked.category)),
        turns=gold,
        sessions=frozenset(session_of[turn] for turn in gold),
        answerable=asked.category != _UNANSWERABLE,
    )


def _dialogue_ids(evidence: Sequence[str]) -> Iterator[str]:
    """Yield normalised ids; some entries contain several, or an extra colon or zero."""
    for entry in evidence:
        for session, line in _DIALOGUE_ID.findall(entry):
            yield f"D{int(session)}:{int(line)}"
