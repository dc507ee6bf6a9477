"""What the verbs of upkeep report: frozen values, as every surface prints them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from holdfast.model import Kind, Provenance

__all__ = [
    "BackedUp",
    "Copied",
    "CopiedNamespace",
    "Erased",
    "Exported",
    "Imported",
    "Looked",
    "Proof",
    "Restored",
    "Tended",
    "Tidied",
]


@dataclass(frozen=True)
class Exported:
    """An export that is on disk, whole."""

    path: str
    namespace: str
    turns: int
    acts: int
    sha256: str
    """Of the lines of the log: the same for every export of the same log."""
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class Imported:
    """What an import did with the lines of a file."""

    path: str
    namespace: str
    exported_from: str
    """The namespace that the file was made of."""
    turns: int
    acts: int
    known: int
    """Lines that were in the log already."""
    left_out: int
    """Acts that mean nothing in a log that held something before: see docs/transfer.md."""
    seconds: float
    erased: int = 0
    """Lines of what was erased here before: they do not come back."""


@dataclass(frozen=True)
class CopiedNamespace:
    """What became of one namespace in a copy of a store."""

    namespace: str
    turns: int
    acts: int
    known: int
    """Lines that were there already."""
    left_out: int
    """Acts that mean nothing in a log that held something before: see docs/transfer.md."""
    erased: int
    """Lines of what was erased there before: they do not come back."""


@dataclass(frozen=True)
class Copied:
    """Namespaces that were copied from one store into another."""

    source: str
    target: str
    namespaces: tuple[CopiedNamespace, ...]
    seconds: float


@dataclass(frozen=True)
class Looked:
    """A file that was searched, byte by byte."""

    path: str
    size_bytes: int
    found: int
    """Strings of what was erased that it still holds."""


@dataclass(frozen=True)
class Proof:
    """What was looked for after an erase, where, and what of it was found."""

    strings: int
    """Words, pairs of words, lines, names and ids that nothing else in the store has."""
    vectors: int
    terms: int
    """Words as the index spells them, looked up in its vocabulary."""
    not_distinctive: int
    """Strings and vectors that what remains, or the program itself, has too: they prove nothing."""
    too_short: int
    """Strings of fewer bytes than chance puts into a file of numbers."""
    files: tuple[Looked, ...]
    bytes_read: int
    found: int
    """In the files of the store and in its vocabulary. 0 is the proof."""
    copies: tuple[Looked, ...]
    """Backups and exports that are still there, and how much of it they hold; an erase does not reach them."""


@dataclass(frozen=True)
class Erased:
    """What an erase destroyed."""

    namespace: str
    scope: str
    """namespace, session, turn or record."""
    turns: int
    records: int
    """Records that were made of it, with its turns or by themselves; what other turns say is read out of those anew."""
    acts: int
    """Lines of the log about it: proposals of a model, forgets, what was remembered."""
    sessions: int
    """Of which no turn is left."""
    digests: int
    """Summaries and guidance that went because a turn of theirs did."""
    remade: int
    """Of these, made anew of the turns that stay."""
    still_said: tuple[str, ...]
    """Of a record, the turns it was read out of: they stay, and still say it. To destroy it, erase them."""
    copies: tuple[str, ...]
    """Backups and exports made earlier. They are not touched."""
    pending: str | None
    """What keeps the last bytes from being overwritten, if anything does."""
    degraded: str | None
    """What keeps the views from being derived anew, if anything does."""
    at: datetime
    seconds: float
    proof: Proof | None = None


@dataclass(frozen=True)
class BackedUp:
    """A backup that was made and checked."""

    path: str
    store: str
    namespaces: int
    turns: int
    lines: int
    """Of every log, the operator's acts among them."""
    schema: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class Restored:
    """A store that was put in place from a backup."""

    store: str
    backup: str
    kept_aside: str | None
    """Where the store is now that was there before."""
    namespaces: int
    turns: int
    lines: int
    schema: int
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class Tended:
    """A record that the janitor lowers, or culls, and why."""

    id: str
    kind: Kind
    text: str
    why: str
    provenance: Provenance
    confidence: float
    """As they were before."""
    new_provenance: Provenance | None
    new_confidence: float | None
    """None: it is culled."""


@dataclass(frozen=True)
class Tidied:
    """What a run of the janitor did, or would do."""

    run: str
    """Its name, for `undo`: the week."""
    namespace: str
    did: str
    """`tidied`, `dry run`, `nothing to do`, `done before` (this week's run was, and there is one a week), `undone`,
    `undone before`."""
    demoted: int
    culled: int
    spared: Mapping[str, int]
    """Records that were never found and are left alone all the same, by the reason."""
    records: tuple[Tended, ...]
    seconds: float
