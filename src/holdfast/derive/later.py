"""Admission that is loaded when there is a turn to judge: who only asks does not wait for its rooms (150 ms)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from holdfast.store.nouns import ADMIT_STAGE, Space
from holdfast.store.protocol import Snapshot

if TYPE_CHECKING:
    from holdfast.derive.admission import Admission

__all__ = ["LaterAdmission"]


class LaterAdmission:
    """Stands where an Admission stands, and opens it at the first batch."""

    def __init__(self, open_admission: Callable[[], Admission]) -> None:
        self._open = open_admission
        self._gate = threading.Lock()
        self._opened: Admission | None = None
        self._wake: Callable[[], None] | None = None

    @property
    def degraded(self) -> str | None:
        return None if self._opened is None else self._opened.degraded

    def on_answer(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()

    def behind(self, view: Snapshot) -> int:
        """How many lines of the log it has yet to read."""
        done = view.cursor(ADMIT_STAGE)
        return view.end() - done if view.documents(Space.TURN, done, 1) else 0

    def admit_batch(self, step_aside: Callable[[], None]) -> int:
        with self._gate:
            if self._opened is None:
                opened = self._open()
                if self._wake is not None:
                    opened.on_answer(self._wake)
                self._opened = opened
        return self._opened.admit_batch(step_aside)
