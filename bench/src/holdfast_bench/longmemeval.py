"""LongMemEval: dated sessions of one person with an assistant; a question's gold is sessions and marked turns.

pool: every question looks through its own sessions and 47 others of the file. global: all sessions in one store.
lite: the real haystacks, of which a second file holds the beginning of the user's words; only sessions have gold there.
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

from pydantic import BaseModel, TypeAdapter, ValidationError, model_validator

from holdfast.errors import InputError
from holdfast_bench.ask import Progress, Ways, measure
from holdfast_bench.data import Haystack, Question, Said, Sitting, read_json, read_set

Mode = Literal["pool", "global", "lite"]
MODES: tuple[Mode, ...] = get_args(Mode)
_OTHERS, _DRAWN = 47, 53  # DESIGN: draw six more than needed, since a question's own sessions may be among them
_UNANSWERABLE = "_abs"
_WHEN = re.compile(r"(\d{4})/(\d\d)/(\d\d) \(\w+\) (\d\d):(\d\d)")


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
    """The haystack file: the beginning of each session's user words, and which sessions a question looks through."""

    sessions: dict[str, str]
    questions: list[_Dated]


def read_mode(name: str) -> Mode:
    for mode in MODES:
        if mode == name:
            return mode
    raise InputError(f"longmemeval has the modes {', '.join(MODES)}, not {name!r}")


def run(
    data: Sequence[Path], ways: Ways, mode: Mode = "pool", seed: int = 0, progress: Progress | None = None
) -> dict[str, object]:
    return measure("longmemeval", read(data, mode, seed), ways, progress) | {"mode": mode, "seed": seed}


def read(data: Sequence[Path], mode: Mode = "pool", seed: int = 0) -> list[Haystack]:
    if mode == "lite":
        return list(_lite(data))
    items = [item for path in data for item in read_set(path, _Item, "LongMemEval")]
    sittings = {sitting.session: sitting for item in reversed(items) for sitting in _sittings(item)}
    if mode == "global":
        return [Haystack("longmemeval", _in_order(sittings.values()), [_question(item) for item in items])]
    ids = sorted(sittings)
    return [_pool(item, ids, sittings, seed) for item in items]


def _pool(item: _Item, ids: Sequence[str], sittings: Mapping[str, Sitting], seed: int) -> Haystack:
    own = set(map(_base, item.haystack_session_ids))
    drawn = random.Random(f"{seed}{item.question_id}").sample(ids, min(_DRAWN, len(ids)))
    others = [session for session in drawn if _base(session) not in own][:_OTHERS]
    return Haystack(
        item.question_id, _in_order([*_sittings(item), *(sittings[session] for session in others)]), [_question(item)]
    )


def _lite(data: Sequence[Path]) -> Iterator[Haystack]:
    """Each session is one turn of the user; questions and gold come from the file with the evidence sessions."""
    items: dict[str, _Item] = {}
    files: list[_Beginnings] = []
    for path in data:
        found = read_json(path)
        if isinstance(found, list):
            items |= {item.question_id: item for item in read_set(path, _Item, "LongMemEval")}
        else:
            files.append(_read_beginnings(path, found))
    if not items or not files:
        raise InputError("--mode lite needs two files: --data HAYSTACKS --data ORACLE (the questions and their gold)")
    for file in files:
        for one in file.questions:
            if one.question_id in items:
                question = replace(_question(items[one.question_id]), turns=frozenset())
                yield Haystack(one.question_id, _in_order(_lite_sittings(one, file.sessions)), [question])


def _lite_sittings(one: _Dated, texts: Mapping[str, str]) -> Iterator[Sitting]:
    for session, date in zip(one.haystack_session_ids, one.haystack_dates, strict=True):
        if session not in texts:
            raise InputError(f"the haystack of {one.question_id} names the session {session}, which the file lacks")
        yield Sitting(session, _moment(date), [Said(session, "user", texts[session])])


def _read_beginnings(path: Path, found: object) -> _Beginnings:
    try:
        return TypeAdapter(_Beginnings).validate_python(found)
    except ValidationError as error:
        raise InputError(f"{path} is neither LongMemEval's questions nor lite haystacks: {error}") from error


def _question(item: _Item) -> Question:
    """A question without a marked turn has no gold: it is left out of the sessions' means too."""
    marked = {
        _turn_id(session, number)
        for session, lines in zip(item.haystack_session_ids, item.haystack_sessions, strict=True)
        for number, line in enumerate(lines)
        if line.has_answer
    }
    return Question(
        id=item.question_id,
        text=item.question,
        at=_moment(item.question_date),
        category=item.question_type,
        turns=frozenset(marked),
        sessions=frozenset(item.answer_session_ids) if marked else frozenset(),
        answerable=not item.question_id.endswith(_UNANSWERABLE),
    )


def _sittings(item: _Item) -> Iterator[Sitting]:
    dated = zip(item.haystack_session_ids, item.haystack_dates, item.haystack_sessions, strict=True)
    for session, date, lines in dated:
        turns = [Said(_turn_id(session, number), line.role, line.content) for number, line in enumerate(lines)]
        yield Sitting(session, _moment(date), turns)


def _in_order(sittings: Iterable[Sitting]) -> list[Sitting]:
    return sorted(sittings, key=lambda sitting: (sitting.at, sitting.session))


def _turn_id(session: str, number: int) -> str:
    return f"{session}#{number}"


def _base(session: str) -> str:
    """answer_4be1b6b4_2 and answer_4be1b6b4_1 were written for the same question: 4be1b6b4."""
    return session.removeprefix("answer_").partition("_")[0]


@lru_cache(maxsize=100_000)
def _moment(date: str) -> datetime:
    found = _WHEN.fullmatch(date.strip())
    if found is None:
        raise InputError(f"{date!r} is no date as LongMemEval writes it (2023/04/10 (Mon) 17:50)")
    year, month, day, hour, minute = map(int, found.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)
