"""What can be said of memories by their texts alone, whosever they are: copies, junk, what has passed, secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.floor import Reason, Refusal, judge
from holdfast.admit.secrets import mask
from holdfast.admit.sentences import sentences
from holdfast.settings import DoctorSettings
from holdfast.upkeep.memo import Check, Example, Finding, Memo, finding
from holdfast.upkeep.near import copies, near_copies
from holdfast.upkeep.stale import last_day, passed

__all__ = ["audit_texts"]

_MANY_ALIKE = "too many others have the same deciding words"
_READ_CHARS = 4000
"""A memory is a sentence or two; a page is read so far."""


def audit_texts(
    memos: Sequence[Memo],
    vectors: NDArray[np.float32] | None,
    same: float,
    now: datetime,
    settings: DoctorSettings,
    harmless: frozenset[Reason] = frozenset(),
) -> list[Finding]:
    """`vectors`: a row a memo, if there is a model; `same`: the cosine from which it calls two texts one.

    `harmless`: reasons of the floor that are none in these memories.
    """
    texts = [memo.text[:_READ_CHARS] for memo in memos]
    near = near_copies(texts, vectors, same, settings.alike)
    return [
        finding(
            Check("duplicates", settings.max_duplicates, "forget all but one of each"),
            len(memos),
            _examples(memos, copies(texts), "the same words as"),
        ),
        finding(
            Check("near-duplicates", settings.max_near_duplicates, "forget the poorer one of each"),
            len(memos),
            _examples(memos, near.pairs, "says the same as"),
        ),
        finding(
            Check("not compared with all", 1.0, "near-duplicates may be more; doctor.alike sets how many are compared"),
            len(memos),
            [Example(memos[one].id, memos[one].text, _MANY_ALIKE) for one in near.cut],
        ),
        finding(
            Check("junk", settings.max_junk, "forget them; they would be refused at the door"),
            len(memos),
            _junk(memos, harmless),
        ),
        finding(
            Check("stale", settings.max_stale, "forget what has passed, or say what came of it"),
            len(memos),
            _stale(memos, now, timedelta(days=settings.stale_days)),
        ),
        finding(
            Check("secrets", settings.max_secrets, "change the secret, then erase what holds it"),
            len(memos),
            _secrets(memos),
        ),
    ]


def _examples(memos: Sequence[Memo], pairs: Sequence[tuple[int, int]], how: str) -> Iterator[Example]:
    for later, earlier in pairs:
        told = f"{how} {memos[earlier].id}"
        if memos[earlier].text != memos[later].text:
            told += f": {mask(memos[earlier].text).text[:100]!r}"
        yield Example(memos[later].id, memos[later].text, told)


def _junk(memos: Sequence[Memo], harmless: frozenset[Reason]) -> Iterator[Example]:
    for memo in memos:
        if memo.judged and (refusal := _refused(memo.text[:_READ_CHARS], harmless)) is not None:
            yield Example(memo.id, memo.text, f"{refusal.reason.value}: {refusal.why}")


def _refused(text: str, harmless: frozenset[Reason]) -> Refusal | None:
    """Why all of it would be refused; None if a sentence of it would not be.

    Read as an answer: a memory has lost the turn before it, so that few words may be a whole statement.
    """
    refusals = [judge(sentence, answers_question=True) for sentence in sentences(text)]
    if not refusals or any(one is None or one.reason in harmless for one in refusals):
        return None
    return refusals[0]


def _stale(memos: Sequence[Memo], now: datetime, grace: timedelta) -> Iterator[Example]:
    """What lay ahead when it was said, and has passed: nobody said what came of it."""
    for memo in memos:
        if memo.at is None or memo.at > now:
            continue
        last = passed(memo.text[:_READ_CHARS], memo.at, now - grace)
        if last is not None:
            ahead = f"ahead of when it was said ({memo.at.date()})"
            yield Example(memo.id, memo.text, f"{last.phrase.rstrip('.')!r} was {last_day(last)}, {ahead}")


def _secrets(memos: Sequence[Memo]) -> Iterator[Example]:
    for memo in memos:
        if found := mask(memo.text).found:
            yield Example(memo.id, memo.text, f"holds a secret: {', '.join(sorted({one.kind for one in found}))}")
