"""The contract: JSON Schemas of what the verbs and benches print, with one golden example each.

    python -m holdfast_bench.contract contract

The schemas come from the typed definitions (model.py, results.py).
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from holdfast.errors import NotFound
from holdfast.memory import Memory
from holdfast.model import Decision, Record, SearchAnswer, Why
from holdfast.probe.extractors import ExtractorComparison, Noise, compare, measure_noise, open_extractor, read_labelled
from holdfast.probe.probes import Probe
from holdfast.probe.run import GateReport, ProbeReport, gate, run_probes
from holdfast.probe.sweep import Sweep, Tried
from holdfast.results import (
    ActiveView,
    BackupResult,
    Calibration,
    Compaction,
    ContextAnswer,
    CopyResult,
    DraftsAnswer,
    EraseResult,
    ErrorAnswer,
    ExportResult,
    History,
    ImportAnswer,
    IngestAnswer,
    JanitorResult,
    Problem,
    RebuildAnswer,
    RecentAnswer,
    RecentExchanges,
    RecentTurns,
    RestoreResult,
    Stats,
    StatusAnswer,
    StoreAnswer,
    ThemesAnswer,
    ThreadAnswer,
    Tuning,
)
from holdfast.serve.http.openapi import openapi
from holdfast.serve.inputs import DIALECT, pin
from holdfast.settings import JanitorSettings, Settings
from holdfast.store.types import Server
from holdfast.testing import FixedClock, HashEmbedder
from holdfast.text.jsonio import plain
from holdfast.upkeep.findings import Diagnosis
from holdfast_bench import hostile
from holdfast_bench.admission_figures import (
    CompactFigures,
    FactsFigures,
    GateFigures,
    HalumemFigures,
    MergeFigures,
    admission_examples,
)
from holdfast_bench.figures import (
    AgreementFigures,
    EngineFigures,
    HostileFigures,
    LongMemEvalFigures,
    PackFigures,
    RetrievalFigures,
    ServeFigures,
    SpeedFigures,
    engine_examples,
    retrieval_examples,
    serve_example,
    speed_example,
)

# --- Golden examples: one answer of each verb, from really running it on a small memory, and the shape of each
# bench.
#
# The clock stands still and the embedder is predictable. Ids and durations, which differ from run to run, are replaced.


def examples() -> dict[str, object]:
    """One answer of each verb, from a small memory in a throw-away store."""
    clock = FixedClock(datetime(2026, 5, 4, 8, 30, tzinfo=UTC))
    quiet = replace(Settings(), janitor=JanitorSettings(count=False))  # when counts are written differs from run to run
    with tempfile.TemporaryDirectory() as folder:
        with Memory(Path(folder) / "memory.db", "ana", embedder=HashEmbedder(), settings=quiet, clock=clock) as memory:
            made = _run_verbs(memory)
        with Memory(Path(folder) / "shop.db", "ana", embedder=HashEmbedder(), settings=quiet, clock=clock) as memory:
            made |= _run_insight(memory)
            made |= _run_evaluation(memory)
            made |= _run_transfer(memory, Path(folder))
        with Memory(Path(folder) / "yard.db", "ana", embedder=HashEmbedder(), clock=clock) as memory:
            made |= _run_compaction(memory)
        texts = Path(folder) / "texts.json"
        texts.write_text(json.dumps(["'; DROP TABLE turns; --", "a\x00b"]))
        made |= {"bench-hostile": hostile.run([texts]), "bench-speed": speed_example(), "bench-serve": serve_example()}
        made |= retrieval_examples() | admission_examples() | engine_examples()
        return _settled({name: plain(answer) for name, answer in made.items()}, folder)


def _run_verbs(memory: Memory) -> dict[str, object]:
    turns = memory.ingest_many(
        [
            {"role": "user", "content": "I moved to Lisbon in May", "at": "2026-05-03T18:00:00Z", "key": "m-1"},
            {"role": "assistant", "content": "Noted: Lisbon.", "at": "2026-05-03T18:00:05Z", "key": "m-2"},
        ],
        session="s1",
    )
    memory.flush()  # which of the two comes first must not depend on the machine
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
        "context": ContextAnswer.of(memory.context([{"role": "user", "content": "where is Lisbon?"}], "s2")),
        "remember": record,
        "forget": memory.forget(turns[1].id),
        "why": memory.why(turns[0].id),
        "status": StatusAnswer.of(memory.status(), tuple(memory.check())),
        "store-rebuild": RebuildAnswer("ana", turns=len(turns), records=1, seconds=0.0),
        "store-info": _SERVED,
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


def _run_compaction(memory: Memory) -> dict[str, object]:
    """A conversation with a rule in it, told in short."""
    for number, text in enumerate(_YARD):
        memory.ingest(text, session="yard", at=f"2026-05-03T18:{number:02}:00Z")
    memory.flush()
    made = memory.compact("yard", force=True)
    return {
        "compact": made,
        "active": memory.active("yard"),
        "expand": RecentTurns(tuple(memory.expand(made.guidance[0]))),
    }


_YARD = (
    "Never order epoxy from the dealer in Vigo again.",
    "We sanded the ketch Albatross with Ottilie for 14 hours and the hull is dry at last, so the varnish can wait.",
    "The surveyor comes on the 12th of June and wants to see the mast, the keel and the papers of the engine.",
    "The wood for the deck cost 640 euros, which Benedikt paid in cash, and he wants it back before the summer.",
    "Iñaki moved the dinghy Pim to berth 9 because the crane is there on Friday and stays until the evening.",
    "Ottilie found rot behind the stove, about 30 centimetres of it, and says that it can be cut out in a day.",
    "Old Halvard lent us his pump, the blue one, and we promised to bring it back to Bergen by the end of May.",
    "The insurance wants photographs of the rigging before 1 July, from both sides and with the sails set.",
    "The launch is on the 20th of June.",
    "Marguerite brings the flags.",
    "It rained all day.",
    "Good night.",
)


_SERVED = StoreAnswer(
    "postgresql://holdfast@db.example/memory", "postgres", 1, 40, 120_000_000,
    Server("PostgreSQL 18.4", "holdfast", "holdfast", "13.2", 3),
)  # fmt: skip


def _run_transfer(memory: Memory, folder: Path) -> dict[str, object]:
    made = {"export": memory.export(folder / "ana.jsonl"), "backup": memory.backup(folder / "backup.db")}
    made |= {"import": ImportAnswer.of(memory.import_file(folder / "ana.jsonl"), None)}
    made |= {"restore": Memory.restore(folder / "backup.db", folder / "restored.db")}
    made |= {"copy": Memory.copy(folder / "backup.db", folder / "copied.db", ["ana"])}
    return made | {"erase": _run_erase(folder)} | _run_upkeep(folder)


def _run_upkeep(folder: Path) -> dict[str, object]:
    """A record that nobody found in a year, and one that is there twice."""
    clock = FixedClock(datetime(2026, 5, 4, 8, 30, tzinfo=UTC))
    with Memory(folder / "old.db", "ana", embedder=HashEmbedder(), clock=clock) as memory:
        memory.ingest("The API of our shop runs on port 8080.", at="2025-03-04T18:00:00Z")
        memory.flush()
        memory.remember("Deploys happen on Fridays")
        memory.remember("deploys happen on Fridays.")
        memory.flush()
        return {"janitor": memory.janitor(dry_run=True), "doctor": memory.doctor()}


def _run_erase(folder: Path) -> EraseResult:
    """On a store of its own; sizes of files and how many strings they are searched for are no part of the shape."""
    clock = FixedClock(datetime(2026, 5, 4, 8, 30, tzinfo=UTC))
    with Memory(folder / "erase.db", "ana", embedder=HashEmbedder(), clock=clock) as memory:
        memory.ingest("The spare key is under the blue flowerpot.", session="s1")
        memory.ingest("I moved to Lisbon in May.", session="s2")
        memory.flush()
        made = memory.erase(session="s1", prove=True)
    assert made.proof is not None
    files = tuple(replace(one, size_bytes=4096) for one in made.proof.files[:1])
    counts = replace(made.proof, strings=12, terms=4, not_distinctive=3, too_short=5, files=files, bytes_read=4096)
    return replace(made, proof=counts)


_HASH = "6f1c0a7d2b9e4853"  # of probes; the ids in them differ from run to run


def _run_evaluation(memory: Memory) -> dict[str, object]:
    """What is measured on one's own questions, and what they are about."""
    (old, new) = (turn.id for turn in memory.thread("s1")[:2])
    probes = [Probe("Which port does the shop's API use?", (new,)), Probe("The port of the shop?", (old,))]
    report = replace(run_probes(memory, probes), hash=_HASH, search_ms={"p50": 1.0, "p95": 2.0})
    told = read_labelled(
        [{"role": "user", "content": "My sister Anna lives in Rome.", "facts": ["Anna lives in Rome"]}]
    )
    rules = open_extractor("rules", Settings())
    figures = report.figures
    assert figures is not None
    return {
        "themes": ThemesAnswer.of(memory.themes()),
        "eval-init": DraftsAnswer("probes.jsonl", 2, _HASH),
        "eval-run": report,
        "eval-gate": gate(report, report),
        # The shape of a sweep: it needs more probes than an example should have.
        "eval-sweep": Sweep(
            _HASH, 4, 4, 0, 2, Tried({}, figures, figures), (Tried({"words": 0.6}, figures, figures),), None, None
        ),
        "eval-extractors": compare(rules, rules, told),
        "eval-noise": measure_noise(memory, [probes[0].question]),
    }


