"""The contract: JSON Schemas of what the verbs and benches print, with one golden example each (examples.py).

    python -m holdfast.contract contract

The schemas come from the typed definitions (model.py, answers.py).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from holdfast.answers import (
    ContextAnswer,
    DraftsAnswer,
    ErrorAnswer,
    ImportAnswer,
    IngestAnswer,
    RebuildAnswer,
    RecentAnswer,
    RecentTurns,
    SearchAnswer,
    StatusAnswer,
    StoreAnswer,
    ThemesAnswer,
    ThreadAnswer,
)
from holdfast.evaluate.admission_figures import CompactFigures, FactsFigures, GateFigures, HalumemFigures, MergeFigures
from holdfast.evaluate.engine_figures import AgreementFigures, EngineFigures
from holdfast.evaluate.extractors import Comparison
from holdfast.evaluate.figures import LongMemEvalFigures, PackFigures, RetrievalFigures
from holdfast.evaluate.hostile_figures import HostileFigures
from holdfast.evaluate.noise import Noise
from holdfast.evaluate.probes_gate import GateReport
from holdfast.evaluate.probes_run import ProbeReport
from holdfast.evaluate.probes_sweep import Sweep
from holdfast.evaluate.serve_figures import ServeFigures
from holdfast.evaluate.speed_figures import SpeedFigures
from holdfast.examples import examples
from holdfast.insight import Active, Calibration, Compaction, History, Stats, Tuning
from holdfast.model import Decision, Record, Why
from holdfast.serve.http.openapi import openapi
from holdfast.serve.shapes import DIALECT, pin
from holdfast.upkeep.memo import Diagnosis
from holdfast.upkeep.reports import BackedUp, Copied, Erased, Exported, Restored, Tidied

__all__ = ["SHAPES", "schema", "write"]


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
    "active": Active,
    "why": Why,
    "history": History,
    "stats": Stats,
    "calibrate": Calibration,
    "tune-similarity": Tuning,
    "eval-init": DraftsAnswer,
    "eval-run": ProbeReport,
    "eval-gate": GateReport,
    "eval-sweep": Sweep,
    "eval-extractors": Comparison,
    "eval-noise": Noise,
    "status": StatusAnswer,
    "store-rebuild": RebuildAnswer,
    "store-info": StoreAnswer,
    "export": Exported,
    "import": ImportAnswer,
    "backup": BackedUp,
    "erase": Erased,
    "janitor": Tidied,
    "doctor": Diagnosis,
    "restore": Restored,
    "copy": Copied,
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
        sys.exit("usage: python -m holdfast.contract DIR")
    for path in write(Path(sys.argv[1])):
        print(path)
