"""Everything Holdfast raises, in one tree.

HoldfastError
├── InputError             what the caller gave cannot be used
│   ├── BadText            a text, name or metadata that cannot be stored
│   ├── BadTime            a time that cannot be read
│   └── BadMessage         a message without a usable role or content
├── NamespaceRequired      nobody said whose memory this is
├── NotFound               no such id in this namespace
├── Refused                the credential does not allow it
├── Closed                 the memory was used after close()
├── FlushTimeout           derived work did not catch up in time (nothing is lost)
├── MissingExtra           an optional package is needed; the message says which
├── StoreError             the store cannot be opened or used
│   ├── StoreIsDirectory
│   ├── StoreReadOnly
│   ├── StoreNewer         made by a newer Holdfast
│   ├── StoreForeign       a database of another program
│   ├── StoreDamaged       not a database, truncated or corrupt
│   └── StoreBusy          another process holds it longer than the time-out
└── ModelError             an embedding or chat model misbehaved
    ├── ModelUnavailable   it did not answer, or the breaker is open
    └── ModelMisbehaved    it answered with something unusable
"""

from __future__ import annotations


class HoldfastError(Exception):
    """The root: `except HoldfastError` catches everything Holdfast raises on purpose."""


class InputError(HoldfastError, ValueError):
    """What the caller gave cannot be used; the message names the reason."""


class BadText(InputError):
    """A text, name or metadata that cannot be stored byte for byte."""


class BadTime(InputError):
    """A time that cannot be read, or that no calendar holds."""


class BadMessage(InputError):
    """A message without a usable role or content."""


class NamespaceRequired(HoldfastError):
    """Nobody said whose memory this is, and the operator named no default."""


class NotFound(HoldfastError, KeyError):
    """No such id in this namespace (ids of other namespaces are unknown here too)."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class Refused(HoldfastError):
    """The credential of a connection does not allow what was asked; the message says which part."""


class Closed(HoldfastError):
    """The memory was used after close()."""


class FlushTimeout(HoldfastError, TimeoutError):
    """Derived work did not catch up in time. Nothing is lost: it goes on in the background."""


class MissingExtra(HoldfastError, ImportError):
    """An optional package is needed; the message says what to install."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional package. Install it with: pip install 'holdfast[{extra}]'")
        self.extra = extra


class StoreError(HoldfastError):
    """The store cannot be opened or used."""


class StoreIsDirectory(StoreError):
    """The path of the store is a directory."""


class StoreReadOnly(StoreError):
    """The store, or the directory it lies in, cannot be written."""


class StoreNewer(StoreError):
    """The store was made by a newer Holdfast than this one."""


class StoreForeign(StoreError):
    """The file is a database, but not one of Holdfast's."""


class StoreDamaged(StoreError):
    """The file is not a database, is truncated or is corrupt."""


class StoreBusy(StoreError):
    """Another process held the store for longer than the time-out."""


class ModelError(HoldfastError):
    """An embedding or chat model misbehaved. It costs quality, never a turn."""


class ModelUnavailable(ModelError):
    """The model did not answer in time, or its breaker is open."""


class ModelMisbehaved(ModelError):
    """The model answered with something unusable."""