def _settled(shown: dict[str, object], folder: str) -> dict[str, object]:
    """The same from run to run: ids numbered in the order they appear, no durations, no temporary paths."""
    shown = {**shown, "context": _without_counts(shown["context"])}
    text = json.dumps(shown, ensure_ascii=False).replace(folder, "/home/ana")
    names: dict[str, str] = {}
    for found in re.findall(r"\b[trk]-[0-9a-z]{20,21}\b", text):
        names.setdefault(found, f"{found[:2]}{len(names) + 1:021d}")
    for found, name in names.items():
        text = text.replace(found, name)
    text = re.sub(r"(?<=\[\[memory )[a-z2-7]{12}", "eqezht3fmzpy", text)  # the mark of a frame: another for each store
    text = re.sub(r'"(ms|seconds)": [0-9.e-]+', r'"\1": 0.0', text)
    text = re.sub(r'"sha256": "[0-9a-f]{64}"', f'"sha256": "{"0" * 64}"', text)
    text = re.sub(r'"size_bytes": \d+', '"size_bytes": 98304', text)
    settled = json.loads(text)
    assert isinstance(settled, dict)
    return settled


def _without_counts(shown: object) -> object:
    """A context's tokens depend on the ids in it, which differ from run to run."""
    text = re.sub(r'"(tokens|frame_tokens|limit)": \d+', r'"\1": 100', json.dumps(shown))
    return json.loads(re.sub(r"\b\d+ of 1000 tokens", "280 of 1000 tokens", text))


