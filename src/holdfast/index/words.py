"""Derived work: put waiting documents into the word index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from holdfast.index.blocks import pack_documents, pack_posting, read_ahead
from holdfast.index.candidates import words_stage
from holdfast.settings import IndexSettings
from holdfast.store.store import Store
from holdfast.store.types import BLOCK, PASSAGES_STAGE, Changes, Document, Move, Passage, Space
from holdfast.text.sentences import split_passages
from holdfast.text.words import speaker_terms, term_counts


def index_words(store: Store, namespace: str, space: Space, settings: IndexSettings) -> int:
    """Index one batch, if enough is waiting; how many documents were indexed.

    A short tail stays out on purpose: search reads it as it is, and writing blocks for every turn would cost more.
    """
    stage = words_stage(space)
    with store.snapshot(namespace) as view:
        done = view.cursor(stage)
        # A smaller batch than what may wait would never be enough, and flush would wait for it for ever.
        documents = view.documents(space, done, max(settings.batch, settings.tail))
    heavy = sum(len(document.text) for document in documents) > settings.tail_chars
    if not documents or (len(documents) < settings.tail and not heavy):
        return 0
    read_ahead(documents)
    changes = index_changes(space, documents, settings.max_chars)
    moved = store.advance(namespace, [Move(stage, done, documents[-1].num)], changes)
    return len(documents) if moved else 0


def index_changes(space: Space, documents: Sequence[Document], max_chars: int) -> Changes:
    """The postings and document rows of a batch."""
    postings: dict[int, dict[str, bytearray]] = defaultdict(lambda: defaultdict(bytearray))
    rows: dict[int, list[tuple[Document, int]]] = defaultdict(list)
    for document in documents:
        block, offset = divmod(document.num, BLOCK)
        counts = term_counts(document.text[:max_chars])
        rows[block].append((document, counts.total()))
        of_block = postings[block]
        once = pack_posting(offset, 1)
        for term, count in counts.items():
            of_block[term] += once if count == 1 else pack_posting(offset, count)
        for term in speaker_terms(document.speaker) if document.speaker else ():
            of_block[term] += once
    return Changes(
        # In the order of the key, so that neighbouring pages are written once.
        postings=[
            (space, term, block, bytes(packed))
            for block in postings
            for term, packed in sorted(postings[block].items())
        ],
        documents=[
            (space, block, pack_documents([document for document, _ in part], [length for _, length in part]))
            for block, part in rows.items()
        ],
    )


# --- Derived work: cut long turns into passages, which are indexed and embedded like turns.


def cut_turns(store: Store, namespace: str, settings: IndexSettings) -> int:
    """Cut one batch of turns; how many turns were looked at."""
    with store.snapshot(namespace) as view:
        done = view.cursor(PASSAGES_STAGE)
        turns = view.documents(Space.TURN, done, settings.batch)
        number = view.end(Space.PASSAGE)
    if not turns:
        return 0
    changes = Changes()
    for turn in turns:
        text = turn.text[: settings.max_chars]
        for start, stop in split_passages(text, settings.passage_words, settings.passages_from):
            number += 1
            changes.passages.append(Passage(number, turn.num, start, stop))
    return len(turns) if store.advance(namespace, [Move(PASSAGES_STAGE, done, turns[-1].num)], changes) else 0
