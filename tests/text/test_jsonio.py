"""JSON output: one line per answer, equal to the plain values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from types import MappingProxyType

import pytest

from holdfast.model import Hit, Kind, Provenance, Receipt, Role, SearchAnswer, Stage
from holdfast.text.jsonio import encode, plain

pytestmark = pytest.mark.requirement("API-2")


class _Tide(Enum):
    HIGH = 2


@dataclass(frozen=True)
class _Nothing:
    """A dataclass without fields."""


def _hit(text: str) -> Hit:
    at = datetime(2026, 5, 4, 7, 30, tzinfo=UTC)
    turns = ("t1", "t2")
    return Hit("t1", Kind.TURN, text, 1.5, 0.25, at, None, turns, Provenance.USER_STATED, 1.0, Role.USER, ("mast",))


@pytest.mark.parametrize(
    "answer",
    [
        SearchAnswer((_hit("the mast is ash"), _hit("größer 🛶")), Receipt("search", "two", (Stage("words", 2, 0.1),))),
        {"jsonrpc": "2.0", "result": _hit("inside a value"), "id": None},
        [_Nothing(), _Tide.HIGH, (1, 2.5, True, None), {"at": datetime(2026, 5, 4, tzinfo=UTC)}],
        MappingProxyType({"seen": frozenset({"once"})}),
    ],
)
def test_encoded_answers_equal_their_plain_values(answer: object) -> None:
    line = encode(answer)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert json.loads(line) == plain(answer)


def test_text_is_not_escaped_except_lone_surrogates() -> None:
    assert "größer".encode() in encode(_hit("größer"))
    assert json.loads(encode(_hit("half \ud83d"))) == plain(_hit("half \ud83d"))


def test_a_value_without_json_form_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="complex cannot be written"):
        encode({"wind": 3j})
