"""Helpers that make exports: of a full memory, of a small one, and from given lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.text.jsonio import plain
from tests.support.memories import answers, ingest_month


def everything(memory: Memory) -> object:
    """Return everything a memory answers, including histories and reasons."""
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
    """Fill the memory with a month of turns and every kind of operator act."""
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
    """Export two turns, a record and a forget act, and return the lines."""
    memory.ingest("the harbour is quiet", session="s", key="k")
    turn = memory.ingest("the ferry leaves at nine", role="assistant", session="s")
    memory.remember("Zofia has the spare key")
    memory.forget(turn.id)
    return exported(memory, path)


def exported(memory: Memory, path: Path) -> list[dict[str, object]]:
    memory.export(path)
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def put(path: Path, lines: Sequence[object], whole: bool = True) -> Path:
    """Write lines as an export; with `whole` the header's counts and the trailer match them."""
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


def act(entry: str, subject: str, seq: int) -> dict[str, object]:
    moment = "2026-05-04T12:00:00Z"
    return {"seq": seq, "entry": entry, "id": subject, "at": moment, "recorded_at": moment, "payload": {}}


def assert_untouched(memory: Memory) -> None:
    status = memory.status()
    assert (status.log_end, status.turns, status.records, status.sessions, status.hidden) == (0, 0, 0, 0, 0)
