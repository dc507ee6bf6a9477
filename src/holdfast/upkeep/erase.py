"""Erasing with everything that follows from it: the log, the views, the bytes in the files, and the proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime

from holdfast.errors import InputError, StoreError
from holdfast.recall.marks import forget_read
from holdfast.store.nouns import Scope
from holdfast.store.protocol import Store
from holdfast.upkeep.proof import Traces, prove
from holdfast.upkeep.reports import Erased

__all__ = ["erase", "read_scope"]

Bared = Mapping[str, tuple[str, ...]]
"""By session, turns that lost their digest."""


def read_scope(session: str | None, namespace: bool, turn: str | None, record: str | None) -> tuple[Scope, str]:
    """What is to go and its exact name; InputError unless it is exactly one thing."""
    given = {Scope.SESSION: session, Scope.TURN: turn, Scope.RECORD: record}
    named = {scope: noun for scope, noun in given.items() if noun is not None}
    if len(named) + namespace != 1:
        raise InputError("erase one thing: session=NAME, turn=ID, record=ID, or namespace=True for all of it")
    return next(iter(named.items()), (Scope.NAMESPACE, ""))


def erase(
    store: Store,
    namespace: str,
    scope: Scope,
    noun: str,
    now: datetime,
    settle: Callable[[Bared], tuple[int, str | None]],
    with_proof: bool = False,
) -> Erased:
    """Destroy it. `settle` derives anew what is left: how many digests it made, and what kept it from more."""
    start = time.perf_counter()
    copies = store.copies(namespace)
    traces = Traces(store.content(namespace, scope, noun)) if with_proof else None
    swept = store.erase(namespace, scope, noun, now)
    forget_read()
    pending = _sweep(store)
    remade, degraded = settle(swept.bared)
    try:
        proof = None if traces is None else prove(store, namespace, traces, copies)
    except StoreError as error:
        raise type(error)(f"it is erased, but the proof was not made: {error}") from error
    return Erased(
        namespace=namespace,
        scope=scope.value,
        turns=swept.turns,
        records=swept.records,
        acts=swept.acts,
        sessions=swept.sessions,
        digests=swept.digests,
        remade=remade,
        still_said=swept.still_said,
        copies=tuple(copies),
        pending=pending,
        degraded=degraded,
        at=now,
        seconds=round(time.perf_counter() - start, 3),
        proof=proof,
    )


def _sweep(store: Store) -> str | None:
    """It is erased by now, and a full disk must not look as if it were not."""
    try:
        return store.sweep()
    except StoreError as error:
        return f"{error}. It is erased; the file is swept when the store is opened or erased from again"
