"""The contract: JSON Schemas of what the verbs and benches print, with one golden example each.

    python -m holdfast.contract contract

The schemas come from the typed definitions (model.py, answers.py), the examples from really running the verbs with a
clock that stands still and a predictable embedder. Ids and durations, which differ from run to run, are replaced.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from holdfast.answers import (
    ErrorAnswer,
    IngestAnswer,
    Problem,
    RebuildAnswer,
    RecentAnswer,
    RecentExchanges,
    SearchAnswer,
    StatusAnswer,
    ThreadAnswer,
)
from holdfast.errors import NotFound
from holdfast.evaluate.admission_figures import (
    FactsFigures,
    GateFigures,
    HalumemFigures,
    MergeFigures,
    admission_examples,
)
from holdfast.evaluate.benchmarks import hostile
from holdfast.evaluate.figures import LongMemEvalFigures, RetrievalFigures, retrieval_examples
from holdfast.insight import Calibration, History, Stats, Tuning
from holdfast.memory import Memory
from holdfast.model import Decision, Record, Why
from holdfast.testing import FixedClock, HashEmbedder
from holdfast.wire import plain

__all__ = ["SHAPES", "CarrierFigures", "HostileFigures", "Percentiles", "SpeedFigures", "examples", "schema", "write"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Percentiles:
    p50: float
    p99: float


@dataclass(frozen=True)
class SpeedFigures:
    """What `bench speed` writes at least; sizes are the keys of the tables."""

    set: str
    n: int
    ack_ms: Percentiles
    bare_commit_ms: Percentiles
    search_ms: Mapping[str, Percentiles]
    vector_ms: Mapping[str, Percentiles]
    read_floor_ms: Mapping[str, Percentiles]
    ingest_per_s: float
    rss_mb: float
    recall_vs_exact: float
    seconds: float
    embedder: str
    version: str


@dataclass(frozen=True)
class CarrierFigures:
    n: int
    stored_byte_for_byte: int
    refused: int
    reasons: Mapping[str, int]
    wrong: int
    search_errors: int


@dataclass(frozen=True)
class HostileFigures:
    """What `bench hostile` writes at least: how each text fared by each way in; nothing may be wrong."""

    set: str
    n: int
    carriers: Mapping[str, CarrierFigures]
    wrong: int
    refused: int
    search_errors: int
    seconds: float
    version: str


SHAPES: Mapping[str, object] = {
    "ingest": IngestAnswer,
    "search": SearchAnswer,
    "recent": RecentAnswer,
    "thread": ThreadAnswer,
    "remember": Record,
    "forget": Decision,
    "why": Why,
    "history": History,
    "stats": Stats,
    "calibrate": Calibration,
    "tune-similarity": Tuning,
    "status": StatusAnswer,
    "store-rebuild": RebuildAnswer,
    "error": ErrorAnswer,
    "bench-speed": SpeedFigures,
    "bench-hostile": HostileFigures,
    "bench-gate": GateFigures,
    "bench-halumem": HalumemFigures,
    "bench-facts": FactsFigures,
    "bench-merge": MergeFigures,
    "bench-locomo": RetrievalFigures,
    "bench-longmemeval": LongMemEvalFigures,
    "bench-beam": RetrievalFigures,
}
_BENCHES = "bench-"
"""Benches may write more figures than are pinned; a verb prints exactly its fields."""


def schema(name: str) -> dict[str, object]:
    adapter: TypeAdapter[object] = TypeAdapter(SHAPES[name])  # type: ignore[arg-type]  # a union is a form, no class
    made = adapter.json_schema(mode="serialization")
    _pin(made, exact=not name.startswith(_BENCHES))
    return {"$schema": _DIALECT, "title": f"holdfast {name}", **made}


def _pin(part: object, exact: bool) -> None:
    """Every field is always written (wire.plain), and of a verb no other: a new one changes the contract visibly."""
    if isinstance(part, list):
        for inner in part:
            _pin(inner, exact)
    if not isinstance(part, dict):
        return
    part.pop("title", None)  # the field's name once more
    part.pop("default", None)
    fields = part.pop("properties", None)
    for inner in part.values():
        _pin(inner, exact)
    if isinstance(fields, dict):
        for inner in fields.values():  # not the table itself: a field may be called "title"
            _pin(inner, exact)
        part |= {"properties": fields, "required": list(fields), "additionalProperties": not exact}


def examples() -> dict[str, object]:
    """One answer of each verb, from a small memory in a throw-away store."""
    clock = FixedClock(datetime(2026, 5, 4, 8, 30, tzinfo=UTC))
    with tempfile.TemporaryDirectory() as folder:
        with Memory(Path(folder) / "memory.db", "ana", embedder=HashEmbedder(), clock=clock) as memory:
            made = _run_verbs(memory)
        with Memory(Path(folder) / "shop.db", "ana", embedder=HashEmbedder(), clock=clock) as memory:
            made |= _run_insight(memory)
        texts = Path(folder) / "texts.json"
        texts.write_text(json.dumps(["'; DROP TABLE turns; --", "a\x00b"]))
        made |= {"bench-hostile": hostile.run([texts]), "bench-speed": _SPEED}
        made |= retrieval_examples() | admission_examples()
        return _settled({name: plain(answer) for name, answer in made.items()}, folder)


def _run_verbs(memory: Memory) -> dict[str, object]:
    turns = memory.ingest_many(
        [
            {"role": "user", "content": "I moved to Lisbon in May", "at": "2026-05-03T18:00:00Z", "key": "m-1"},
            {"role": "assistant", "content": "Noted: Lisbon.", "at": "2026-05-03T18:00:05Z", "key": "m-2"},
        ],
        session="s1",
    )
    record = memory.remember("Ana lives in Lisbon", kind="fact")
    memory.flush()
    try:
        memory.why("t-0")
    except NotFound as error:
        failure = ErrorAnswer(Problem(type(error).__name__, str(error)))
    return {
        "ingest": IngestAnswer(added=len(turns), known=0, heartbeats=0, skipped=0, sessions=1, seconds=0.0),
        "search": SearchAnswer.of(memory.search("where is Lisbon?", limit=2)),
        "recent": RecentExchanges(tuple(memory.recent(limit=1, kind="exchange"))),
        "thread": ThreadAnswer("s1", tuple(memory.thread("s1"))),
        "remember": record,
        "forget": memory.forget(turns[1].id),
        "why": memory.why(turns[0].id),
        "status": StatusAnswer.of(memory.status(), tuple(memory.check())),
        "store-rebuild": RebuildAnswer("ana", turns=len(turns), records=1, seconds=0.0),
        "error": failure,
    }


def _run_insight(memory: Memory) -> dict[str, object]:
    """What a memory that makes records of turns says about itself."""
    old = memory.ingest("The API of our shop runs on port 8080.", session="s1", at="2026-05-02T18:00:00Z")
    memory.ingest("The API of our shop runs on port 9090.", session="s1", at="2026-05-03T18:00:00Z")
    memory.ingest("Our shop's API runs on port 9090.", session="s1", at="2026-05-03T19:00:00Z")
    memory.flush()
    (made,) = memory.history(old.id).versions
    return {
        "history": memory.history(made.record.id),
        "stats": memory.stats(),
        "calibrate": memory.calibrate([(0.25, False), (0.35, True), (0.4, False), (0.55, True)]),
        "tune-similarity": memory.tune_similarity([0.7, 0.92], sample=2),
    }


# The shape of a run, not a measurement: figures with their machine are in docs/performance.md.
_PAIR = Percentiles(1.0, 2.0)
_SPEED = SpeedFigures(
    set="speed",
    n=1000,
    ack_ms=_PAIR,
    bare_commit_ms=_PAIR,
    search_ms={"1000": _PAIR},
    vector_ms={"1000": _PAIR},
    read_floor_ms={"1000": _PAIR},
    ingest_per_s=1000.0,
    rss_mb=100.0,
    recall_vs_exact=1.0,
    seconds=10.0,
    embedder="static",
    version="0.1.0",
)


def _settled(shown: dict[str, object], folder: str) -> dict[str, object]:
    """The same from run to run: ids numbered in the order they appear, no durations, no temporary paths."""
    text = json.dumps(shown, ensure_ascii=False).replace(folder, "/home/ana")
    names: dict[str, str] = {}
    for found in re.findall(r"\b[tr]-[0-9a-z]{20,21}\b", text):
        names.setdefault(found, f"{found[:2]}{len(names) + 1:021d}")
    for found, name in names.items():
        text = text.replace(found, name)
    text = re.sub(r'"(ms|seconds)": [0-9.e-]+', r'"\1": 0.0', text)
    text = re.sub(r'"size_bytes": \d+', '"size_bytes": 98304', text)
    settled = json.loads(text)
    assert isinstance(settled, dict)
    return settled


def write(folder: Path) -> list[Path]:
    """Write NAME.schema.json and NAME.example.json for every shape; gives the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    documents: dict[str, object] = {f"{name}.schema.json": schema(name) for name in SHAPES}
    documents |= {f"{name}.example.json": example for name, example in examples().items()}
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [folder / name for name in sorted(documents)]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m holdfast.contract DIR")
    for path in write(Path(sys.argv[1])):
        print(path)
