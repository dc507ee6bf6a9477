"""What an erase is about to destroy, read for its proof, for every engine."""

from __future__ import annotations

import json
from collections.abc import Iterable

from holdfast.log.compaction import read_compaction
from holdfast.store.ground import Doomed, Ground
from holdfast.store.halves import whole
from holdfast.store.nouns import CLAIMS_A_TURN, Content, Scope, Space

__all__ = ["content_of", "plain_vector", "vector_spans"]

_DIGEST = 16  # bytes before the vector of a claim (derive/claims.py)


def content_of(ground: Ground, doomed: Doomed, scope: Scope, vectors: Iterable[bytes]) -> Content:
    names = [*doomed.ids, *doomed.own, *(turn.key for turn in doomed.turns if turn.key is not None)]
    if scope is Scope.NAMESPACE:
        names.append(ground.namespace)
    if scope in (Scope.NAMESPACE, Scope.SESSION):
        names += dict.fromkeys(turn.session_name for turn in doomed.turns)
    texts = [turn.text for turn in doomed.turns]
    texts += [text for turn in doomed.turns if turn.metadata for text in _strings(json.loads(turn.metadata))]
    made = [*doomed.records.values(), *_acts_about(ground, doomed, everything=scope is Scope.NAMESPACE)]
    return Content(
        tuple(dict.fromkeys(texts)),
        tuple(dict.fromkeys(made)),
        tuple(dict.fromkeys(names)),
        tuple(dict.fromkeys(vectors)),
    )


def _acts_about(ground: Ground, doomed: Doomed, everything: bool) -> list[str]:
    gone = doomed.ids | doomed.own
    texts: list[str] = []
    for _, subject, entry, payload in ground.acts():
        said = json.loads(payload)
        if entry == "compact":
            told = read_compaction(said).told
            texts += [one.text for one in told if everything or one.id in gone or gone.intersection(one.turn_ids)]
        elif everything or subject in gone:
            texts += _strings(said)
    return texts


def vector_spans(doomed: Doomed, records: Iterable[int]) -> list[tuple[Space, int, int]]:
    """(space, first, last number) of every vector of these turns and of the records of these numbers."""
    spans = [(Space.RECORD, num, num) for num in records]
    for turn in doomed.turns:
        spans += [(space, turn.seq, turn.seq) for space in (Space.TURN, Space.TOLD)]
        spans.append((Space.CLAIM, turn.seq * CLAIMS_A_TURN, (turn.seq + 1) * CLAIMS_A_TURN - 1))
    return spans


def plain_vector(space: Space, stored: bytes) -> bytes:
    """As float32; a claim's is kept behind the digest of its text, in half precision."""
    if space is not Space.CLAIM:
        return whole([stored])[0]
    return whole([whole([stored])[0][_DIGEST:] + b"h"])[0]


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in _strings(one)]
    return [text for one in value for text in _strings(one)] if isinstance(value, list) else []
