"""The contract: JSON schemas of the output of verbs and benchmarks, with one golden example each.

    python -m holdfast_bench.contract contract

The schemas come from the types in model.py and results.py. The examples of verbs come from running them on a small
memory with a fixed clock and a deterministic embedder; ids and durations, which differ from run to run, are replaced.
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

from holdfast import results
from holdfast.cli.connect_verbs import ConnectAnswer, HostFile
from holdfast.errors import NotFound
from holdfast.importers.source import ChatImport
from holdfast.memory import Memory
from holdfast.model import Decision, Record, SearchAnswer, Why
from holdfast.probe.extractors import ExtractorComparison, Noise, compare, measure_noise, open_extractor, read_labelled
from holdfast.probe.probes import Probe
from holdfast.probe.run import GateReport, ProbeReport, gate, run_probes
from holdfast.probe.sweep import Sweep, Tried
from holdfast.serve.http.openapi import openapi
from holdfast.serve.inputs import DIALECT, pin
from holdfast.settings import JanitorSettings, Settings
from holdfast.store.types import Server
from holdfast.testing import FixedClock, HashEmbedder
from holdfast.text.jsonio import plain
from holdfast.upkeep import results as upkeep_results
from holdfast.upkeep.findings import Diagnosis
from holdfast_bench import admission, changes, figures, hostile, lives, own
from holdfast_bench.admission import AdmissionFigures
from holdfast_bench.changes import ChangesFigures
from holdfast_bench.life_figures import LivesFigures
from holdfast_bench.own import OwnFigures

_NOW = datetime(2026, 5, 4, 8, 30, tzinfo=UTC)
_HASH = "6f1c0a7d2b9e4853"  # of probes, whose ids differ from run to run
_BENCHES = "bench-"  # benchmarks may write more figures than the schema has; a verb prints exactly its fields


def examples() -> dict[str, object]:
    """Return one answer per verb, from small memories in a temporary folder, and one example per benchmark."""
    clock = FixedClock(_NOW)
    quiet = replace(Settings(), janitor=JanitorSettings(count=False))  # counts are written at random times
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
        made |= {"bench-hostile": hostile.run([texts])} | figures.examples() | _run_memory_benches(Path(folder))
        return _normalized({name: plain(answer) for name, answer in made.items()}, folder)


def _run_verbs(memory: Memory) -> dict[str, object]:
    turns = memory.ingest_many(
        [
            {"role": "user", "content": "I moved to Lisbon in May", "at": "2026-05-03T18:00:00Z", "key": "m-1"},
            {"role": "assistant", "content": "Noted: Lisbon.", "at": "2026-05-03T18:00:05Z", "key": "m-2"},
        ],
        session="s1",
    )
    memory.flush()  # the order of the two must not depend on the machine
    record = memory.remember("Ana lives in Lisbon", kind="fact")
    memory.flush()
    try:
        memory.why("t-0")
    except NotFound as error:
        failure = results.ErrorAnswer(results.Problem(type(error).__name__, str(error)))
    return {
        "ingest": results.IngestAnswer(added=len(turns), known=0, heartbeats=0, skipped=0, sessions=1, seconds=0.0),
        "search": SearchAnswer.of(memory.search("where is Lisbon?", limit=2)),
        "recent": results.RecentExchanges(tuple(memory.recent(limit=1, kind="exchange"))),
        "thread": results.ThreadAnswer("s1", tuple(memory.thread("s1"))),
        "context": results.ContextAnswer.of(memory.context([{"role": "user", "content": "where is Lisbon?"}], "s2")),
        "remember": record,
        "forget": memory.forget(turns[1].id),
        "why": memory.why(turns[0].id),
        "status": results.StatusAnswer.of(memory.status(), tuple(memory.check())),
        "store-rebuild": results.RebuildAnswer("ana", turns=len(turns), records=1, seconds=0.0),
        "store-info": _SERVED,
        "error": failure,
    }


def _run_insight(memory: Memory) -> dict[str, object]:
    """Run the verbs that explain a memory with records."""
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
    """Compact a conversation that contains a rule."""
    for number, text in enumerate(_YARD):
        memory.ingest(text, session="yard", at=f"2026-05-03T18:{number:02}:00Z")
    memory.flush()
    made = memory.compact("yard", force=True)
    return {
        "compact": made,
        "active": memory.active("yard"),
        "expand": results.RecentTurns(tuple(memory.expand(made.guidance[0]))),
    }


def _run_memory_benches(folder: Path) -> dict[str, object]:
    """Run the benchmarks on our own formats, each on a file of a few lines."""
    (folder / "life.json").write_text(json.dumps(_LIFE))
    (folder / "chats.txt").write_text("## ferry\nU 11i I live in Lerwick.\n+ 00n Lovely day.\nA Indeed.\n")
    lines = {"what": "same", "id": "p1", "first": "I live in Lerwick.", "second": "I live in Lerwick."}
    (folder / "changes.jsonl").write_text(json.dumps(lines))
    turn = {"role": "user", "text": "I live in Lerwick with my brother Magnus."}
    (folder / "own.jsonl").write_text(json.dumps({"id": "q1", "turns": [turn], "own": [turn["text"]]}))
    return {
        "bench-lives": lives.run([folder / "life.json"]),
        "bench-admission": admission.run([folder / "chats.txt"]),
        "bench-changes": changes.run([folder / "changes.jsonl"]),
        "bench-own": own.run([folder / "own.jsonl"]),
    }


_AT = "2026-05-04T08:30:00+00:00"
_LIFE = {
    "name": "keeper",
    "turns": [
        {"id": "t1", "session": "s1", "at": _AT, "role": "user", "text": "My brother Magnus lives in Lerwick."},
        {"id": "t2", "session": "s1", "at": _AT, "role": "assistant", "text": "Noted."},
    ],
    "facts": [
        {
            "id": "magnus", "text": "Magnus lives in Lerwick.", "about": "Magnus", "keys": [["magnus"], ["lerwick"]],
            "turns": ["t1"], "until": None, "replaced_by": None,
        },
    ],
    "rules": [], "noise": [], "same": [], "tasks": [],
    "questions": [
        {
            "id": "q1", "text": "Where does Magnus live?", "at": _AT, "kind": "fact", "keys": [["lerwick"]], "not": [],
            "turns": ["t1"], "facts": ["magnus"],
        },
    ],
}  # fmt: skip


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


_SERVED = results.StoreAnswer(
    "postgresql://holdfast@db.example/memory", "postgres", 1, 40, 120_000_000,
    Server("PostgreSQL 18.4", "holdfast", "holdfast", "13.2", 3),
)  # fmt: skip


_CHATS = ChatImport(
    "conversations.zip", "ana", ("chatgpt",), 412, 9150, 37, 0, 1,
    ("chatgpt:68a1, message 7: unknown role 'critic': use one of user, assistant, system, tool",), 11.4,
    ("I moved to Lisbon in May",),
)  # fmt: skip
_CONNECTED = ConnectAnswer(
    "claude-code", "me", "/home/ana/.local/share/holdfast/memory.db", True, False,
    (HostFile("/home/ana/.claude.json", "changed", ("MCP server 'holdfast'",)),),
    ("the MCP server lists memory_search, memory_recent, memory_remember, memory_forget (0.3 s)",), False,
)  # fmt: skip


def _run_transfer(memory: Memory, folder: Path) -> dict[str, object]:
    made = {"export": memory.export(folder / "ana.jsonl"), "backup": memory.backup(folder / "backup.db")}
    made |= {"import": results.ImportAnswer.of(memory.import_file(folder / "ana.jsonl"), None)}
    made |= {"import-chats": _CHATS, "connect": _CONNECTED}
    made |= {"restore": Memory.restore(folder / "backup.db", folder / "restored.db")}
    made |= {"copy": Memory.copy(folder / "backup.db", folder / "copied.db", ["ana"])}
    return made | {"erase": _run_erase(folder)} | _run_upkeep(folder)


def _run_upkeep(folder: Path) -> dict[str, object]:
    """Run janitor and doctor on an old record and a duplicate."""
    clock = FixedClock(_NOW)
    with Memory(folder / "old.db", "ana", embedder=HashEmbedder(), clock=clock) as memory:
        memory.ingest("The API of our shop runs on port 8080.", at="2025-03-04T18:00:00Z")
        memory.flush()
        memory.remember("Deploys happen on Fridays")
        memory.remember("deploys happen on Fridays.")
        memory.flush()
        return {"janitor": memory.janitor(dry_run=True), "doctor": memory.doctor()}


def _run_erase(folder: Path) -> upkeep_results.EraseResult:
    """Erase with proof; the sizes and counts of the proof are replaced, because they depend on the program's text."""
    clock = FixedClock(_NOW)
    with Memory(folder / "erase.db", "ana", embedder=HashEmbedder(), clock=clock) as memory:
        memory.ingest("The spare key is under the blue flowerpot.", session="s1")
        memory.ingest("I moved to Lisbon in May.", session="s2")
        memory.flush()
        made = memory.erase(session="s1", prove=True)
    assert made.proof is not None
    files = tuple(replace(one, size_bytes=4096) for one in made.proof.files[:1])
    counts = replace(made.proof, strings=12, terms=4, not_distinctive=3, too_short=5, files=files, bytes_read=4096)
    return replace(made, proof=counts)


