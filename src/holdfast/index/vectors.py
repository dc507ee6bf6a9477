"""Derived work: embed documents, and fold their vectors into quantised segments."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from holdfast.gate.durability import Weighed
from holdfast.index.blocks import (
    BlockCache,
    IndexSizes,
    Segment,
    as_slice,
    pack_segment,
    quantise,
    read_ahead,
    read_segment,
    statements,
)
from holdfast.model import Role
from holdfast.models.embedder import Embedder, round_to_half, shipped_embedder, unit
from holdfast.store.rows import role_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import AS_TURN, BLOCK, BlockRef, Changes, Document, Move, Space
from holdfast.text.words import script_of

# --- Stored vectors, read once: those in segments, and those that wait behind them, quantised alike.


Scores = NDArray[np.float32]


def vectors_stage(space: Space, fingerprint: str) -> str:
    """The cursor of embedding: one for each model, so that a change of model starts its own."""
    return f"vectors:{_stored_name(space)}:{fingerprint}"


def segments_stage(space: Space, fingerprint: str) -> str:
    """The cursor of the quantised segments; vectors behind it are scanned as they are."""
    return f"segments:{_stored_name(space)}:{fingerprint}"


def _stored_name(space: Space) -> str:
    """Names in stored cursors must never change: statements were once called "told"."""
    return "told" if space is Space.STATEMENT else space.name.lower()


@dataclass(frozen=True)
class Vectors:
    """The vectors of one space, in segments and behind them, and what tells them from those of another moment."""

    segments: Sequence[Segment]
    version: Hashable


def read_vectors(
    view: Snapshot, namespace: str, space: Space, size: int, fingerprint: str, cache: BlockCache
) -> Vectors:
    """Those of the first `size` documents."""
    if not size:
        return Vectors((), ())
    refs = tuple(view.segment_blocks(space, fingerprint))
    segments = _segments(view, namespace, space, refs, fingerprint, cache)
    folded = view.cursor(segments_stage(space, fingerprint))
    upto = view.cursor(vectors_stage(space, fingerprint))
    key, settled = (namespace, space, "late", fingerprint), (refs, folded)
    late = cache.get(key, settled, lambda: (_nothing_late(folded), 0))
    if not refs or late.upto != upto:
        view.hold_vectors(fingerprint)
        late = _grown(late if refs else _nothing_late(folded), view, space, fingerprint, upto, size)
        if refs:
            cache.keep(key, settled, late, late.nbytes)
    if len(late.nums):
        segments.append(late.segment)
    # Versions of segments never come again, so with one of them the cursors tell what waits behind it.
    return Vectors(segments, (refs, folded, upto) if refs else late.identity)


def _segments(
    view: Snapshot, namespace: str, space: Space, refs: tuple[BlockRef, ...], fingerprint: str, cache: BlockCache
) -> list[Segment]:
    """Read the segments of a space once; when one is rewritten, the others stay cached."""
    key = (namespace, space, "segments", fingerprint)
    last = cache.last(key)
    known = last if isinstance(last, _CachedSegments) else _CachedSegments((), ())
    if known.refs != refs:
        kept = dict(zip(known.refs, known.segments, strict=True))
        read = [kept.get(ref) or load_segment(view, space, fingerprint, ref.block)[0] for ref in refs]
        known = _CachedSegments(refs, read)
        cache.keep(key, refs, known, sum(segment.nbytes for segment in read))
    return list(known.segments)


@dataclass(frozen=True)
class _CachedSegments:
    """Segments as they were read."""

    refs: tuple[BlockRef, ...]
    segments: Sequence[Segment]


@dataclass(frozen=True)
class _LateVectors:
    """Vectors behind the segments, quantised as they will be, so that folding them into one changes no score."""

    folded: int
    """End of the segments."""
    upto: int
    """Position of the embedding cursor when they were read."""
    nums: NDArray[np.int64]
    scales: Scores
    codes: NDArray[np.int8]

    @cached_property
    def segment(self) -> Segment:
        return Segment(as_slice(self.nums), self.scales, self.codes)

    @property
    def nbytes(self) -> int:
        return self.nums.nbytes + self.scales.nbytes + self.codes.nbytes

    @property
    def identity(self) -> tuple[bytes, bytes, bytes]:
        """Identity of these vectors, for caches."""
        return self.nums.tobytes(), self.scales.tobytes(), self.codes.tobytes()


def _nothing_late(folded: int) -> _LateVectors:
    return _LateVectors(folded, folded, np.empty(0, np.int64), np.empty(0, np.float32), np.empty((0, 0), np.int8))


def _grown(late: _LateVectors, view: Snapshot, space: Space, fingerprint: str, upto: int, size: int) -> _LateVectors:
    """Read the late vectors. A vector is written together with the step of its cursor, and does not change while the
    segments do: so what was read behind the cursor is read once. (Beyond it lie those that a rebuild keeps.)
    """
    known = late.upto if late.upto <= upto else late.folded  # a snapshot may be older than what is known
    count = int(np.searchsorted(late.nums, known, side="right"))
    fresh = view.vectors_between(space, fingerprint, known, size - 1)
    nums, scales, codes = late.nums[:count], late.scales[:count], late.codes[:count]
    if fresh:
        new_codes, new_scales = quantise(matrix(fresh))
        nums = np.concatenate([nums, np.array([num for num, _ in fresh], np.int64)])
        scales = np.concatenate([scales, new_scales])
        codes = np.concatenate([codes, new_codes]) if count else new_codes
    return _LateVectors(late.folded, upto, nums, scales, codes)


def exact(view: Snapshot, space: Space, fingerprint: str, question: Scores, nums: Sequence[int]) -> dict[int, float]:
    """The cosines of these documents, of their full vectors."""
    stored = view.vectors(space, fingerprint, nums)
    # Not by BLAS: its sums differ with the number of rows.
    cosines = np.einsum("ij,j->i", matrix(stored), question) if stored else ()
    return {num: float(cosine) for (num, _), cosine in zip(stored, cosines, strict=True)}


def load_segment(view: Snapshot, space: Space, fingerprint: str, block: int) -> tuple[Segment, int]:
    segment = read_segment(block, view.segment(space, fingerprint, block))
    return segment, segment.nbytes


def matrix(stored: Sequence[tuple[int, bytes]]) -> Scores:
    """Stored vectors as rows."""
    return np.frombuffer(b"".join(data for _, data in stored), "<f4").reshape(len(stored), -1)


def embed_documents(store: Store, namespace: str, space: Space, embedder: Embedder, settings: IndexSizes) -> int:
    """Embed one batch; how many documents it was. When the model fails, ModelError, and the cursor stays (SAL-5)."""
    fingerprint = embedder.profile.fingerprint
    embedding, folding = vectors_stage(space, fingerprint), segments_stage(space, fingerprint)
    with store.snapshot(namespace) as view:
        done, folded = view.cursor(embedding), view.cursor(folding)
        documents = view.documents(space, done, settings.batch, settings.max_chars)
        if not documents:
            return 0
        known = {num for num, _ in view.vectors_between(space, fingerprint, done, documents[-1].num)}
        fresh = [document for document in documents if document.num not in known]
        vectors = embed_texts([document.text for document in fresh], embedder)
        nums = [document.num for document in fresh]
        upto = documents[-1].num
        changes = Changes(
            fingerprint=fingerprint,
            vectors=[(space, num, vector.tobytes()) for num, vector in zip(nums, vectors, strict=True)],
        )
        moves = [view.unchanged(), Move(embedding, done, upto)]
        if upto - folded >= settings.vector_tail:
            fold(view, space, changes, dict(zip(nums, vectors, strict=True)), folded, upto)
            moves.append(Move(folding, folded, upto))
    return len(documents) if store.advance(namespace, moves, changes) else 0


def embed_texts(texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """Unit vectors; the zero vector for a text in a script the model does not know (RECALL-9)."""
    vectors = np.ascontiguousarray(embedder.embed(texts), "<f4") if texts else np.zeros((0, 0), np.float32)
    scripts = embedder.profile.scripts
    if scripts:
        for number, text in enumerate(texts):
            if not text.isascii() and script_of(text) not in scripts:
                vectors[number] = 0.0
    return round_to_half(vectors)


def fold(
    view: Snapshot, space: Space, changes: Changes, added: Mapping[int, NDArray[np.float32]], folded: int, upto: int
) -> None:
    """Write the segments of the blocks that have grown: the vectors they have already, and those of this batch.

    None beyond it, though there may be some (a rebuild keeps them, and records come with theirs): they are read as what
    waits behind the segments, and would count twice.
    """
    for block in range((folded + 1) // BLOCK, upto // BLOCK + 1):
        first, last = block * BLOCK, (block + 1) * BLOCK - 1
        stored = dict(view.vectors_between(space, changes.fingerprint, max(first - 1, 0), min(last, upto)))
        vectors = {num: np.frombuffer(data, "<f4") for num, data in stored.items()}
        vectors.update({num: vector for num, vector in added.items() if first <= num <= last})
        nums = sorted(vectors)
        if nums:  # a block may hold acts alone
            changes.segments.append((space, block, pack_segment(nums, np.stack([vectors[num] for num in nums]))))


# --- Derived work: two further readings of a turn by meaning, made of vectors that are there already.
#
# What it tells: of a user's turn, its sentences weighed by how likely each is worth keeping, so that thanks and
# questions do not blur the statement next to them. And its window: the turn together with those before it, for
# short turns are understood from what they answer.


Vector = NDArray[np.float32]
ReadingsVectors = NDArray[np.float32]

_USER = role_number(Role.USER)


def read_turns(store: Store, namespace: str, embedder: Embedder, settings: IndexSizes) -> int:
    """Read one batch of embedded turns; how many there were."""
    fingerprint = embedder.profile.fingerprint
    stages = {space: vectors_stage(space, fingerprint) for space in (Space.STATEMENT, Space.WINDOW)}
    with store.snapshot(namespace) as view:
        done = view.cursor(stages[Space.STATEMENT])
        folded = view.cursor(segments_stage(Space.STATEMENT, fingerprint))
        embedded = view.cursor(vectors_stage(Space.TURN, fingerprint))
        turns = [
            turn
            for turn in view.documents(Space.TURN, done, settings.batch, settings.max_chars)
            if turn.num <= embedded
        ]
        if not turns:
            return 0
        statement, read = _statement_vectors(view, turns, embedder, settings)
        windows = _windows(view, turns, statement, fingerprint, settings.window_turns)
        upto = turns[-1].num
        changes = Changes(fingerprint=fingerprint)
        moves = [view.unchanged()]
        changes.vectors += [
            (Space.STATEMENT, num, statement[num].tobytes() if weighed else AS_TURN) for num, weighed in read.items()
        ]
        changes.vectors += [(Space.WINDOW, num, scale.tobytes()) for num, scale in windows.items()]
        for space, made in ((Space.STATEMENT, statement), (Space.WINDOW, windows)):
            moves.append(Move(stages[space], done, upto))
            if upto - folded >= settings.vector_tail:
                fold(view, space, changes, made, folded, upto)
                moves.append(Move(segments_stage(space, fingerprint), folded, upto))
    return len(turns) if store.advance(namespace, moves, changes) else 0


def _statement_vectors(
    view: Snapshot, turns: Sequence[Document], embedder: Embedder, settings: IndexSizes
) -> tuple[dict[int, Vector], dict[int, bool]]:
    """Compute the statement vector of each turn; a turn of one sentence, or not of a user, keeps its own vector.

    Then those that were read now, and whether by weighing their sentences.
    """
    stored = view.vectors(Space.TURN, embedder.profile.fingerprint, [turn.num for turn in turns])
    statement = {num: np.frombuffer(data, "<f4") for num, data in stored}
    # A rebuild asks no model: what was read once stays as it was read.
    known = dict(view.vectors_between(Space.STATEMENT, embedder.profile.fingerprint, turns[0].num - 1, turns[-1].num))
    statement.update({num: np.frombuffer(data, "<f4") for num, data in known.items()})
    read_ahead([turn for turn in turns if turn.num not in known])
    parts: list[tuple[int, Weighed]] = []
    for turn in turns:
        if turn.sort == _USER and turn.num not in known and statement[turn.num].any():
            weighed = statements(turn.text)
            if len(weighed.sentences) > 1:
                parts.append((turn.num, weighed))
    if parts:
        statement.update(
            zip([num for num, _ in parts], _weigh([one for _, one in parts], embedder, settings), strict=True)
        )
    by_sentences = {num for num, _ in parts}
    return statement, {turn.num: turn.num in by_sentences for turn in turns if turn.num not in known}


def _weigh(parts: Sequence[Weighed], embedder: Embedder, settings: IndexSizes) -> ReadingsVectors:
    """Average the vectors of each turn's sentences, weighted by durability and length."""
    sentences = [sentence for one in parts for sentence in one.sentences]
    likely = np.array([chance for one in parts for chance in one.each], np.float32) + np.float32(
        settings.statement_floor
    )
    # A vector of a sentence is of unit length; the longer sentence has more to tell.
    long = np.array([len(sentence.split()) for sentence in sentences], np.float32)
    vectors = _embed(parts, sentences, embedder) * (likely * long ** np.float32(0.5))[:, None]
    starts = np.cumsum([0, *(len(one.sentences) for one in parts[:-1])])
    return round_to_half(unit(np.add.reduceat(vectors, starts, axis=0)))


