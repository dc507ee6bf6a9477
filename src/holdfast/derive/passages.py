"""Derived work: cut long turns into passages, which are indexed and embedded like turns."""

from __future__ import annotations

from holdfast.recall.passages import cut
from holdfast.settings import IndexSettings
from holdfast.store.nouns import PASSAGES_STAGE, Changes, Move, Passage, Space
from holdfast.store.protocol import Store

__all__ = ["cut_turns"]


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
        for start, stop in cut(turn.text[: settings.max_chars], settings.passage_words, settings.passages_from):
            number += 1
            changes.passages.append(Passage(number, turn.num, start, stop))
    return len(turns) if store.advance(namespace, [Move(PASSAGES_STAGE, done, turns[-1].num)], changes) else 0
