"""Derived work: two further readings of a turn by meaning, made of vectors that are there already.

What it tells: of a user's turn, its sentences weighed by how likely each is worth keeping, so that thanks and questions
do not blur the statement they stand beside. And its window: the turn together with those before it, for short turns
are understood from what they answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.durability import Weighed
from holdfast.derive.vectors import embed_texts, fold
from holdfast.model import Role
from holdfast.models.embedder import Embedder
from holdfast.models.static import shipped_embedder
from holdfast.models.unit import rounded, unit
from holdfast.recall.marks import read_ahead, statements
from holdfast.recall.vectors import segments_stage, vectors_stage
from holdfast.settings import IndexSettings
from holdfast.store.codes import role_number
from holdfast.store.nouns import AS_TURN, Changes, Document, Move, Space
from holdfast.store.protocol import Snapshot, Store

__all__ = ["read_turns"]

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]

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
        told, read = _tell(view, turns, embedder, settings)
        windows = _windows(view, turns, told, fingerprint, settings.window_turns)
        upto = turns[-1].num
        changes = Changes(fingerprint=fingerprint)
        moves = []
        changes.vectors += [
            (Space.TOLD, num, told[num].tobytes() if weighed else AS_TURN) for num, weighed in read.items()
        ]
        changes.vectors += [(Space.WINDOW, num, scale.tobytes()) for num, scale in windows.items()]
        for space, made in ((Space.TOLD, told), (Space.WINDOW, windows)):
            moves.append(Move(stages[space], done, upto))
            if upto - folded >= settings.vector_tail:
                fold(view, space, changes, made, folded, upto)
                moves.append(Move(segments_stage(space, fingerprint), folded, upto))
    return len(turns) if store.advance(namespace, moves, changes) else 0


def _tell(
    view: Snapshot, turns: Sequence[Document], embedder: Embedder, settings: IndexSettings
) -> tuple[dict[int, Vector], dict[int, bool]]:
    """What each turn tells; of one sentence, and of others than users, the turn as it is.

    Then those that were read now, and whether by weighing their sentences.
    """
    stored = view.vectors(Space.TURN, embedder.profile.fingerprint, [turn.num for turn in turns])
    told = {num: np.frombuffer(data, "<f4") for num, data in stored}
    # A rebuild asks no model: what was read once stays as it was read.
    known = dict(view.vectors_between(Space.TOLD, embedder.profile.fingerprint, turns[0].num - 1, turns[-1].num))
    told.update({num: np.frombuffer(data, "<f4") for num, data in known.items()})
    read_ahead([turn for turn in turns if turn.num not in known])
    parts: list[tuple[int, Weighed]] = []
    for turn in turns:
        if turn.sort == _USER and turn.num not in known and told[turn.num].any():
            weighed = statements(turn.text)
            if len(weighed.sentences) > 1:
                parts.append((turn.num, weighed))
    if parts:
        told.update(zip([num for num, _ in parts], _weigh([one for _, one in parts], embedder, settings), strict=True))
    by_sentences = {num for num, _ in parts}
    return told, {turn.num: turn.num in by_sentences for turn in turns if turn.num not in known}


def _weigh(parts: Sequence[Weighed], embedder: Embedder, settings: IndexSettings) -> Vectors:
    """Of each turn its sentences' vectors, the likely and the long ones counting more."""
    sentences = [sentence for one in parts for sentence in one.sentences]
    likely = np.array([chance for one in parts for chance in one.each], np.float32) + np.float32(settings.told_floor)
    # A vector of a sentence is of unit length; the longer sentence has more to tell.
    long = np.array([len(sentence.split()) for sentence in sentences], np.float32)
    vectors = _embed(parts, sentences, embedder) * (likely * long ** np.float32(0.5))[:, None]
    starts = np.cumsum([0, *(len(one.sentences) for one in parts[:-1])])
    return rounded(unit(np.add.reduceat(vectors, starts, axis=0)))


def _embed(parts: Sequence[Weighed], sentences: Sequence[str], embedder: Embedder) -> Vectors:
    """Vectors of the sentences; those that weighing made are the packaged model's, if that is the one in use."""
    if embedder.profile.fingerprint != shipped_embedder().profile.fingerprint:
        return embed_texts(sentences, embedder)
    vectors = np.concatenate([one.vectors for one in parts])
    others = [at for at, sentence in enumerate(sentences) if not sentence.isascii()]  # weighed in a simpler spelling
    if others:
        vectors[others] = embed_texts([sentences[at] for at in others], embedder)
    return vectors


def _windows(
    view: Snapshot, turns: Sequence[Document], told: Mapping[int, Vector], fingerprint: str, width: int
) -> dict[int, Vector]:
    """Each turn's vector and those of the turns before it in its session, together."""
    rows = [told[turn.num] for turn in turns]
    lines: dict[int, list[int]] = {}  # by session its last turns, as rows
    nothing = len(turns)  # a row of zeros, for those who have nobody before them
    before = np.full((len(turns), width), nothing, np.int64)
    earlier: list[Vector] = []
    for at, turn in enumerate(turns):
        if turn.session not in lines:
            stored = dict(view.vectors(Space.TOLD, fingerprint, view.numbers_before(turn.session, turn.index, width)))
            lines[turn.session] = [nothing + 1 + len(earlier) + number for number in range(len(stored))]
            earlier += [np.frombuffer(stored[num], "<f4") for num in sorted(stored)]
        line = lines[turn.session]
        before[at, width - len(line) :] = line
        lines[turn.session] = [*line, at][-width:]
    table = np.stack([*rows, np.zeros_like(rows[0]), *earlier])
    together = np.zeros_like(table[: len(turns)])
    for place in range(width):  # oldest first
        together += table[before[:, place]]
    together += table[: len(turns)]
    lengths = np.sqrt(np.sum(together * together, axis=1, keepdims=True))
    scales = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return dict(zip([turn.num for turn in turns], scales, strict=True))
