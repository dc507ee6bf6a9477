"""Derived work: two further readings of a turn by meaning, made of vectors that are there already.

What it tells: of a user's turn, its sentences weighed by how likely each is worth keeping, so that thanks and questions
do not blur the statement they stand beside. And its window: the turn together with those before it, for short turns
are understood from what they answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.derive.vectors import embed_texts, fold
from holdfast.model import Role
from holdfast.models.embedder import Embedder
from holdfast.models.unit import unit
from holdfast.recall.marks import statements
from holdfast.recall.semantic import segments_stage, vectors_stage
from holdfast.settings import IndexSettings
from holdfast.store.codes import role_number
from holdfast.store.protocol import Changes, Document, Move, Snapshot, Space, Store

__all__ = ["read_turns"]

Vector = NDArray[np.float32]

_USER = role_number(Role.USER)


def read_turns(store: Store, namespace: str, embedder: Embedder, settings: IndexSettings) -> int:
    """Read one batch of embedded turns; how many there were."""
    fingerprint = embedder.profile.fingerprint
    stages = {space: vectors_stage(space, fingerprint) for space in (Space.TOLD, Space.WINDOW)}
    with store.snapshot(namespace) as view:
        done = view.cursor(stages[Space.TOLD])
        folded = view.cursor(segments_stage(Space.TOLD, fingerprint))
        embedded = view.cursor(vectors_stage(Space.TURN, fingerprint))
        turns = [turn for turn in view.documents(Space.TURN, done, settings.batch) if turn.num <= embedded]
        if not turns:
            return 0
        told = _tell(view, turns, embedder, settings)
        windows = _windows(view, turns, told, fingerprint, settings.window_turns)
        upto = turns[-1].num
        changes = Changes(fingerprint=fingerprint)
        moves = []
        for space, made in ((Space.TOLD, told), (Space.WINDOW, windows)):
            changes.vectors += [(space, num, vector.tobytes()) for num, vector in made.items()]
            moves.append(Move(stages[space], done, upto))
            if upto - folded >= settings.vector_tail:
                fold(view, space, changes, made, folded, upto)
                moves.append(Move(segments_stage(space, fingerprint), folded, upto))
    return len(turns) if store.advance(namespace, moves, changes) else 0


def _tell(view: Snapshot, turns: Sequence[Document], embedder: Embedder, settings: IndexSettings) -> dict[int, Vector]:
    """What each turn tells; of one sentence, and of others than users, the turn as it is."""
    stored = view.vectors(Space.TURN, embedder.profile.fingerprint, [turn.num for turn in turns])
    told = {num: np.frombuffer(data, "<f4") for num, data in stored}
    # A rebuild asks no model: what was read once stays as it was read.
    known = dict(view.vectors_between(Space.TOLD, embedder.profile.fingerprint, turns[0].num - 1, turns[-1].num))
    told.update({num: np.frombuffer(data, "<f4") for num, data in known.items()})
    parts: list[tuple[int, tuple[str, ...], Vector]] = []
    for turn in turns:
        if turn.sort == _USER and turn.num not in known and told[turn.num].any():
            weighed = statements(turn.text)
            if len(weighed.sentences) > 1:
                likely = np.array(weighed.each, np.float32) + np.float32(settings.told_floor)
                # A vector of a sentence is of unit length; the longer sentence has more to tell.
                long = np.array([len(sentence.split()) for sentence in weighed.sentences], np.float32)
                parts.append((turn.num, weighed.sentences, likely * long))
    vectors = embed_texts([sentence for _, sentences, _ in parts for sentence in sentences], embedder)
    start = 0
    for num, sentences, weights in parts:
        stop = start + len(sentences)
        (told[num],) = unit(np.sum(weights[:, None] * vectors[start:stop], axis=0)[None])
        start = stop
    return told


def _windows(
    view: Snapshot, turns: Sequence[Document], told: Mapping[int, Vector], fingerprint: str, width: int
) -> dict[int, Vector]:
    """Each turn's vector and those of the turns before it in its session, together."""
    before: dict[int, list[Vector]] = {}
    windows: dict[int, Vector] = {}
    for turn in turns:
        if turn.session not in before:
            stored = dict(view.vectors(Space.TOLD, fingerprint, view.numbers_before(turn.session, turn.index, width)))
            before[turn.session] = [np.frombuffer(stored[num], "<f4") for num in sorted(stored)]
        line = [*before[turn.session], told[turn.num]]
        (windows[turn.num],) = unit(np.stack(line).sum(axis=0)[None])
        before[turn.session] = line[-width:]
    return windows