def _run_evaluation(memory: Memory) -> dict[str, object]:
    """Run the evaluation verbs and themes."""
    (old, new) = (turn.id for turn in memory.thread("s1")[:2])
    probes = [Probe("Which port does the shop's API use?", (new,)), Probe("The port of the shop?", (old,))]
    report = replace(run_probes(memory, probes), hash=_HASH, search_ms={"p50": 1.0, "p95": 2.0})
    message = {"role": "user", "content": "My sister Anna lives in Rome.", "facts": ["Anna lives in Rome"]}
    rules = open_extractor("rules", Settings())
    measured = report.figures
    assert measured is not None
    return {
        "themes": results.ThemesAnswer.of(memory.themes()),
        "eval-init": results.DraftsAnswer("probes.jsonl", 2, _HASH),
        "eval-run": report,
        "eval-gate": gate(report, report),
        # Not run: a sweep needs more probes than an example should have.
        "eval-sweep": Sweep(
            _HASH, 4, 4, 0, 2, Tried({}, measured, measured), (Tried({"words": 0.6}, measured, measured),), None, None
        ),
        "eval-extractors": compare(rules, rules, read_labelled([message])),
        "eval-noise": measure_noise(memory, [probes[0].question]),
    }


def _normalized(shown: dict[str, object], folder: str) -> dict[str, object]:
    """Number the ids in order, and replace durations and temporary paths."""
    shown = {**shown, "context": _without_counts(shown["context"])}
    text = json.dumps(shown, ensure_ascii=False).replace(folder, "/home/ana")
    names: dict[str, str] = {}
    for found in re.findall(r"\b[trk]-[0-9a-z]{20,21}\b", text):
        names.setdefault(found, f"{found[:2]}{len(names) + 1:021d}")
    for found, name in names.items():
        text = text.replace(found, name)
    text = re.sub(r"(?<=\[\[memory )[a-z2-7]{12}", "eqezht3fmzpy", text)  # the mark of a frame differs between stores
    text = re.sub(r'"(ms|seconds|search_ms_p50)": [0-9.e-]+', r'"\1": 0.0', text)
    text = re.sub(r'"sha256": "[0-9a-f]{64}"', f'"sha256": "{"0" * 64}"', text)
    text = re.sub(r'"size_bytes": \d+', '"size_bytes": 98304', text)
    normalized = json.loads(text)
    assert isinstance(normalized, dict)
    return normalized


