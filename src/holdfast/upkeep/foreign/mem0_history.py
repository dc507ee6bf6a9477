"""mem0's history.db: an event a row; a memory is what its last event left of it."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import InputError
from holdfast.settings import DoctorSettings
from holdfast.store.open import is_store_file, read_foreign_table
from holdfast.upkeep.foreign.found import Foreign
from holdfast.upkeep.foreign.texts import when
from holdfast.upkeep.memo import Example, Memo

__all__ = ["read_history"]

# Older versions call the text new_value, and the time timestamp.
_COLUMNS = (
    "memory_id", "new_memory", "new_value", "event", "created_at", "updated_at", "timestamp", "is_deleted",
)  # fmt: skip


def read_history(path: Path, settings: DoctorSettings) -> Foreign:
    if is_store_file(path):
        raise InputError(f"{path} is a store of Holdfast; give it with --store")
    rows = read_foreign_table(path, "history", _COLUMNS, settings.max_memories)
    if not rows or not {"memory_id", "event"} <= rows[0].keys():
        raise InputError(f"{path} has no table 'history' with memories in it, as mem0's history.db has")
    live: dict[str, Memo] = {}
    dangling = []
    for number, row in enumerate(rows, 1):
        memory = str(row["memory_id"])
        event = str(row["event"]).upper()
        if event == "DELETE" or row.get("is_deleted"):
            if live.pop(memory, None) is None:
                dangling.append(Example(memory, "", f"event {number} deletes a memory that was never added"))
            continue
        text = next((row[name] for name in ("new_memory", "new_value") if isinstance(row.get(name), str)), None)
        if text is None:  # an event that changed nothing ("NONE")
            continue
        if event == "UPDATE" and memory not in live:
            dangling.append(Example(memory, str(text), f"event {number} updates a memory that was never added"))
        times = (when(row.get(name)) for name in ("updated_at", "created_at", "timestamp"))
        live[memory] = Memo(memory, str(text), next((one for one in times if one is not None), None))
    return Foreign("mem0 history", tuple(live.values()), links=len(rows), dangling=tuple(dangling))