SHAPES: Mapping[str, object] = {
    "ingest": IngestAnswer,
    "search": SearchAnswer,
    "recent": RecentAnswer,
    "thread": ThreadAnswer,
    "themes": ThemesAnswer,
    "context": ContextAnswer,
    "remember": Record,
    "forget": Decision,
    "compact": Compaction,
    "expand": RecentTurns,
    "active": ActiveView,
    "why": Why,
    "history": History,
    "stats": Stats,
    "calibrate": Calibration,
    "tune-similarity": Tuning,
    "eval-init": DraftsAnswer,
    "eval-run": ProbeReport,
    "eval-gate": GateReport,
    "eval-sweep": Sweep,
    "eval-extractors": ExtractorComparison,
    "eval-noise": Noise,
    "status": StatusAnswer,
    "store-rebuild": RebuildAnswer,
    "store-info": StoreAnswer,
    "export": ExportResult,
    "import": ImportAnswer,
    "backup": BackupResult,
    "erase": EraseResult,
    "janitor": JanitorResult,
    "doctor": Diagnosis,
    "restore": RestoreResult,
    "copy": CopyResult,
    "error": ErrorAnswer,
    "bench-speed": SpeedFigures,
    "bench-hostile": HostileFigures,
    "bench-serve": ServeFigures,
    "bench-engines": EngineFigures,
    "bench-engines-locomo": AgreementFigures,
    "bench-gate": GateFigures,
    "bench-halumem": HalumemFigures,
    "bench-facts": FactsFigures,
    "bench-merge": MergeFigures,
    "bench-compact": CompactFigures,
    "bench-locomo": RetrievalFigures,
    "bench-longmemeval": LongMemEvalFigures,
    "bench-beam": RetrievalFigures,
    "bench-pack": PackFigures,
}
_BENCHES = "bench-"
"""Benches may write more figures than are pinned; a verb prints exactly its fields."""


def schema(name: str) -> dict[str, object]:
    adapter: TypeAdapter[object] = TypeAdapter(SHAPES[name])  # type: ignore[arg-type]  # a union is a form, no class
    made = adapter.json_schema(mode="serialization")
    pin(made, exact=not name.startswith(_BENCHES))
    return {"$schema": DIALECT, "title": f"holdfast {name}", **made}


def write(folder: Path) -> list[Path]:
    """Write NAME.schema.json and NAME.example.json for every shape, and openapi.json; gives the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    documents: dict[str, object] = {f"{name}.schema.json": schema(name) for name in SHAPES}
    documents |= {f"{name}.example.json": example for name, example in examples().items()}
    documents["openapi.json"] = openapi()
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return [folder / name for name in sorted(documents)]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m holdfast_bench.contract DIR")
    for path in write(Path(sys.argv[1])):
        print(path)
