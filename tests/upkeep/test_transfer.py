"""A namespace moves from one store to another with its ids, its history and its answers; a bad file changes nothing."""

from __future__ import annotations

import gzip
import io
import json
import re
import threading
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import anyio
import numpy as np
import pytest
from hostile_texts import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from holdfast import AsyncMemory, Memory
from holdfast.errors import InputError
from holdfast.model import Record
from holdfast.settings import ChatSettings, JanitorSettings, LogSettings, TransferSettings
from holdfast.testing import FixedClock, HashEmbedder, ScriptedChat
from holdfast.wire import plain
from memories import EAGER, QUICK, CountingEmbedder, OpenMemory, answers, ingest_month, texts, user

pytestmark = pytest.mark.requirement("KEEP-5")
NOON = FixedClock(datetime(2026, 5, 4, 12, 0, tzinfo=UTC))


def everything(memory: Memory) -> object:
    """All that a memory has to say, records' histories and every reason included."""
    records = [one for one in memory.recent(1000, kind="record") if isinstance(one, Record)]
    nouns = [*(record.id for record in records), *(turn.id for turn in memory.recent(1000))]
    status = memory.status()
    return {
        "answers": answers(memory),
        "why": [plain(memory.why(noun)) for noun in nouns],
        "history": [plain(memory.history(noun)) for noun in nouns],
        "stats": plain(memory.stats()),
        "calibration": plain(memory.calibrate()),
        "counts": (status.sessions, status.turns, status.records, status.hidden, status.log_end),
    }


def lived_in(memory: Memory) -> Memory:
    """A month of talk, and everything an operator may do with it."""
    ingest_month(memory, 120)
    memory.ingest(
        "a note in its own words", session="odd", key="k-1", stability=0.8, metadata={"deep": [1, {"x": 2.5}]}
    )
    memory.ingest("pasted from elsewhere", session="odd", origin="user_pasted", at="2020-02-29T23:59:59.999999Z")
    for number, turn in enumerate(memory.recent(12)):
        memory.forget(turn.id)
        if number % 2:
            memory.forget(turn.id, undo=True)
    memory.remember("Bree tuned pianos for nine years")
    memory.forget(memory.remember("Bree hates the metric system", kind="preference").id)
    memory.flush()
    memory.calibrate([(0.25, False), (0.35, True), (0.4, False), (0.55, True)])
    memory.rebuild()
    memory.ingest("I moved to Lisbon in May.", session="later")
    memory.flush()
    return memory


