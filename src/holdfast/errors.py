"""All exceptions that Holdfast raises. They derive from HoldfastError.

InputError (BadText, BadTime, BadMessage), NamespaceRequired, NotFound, Refused, Closed, FlushTimeout, MissingExtra,
StoreError (StoreIsDirectory, StoreReadOnly, StoreNewer, StoreForeign, StoreDamaged, StoreBusy),
ModelError (ModelUnavailable, ModelMisbehaved)
"""

from __future__ import annotations


class HoldfastError(Exception):
    """Base class of all exceptions that Holdfast raises on purpose."""


class InputError(HoldfastError, ValueError):
    """The caller's input cannot be used; the message says why."""


class BadText(InputError):
    """A text, name or metadata that cannot be stored byte for byte."""


class BadTime(InputError):
    """A time that cannot be read or is outside the calendar."""


class BadMessage(InputError):
    """A message without a usable role or content."""


class NamespaceRequired(HoldfastError):
    """No namespace was given, and the operator set no default."""


class NotFound(HoldfastError, KeyError):
    """No such id in this namespace (ids of other namespaces are not found either)."""

    def __str__(self) -> str:  # KeyError would print the repr of the message
        return str(self.args[0]) if self.args else ""


class Refused(HoldfastError):
    """The credential of a connection does not allow the request; the message says which part."""


class Closed(HoldfastError):
    """The memory was used after close()."""


class FlushTimeout(HoldfastError, TimeoutError):
    """Derived work did not finish in time. Nothing is lost: it continues in the background."""


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
    """The store or its directory cannot be written."""


class StoreNewer(StoreError):
    """The store was made by a newer version of Holdfast."""


class StoreForeign(StoreError):
    """The file is a database of another program."""


class StoreDamaged(StoreError):
    """The file is not a database, is truncated or is corrupt."""


class StoreBusy(StoreError):
    """Another process locked the store for longer than the time-out."""


class ModelError(HoldfastError):
    """An embedding or chat model failed. That costs quality, never a turn."""


class ModelUnavailable(ModelError):
    """The model did not answer in time, or its circuit breaker is open."""


class ModelMisbehaved(ModelError):
    """The model answered with something unusable."""
