"""What a search is asked for, and which documents its filters keep back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from holdfast.model import Kind
from holdfast.moments import to_micros
from holdfast.recall.shelf import Shelf, Shelves
from holdfast.store.codes import kind_number
from holdfast.store.nouns import Space

__all__ = ["Query", "barred"]


@dataclass(frozen=True)
class Query:
    text: str
    limit: int = 10
    kind: Kind | None = None
    session: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None


def barred(shelves: Shelves, query: Query) -> NDArray[np.int64]:
    """Positions that the filters keep back."""
    if all(one is None for one in (query.kind, query.session, query.since, query.until, query.as_of)):
        hidden = [shelves.columns.absent]  # nothing to filter by: what is kept back is told one by one
        for shelf, start in zip(shelves.parts, shelves.starts, strict=True):
            nums = [*shelf.view.hidden(shelf.space), *_replaced(shelf, None)]
            hidden += [start + np.array(nums, np.int64)] if nums else []
        return np.concatenate(hidden)
    return np.flatnonzero(~shelves.joined([_allowed(shelf, query) for shelf in shelves.parts]))


def _allowed(shelf: Shelf, query: Query) -> NDArray[np.bool_]:
    """Which documents of a shelf the filters let through."""
    view, pool = shelf.view, shelf.pool
    allowed = pool.exists.copy()
    hidden = view.hidden(pool.space)
    if hidden:
        allowed[hidden] = False
    if query.kind is not None and pool.space is Space.RECORD:
        allowed &= pool.sort == kind_number(query.kind)
    if query.session is not None:
        number = view.session_number(query.session)
        if number is None or pool.space is Space.RECORD or shelf.common:
            allowed[:] = False
        else:
            allowed &= pool.session == number
    if query.since is not None:
        allowed &= pool.at >= to_micros(query.since)
    if query.until is not None:
        allowed &= pool.at < to_micros(query.until)
    if query.as_of is not None:
        allowed &= pool.at <= to_micros(query.as_of)
    allowed[_replaced(shelf, query.as_of)] = False
    return allowed


def _replaced(shelf: Shelf, as_of: datetime | None) -> list[int]:
    """Records that were replaced: served only to who asks about a time before."""
    if shelf.space is not Space.RECORD:
        return []
    moment = None if as_of is None else to_micros(as_of)
    return [num for num, valid_to in shelf.view.retired() if moment is None or valid_to <= moment]