def small_export(memory: Memory, path: Path) -> list[dict[str, object]]:
    """Two turns, a record and an act, as the lines of an export."""
    memory.ingest("the harbour is quiet", session="s", key="k")
    turn = memory.ingest("the ferry leaves at nine", role="assistant", session="s")
    memory.remember("Zofia has the spare key")
    memory.forget(turn.id)
    memory.export(path)
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def put(path: Path, lines: Sequence[object], whole: bool = True) -> Path:
    """Write lines as an export; `whole` makes its counts and its end agree with them."""
    made = [json.loads(json.dumps(line)) for line in lines]
    if whole:
        counts: dict[str, int] = {}
        for line in made[1:-1]:
            counts[str(line.get("entry"))] = counts.get(str(line.get("entry")), 0) + 1
        made[0]["lines"] = counts
    raw = [json.dumps(line, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for line in made]
    if whole:
        end = {"end": len(made) - 2, "sha256": sha256(b"".join(raw[1:-1])).hexdigest()}
        raw[-1] = json.dumps(end).encode() + b"\n"
    path.write_bytes(b"".join(raw))
    return path


def assert_untouched(memory: Memory) -> None:
    status = memory.status()
    assert (status.log_end, status.turns, status.records, status.sessions, status.hidden) == (0, 0, 0, 0, 0)


# What arrives ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("INV-3")
def test_an_import_gives_the_same_ids_records_receipts_and_answers(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = lived_in(open_memory(settings=EAGER))
    made = memory.export(tmp_path / "ana.jsonl")
    assert (made.turns, made.acts) == (123, 12 + 6 + 3 + 1 + 1)
    other = open_memory(file="other.db", settings=EAGER)
    taken = other.import_file(tmp_path / "ana.jsonl")
    assert (taken.turns, taken.acts, taken.known, taken.left_out) == (made.turns, made.acts, 0, 0)
    other.flush()
    assert everything(other) == everything(memory)


def test_an_export_of_what_was_imported_is_the_same_file(open_memory: OpenMemory, tmp_path: Path) -> None:
    lived_in(open_memory())
    first = open_memory(clock=NOON).export(tmp_path / "first.jsonl")
    other = open_memory(file="other.db", clock=NOON)
    other.import_file(tmp_path / "first.jsonl")
    other.flush()
    second = other.export(tmp_path / "second.jsonl")
    assert (tmp_path / "second.jsonl").read_bytes() == (tmp_path / "first.jsonl").read_bytes()
    assert (first.sha256, first.size_bytes) == (second.sha256, (tmp_path / "second.jsonl").stat().st_size)


@pytest.mark.requirement("INV-3", "INV-5")
def test_what_a_model_proposed_arrives_and_no_model_is_asked_again(open_memory: OpenMemory, tmp_path: Path) -> None:
    reply = {"text": "I moved to Porto in March", "kind": "fact", "turns": [1], "basis": "stated", "supersedes": None}
    with ScriptedChat([json.dumps({"candidates": [reply]})]) as server:
        asking = replace(QUICK, chat=ChatSettings(model=f"{server.url}#small", attempts=1))
        memory = open_memory(settings=asking)
        memory.ingest("I moved to Porto in March with my sister Anna.")
        memory.flush(10)
        memory.export(tmp_path / "ana.jsonl")
        asked = len(server.requests)
        other = open_memory(file="other.db", settings=asking)
        other.import_file(tmp_path / "ana.jsonl")
        other.flush(10)
        assert len(server.requests) == asked == 1
    assert plain(other.recent(kind="record")) == plain(memory.recent(kind="record"))
    assert [one.text for one in other.recent(kind="record") if isinstance(one, Record)] == [reply["text"]]


@pytest.mark.requirement("INV-3")
def test_what_was_compacted_arrives_compacted(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(settings=EAGER), open_memory(file="other.db", settings=EAGER)
    ingest_month(memory, 60)
    memory.flush()
    sessions = sorted({turn.session for turn in memory.recent(1000)})
    made = [memory.compact(session, force=True) for session in sessions]
    assert any(compaction.did_compact for compaction in made)
    memory.flush()
    memory.export(tmp_path / "ana.jsonl")
    other.import_file(tmp_path / "ana.jsonl")
    other.flush()
    assert everything(other) == everything(memory)
    assert [other.active(session) for session in sessions] == [memory.active(session) for session in sessions]


@pytest.mark.requirement("INV-1", "SAFE-4")
def test_every_text_arrives_byte_for_byte(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    for name, text in HOSTILE:
        memory.ingest(text, session="texts", metadata={"name": name, "again": text.replace("\x00", "")})
    memory.export(tmp_path / "ana.jsonl")
    other.import_file(tmp_path / "ana.jsonl")
    assert other.thread("texts") == memory.thread("texts")
    assert [turn.text.encode() for turn in other.thread("texts")] == [text.encode() for _, text in HOSTILE]


def test_an_empty_namespace_can_be_exported_and_imported(open_memory: OpenMemory, tmp_path: Path) -> None:
    assert open_memory().export(tmp_path / "none.jsonl").turns == 0
    other = open_memory(file="other.db")
    assert other.import_file(tmp_path / "none.jsonl").turns == 0
    assert_untouched(other)


def test_the_imported_is_found_by_meaning_without_anybody_waiting_for_it(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    class Noticing(HashEmbedder):
        embedded = threading.Event()

        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            self.embedded.set()
            return super().embed(texts)

    small_export(open_memory(), tmp_path / "ana.jsonl")
    open_memory(file="other.db", embedder=Noticing()).import_file(tmp_path / "ana.jsonl")
    assert Noticing.embedded.wait(20)


@pytest.mark.requirement("INV-4")
def test_an_import_goes_into_the_namespace_of_the_memory_and_no_other(open_memory: OpenMemory, tmp_path: Path) -> None:
    small_export(open_memory("ana"), tmp_path / "ana.jsonl")
    ben, cleo = open_memory("ben"), open_memory("cleo")
    made = ben.import_file(tmp_path / "ana.jsonl")
    assert (made.namespace, made.exported_from) == ("ben", "ana")
    assert {turn.namespace for turn in ben.thread("s")} == {"ben"}
    assert_untouched(cleo)
    with pytest.raises(InputError, match="'global' is read by everybody"):
        open_memory("global").import_file(tmp_path / "ana.jsonl")


@pytest.mark.requirement("ADMIT-7")
def test_secrets_are_masked_on_the_way_in_where_the_log_keeps_none(open_memory: OpenMemory, tmp_path: Path) -> None:
    secret = "ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000"
    open_memory().ingest(f"my token is {secret}", session="s")
    open_memory().export(tmp_path / "ana.jsonl")
    other = open_memory(file="other.db", settings=replace(QUICK, log=LogSettings(redact_secrets=True)))
    other.import_file(tmp_path / "ana.jsonl")
    assert secret not in other.thread("s")[0].text
    assert other.import_file(tmp_path / "ana.jsonl").known == 1


# What is there already ------------------------------------------------------------------------------------------------


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
def test_what_a_model_said_of_a_turn_that_was_judged_without_it_is_left_out(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    memory, other = open_memory(), open_memory(file="other.db")
    turn = memory.ingest("I moved to Porto in March with my sister Anna.", session="s")
    lines = exported(memory, tmp_path)
    other.import_file(tmp_path / "ana.jsonl")
    other.flush()
    before = plain(other.recent(kind="record"))
    payload = {"by": "rules", "told": "nothing"}
    late = {**act("propose", turn.id, 2), "payload": payload}
    made = other.import_file(put(tmp_path / "late.jsonl", [*lines[:-1], late, lines[-1]]))
    assert (made.known, made.left_out, made.acts) == (1, 1, 0)
    other.rebuild()
    assert plain(other.recent(kind="record")) == before


@pytest.mark.parametrize(
    ("change", "word"),
    [({"text": "the harbour is loud"}, "text"), ({"session": "t"}, "session"), ({"at": "2020-01-01T00:00:00Z"}, "at")],
)
def test_a_turn_that_is_another_one_here_stops_the_import_before_anything_is_written(
    open_memory: OpenMemory, tmp_path: Path, change: dict[str, object], word: str
) -> None:
    memory = open_memory()
    lines = small_export(memory, tmp_path / "ana.jsonl")
    new = {**lines[1], "id": "t-new", "seq": 1, "index": 7, "key": None}
    second, third, *rest = ({**line, "seq": int(str(line["seq"])) + 1} for line in lines[1:-1])
    memory.flush()  # derived work must not move while the two are compared
    before = memory.status()
    with pytest.raises(InputError, match=rf"ana.jsonl, line 3: turn {lines[1]['id']} is another one here: its {word}"):
        memory.import_file(put(tmp_path / "ana.jsonl", [lines[0], new, {**second, **change}, third, *rest, lines[-1]]))
    assert replace(memory.status(), size_bytes=before.size_bytes) == before


def test_a_key_that_is_another_turn_here_stops_the_import(open_memory: OpenMemory, tmp_path: Path) -> None:
    small_export(open_memory(), tmp_path / "ana.jsonl")
    other = open_memory(file="other.db")
    mine = other.ingest("the harbour is quiet", session="s", key="k")
    with pytest.raises(InputError, match=f"key 'k' in session 's', which is turn {mine.id} here"):
        other.import_file(tmp_path / "ana.jsonl")
    assert other.status().turns == 1


# Files that are not what they should be -------------------------------------------------------------------------------


def exported(memory: Memory, folder: Path) -> list[dict[str, object]]:
    memory.export(folder / "ana.jsonl")
    return [json.loads(line) for line in (folder / "ana.jsonl").read_bytes().splitlines()]


def act(entry: str, subject: str, seq: int) -> dict[str, object]:
    moment = "2026-05-04T12:00:00Z"
    return {"seq": seq, "entry": entry, "id": subject, "at": moment, "recorded_at": moment, "payload": {}}


def changed(line: int, **fields: object) -> Callable[[list[dict[str, object]]], list[object]]:
    return lambda lines: [{**one, **fields} if number == line else one for number, one in enumerate(lines)]


def added(one: dict[str, object]) -> Callable[[list[dict[str, object]]], list[object]]:
    return lambda lines: [*lines[:-1], one, lines[-1]]


DEEP: dict[str, object] = {}
for _ in range(100):
    DEEP = {"in": DEEP}

BAD_LINES: dict[str, tuple[Callable[[list[dict[str, object]]], list[object]], str]] = {
    "a version of the future": (changed(0, version=2), r"line 1: it has the export version 2, .* reads 1"),
    "no version": (changed(0, version=None), "line 1: it has the export version None"),
    "another format": (changed(0, format="other"), "line 1: it is no Holdfast export"),
    "no namespace": (changed(0, namespace=None), "line 1: a namespace must be a string"),
    "an unknown kind": (changed(1, entry="dream"), "line 2: unknown kind of line 'dream'"),
    "a kind that is no name": (changed(1, entry=["turn"]), "line 2: unknown kind"),
    "an unknown field": (changed(1, mood="good"), "line 2: a line of kind turn has no mood"),
    "an id twice": (changed(2, id="{first}"), "line 3: the id .* stands twice"),
    "a key twice": (changed(2, key="k"), "line 3: the key 'k' stands twice in session 's'"),
    "an index that goes back": (changed(2, index=0), "line 3: turn .* has the index 0"),
    "a place that goes back": (changed(2, seq=1), "line 3: the place 1 in the log comes after 1"),
    "a place that is none": (changed(1, seq=True), "line 2: seq must be a whole number"),
    "a place far outside": (changed(4, seq=17_000_000_000), "line 5: the place 17000000000 is too far on"),
    "a role that is none": (changed(1, role="boss"), "line 2: unknown role 'boss'"),
    "an assistant as the user": (changed(2, origin="user"), "line 3: .* cannot have the origin user"),
    "a text that is none": (changed(1, text=7), "line 2: the text of a turn must be a string"),
    "half a character": (changed(1, text="a\ud800b"), "line 2: the line is no UTF-8"),
    "a time without a zone": (changed(1, at="2026-05-04T12:00:00"), "line 2: at must be an ISO time with its zone"),
    "a relative time": (changed(1, at="yesterday"), "line 2: at must be an ISO time"),
    "a time before time": (changed(1, at="0001-01-01T00:00:00+14:00"), "line 2: .* outside the calendar"),
    "metadata that is a list": (changed(1, metadata=[1]), "line 2: metadata must be a mapping"),
    "metadata too deep": (changed(1, metadata=DEEP), "line 2: metadata is nested more than"),
    "a stability out of range": (changed(1, stability=2), "line 2: stability must be a number from 0 to 1"),
    "an empty session": (changed(1, session=""), "line 2: a session must not be empty"),
    "an enormous name": (changed(1, id="t" * 5000), "line 2: the id has 5000 bytes"),
    "a record of no kind": (changed(3, payload={"text": "x"}), "line 4: the payload of this remember cannot be used"),
    "a record of an odd kind": (
        changed(3, payload={"text": "x", "kind": "turn", "provenance": "authored", "confidence": 1.0}),
        "line 4: the payload of this remember cannot be used: a turn is no record",
    ),
    "a record made twice": (
        lambda lines: [*lines[:-1], {**lines[3], "seq": 5}, lines[-1]],
        "line 6: the record .* is made twice",
    ),
    "a proposal of nobody": (added(act("propose", "t-1", 5)), "line 6: the payload of this propose cannot be used"),
    "a rebuild of nothing": (added(act("rebuild", "admit", 5)), "line 6: the payload of this rebuild"),
    "an empty calibration": (added(act("calibrate", "calibration", 5)), "line 6: the payload of this calibrate"),
    "an empty compaction": (added(act("compact", "c-1", 5)), "line 6: the payload of this compact"),
}


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_named_and_nothing_is_imported(open_memory: OpenMemory, tmp_path: Path, name: str) -> None:
    change, said = BAD_LINES[name]
    lines = small_export(open_memory(), tmp_path / "ana.jsonl")
    wrong = json.loads(json.dumps(change(lines)).replace("{first}", str(lines[1]["id"])))
    other = open_memory(file="other.db")
    with pytest.raises(InputError, match=f"wrong.jsonl, {said}"):
        other.import_file(put(tmp_path / "wrong.jsonl", wrong))
    assert_untouched(other)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "no Holdfast export"),
        (b"\n", "no Holdfast export"),
        (b"\xff\xfe\x00", "no Holdfast export"),
        (b"[" * 100_000 + b"\n", "no Holdfast export"),
        (b'{"a":' * 100_000 + b"\n", "line 1: the line is nested too deep"),
        (b'{"format": NaN}\n', "line 1: the line is no JSON: NaN"),
        (b'{"format": ' + b"9" * 5000 + b"}\n", "line 1: the line is no JSON"),
        (b'{"role": "user", "content": "hi"}\n', "A transcript goes to: holdfast ingest"),
        (gzip.compress(b"\x00" * 10_000_000), "it is compressed; unpack it first"),
    ],
    ids=["empty", "blank", "binary", "deep list", "deep object", "NaN", "huge number", "transcript", "gzip bomb"],
)
def test_a_file_that_is_no_export_is_refused(open_memory: OpenMemory, tmp_path: Path, raw: bytes, said: str) -> None:
    (tmp_path / "odd").write_bytes(raw)
    other = open_memory()
    with pytest.raises(InputError, match=said):
        other.import_file(tmp_path / "odd")
    assert_untouched(other)


@pytest.mark.requirement("SAFE-4")
def test_a_line_without_an_end_is_refused_long_before_it_fills_the_memory(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    class Endless(io.RawIOBase):
        """A bomb: one line, as long as anybody reads."""

        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
            head = b'{"format":"' if self.given == 0 else b""
            buffer[: len(head)] = head
            buffer[len(head) :] = b"a" * (len(buffer) - len(head))
            self.given += len(buffer)
            return len(buffer)

    bomb = Endless()
    other = open_memory(settings=replace(QUICK, log=LogSettings(max_text_bytes=1000)))
    with pytest.raises(InputError, match="the line is longer than"):
        other.import_file(io.BufferedReader(bomb))  # type: ignore[type-var]
    assert bomb.given < 20_000_000
    assert_untouched(other)


def test_a_turn_above_this_memorys_limit_is_refused(open_memory: OpenMemory, tmp_path: Path) -> None:
    open_memory().ingest("x" * 2000)
    open_memory().export(tmp_path / "ana.jsonl")
    other = open_memory(file="other.db", settings=replace(QUICK, log=LogSettings(max_text_bytes=1000)))
    with pytest.raises(InputError, match="line 2: the text of a turn has 2,000 bytes"):
        other.import_file(tmp_path / "ana.jsonl")


def test_places_that_are_missing_are_kept_missing_within_reason(open_memory: OpenMemory, tmp_path: Path) -> None:
    lines = small_export(open_memory(), tmp_path / "ana.jsonl")
    lines[4]["seq"] = 40
    put(tmp_path / "gap.jsonl", lines)
    other = open_memory(file="other.db", settings=replace(QUICK, transfer=TransferSettings(widest_gap=36)))
    other.import_file(tmp_path / "gap.jsonl")
    assert other.status().log_end == 40
    strict = open_memory(file="strict.db", settings=replace(QUICK, transfer=TransferSettings(widest_gap=35)))
    with pytest.raises(InputError, match=r"transfer\.widest_gap"):
        strict.import_file(tmp_path / "gap.jsonl")


@pytest.mark.requirement("SAFE-4")
def test_a_file_cut_anywhere_is_refused(open_memory: OpenMemory, tmp_path: Path) -> None:
    small_export(open_memory(embedder="none"), tmp_path / "ana.jsonl")
    whole = (tmp_path / "ana.jsonl").read_bytes()
    other = open_memory(file="other.db", embedder="none")
    for length in range(len(whole)):
        with pytest.raises(InputError):
            other.import_file(io.BytesIO(whole[:length]))
    assert_untouched(other)
    with pytest.raises(InputError, match="something follows after its end"):
        other.import_file(io.BytesIO(whole + b"\n"))
    assert other.import_file(io.BytesIO(whole)).turns == 2


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("small")
    with Memory(folder / "a.db", "ana", embedder="none", settings=QUICK) as memory:
        small_export(memory, folder / "ana.jsonl")
    return (folder / "ana.jsonl").read_bytes()


@pytest.fixture(scope="module")
def taker(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return Memory(tmp_path_factory.mktemp("taker") / "b.db", "ana", embedder="none", settings=QUICK)


@pytest.mark.requirement("SAFE-4")
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_one_changed_byte_behind_the_header_is_noticed(small: bytes, taker: Memory, data: st.DataObject) -> None:
    place = data.draw(st.integers(small.index(b"\n") + 1, len(small) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != small[place]))
    with pytest.raises(InputError):
        taker.import_file(io.BytesIO(small[:place] + bytes([byte]) + small[place + 1 :]))
    assert_untouched(taker)


# How it is written ----------------------------------------------------------------------------------------------------


def test_an_interrupted_export_leaves_the_earlier_one_and_nothing_else(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory(embedder="none")
    memory.ingest_many([user(f"line {number}") for number in range(3000)])
    folder = tmp_path / "exports"
    folder.mkdir()
    memory.export(folder / "ana.jsonl")
    before = (folder / "ana.jsonl").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        memory.export(folder / "ana.jsonl", interrupt_after(2000))
    assert [path.name for path in folder.iterdir()] == ["ana.jsonl"]
    assert (folder / "ana.jsonl").read_bytes() == before


def interrupt_after(most: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= most:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_import_leaves_nothing(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    memory.ingest_many([user(f"line {number}") for number in range(3000)])
    memory.export(tmp_path / "ana.jsonl")
    with pytest.raises(KeyboardInterrupt):
        other.import_file(tmp_path / "ana.jsonl", interrupt_after(5000))
    assert_untouched(other)
    assert other.import_file(tmp_path / "ana.jsonl").turns == 3000


def test_progress_is_told_from_nothing_to_all(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    memory.ingest_many([user(f"line {number}") for number in range(2500)])
    told: list[tuple[int, int]] = []
    memory.export(tmp_path / "ana.jsonl", lambda *now: told.append(now))
    assert told == [(0, 2500), (1000, 2500), (2000, 2500), (2500, 2500)]
    told.clear()
    other.import_file(tmp_path / "ana.jsonl", lambda *now: told.append(now))
    assert told[0] == (0, 5000) and told[-1] == (5000, 5000) and told == sorted(told)


def test_an_export_replaces_nothing_but_an_export(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory = open_memory()
    memory.ingest("the harbour is quiet")
    (tmp_path / "notes.txt").write_text("do not lose this")
    for name, said in (("notes.txt", "is no export"), ("memory.db", "is a store"), (".", "is a folder")):
        with pytest.raises(InputError, match=said):
            memory.export(tmp_path / name)
    with pytest.raises(InputError, match="Does its folder exist"):
        memory.export(tmp_path / "nowhere" / "ana.jsonl")
    assert (tmp_path / "notes.txt").read_text() == "do not lose this"
    (tmp_path / "empty").touch()
    memory.export(tmp_path / "empty")
    assert memory.export(tmp_path / "empty").turns == 1
    assert (tmp_path / "empty").stat().st_mode & 0o077 == 0
    memory.export("/dev/null")
    assert not Path("/dev/null").is_file()


def test_a_file_that_is_not_there_is_named(memory: Memory, tmp_path: Path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        with pytest.raises(InputError, match=f"cannot read {path}"):
            memory.import_file(path)


def test_what_can_be_read_only_once_is_imported_too(open_memory: OpenMemory, tmp_path: Path) -> None:
    class Once(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *where: int) -> int:
            raise OSError("a pipe")

    memory, other = open_memory(), open_memory(file="other.db")
    small_export(memory, tmp_path / "ana.jsonl")
    assert other.import_file(Once((tmp_path / "ana.jsonl").read_bytes())).turns == 2
    assert other.thread("s") == memory.thread("s")


def test_memory_stays_flat_however_long_the_log_is(open_memory: OpenMemory, tmp_path: Path) -> None:
    memory, other = open_memory(embedder="none"), open_memory(file="other.db", embedder="none")
    for part in range(3):
        told = [user(f"line {number}", metadata={"seen": "x" * 12_000}) for number in range(1000)]
        memory.ingest_many(told, session=f"s{part}")
    memory.flush()
    del told
    tracemalloc.start()
    try:
        made = memory.export(tmp_path / "ana.jsonl")
        other.import_file(tmp_path / "ana.jsonl")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.size_bytes > 32_000_000
    assert peak < 8_000_000, f"{peak:,} bytes at the most"


@pytest.mark.requirement("API-1")
def test_the_same_verbs_can_be_awaited(tmp_path: Path) -> None:
    async def there_and_back() -> None:
        async with AsyncMemory(tmp_path / "a.db", "ana", embedder=CountingEmbedder(), settings=QUICK) as memory:
            await memory.ingest("the harbour is quiet", session="s")
            assert (await memory.export(tmp_path / "ana.jsonl")).turns == 1
            assert (await memory.import_file(tmp_path / "ana.jsonl")).known == 1
            assert (await memory.backup(tmp_path / "backup.db")).turns == 1
        assert (await AsyncMemory.restore(tmp_path / "backup.db", tmp_path / "new.db")).turns == 1

    anyio.run(there_and_back)


def test_the_python_of_its_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "transfer.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "transfer.md", "exec"), {})
    assert (tmp_path / "restored.db").exists()


@pytest.mark.requirement("KEEP-2", "KEEP-5")
def test_a_run_of_the_janitor_that_was_undone_elsewhere_leaves_the_run_of_that_week_here_alone(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
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


@pytest.mark.requirement("KEEP-4", "KEEP-5", "INV-4")
def test_the_proof_of_an_erase_does_not_count_what_another_namespace_took_over(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    ana, bo = open_memory("ana"), open_memory("bo")
    ana.ingest_many([user(f"My cousin Wladka{n} repairs accordion number {n}.") for n in range(30)], session="s")
    ana.flush()
    ana.compact("s", force=True)
    ana.export(tmp_path / "ana.jsonl")
    bo.import_file(tmp_path / "ana.jsonl")
    bo.flush()
    before = everything(bo)
    proof = ana.erase(session="s", prove=True).proof
    assert proof is not None and proof.found == 0
    assert everything(bo) == before


@pytest.mark.requirement("COMP-2", "KEEP-5", "INV-4")
def test_guidance_that_another_namespace_takes_over_is_its_own_from_then_on(
    open_memory: OpenMemory, tmp_path: Path
) -> None:
    ana, bo = open_memory("ana"), open_memory("bo", file="other.db")
    ana.ingest_many([user(f"Always lock gate {number} before you leave.") for number in range(8)], session="s")
    ana.flush()
    ana.compact("s", force=True)
    ana.export(tmp_path / "ana.jsonl")
    for _ in range(2):
        bo.import_file(tmp_path / "ana.jsonl")
        bo.flush()
        assert {one.metadata["collection"] for one in bo.active("s").guidance} == {"elevated:user:bo"}
        bo.rebuild()
    assert [one.text for one in bo.active("s").guidance] == [one.text for one in ana.active("s").guidance]
