"""Lines of another log, taken into this one, for every engine: what comes in, what is known, what is left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import datetime

from holdfast.errors import InputError
from holdfast.log.acts import ActLine, Line, TurnLine, pack_compaction, read_compaction
from holdfast.model import Action, Entry
from holdfast.store.erase import Tombs
from holdfast.store.types import TakenOver


class Taking(ABC):
    """A log that is empty gets every line at its own place. One that is not gets what is new, at its end."""

    def __init__(self, before: int, admitted: int, tombs: Tombs) -> None:
        self.turns = self.acts = self.known = self.left_out = self.erased = 0
        self._before = self._seq = before
        self._tombs = tombs
        self._admitted = admitted
        self._sessions: dict[str, tuple[int, int]] = {}
        """Number and last index of each session that was met."""
        self._moved: set[str] = set()
        """Sessions whose turns have other indexes here than in the file."""
        self._other_runs: set[str] = set()
        """The janitor's runs that are others here than in the file."""

    def result(self) -> TakenOver:
        return TakenOver(self.turns, self.acts, self.known, self.left_out, self.erased)

    def turn(self, line: TurnLine) -> None:
        if self._was_erased(line):
            self.erased += 1
            return
        number, last = self._sessions.get(line.session) or self._session(line.session)
        if self._before == 0:
            if line.index <= last:
                raise InputError(f"turn {line.id} has the index {line.index} in its session, which has come to {last}")
            seq, index = line.seq, line.index
        else:
            if self._knows_turn(line):
                self.known += 1
                return
            self._check_key(line, number)
            seq, index = self._seq + 1, max(line.index, last + 1)
        if index != line.index:
            self._moved.add(line.session)
        self._insert_turn(TurnLine(seq, line.id, line.session, index, line.recorded_at, line.turn), number)
        self._sessions[line.session] = (number, index)
        self._seq = seq
        self.turns += 1

    def act(self, line: ActLine) -> None:
        action = line.action
        if self._tombs.noun(action.subject):
            self.erased += 1
            return
        if action.entry is Entry.COMPACT and self._before:
            action = self._without_erased(action)
        if self._before:
            if self._holds_same(action):
                self.known += 1
                return
            if self._speaks_of_another_log(action):
                self.left_out += 1
                return
        self._seq = line.seq if self._before == 0 else self._seq + 1
        self._insert_act(self._seq, action, line.recorded_at)
        try:
            self._apply_act(self._seq, action)
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(f"the payload of this {action.entry.value} cannot be used: {error!r}") from error
        self.acts += 1

    def _was_erased(self, line: TurnLine) -> bool:
        """By its id, its key, its time, or because it says the same at the place where an erased one stood."""
        return (
            self._tombs.noun(line.id)
            or self._tombs.turn(line.turn, line.session, line.recorded_at) is not None
            or self._tombs.stood_at(line.turn, line.session, line.index)
        )

    def _without_erased(self, action: Action) -> Action:
        """A compaction without the digests of turns that were erased here."""
        made = read_compaction(action.payload)
        told = tuple(one for one in made.told if not any(map(self._tombs.noun, (one.id, *one.turn_ids))))
        return action if told == made.told else replace(action, payload=pack_compaction(replace(made, told=told)))

    def _knows_turn(self, line: TurnLine) -> bool:
        here = self._turn_of_id(line.id)
        if here is None:
            return False
        if here.seq > self._before:
            raise InputError(twice(line))
        if here.index != line.index:
            self._moved.add(line.session)
        if (here.session, here.turn) != (line.session, line.turn):
            raise InputError(
                f"turn {line.id} is another one here: its {_difference(here, line)} differs. "
                "Nothing was imported; import the file into a namespace of its own"
            )
        return True

    def _check_key(self, line: TurnLine, session: int) -> None:
        if line.turn.key is None:
            return
        found = self._turn_of_key(session, line.turn.key)
        if found is not None and found[1] <= self._before:
            raise InputError(
                f"turn {line.id} has the key {line.turn.key!r} in session {line.session!r}, which is turn {found[0]} "
                "here. Nothing was imported; import the file into a namespace of its own"
            )

    def _speaks_of_another_log(self, action: Action) -> bool:
        """Whether it says where things stand in the log it comes from, which is no help here."""
        match action.entry:
            case Entry.REBUILD:
                return True
            case Entry.PROPOSE:
                return self._comes_late(action)
            case Entry.COMPACT:
                made = read_compaction(action.payload)
                return made.session in self._moved or self._cursor(made.stage) != made.after
            case Entry.JANITOR | Entry.JANITOR_UNDO:
                return self._is_of_another_run(action)
            case _:
                return False

    def _is_of_another_run(self, action: Action) -> bool:
        """There is one run a week, and one undoing of it: another log's must not undo what was run here."""
        if self._holds_act(action):
            self._other_runs.add(action.subject)
        return action.subject in self._other_runs

    def _comes_late(self, proposal: Action) -> bool:
        """A turn that was judged without it, or by another: a rebuild could not tell which was used (Store.propose)."""
        place = self._place_of(proposal.subject)
        return (place is not None and place <= self._admitted) or self._holds_act(proposal)

    # --- what an engine does

    @abstractmethod
    def _session(self, name: str) -> tuple[int, int]:
        """Its number, made if need be, and the last index it gave, to a turn that was erased or not."""

    @abstractmethod
    def _insert_turn(self, line: TurnLine, session: int) -> None: ...
    @abstractmethod
    def _insert_act(self, seq: int, action: Action, recorded_at: datetime) -> None: ...
    @abstractmethod
    def _apply_act(self, seq: int, action: Action) -> None: ...
    @abstractmethod
    def _turn_of_id(self, turn_id: str) -> TurnLine | None: ...
    @abstractmethod
    def _turn_of_key(self, session: int, key: str) -> tuple[str, int] | None:
        """Id and place of the turn with this key."""

    @abstractmethod
    def _place_of(self, turn_id: str) -> int | None: ...
    @abstractmethod
    def _holds_same(self, action: Action) -> bool:
        """Whether the log holds this very act: same kind, subject, time and payload."""

    @abstractmethod
    def _holds_act(self, action: Action) -> bool:
        """Whether it holds one of this kind for the same subject."""

    @abstractmethod
    def _cursor(self, stage: str) -> int: ...


def _difference(here: TurnLine, line: TurnLine) -> str:
    if here.session != line.session:
        return "session"
    return next(name for name in vars(here.turn) if getattr(here.turn, name) != getattr(line.turn, name))


def twice(line: Line, of_key: bool = False) -> str:
    """What stands twice, in the words of a file rather than of a table."""
    if isinstance(line, ActLine):
        return f"the record {line.action.subject} is made twice, or is here already as another one"
    if of_key:
        return f"the key {line.turn.key!r} stands twice in session {line.session!r}, again at turn {line.id}"
    return f"the id {line.id} stands twice in the file"
