"""LoCoMo: long conversations of two people; a question's evidence is dialogue ids ("D3:11").

Both people speak as users and are told apart by the metadata `speaker`. A photo is its text followed by the caption
that comes with the set, as in the set's own retrieval.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from holdfast.errors import InputError
from holdfast_bench.ask import Progress, Ways, measure
from holdfast_bench.data import Haystack, Question, Said, Sitting, read_set

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_UNANSWERABLE = 5
_WHEN = "%I:%M %p on %d %B, %Y"
_SESSION = re.compile(r"session_(\d+)")
_DIALOGUE_ID = re.compile(r"D:?\s*(\d+)\s*:\s*(\d+)")


class _Line(BaseModel):
    speaker: str
    dia_id: str
    text: str
    blip_caption: str | None = None


class _Asked(BaseModel):
    question: str
    category: int
    evidence: list[str] = []
    evidence_audited: list[str] | None = None


class _Conversation(BaseModel):
    sample_id: str
    conversation: dict[str, object]
    qa: list[_Asked]


def run(data: Sequence[Path], ways: Ways, progress: Progress | None = None) -> dict[str, object]:
    return measure("locomo", read(data), ways, progress)


def read(data: Sequence[Path]) -> list[Haystack]:
    """One haystack for each conversation of the files."""
    return [_haystack(talk, path) for path in data for talk in read_set(path, _Conversation, "LoCoMo")]


def _haystack(talk: _Conversation, path: Path) -> Haystack:
    sittings = sorted(_sittings(talk, path), key=lambda sitting: sitting.at)
    if not sittings:
        raise InputError(f"{path}: the conversation {talk.sample_id} holds no sessions")
    sessions = {turn.id: sitting.session for sitting in sittings for turn in sitting.turns}
    questions = [
        _question(f"{talk.sample_id} {number}", asked, sessions, sittings[-1].at)
        for number, asked in enumerate(talk.qa, 1)
    ]
    return Haystack(talk.sample_id, sittings, questions)


def _sittings(talk: _Conversation, path: Path) -> Iterator[Sitting]:
    lines = TypeAdapter(list[_Line])
    for name, said in talk.conversation.items():
        if not _SESSION.fullmatch(name):
            continue
        try:
            at = datetime.strptime(str(talk.conversation.get(f"{name}_date_time")), _WHEN).replace(tzinfo=UTC)
            turns = [_said(line) for line in lines.validate_python(said)]
        except (ValidationError, ValueError) as error:
            raise InputError(f"{path}: {talk.sample_id}, {name} cannot be read: {error}") from error
        yield Sitting(name, at, turns)


def _said(line: _Line) -> Said:
    text = f"{line.text} [shares a photo: {line.blip_caption}]" if line.blip_caption else line.text
    return Said(_normal(line.dia_id) or line.dia_id, "user", text, line.speaker)


def _question(name: str, asked: _Asked, sessions: Mapping[str, str], at: datetime) -> Question:
    evidence = asked.evidence if asked.evidence_audited is None else asked.evidence_audited
    gold = frozenset(_dialogue_ids(evidence)) & sessions.keys()
    return Question(
        id=name,
        text=asked.question,
        at=at,
        category=CATEGORIES.get(asked.category, str(asked.category)),
        turns=gold,
        sessions=frozenset(sessions[turn] for turn in gold),
        answerable=asked.category != _UNANSWERABLE,
    )


def _dialogue_ids(evidence: Sequence[str]) -> Iterator[str]:
    """Some entries hold several ids, some are written with a colon or a zero too many."""
    for entry in evidence:
        for session, line in _DIALOGUE_ID.findall(entry):
            yield f"D{int(session)}:{int(line)}"


def _normal(dialogue_id: str) -> str | None:
    return next(_dialogue_ids([dialogue_id]), None)
