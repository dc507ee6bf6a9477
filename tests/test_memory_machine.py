"""Memory against a plain Python model of it: any order of verbs, crashes and reopenings in between."""

from __future__ import annotations

import faulthandler
import itertools
import shutil
import tempfile
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, initialize, invariant, multiple, rule

from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.testing import FixedClock, HashEmbedder
from tests.support.memories import QUICK

SESSIONS = st.sampled_from(["a", "b", "default"])
ROLES = st.sampled_from(["user", "assistant", "tool", "system"])
HANGS_S = 300.0  # no step takes so long, however busy the machine is
START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = replace(QUICK, _tuning=(IndexSizes(tail=3, vector_tail=3, batch=5),))


@dataclass
class Model:
    """What memory must hold: the log as a list, sessions as lists of it, and what is hidden."""

    log: list[Turn] = field(default_factory=list)
    keys: dict[tuple[str, str], Turn] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)

    def thread(self, session: str) -> list[Turn]:
        return [turn for turn in self.log if turn.session == session and turn.id not in self.hidden]

    def recent(self) -> list[Turn]:
        shown = [turn for turn in self.log if turn.id not in self.hidden]
        return sorted(shown, key=lambda turn: (turn.at, turn.seq), reverse=True)

    def add(self, turn: Turn) -> None:
        assert turn.seq > (max((one.seq for one in self.log), default=0))
        assert turn.index == sum(one.session == turn.session for one in self.log)
        self.log.append(turn)
        if turn.key is not None:
            self.keys[turn.session, turn.key] = turn


class MemoryMachine(RuleBasedStateMachine):
    turns: Bundle[Turn] = Bundle("turns")

    @initialize()
    def start(self) -> None:
        faulthandler.dump_traceback_later(HANGS_S, exit=True)  # pytest's limit, for each life and not for all of them
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-machine-"))
        self.clock = FixedClock(START)
        self.words = itertools.count()
        self.model = Model()
        self.left_open: list[Memory] = []
        self.open()

    def open(self) -> None:
        self.memory = Memory(self.folder / "m.db", "ana", embedder=HashEmbedder(), settings=SETTINGS, clock=self.clock)

    def token(self) -> str:
        return f"token{next(self.words)}x"

    # --- writing

    @rule(target=turns, session=SESSIONS, role=ROLES, days=st.integers(-5, 5))
    def ingest(self, session: str, role: str, days: int) -> Turn:
        self.clock.advance(1)
        turn = self.memory.ingest(self.token(), role=role, session=session, at=START + timedelta(days=days))
        self.model.add(turn)
        return turn

    @rule(target=turns, session=SESSIONS, key=st.sampled_from(["k1", "k2", "k3"]))
    def ingest_with_key(self, session: str, key: str) -> Turn:
        turn = self.memory.ingest(self.token(), session=session, key=key)
        known = self.model.keys.get((session, key))
        if known is None:
            self.model.add(turn)
        else:
            assert turn == known
        return turn

    @rule(session=SESSIONS, new=st.integers(0, 3))
    def hand_the_history_over_again(self, session: str, new: int) -> None:
        self.hand_over(session, [turn for turn in self.model.log if turn.session == session], new)

    @rule(session=SESSIONS, back=st.integers(1, 4), new=st.integers(1, 3))
    def hand_over_a_window(self, session: str, back: int, new: int) -> None:
        self.hand_over(session, [turn for turn in self.model.log if turn.session == session][-back:], new)

    def hand_over(self, session: str, known: list[Turn], new: int) -> None:
        messages = [{"role": turn.role.value, "content": turn.text} for turn in known]
        messages += [{"role": "user", "content": self.token()} for _ in range(new)]
        got = self.memory.ingest_many(messages, session=session)
        assert got[: len(known)] == known
        for turn in got[len(known) :]:
            self.model.add(turn)

    @rule(target=turns)
    def the_last_turn_once_more(self) -> MultipleResults[Turn]:
        return multiple(*self.model.log[-1:])

    @rule(turn=turns, undo=st.booleans())
    def forget(self, turn: Turn, undo: bool) -> None:
        was_hidden = turn.id in self.model.hidden
        decision = self.memory.forget(turn.id, undo=undo)
        assert (decision.what == "unchanged") == (was_hidden != undo)
        if undo:
            self.model.hidden.discard(turn.id)
        else:
            self.model.hidden.add(turn.id)

    # --- the world goes on

    @rule()
    def close_and_open(self) -> None:
        self.memory.close()
        self.open()

    @rule()
    def crash(self) -> None:
        """The memory is neither flushed nor closed; another goes on with the file."""
        self.left_open.append(self.memory)
        self.open()

    @rule()
    def flush(self) -> None:
        self.memory.flush(HANGS_S)

    @rule()
    def rebuild(self) -> None:
        self.memory.rebuild()

    # --- reading

    @rule(turn=turns)
    def search(self, turn: Turn) -> None:
        """Its word is nobody else's: of the hits that hold it there is one, unless it is hidden."""
        held = [hit.id for hit in self.memory.search(turn.text, limit=50) if hit.words]
        assert held == ([] if turn.id in self.model.hidden else [turn.id])

    @rule(limit=st.integers(1, 50), session=st.none() | SESSIONS)
    def recent(self, limit: int, session: str | None) -> None:
        wanted = [turn for turn in self.model.recent() if session in (None, turn.session)]
        assert self.memory.recent(limit, session=session) == wanted[:limit]

    @rule(session=SESSIONS)
    def thread(self, session: str) -> None:
        assert self.memory.thread(session) == self.model.thread(session)

    @invariant()
    def counts_agree(self) -> None:
        status = self.memory.status()
        assert (status.turns, status.hidden) == (len(self.model.log), len(self.model.hidden))

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            assert self.memory.check() == []
            for memory in (*self.left_open, self.memory):
                memory.close()
            shutil.rmtree(self.folder, ignore_errors=True)


MemoryMachine.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestMemoryMachine = pytest.mark.requirement("INV-1", "INV-3", "LOG-4", "LOG-7")(MemoryMachine.TestCase)
