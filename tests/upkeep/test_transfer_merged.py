"""Imports into a namespace that has turns already: nothing is added twice, two logs become one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.settings import JanitorSettings
from holdfast.testing import FixedClock
from holdfast.text.jsonio import plain
from tests.support.memories import QUICK, OpenMemory, texts, user
from tests.upkeep.exports import act, exported, lived_in, put, small_export

pytestmark = pytest.mark.requirement("KEEP-5")
NOON = FixedClock(datetime(2026, 5, 4, 12, 0, tzinfo=UTC))


def test_importing_twice_adds_nothing(open_memory: OpenMemory, tmp_path: Path) -> None:
    lived_in(open_memory()).export(tmp_path / "ana.jsonl")
    other = open_memory(file="other.db")
    made = other.import_file(tmp_path / "ana.jsonl")
    other.flush()
    before = other.status().log_end
    again = other.import_file(tmp_path / "ana.jsonl")
    assert (again.turns, again.acts, again.known) == (0, 0, made.turns + made.acts)
    assert other.status().log_end == before


def test_a_later_export_adds_only_what_is_new(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(), open_memory(file="other.db")
    memory.ingest_many([user("the harbour is quiet"), user("the ferry leaves at nine")], session="s")
    memory.export(tmp_path / "first.jsonl")
    other.import_file(tmp_path / "first.jsonl")
    late = memory.ingest("the lighthouse needs paint", session="s")
    memory.forget(late.id)
    memory.export(tmp_path / "second.jsonl")
    made = other.import_file(tmp_path / "second.jsonl")
    assert (made.turns, made.acts, made.known) == (1, 1, 2)
    assert other.thread("s") == memory.thread("s")
    assert other.why(late.id).decisions[-1].what == "forgotten"


def test_two_logs_become_one_without_losing_a_turn(open_memory: OpenMemory, tmp_path: Path) -> None:
    laptop, desk = open_memory(file="laptop.db"), open_memory(file="desk.db")
    laptop.ingest_many([user("from the laptop 1"), user("from the laptop 2")], session="shared")
    laptop.ingest("My sister Anna lives in Rome and has two dogs.", session="own")
    laptop.flush()
    laptop.rebuild()
    desk.ingest_many([user("from the desk 1"), user("from the desk 2")], session="shared")
    laptop.export(tmp_path / "laptop.jsonl")
    made = desk.import_file(tmp_path / "laptop.jsonl")
    assert (made.turns, made.known, made.left_out) == (3, 0, 1)
    assert texts(desk.thread("shared")) == [f"from the {where} {n}" for where in ("desk", "laptop") for n in (1, 2)]
    assert [turn.index for turn in desk.thread("shared")] == [0, 1, 2, 3]
    assert {turn.id for turn in laptop.thread("shared")} <= {turn.id for turn in desk.thread("shared")}
    assert desk.import_file(tmp_path / "laptop.jsonl").known == 3
    desk.flush()
    before = plain((desk.stats(), desk.thread("shared"), desk.recent(kind="record")))
    desk.rebuild()
    assert plain((desk.stats(), desk.thread("shared"), desk.recent(kind="record"))) == before


@pytest.mark.requirement("INV-3")
def test_a_late_model_proposal_for_a_judged_turn_is_left_out(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(), open_memory(file="other.db")
    turn = memory.ingest("I moved to Porto in March with my sister Anna.", session="s")
    lines = exported(memory, tmp_path / "ana.jsonl")
    other.import_file(tmp_path / "ana.jsonl")
    other.flush()
    before = plain(other.recent(kind="record"))
    payload = {"by": "rules", "told": "nothing"}
    late = {**act("propose", turn.id, 2), "payload": payload}
    made = other.import_file(put(tmp_path / "late.jsonl", [*lines[:-1], late, lines[-1]]))
    assert (made.known, made.left_out, made.acts) == (1, 1, 0)
    other.rebuild()
    assert plain(other.recent(kind="record")) == before


@pytest.mark.requirement("KEEP-2", "KEEP-5")
def test_an_imported_undo_leaves_the_local_janitor_run_alone(open_memory: OpenMemory, tmp_path: Path) -> None:
    counting = replace(QUICK, janitor=JanitorSettings())
    here, there = (open_memory(file=file, settings=counting, clock=NOON) for file in ("here.db", "there.db"))
    here.ingest("I work at the harbour in Gdynia since 2019.", at="2024-01-01")
    there.ingest("My sister Anna lives in Rome.", at="2024-01-01")
    for memory in (here, there):
        memory.flush()
        assert memory.janitor().demoted == 1
    (before,) = here.recent(10, kind="record")
    there.janitor(undo="2026-W19")
    there.export(tmp_path / "there.jsonl")
    taken = here.import_file(tmp_path / "there.jsonl")
    here.flush()
    assert (taken.turns, taken.acts, taken.left_out) == (1, 0, 2)
    assert before in here.recent(10, kind="record")
    assert here.janitor(undo="2026-W19").did == "undone"
    assert here.import_file(tmp_path / "there.jsonl").acts == 0


@pytest.mark.parametrize(
    ("change", "word"),
    [({"text": "the harbour is loud"}, "text"), ({"session": "t"}, "session"), ({"at": "2020-01-01T00:00:00Z"}, "at")],
)
def test_a_conflicting_turn_stops_the_import_before_any_write(
    open_memory: OpenMemory, tmp_path: Path, change: dict[str, object], word: str
) -> None:
    memory = open_memory()
    lines = small_export(memory, tmp_path / "ana.jsonl")
    new = {**lines[1], "id": "t-new", "seq": 1, "index": 7, "key": None}
    second, third, *rest = ({**line, "seq": int(str(line["seq"])) + 1} for line in lines[1:-1])
    memory.flush()  # derived work must not move while the two are compared
    before = memory.status()
    with pytest.raises(InputError, match=rf"ana.jsonl, line 3: turn {lines[1]['id']} exists here with another {word}"):
        memory.import_file(put(tmp_path / "ana.jsonl", [lines[0], new, {**second, **change}, third, *rest, lines[-1]]))
    assert replace(memory.status(), size_bytes=before.size_bytes) == before


def test_a_conflicting_key_stops_the_import(open_memory: OpenMemory, tmp_path: Path) -> None:
    small_export(open_memory(), tmp_path / "ana.jsonl")
    other = open_memory(file="other.db")
    mine = other.ingest("the harbour is quiet", session="s", key="k")
    with pytest.raises(InputError, match=f"key 'k' in session 's', which is turn {mine.id} here"):
        other.import_file(tmp_path / "ana.jsonl")
    assert other.status().turns == 1
