"""What was said, denied later: not allergic after all, no longer in Porto, stopped smoking."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.admit.frames import same_key
from holdfast.admit.replacement import CONTENT, IS, MOST_DETAIL, REMEMBERED, TIES, Replacement, keys_of, reading_of
from holdfast.admit.values import Reading, Word

__all__ = ["denial", "turned"]

_POLARITY = frozenset({"not", "stop", "used-to", "may", "always", "will", "can", "start", "actually"})
_FLIPS = {"not": "not", "stop": "not", "used-to": "used to", "may": "may"}
_ENDS = re.compile(r"\b(?:no longer|any ?more|any longer|stopped|stop|quit|gave up|given up)\b", re.IGNORECASE)


def denial(old: Reading, new: Reading, clause: str) -> Replacement | None:
    """Cats, to which one is allergic, and then not; Porto, where one lives, and then used to live."""
    was, now = _flips(old), _flips(new)
    if was == now:
        return None
    said = next((i for i, word in enumerate(old.words) if word.key == "because"), len(old.words))
    ours = [word for word in old.words[:said] if word.key not in _POLARITY]
    theirs = [word for word in new.words if word.key not in _POLARITY]
    if len(theirs) < 2 or not any(word.kind in CONTENT for word in theirs):
        return None
    same = len(ours) == len(theirs) and all(map(same_key, ours, theirs))
    if not same and len(ours) == len(theirs) <= MOST_DETAIL and any(IS & set(word.lead) for word in ours):
        same = set(keys_of(tuple(ours))) == set(keys_of(tuple(theirs)))  # my boss is Henrik, Henrik is my boss
    if not same and not (now == {"not"} and not was and _ENDS.search(clause) and _part_of(theirs, ours)):
        return None
    return Replacement(True, f"it says the opposite: {_shown(now - was or was - now)}")


def _part_of(ended: list[Word], said: list[Word]) -> bool:
    """Whether what ended is the whole of what was said but for some detail: tennis, and tennis on Mondays."""
    if not ended or not said or not same_key(ended[0], said[0]) or len(said) > len(ended) + MOST_DETAIL:
        return False
    keys = {"me" if word.key == "us" else word.key for word in said}
    telling = [word for word in ended if word.kind in CONTENT and word.key not in TIES]
    return bool(telling) and all(word.key in keys or word.key in TIES for word in ended)


@lru_cache(maxsize=REMEMBERED)
def turned(text: str) -> frozenset[str]:
    """The words by which a sentence denies, ends or doubts what it says."""
    return _flips(reading_of(text))


def _flips(reading: Reading) -> frozenset[str]:
    """The words that turn a statement round; two negations turn it back ("never give up")."""
    found = [_FLIPS[word.key] for word in reading.words if word.key in _FLIPS]
    return frozenset(found) - ({"not"} if found.count("not") % 2 == 0 else set())


def _shown(keys: frozenset[str]) -> str:
    return ", ".join(repr(key) for key in sorted(keys))
