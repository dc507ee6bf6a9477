"""What a turn holds that a kind of question asks for: a number, a time, a standing wish. One bit each.

"How many …?" is answered by a turn with a number in it, "when …?" by one that tells a time; which number or time is for
the words and the meaning to say. English words; digits in any script. A list of words each, so reading is linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntFlag
from typing import TYPE_CHECKING

from holdfast.model import Provenance, Role
from holdfast.recall.cache import BlockCache
from holdfast.store.codes import role_number
from holdfast.store.nouns import Document, Space

if TYPE_CHECKING:
    from holdfast.admit.durability import Weighed

__all__ = ["Mark", "forget_read", "marks_of", "prior_of", "read_ahead", "statements", "wanted_marks"]

_READ_CHARS = 20_000
"""A longer text is a paste: what it is about stands at its head."""


WEIGHTS = {
    Provenance.AUTHORED: 1.0,
    Provenance.USER_STATED: 1.0,
    Provenance.EPISODE_SUMMARY: 0.85,
    Provenance.ASSISTANT_DERIVED: 0.7,
    Provenance.TOOL_DERIVED: 0.7,
}
"""The seed's weights, all at most 1: they only ever lower (RECALL-2)."""


class Mark(IntFlag):
    NUMBER = 1
    TIME = 2
    WISH = 4
    """A standing wish of the user's ("always …", "I prefer …"): it bears on every request for help or advice."""
    QUESTION = 8
    """It ends in a question: the answer is likely the turn after it."""


# These two and the wish are looked for in lower case: three times as quick as ignoring the case of each letter.
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred"
    r"|thousand|million|half|twice|couple|several)\b"
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently|weekends?|earlier|since|a few"
    r"|(?:last|next|this) (?:night|week|month|year|summer|fall|autumn|spring|winter|weekend|morning|afternoon|past"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|[a-z]+ (?:days?|weeks?|months?|years?) ago"
    r"|january|february|april|june|july|august|september|october|november|december|(?:mar|march|may) \d"
    r"|(?:jan|feb|apr|jun|jul|aug|sep|sept|oct|nov|dec) \d"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?:19|20)\d\d)\b"
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|old|long|often|far|tall|big|fast|heavy)\b|\bwhat (?:time|percentage|number|amount|price|age)\b"
    r"|\btotal\b|\bcosts?\b",
    re.IGNORECASE,
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow (?:long|recently)\b|\border\b"
    r"|\bwhich\b.{1,60}\b(?:first|last|recently|earlier|later)\b"
    r"|\b(?:days?|weeks?|months?|years?) (?:ago|before|after|passed|between|since|did|have|had|were)\b",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"(?:^|[.!?\n]\s*|\b(?:please|so|and|also),? )(?:always|never|from now on|in (?:the )?future|whenever"
    r"|make sure (?:to|you)|don['’]?t ever|remember to)\b"
    r"|\bi(?:['’]d| would| do|['’]ve always)? (?:really |always |generally |usually |still )?prefer\b"
    r"|\bwhen(?:ever)? i ask\b"
)
_WISH_HAS = ("ever", "prefer", "always", "make sure", "from now on", "future", "remember to", "i ask")
"""No wish is without one of these, and most turns are."""
_WISH_CHARS = 2000
_ASKS_HELP = re.compile(
    r"\b(?:how (?:do|can|should|would|could|might) (?:i|we|you)|what (?:should|would|could|are|is|kind|type)|can you"
    r"|could you|would you|any (?:tips|advice|ideas|suggestions|recommendations)|suggest|recommend|help me"
    r"|where (?:should|do you|can)|which .{0,40}should|should i|i['’]m (?:planning|about|trying|thinking))\b",
    re.IGNORECASE,
)
_ASKS_PAST = re.compile(
    r"\b(?:did|was|were|had|i['’]ve|have (?:i|we|you)|has|previous(?:ly)?|before|ago|last|earlier|remind|mentioned"
    r"|told|said|discussed|so far|currently|in total|how many|how much|summar\w*|order in which)\b",
    re.IGNORECASE,
)
_USER = role_number(Role.USER)
_kept = BlockCache(8_000_000)  # the user turns of a batch twice over, at about 3 KB each


def marks_of(text: str) -> Mark:
    text = text[:_READ_CHARS].lower()
    found = Mark(0)
    if _NUMBER.search(text):
        found |= Mark.NUMBER
    if _TIME.search(text):
        found |= Mark.TIME
    head = text[:_WISH_CHARS]
    if any(word in head for word in _WISH_HAS) and _WISH.search(head):
        found |= Mark.WISH
    if text.rstrip("\"'”’) \n").endswith("?"):
        found |= Mark.QUESTION
    return found


def prior_of(document: Document) -> int:
    """How likely its best sentence is worth keeping (admit/durability.py), as a share of 255.

    A record counts by who vouches for it and how surely; of a turn only the user's own words count.
    """
    if document.provenance is not None:
        return round(255 * WEIGHTS[document.provenance] * document.confidence)
    if document.space is Space.PASSAGE or document.sort != _USER:
        return 0
    return round(255 * max(statements(document.text).each, default=0.0))


def statements(text: str) -> Weighed:
    """A turn's sentences, with the chance that each is worth keeping; kept, for the index and the vectors both ask."""
    from holdfast.admit.durability import weigh  # its patterns take long to load: who only searches never needs them

    text = text[:_READ_CHARS]
    return _kept.get(text, None, lambda: _with_size(text, weigh(text, False)))


def read_ahead(documents: Sequence[Document]) -> None:
    """Read the statements of a whole batch at once; asking for them one by one afterwards costs nothing."""
    from holdfast.admit.durability import weigh_apart

    said = (one.text[:_READ_CHARS] for one in documents if one.space is Space.TURN and one.sort == _USER)
    texts = [text for text in dict.fromkeys(said) if not _kept.holds(text)]
    for text, weighed in zip(texts, weigh_apart(texts), strict=True):
        _kept.keep(text, None, *_with_size(text, weighed))


def forget_read() -> None:
    """After an erase: what was read ahead is read again when it is needed."""
    _kept.clear()


def _with_size(text: str, weighed: Weighed) -> tuple[Weighed, int]:
    return weighed, 500 + 2 * len(text) + weighed.vectors.nbytes


def wanted_marks(question: str) -> Mark:
    """What an answer to this question is likely to hold."""
    question = question[:_READ_CHARS]
    wanted = Mark(0)
    if _ASKS_NUMBER.search(question):
        wanted |= Mark.NUMBER
    if _ASKS_TIME.search(question):
        wanted |= Mark.TIME
    if _ASKS_HELP.search(question) and not _ASKS_PAST.search(question):
        wanted |= Mark.WISH
    return wanted
