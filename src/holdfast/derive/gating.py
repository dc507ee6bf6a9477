"""The gating scalar of a text that is in no log yet, for a host that wants to know before it stores (GATE-9)."""

from __future__ import annotations

from holdfast.derive.crowd import nearest_earlier
from holdfast.derive.ledger import Ledger
from holdfast.gate.scalar import Signals, score
from holdfast.models.embedder import Embedder
from holdfast.models.static import THRESHOLDS
from holdfast.recall.cache import BlockCache
from holdfast.settings import Settings
from holdfast.store.protocol import Snapshot

__all__ = ["gating_scalar"]


def gating_scalar(
    view: Snapshot, namespace: str, text: str, embedder: Embedder | None, settings: Settings, cache: BlockCache
) -> Signals:
    """Two searches: the nearest durable records, and the nearest turns. Without an embedder, by its words alone."""
    if embedder is None:
        return score(text, [], [], settings.gate, THRESHOLDS)
    profile = embedder.profile
    vector = embedder.embed([text])[0]
    next_line = view.end() + 1
    ledger = Ledger(view.standing(profile.fingerprint))
    known = ledger.nearest(vector, next_line, settings.gate.known_records, own=True)
    repeated = nearest_earlier(
        view, namespace, profile.fingerprint, [next_line], vector[None], profile.thresholds.repeat, cache
    )
    return score(text, [cosine for _, cosine in known], repeated[0], settings.gate, profile.thresholds)
