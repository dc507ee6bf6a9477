"""Holdfast: long-term memory for LLM agents.

    from holdfast import Memory

    memory = Memory("memory.db", namespace="ana")
    memory.ingest("I moved to Lisbon in May")
    memory.search("which city did I move to?")

Names are loaded when they are first used, so that `import holdfast` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.version import __version__

if TYPE_CHECKING:
    from holdfast.aio import AsyncMemory
    from holdfast.errors import HoldfastError
    from holdfast.memory import Memory
    from holdfast.model import (
        Decision,
        Exchange,
        Hit,
        Hits,
        Kind,
        Origin,
        Provenance,
        Receipt,
        Record,
        Role,
        Status,
        Turn,
        Why,
    )
    from holdfast.settings import Settings, load_settings

__all__ = [
    "AsyncMemory",
    "Decision",
    "Exchange",
    "Hit",
    "Hits",
    "HoldfastError",
    "Kind",
    "Memory",
    "Origin",
    "Provenance",
    "Receipt",
    "Record",
    "Role",
    "Settings",
    "Status",
    "Turn",
    "Why",
    "__version__",
    "load_settings",
]

_HOME = {
    "AsyncMemory": "holdfast.aio",
    "HoldfastError": "holdfast.errors",
    "Memory": "holdfast.memory",
    "Settings": "holdfast.settings",
    "load_settings": "holdfast.settings",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    value: object = getattr(import_module(_HOME.get(name, "holdfast.model")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
