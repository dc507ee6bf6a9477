"""Helpers of the CLI tests: one run of `holdfast` and its output."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        answer = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer


Holdfast = Callable[..., Said]

TALK = [
    {"session": "s1", "role": "user", "content": "I moved to Lisbon in May", "at": "2026-05-03T18:00:00Z"},
    {"session": "s1", "role": "assistant", "content": "Noted: Lisbon.", "at": "2026-05-03T18:00:05Z"},
    {"session": "s2", "role": "user", "content": "slipway listens on port 9417", "at": "2026-05-04T09:00:00Z"},
]
