"""Results of upkeep: exports, imports, copies, backups, erasures and janitor runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from holdfast.model import Kind, Provenance


@dataclass(frozen=True)
class ExportResult:
    """A complete export."""

    path: str
    namespace: str
    turns: int
    acts: int
    sha256: str
    """Hash of the log lines, the same for every export of the same log."""
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class CopiedNamespace:
    """Result for one namespace of a copy, with the fields of ImportResult."""

    namespace: str
    turns: int
    acts: int
    known: int
    left_out: int
    erased: int


@dataclass(frozen=True)
class CopyResult:
    """Namespaces that were copied from one store to another."""

    source: str
    target: str
    namespaces: tuple[CopiedNamespace, ...]
    seconds: float


@dataclass(frozen=True)
class Looked:
    """A file that was searched byte by byte."""

    path: str
    size_bytes: int
    found: int
    """Number of erased strings that it still contains."""


@dataclass(frozen=True)
class Proof:
    """Search for remains after an erase."""

    strings: int
    """Words, pairs of words, lines, names and ids that occur nowhere else in the store."""
    vectors: int
    terms: int
    """Index terms, looked up in the vocabulary."""
    not_distinctive: int
    """Strings and vectors that also occur in what remains or in the program: they prove nothing."""
    too_short: int
    """Strings that are so short that they occur in files by chance."""
    files: tuple[Looked, ...]
    bytes_read: int
    found: int
    """Remains in the files of the store and its vocabulary. 0 is the proof."""
    copies: tuple[Looked, ...]
    """Existing backups and exports, and how many of the strings they contain; an erase does not change them."""


@dataclass(frozen=True)
class EraseResult:
    """Result of an erase."""

    namespace: str
    scope: str
    """namespace, session, turn or record."""
    turns: int
    records: int
    """Records derived from what was erased; other turns may give the same records again."""
    acts: int
    """Log lines about it: model proposals, forget and remember acts."""
    sessions: int
    """Sessions of which no turn is left."""
    digests: int
    """Summaries and guidance that were erased with one of their turns …"""
    remade: int
    """… and those made again from the remaining turns."""
    still_said: tuple[str, ...]
    """For a record, its source turns: they remain and still say it. Erase them too to destroy the statement."""
    copies: tuple[str, ...]
    """Earlier backups and exports, which are not changed."""
    pending: str | None
    """Reason why the last bytes could not be overwritten, if any."""
    degraded: str | None
    """Reason why the views could not be rebuilt, if any."""
    at: datetime
    seconds: float
    proof: Proof | None = None


@dataclass(frozen=True)
class BackupResult:
    """A backup that was made and checked."""

    path: str
    store: str
    namespaces: int
    turns: int
    lines: int
    """Log lines of all namespaces, including acts."""
    schema: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class RestoreResult:
    """A store that was restored from a backup."""

    store: str
    backup: str
    kept_aside: str | None
    """New path of the store that was there before."""
    namespaces: int
    turns: int
    lines: int
    schema: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class JanitorChange:
    """A record that the janitor lowers or culls, and why."""

    id: str
    kind: Kind
    text: str
    why: str
    provenance: Provenance
    confidence: float
    """Provenance and confidence before …"""
    new_provenance: Provenance | None
    new_confidence: float | None
    """… and after; None if it is culled."""


@dataclass(frozen=True)
class JanitorResult:
    """Result of a janitor run or dry run."""

    run: str
    """Its name, for `undo`: the week."""
    namespace: str
    did: str
    """`tidied`, `dry run`, `nothing to do`, `done before` (there is one run per week), `undone`, `undone before`."""
    demoted: int
    culled: int
    spared: Mapping[str, int]
    """Records that were never retrieved but are left alone, by reason."""
    records: tuple[JanitorChange, ...]
    seconds: float
