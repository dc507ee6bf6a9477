"""LongMemEval benchmark: dated sessions of one person with an assistant; the gold is sessions and marked turns.

pool: every question has its own sessions and 47 others of the file. global: all sessions in one store. lite: the real
haystacks, of which a second file has the beginning of the user's words; only sessions have gold there.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import BaseModel, model_validator

from holdfast.errors import InputError
from holdfast_bench.ask import AskOptions, measure
from holdfast_bench.data import Haystack, Question, SetSession, SetTurn, read_json, read_shape
from holdfast_bench.machine import Progress

Mode = Literal["pool", "global", "lite"]
MODES: tuple[Mode, ...] = get_args(Mode)
_OTHERS, _DRAWN = 47, 53  # six more than needed, because a question's own sessions may be among them
_UNANSWERABLE = "_abs"
_TIME = re.compile(r"(\d{4})/(\d\d)/(\d\d) \(\w+\) (\d\d):(\d\d)")


class _Line(BaseModel):
    role: str
    content: str
    has_answer: bool | None = None


class _Dated(BaseModel):
    question_id: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]

    @model_validator(mode="after")
    def _every_session_has_a_date(self) -> Self:
        if len(self.haystack_session_ids) != len(self.haystack_dates):
            raise ValueError("there are not as many dates as sessions")
        return self


class _Item(_Dated):
    question_type: str
    question: str
    question_date: str
    haystack_sessions: list[list[_Line]]
    answer_session_ids: list[str]

    @model_validator(mode="after")
    def _every_session_has_its_turns(self) -> Self:
        if len(self.haystack_session_ids) != len(self.haystack_sessions):
            raise ValueError("there are not as many sessions as session ids")
        return self


class _Beginnings(BaseModel):
    """The haystack file: the beginning of each session's user words, and the sessions of each question."""

    sessions: dict[str, str]
    questions: list[_Dated]


def read_mode(name: str) -> Mode:
    for mode in MODES:
        if mode == name:
            return mode
    raise InputError(f"unknown mode {name!r}: use {', '.join(MODES)}")


def run(
    data: Sequence[Path], options: AskOptions, mode: Mode = "pool", seed: int = 0, progress: Progress | None = None
) -> dict[str, object]:
    return measure("longmemeval", read(data, mode, seed), options, progress) | {"mode": mode, "seed": seed}


def read(data: Sequence[Path], mode: Mode = "pool", seed: int = 0) -> list[Haystack]:
    if mode == "lite":
        return list(_lite(data))
    items = [item for path in data for item in _read_items(path, read_json(path))]
    sessions = {session.session: session for item in reversed(items) for session in _sessions(item)}
    if mode == "global":
        return [Haystack("longmemeval", _in_order(sessions.values()), [_question(item) for item in items])]
    ids = sorted(sessions)
    return [_pool(item, ids, sessions, seed) for item in items]


def _pool(item: _Item, ids: Sequence[str], sessions: Mapping[str, SetSession], seed: int) -> Haystack:
    own = set(map(_base, item.haystack_session_ids))
    drawn = random.Random(f"{seed}{item.question_id}").sample(ids, min(_DRAWN, len(ids)))
    others = [session for session in drawn if _base(session) not in own][:_OTHERS]
    pool = _in_order([*_sessions(item), *(sessions[session] for session in others)])
    return Haystack(item.question_id, pool, [_question(item)])


def _lite(data: Sequence[Path]) -> Iterator[Haystack]:
    """Yield haystacks in which each session is one user turn; questions and gold come from the oracle file."""
    items: dict[str, _Item] = {}
    files: list[_Beginnings] = []
    for path in data:
        found = read_json(path)
        if isinstance(found, list):
            items |= {item.question_id: item for item in _read_items(path, found)}
        else:
            files.append(read_shape(_Beginnings, found, path, "LongMemEval questions or lite haystacks"))
    if not items or not files:
        raise InputError("--mode lite needs two files: --data HAYSTACKS --data ORACLE (the questions and their gold)")
    for file in files:
        for one in file.questions:
            if one.question_id in items:
                question = replace(_question(items[one.question_id]), turns=frozenset())
                yield Haystack(one.question_id, _in_order(_lite_sessions(one, file.sessions)), [question])


def _lite_sessions(one: _Dated, texts: Mapping[str, str]) -> Iterator[SetSession]:
    for session, date in zip(one.haystack_session_ids, one.haystack_dates, strict=True):
        if session not in texts:
            raise InputError(f"the haystack of {one.question_id} names the session {session}, which is not in the file")
        yield SetSession(session, _time(date), [SetTurn(session, "user", texts[session])])


def _read_items(path: Path, data: object) -> list[_Item]:
    return read_shape(list[_Item], data, path, "LongMemEval")


def _question(item: _Item) -> Question:
    """Convert a question; without a marked turn it has no gold and is left out of the means of sessions too."""
    marked = {
        _turn_id(session, number)
        for session, lines in zip(item.haystack_session_ids, item.haystack_sessions, strict=True)
        for number, line in enumerate(lines)
        if line.has_answer
    }
    return Question(
        id=item.question_id,
        text=item.question,
        at=_time(item.question_date),
        category=item.question_type,
        turns=frozenset(marked),
        sessions=frozenset(item.answer_session_ids) if marked else frozenset(),
        answerable=not item.question_id.endswith(_UNANSWERABLE),
    )


def _sessions(item: _Item) -> Iterator[SetSession]:
    dated = zip(item.haystack_session_ids, item.haystack_dates, item.haystack_sessions, strict=True)
    for session, date, lines in dated:
        turns = [SetTurn(_turn_id(session, number), line.role, line.content) for number, line in enumerate(lines)]
        yield SetSession(session, _time(date), turns)


def _in_order(sessions: Iterable[SetSession]) -> list[SetSession]:
    return sorted(sessions, key=lambda session: (session.at, session.session))


def _turn_id(session: str, number: int) -> str:
    return f"{session}#{number}"


def _base(session: str) -> str:
    """Return the question of a session: answer_4be1b6b4_2 and answer_4be1b6b4_1 were written for 4be1b6b4."""
    return session.removeprefix("answer_").partition("_")[0]


@lru_cache(maxsize=100_000)
def _time(date: str) -> datetime:
    found = _TIME.fullmatch(date.strip())
    if found is None:
        raise InputError(f"{date!r} is not a date of LongMemEval (2023/04/10 (Mon) 17:50)")
    year, month, day, hour, minute = map(int, found.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)
