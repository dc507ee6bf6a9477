"""The active view of a session: digests and guidance in place of old turns, then the turns as they were said."""

from __future__ import annotations

from holdfast.insight import Active
from holdfast.log.compaction import compact_stage
from holdfast.model import Kind, Record, Turn
from holdfast.models.tokens import TokenCounter
from holdfast.store.nouns import COMPACTION, Space
from holdfast.store.protocol import Snapshot

__all__ = ["read_active"]

_ALL = 1_000_000_000


def read_active(view: Snapshot, session: str, counter: TokenCounter) -> Active:
    """What stands for the whole conversation now; a summary of a forgotten turn is gone, its other turns are back."""
    done = view.cursor(compact_stage(session))
    forgotten = set(view.hidden(Space.TURN))
    left = view.left_over(session, done - 1) if done else []
    turns = [turn for turn in [*left, *view.thread(session, done - 1, _ALL)] if turn.seq not in forgotten]
    summaries, guidance = (_made(view, session, kind) for kind in (Kind.SUMMARY, Kind.GUIDANCE))
    return Active(session, summaries, guidance, tuple(turns), _tokens(counter, summaries, guidance, turns))


def _made(view: Snapshot, session: str, kind: Kind) -> tuple[Record, ...]:
    """Oldest first."""
    found = view.recent_records(_ALL, kind, None, None, session)
    return tuple(record for record in reversed(found) if COMPACTION in record.metadata)


def _tokens(
    counter: TokenCounter, summaries: tuple[Record, ...], guidance: tuple[Record, ...], turns: list[Turn]
) -> int:
    texts = [*(record.text for record in (*summaries, *guidance)), *(turn.text for turn in turns)]
    return sum(counter.count(text) for text in texts)
