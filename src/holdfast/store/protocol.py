"""Temporary: the names that callers import."""

from holdfast.store.snapshot import Snapshot as Snapshot
from holdfast.store.store import Store as Store
