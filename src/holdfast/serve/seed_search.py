"""Searching one of the seed's collections: the engine's own search, kept to what lies in that collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from holdfast.context.authored import Node
from holdfast.memory import Memory
from holdfast.model import Hit, Kind
from holdfast.serve.collections import Collection, Layer
from holdfast.serve.stored import RECORD_KINDS, Stored, is_elevated, of_node, of_record, of_turn
from holdfast.store.protocol import Snapshot
from holdfast.words import terms

__all__ = ["Scored", "as_share", "search_collection", "search_rules"]

Scored = tuple[Stored, float]


def search_collection(
    memory: Memory, collection: Collection, text: str, limit: int, left_out: frozenset[str], most: int
) -> list[Scored]:
    """What a collection knows about a text, best first; `most` is how many hits a search may give."""
    asked = min(limit + len(left_out), most)
    hits = [hit for hit in _hits(memory, collection, text, asked) if hit.namespace == memory.namespace]
    with memory.view as view:
        found = _read(view, collection, hits)
        kept = (one for one in found if one[0].id not in left_out and one[0].noun not in left_out)
        return list(islice(kept, limit))


def _hits(memory: Memory, collection: Collection, text: str, limit: int) -> Iterable[Hit]:
    match collection.layer:
        case Layer.SESSION:
            return memory.search(text, limit, Kind.TURN, collection.name)
        case Layer.TURNS:
            return memory.search(text, limit, Kind.TURN)
        case Layer.ELEVATED_USER | Layer.ELEVATED_SESSION:
            return memory.search(text, limit, Kind.GUIDANCE)
    # Scores are standardised over all records, so those of one kind compare with those of another.
    found = [hit for kind in RECORD_KINDS for hit in memory.search(text, limit, kind)]
    return sorted(found, key=lambda hit: -hit.score)


def _read(view: Snapshot, collection: Collection, hits: Iterable[Hit]) -> Iterator[Scored]:
    for hit in hits:
        if hit.kind is Kind.TURN:
            turn = view.turn(hit.id)
            if turn is not None:
                yield of_turn(turn, collection), as_share(hit.score)
        else:
            record = view.record(hit.id)
            if record is None or is_elevated(record) != (
                collection.layer in (Layer.ELEVATED_USER, Layer.ELEVATED_SESSION)
            ):
                continue
            if collection.layer is Layer.ELEVATED_SESSION and not _said_in(view, record.turn_ids, collection.name):
                continue
            yield of_record(record, collection), as_share(hit.score)


def _said_in(view: Snapshot, turn_ids: Iterable[str], session: str) -> bool:
    return any(turn is not None and turn.session == session for turn in map(view.turn, turn_ids))


def as_share(score: float) -> float:
    """A score as the seed has it, between 0 and 1. Ours are in standard deviations; the order stays the same."""
    return 0.5 * (1.0 + score / (1.0 + abs(score)))


def search_rules(nodes: Iterable[Node], collection: Collection, text: str, limit: int) -> list[Scored]:
    """By the share of the question's words that a rule holds: rules are few, and read whole in any case."""
    wanted = set(terms(text))
    found = [(of_node(node, collection), len(wanted & set(terms(node.text))) / (len(wanted) or 1)) for node in nodes]
    return sorted((one for one in found if one[1] > 0.0), key=lambda one: -one[1])[:limit]
