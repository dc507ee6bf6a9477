"""Results of derived work do not depend on the size of its batches."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.text.jsonio import plain
from tests.support.memories import QUICK, OpenMemory, month

_NOW = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.slow
@pytest.mark.requirement("INV-3")
@pytest.mark.parametrize("batch", [1, 7, 400])
def test_records_receipts_and_signals_do_not_depend_on_batch_size(open_memory: OpenMemory, batch: int) -> None:
    """Return interleaved sessions, so that the turns before a turn are in this batch, in an earlier one, or in both."""
    assert _decided(open_memory, batch) == _decided(open_memory, 50)


def _decided(open_memory: OpenMemory, batch: int) -> object:
    settings = replace(QUICK, _tuning=(IndexSizes(tail=1, vector_tail=1, batch=batch),))
    memory = open_memory(file=f"{batch}.db", embedder="static", settings=settings, clock=lambda: _NOW)
    for at, message in enumerate(month()[:160]):
        memory.ingest(str(message["content"]), role=str(message["role"]), session="abc"[at % 3], at=str(message["at"]))
    memory.flush()
    return _without_ids(memory)


def _without_ids(memory: Memory) -> object:
    """Return everything about turns and records, with ids replaced by the order in which they appear."""
    turns = memory.recent(1000)
    records = [one for one in memory.recent(1000, kind="record") if isinstance(one, Record)]
    told = [
        [plain(memory.why(turn.id).decisions) for turn in turns],
        [plain(memory.why(record.id).decisions) for record in records],
        [plain(turn.signals) for turn in turns],
        [record.text for record in records],
    ]
    seen: dict[str, str] = {}
    return re.sub(r"[rt]-[0-9a-f]{20,21}", lambda match: seen.setdefault(match[0], f"id {len(seen)}"), repr(told))