def _without_counts(shown: object) -> object:
    """Replace the token counts of a context, which depend on its ids."""
    text = re.sub(r'"(tokens|frame_tokens|limit)": \d+', r'"\1": 100', json.dumps(shown))
    return json.loads(re.sub(r"\b\d+ of 1000 tokens", "280 of 1000 tokens", text))


SHAPES: Mapping[str, object] = {
    "ingest": results.IngestAnswer, "search": SearchAnswer, "recent": results.RecentAnswer,
    "thread": results.ThreadAnswer, "themes": results.ThemesAnswer, "context": results.ContextAnswer,
    "remember": Record, "forget": Decision, "compact": results.Compaction, "expand": results.RecentTurns,
    "active": results.ActiveView, "why": Why, "history": results.History, "stats": results.Stats,
    "calibrate": results.Calibration, "tune-similarity": results.Tuning, "eval-init": results.DraftsAnswer,
    "eval-run": ProbeReport, "eval-gate": GateReport, "eval-sweep": Sweep, "eval-extractors": ExtractorComparison,
    "eval-noise": Noise, "status": results.StatusAnswer, "store-rebuild": results.RebuildAnswer,
    "store-info": results.StoreAnswer, "export": upkeep_results.ExportResult, "import": results.ImportAnswer,
    "import-chats": ChatImport, "connect": ConnectAnswer,
    "backup": upkeep_results.BackupResult, "erase": upkeep_results.EraseResult, "janitor": upkeep_results.JanitorResult,
    "doctor": Diagnosis, "restore": upkeep_results.RestoreResult, "copy": upkeep_results.CopyResult,
    "error": results.ErrorAnswer,
    "bench-speed": figures.SpeedFigures, "bench-hostile": figures.HostileFigures, "bench-serve": figures.ServeFigures,
    "bench-engines": figures.EngineFigures, "bench-engines-locomo": figures.AgreementFigures,
    "bench-gate": figures.GateFigures, "bench-halumem": figures.HalumemFigures, "bench-facts": figures.FactsFigures,
    "bench-merge": figures.MergeFigures, "bench-compact": figures.CompactFigures,
    "bench-locomo": figures.RetrievalFigures, "bench-longmemeval": figures.LongMemEvalFigures,
    "bench-lives": LivesFigures, "bench-admission": AdmissionFigures, "bench-changes": ChangesFigures,
    "bench-own": OwnFigures, "bench-beam": figures.RetrievalFigures, "bench-pack": figures.PackFigures,
}  # fmt: skip


def schema(name: str) -> dict[str, object]:
    adapter: TypeAdapter[object] = TypeAdapter(SHAPES[name])  # type: ignore[arg-type]  # a union is not a class
    made = adapter.json_schema(mode="serialization")
    pin(made, exact=not name.startswith(_BENCHES))
    return {"$schema": DIALECT, "title": f"holdfast {name}", **made}


def write(folder: Path) -> list[Path]:
    """Write NAME.schema.json and NAME.example.json for every shape, and openapi.json; return the paths."""
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