def _embed(parts: Sequence[Weighed], sentences: Sequence[str], embedder: Embedder) -> ReadingsVectors:
    """Vectors of the sentences; those that weighing made are the packaged model's, if that is the one in use."""
    if embedder.profile.fingerprint != shipped_embedder().profile.fingerprint:
        return embed_texts(sentences, embedder)
    vectors = np.concatenate([one.vectors for one in parts])
    others = [at for at, sentence in enumerate(sentences) if not sentence.isascii()]  # weighed in a simpler spelling
    if others:
        vectors[others] = embed_texts([sentences[at] for at in others], embedder)
    return vectors


def _windows(
    view: Snapshot, turns: Sequence[Document], statement: Mapping[int, Vector], fingerprint: str, width: int
) -> dict[int, Vector]:
    """Each turn's vector and those of the turns before it in its session, together."""
    rows = [statement[turn.num] for turn in turns]
    lines: dict[int, list[int]] = {}  # by session its last turns, as rows
    nothing = len(turns)  # a row of zeros, for turns without one before them
    before = np.full((len(turns), width), nothing, np.int64)
    earlier: list[Vector] = []
    for at, turn in enumerate(turns):
        if turn.session not in lines:
            stored = dict(
                view.vectors(Space.STATEMENT, fingerprint, view.numbers_before(turn.session, turn.index, width))
            )
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
