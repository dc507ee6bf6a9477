"""What a turn holds that a kind of question asks for: a number, a time, a standing wish. One bit each.

"How many …?" is answered by a turn with a number in it, "when …?" by one that tells a time; which number or time is for
the words and the meaning to say. English words; digits in any script. A list of words each, so reading is linear.
"""

from __future__ import annotations

import re
from enum import IntFlag
from functools import lru_cache

from holdfast.admit.durability import Weighed, weigh
from holdfast.model import Role
from holdfast.store.codes import role_number
from holdfast.store.protocol import Document, Space

__all__ = ["Mark", "marks_of", "prior_of", "statements", "wanted_marks"]

_READ_CHARS = 20_000
"""A longer text is a paste: what it is about stands at its head."""


class Mark(IntFlag):
    NUMBER = 1
    TIME = 2
    WISH = 4
    """A standing wish of the user's ("always …", "I prefer …"): it bears on every request for help or advice."""
    QUESTION = 8
    """It ends in a question: the answer is likely the turn after it."""


_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred"
    r"|thousand|million|half|twice|couple|several)\b",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently|weekends?|earlier|since|a few"
    r"|(?:last|next|this) (?:night|week|month|year|summer|fall|autumn|spring|winter|weekend|morning|afternoon|past"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|[a-z]+ (?:days?|weeks?|months?|years?) ago"
    r"|january|february|april|june|july|august|september|october|november|december|(?:mar|march|may) \d"
    r"|(?:jan|feb|apr|jun|jul|aug|sep|sept|oct|nov|dec) \d"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday|(?:19|20)\d\d)\b",
    re.IGNORECASE,
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
    r"|\bwhen(?:ever)? i ask\b",
    re.IGNORECASE,
)
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


def marks_of(text: str) -> Mark:
    text = text[:_READ_CHARS]
    found = Mark(0)
    if _NUMBER.search(text):
        found |= Mark.NUMBER
    if _TIME.search(text):
        found |= Mark.TIME
    if _WISH.search(text[:_WISH_CHARS]):
        found |= Mark.WISH
    if text.rstrip("\"'”’) \n").endswith("?"):
        found |= Mark.QUESTION
    return found


def prior_of(document: Document) -> int:
    """How likely its best sentence is worth keeping (admit/durability.py), as a share of 255.

    A record was found worth keeping; of a turn only the user's own words count.
    """
    if document.space is Space.RECORD:
        return 255
    if document.space is Space.PASSAGE or document.sort != _USER:
        return 0
    return round(255 * max(statements(document.text).each, default=0.0))


@lru_cache(maxsize=4096)
def statements(text: str) -> Weighed:
    """A turn's sentences, with the chance that each is worth keeping; kept, for the index and the vectors both ask."""
    return weigh(text[:_READ_CHARS], False)


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
