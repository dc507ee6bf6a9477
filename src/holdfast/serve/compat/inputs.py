"""What the seed's methods and its lifecycle are given, with the seed's own field names.

`userId` may be given to every one of them: it says whose memory is meant. Without it the collection says so, or else
the connection's namespace is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import ConfigDict

from holdfast.serve.inputs import Count, Flag, Names, Objects


class SeedInput:
    """Input of one of these methods. Unknown fields, which later hosts may add, are ignored."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


@dataclass(frozen=True)
class Owner(SeedInput):
    userId: str | None = None


@dataclass(frozen=True)
class EnsureCollections(SeedInput):
    collections: Names
    userId: str | None = None


@dataclass(frozen=True)
class InsertText(SeedInput):
    collection: str
    id: str
    text: str
    metadata: Mapping[str, object] = field(default_factory=dict)
    userId: str | None = None


@dataclass(frozen=True)
class GatingScalar(SeedInput):
    text: str
    userId: str | None = None


@dataclass(frozen=True)
class SearchText(SeedInput):
    collection: str
    text: str
    k: Count = 10
    excludeIds: Names | None = None
    userId: str | None = None


@dataclass(frozen=True)
class ListByMeta(SeedInput):
    collection: str
    key: str
    value: str
    userId: str | None = None


@dataclass(frozen=True)
class ExportMemory(SeedInput):
    userId: str | None = None


@dataclass(frozen=True)
class FlushNamespace(SeedInput):
    userId: str


@dataclass(frozen=True)
class Delete(SeedInput):
    collection: str
    id: str
    userId: str | None = None


@dataclass(frozen=True)
class DeleteBatch(SeedInput):
    collection: str
    ids: Names
    userId: str | None = None


@dataclass(frozen=True)
class CompactSession(SeedInput):
    sessionId: str
    force: Flag = False
    targetSize: Count | None = None
    """Taken and not used: a cluster has 20 turns at most, whoever asks (COMP-1)."""
    userId: str | None = None


@dataclass(frozen=True)
class Bootstrap(SeedInput):
    sessionId: str
    userId: str | None = None


@dataclass(frozen=True)
class IngestMessage(SeedInput):
    sessionId: str
    message: Mapping[str, object]
    userId: str | None = None
    isHeartbeat: Flag = False


@dataclass(frozen=True)
class Assemble(SeedInput):
    sessionId: str
    messages: Objects
    tokenBudget: Count | None = None
    userId: str | None = None
