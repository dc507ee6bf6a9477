"""Other sentences to search with, so that the record a statement replaces is found at all.

To the static model "I moved to Ghent" and "I live in Porto" are strangers (cosine .19); "I live in Ghent" finds it.
"""

from __future__ import annotations

from holdfast.admit.attributes import Claim, claims
from holdfast.admit.cues import changes, clauses

__all__ = ["probes"]

_SAID = {
    "residence": ("live in", "lives in"),
    "employer": ("work at", "works at"),
    "occupation": ("work as", "works as"),
    "household": ("live with", "lives with"),
    "age": ("am", "is"),
    "name": ("am called", "is called"),
    "diet": ("am", "is"),
    "status": ("am", "is"),
}
_MOST = 4
_MOST_CHARS = 600


def probes(text: str) -> tuple[str, ...]:
    """At most four plain sentences about what the statement changes; none when it tells of no change."""
    if len(text) > _MOST_CHARS:
        return ()
    found: dict[str, None] = {}
    for clause in clauses(text):
        for claim in claims(clause):
            if claim.attribute in _SAID:
                found.setdefault(_plainly(claim))
        for change in changes(clause):
            if change.former:
                found.setdefault(change.former)
            if change.thing:
                found.setdefault(f"{change.thing} is {change.to}")
    found.pop(text.strip(), None)
    return tuple(found)[:_MOST]


def _plainly(claim: Claim) -> str:
    mine, others = _SAID[claim.attribute]
    value = " ".join(word.said for word in claim.value)
    if claim.subject == ("me",):
        return f"I {mine} {value}"
    subject = " ".join(key.capitalize() if key in claim.names else key for key in claim.subject)
    return f"{subject} {others} {value}" if claim.names else f"my {subject} {others} {value}"
