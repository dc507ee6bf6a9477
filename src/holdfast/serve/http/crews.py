"""The threads that do the verbs' work over HTTP: so many for each kind of call, as pace.py has it for MCP.

Executors instead of a limiter before anyio's threads: a call goes there and back with two turns of the event loop less.
Each turn lets go of the interpreter, and while others compute that costs as much as all of the call's own way.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass

from holdfast.serve.inputs import Input
from holdfast.serve.verbs import Danger, Verb
from holdfast.settings import ServeSettings

__all__ = ["Crews", "open_crews"]


@dataclass(frozen=True)
class Crews:
    reads: Executor
    writes: Executor
    slow: Executor

    def of(self, verb: Verb[Input]) -> Executor:
        if verb.slow:
            return self.slow
        return self.reads if verb.danger is Danger.READS else self.writes


def open_crews(settings: ServeSettings) -> Crews:
    """Threads are started when there is work for them, and end with the app."""
    return Crews(
        ThreadPoolExecutor(settings.reads_at_once, "holdfast-reads"),
        ThreadPoolExecutor(settings.writes_at_once, "holdfast-writes"),
        ThreadPoolExecutor(settings.slow_calls, "holdfast-slow"),
    )
