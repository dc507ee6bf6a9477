"""One set of connections for all that a process opens on one store.

A server of 64 namespaces has a memory open for each. Each with connections of its own, it would hold some 200 of them,
and a PostgreSQL takes 100 by default.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

from holdfast.settings import StoreSettings
from holdfast.store.postgres.address import Address
from holdfast.store.postgres.claims import Claims
from holdfast.store.postgres.pool import Pool

__all__ = ["Shared", "give_up", "share"]


@dataclass
class Shared:
    pool: Pool
    claims: Claims
    users: int = 0


_open: dict[tuple[int, Address, StoreSettings], Shared] = {}
_gate = threading.Lock()


def share(address: Address, settings: StoreSettings) -> Shared:
    """What this process has open on a store; whoever asked gives it up again."""
    key = (os.getpid(), address, settings)  # after a fork the parent's connections are none of ours
    with _gate:
        shared = _open.get(key)
        if shared is None:
            pool = Pool(address, settings)
            shared = _open[key] = Shared(pool, Claims(pool))
        shared.users += 1
    return shared


def give_up(shared: Shared) -> None:
    """The last one closes it."""
    with _gate:
        shared.users -= 1
        if shared.users:
            return
        for key in [key for key, one in _open.items() if one is shared]:
            del _open[key]
    shared.claims.close()
    shared.pool.close()
