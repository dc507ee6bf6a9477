"""Derived work: the trust in records that the word index holds follows the records, when the janitor lowers them.

A document's row is appended again, with another prior: blocks only grow, and of two rows the later one counts.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from holdfast.recall.blocks import read_documents
from holdfast.recall.marks import prior_of
from holdfast.recall.pool import words_stage
from holdfast.store.nouns import BLOCK, Changes, Move, Space
from holdfast.store.protocol import Snapshot, Store

__all__ = ["refresh_priors"]


def refresh_priors(store: Store, namespace: str) -> int:
    """Write the priors of records that are not what the index says; how many there were."""
    stage = words_stage(Space.RECORD)
    while True:
        with store.snapshot(namespace) as view:
            done = view.cursor(stage)
            changes, count = _changed(view, done)
        if not count or store.advance(namespace, [Move(stage, done, done)], changes):
            return count


def _changed(view: Snapshot, done: int) -> tuple[Changes, int]:
    priors: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for document in view.documents(Space.RECORD, 0, done):
        if document.num <= done:
            block, offset = divmod(document.num, BLOCK)
            priors[block][offset] = prior_of(document)
    changes, count = Changes(), 0
    for ref in view.document_blocks(Space.RECORD):
        rows = read_documents(view.document_block(Space.RECORD, ref.block))
        latest = np.full(BLOCK, -1, np.int64)
        latest[rows["offset"]] = np.arange(len(rows))
        known = [offset for offset in priors[ref.block] if latest[offset] >= 0]
        new = rows[latest[np.array(known, np.int64)]].copy()
        was = new["prior"].copy()
        new["prior"] = [priors[ref.block][offset] for offset in known]
        new = new[new["prior"] != was]
        if len(new):
            changes.documents.append((Space.RECORD, ref.block, new.tobytes()))
            count += len(new)
    return changes, count
