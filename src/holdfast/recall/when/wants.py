"""What a question wants besides a topic: the recent, the first or the latest, several things, a time, in English."""

from __future__ import annotations

import re

from holdfast.recall.when.asked import Order, Recency
from holdfast.words import FUNCTION_WORDS

__all__ = ["EMPTY_OF_TOPIC", "asks_when", "looks_ahead", "read_order", "read_recency", "wants_several"]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_UNITS = r"(?:days?|weeks?|months?|years?|hours?|minutes?)"

_AHEAD = _pattern(
    r"\b(?:next|tomorrow|upcoming|will|going to|gonna|plan(?:s|ned|ning)?|scheduled|due(?! to)|from now"
    r"|tonight|recommend|suggest(?:ions?)?|should (?:I|we)|later (?:today|this)"
    r"|coming (?:up|week|month|year|weekend|days))\b|['’]ll\b"
    r"|\b(?:am I|are we|is (?:he|she|it)|are they) (?!being)[a-z]+ing\b"
    r"|\bwhat do (?:I|we) have (?:on|this|in)\b|\bdo (?:I|we) have (?:anything|something|plans|time)\b"
    r"|\bwhat(?:['’]s| is) (?:happening|on|coming up)\b"
)
_PAST = _pattern(r"\b(?:did|was|were|had|ago|yesterday|last|past|have (?:I|we|you))\b")
_SURELY_AHEAD = _pattern(
    r"\b(?:next|tomorrow|upcoming|plan(?:s|ned|ning)?|scheduled|will|due(?! to)|should (?:I|we))\b|['’]ll\b"
)

_RECENT = _pattern(
    r"\b(?:lately|recently|of late|recent|what(?:['’]s| is) new|any (?:news|updates)|catch me up|fill me in"
    r"|(?:leave|left) off|(?:last|latest|previous|earlier) (?:few |couple of |\d+ )?(?:conversations?|chats?|sessions?"
    r"|talks?|discussions?|exchanges?|messages?)|last time|(?:last|latest) things?|just now|so far today)\b"
)
_EMPTY_TEXT = """
    ago anything ask asked brief briefly bring brought can catch chat chats chatted chatting conversation
    conversations couple cover covered discuss discussed discussing discussion discussions do doing done earlier
    everything exchange exchanges far few fill go going happen happened happening happens lately last latest leave left
    list mention mentioned message messages new news off okay overview previous previously question questions quick
    recap recent recently remember remind said saying session sessions show so something speak spoke stuff subjects
    summaries summarise summarize summary sum talk talked talking talks thing things time today told topic topics up
    update updates went what's whats
"""
EMPTY_OF_TOPIC = FUNCTION_WORDS | set(_EMPTY_TEXT.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

_FIRST = _pattern(
    r"\b(?:first(?! (?:name|aid|class|half|person|language))|earliest|oldest|initially|originally|to begin with)\b"
)
_LATEST = _pattern(r"\b(?:latest|(?:most|more) recent(?:ly)?|newest|(?<!at )last(?! (?:name|long|names|resort)))\b")
_CURRENT = _pattern(
    r"\b(?:currently|current|now|right now|at the moment|at present|nowadays|these days|still|up to date|any ?more)\b"
)
_SEVERAL = _pattern(
    rf"\b(?:how many(?! (?:more )?{_UNITS} (?:ago|passed|before|after|later|between|until|since|had|have|were there))"
    r"|how much .{0,40}\b(?:total|altogether)|how often|in total|total|altogether|every(?:thing)?|each|both"
    r"|all (?:the|my|of|our|your|those|these)|list (?:of|all|the|my|every)|number of|summar\w+|overview|recap"
    r"|in (?:what|which) order|the order|in order|sequence)\b|^(?:please )?list\b"
)
_WHEN = _pattern(
    rf"^\W*(?:and |so |ok |okay )?(?:since |until )?when\b"
    r"(?:(?![^?]*,)| (?:did|do|does|is|are|was|were|will|ha[sd]|have)\b)"
    rf"|\bhow long\b|\bhow many {_UNITS} (?:ago|passed|had passed"
    r"|have passed|before|after|between|until|since|later|were there|are there|did it take)\b"
    r"|\b(?:what|which) (?:day|date|month|year|week|time|season|weekday|decade)\b"
    r"|\bwhat was the (?:date|day)\b|\b(?:tell me|remember|know|remind me|say) when\b"
)


def looks_ahead(text: str) -> bool:
    """Whether the question is about what is to come; otherwise it is about what was."""
    return bool(_AHEAD.search(text)) and (not _PAST.search(text) or bool(_SURELY_AHEAD.search(text)))


def read_recency(masked: str, topic: str, timed: bool, ahead: bool) -> Recency:
    """The recent as such, or with a topic; `timed` says that the question names a window."""
    recent = _RECENT.search(masked) is not None
    if ahead or not (recent or timed):
        return Recency.NONE  # what is planned was said long before it
    if all(word.lower().replace("’", "'") in EMPTY_OF_TOPIC for word in _WORD.findall(topic)):
        return Recency.ALONE
    return Recency.TIES if recent else Recency.NONE


def read_order(masked: str) -> Order | None:
    for pattern, order in ((_CURRENT, Order.CURRENT), (_LATEST, Order.LATEST), (_FIRST, Order.FIRST)):
        if pattern.search(masked):
            return order
    return None


def wants_several(masked: str) -> bool:
    return _SEVERAL.search(masked) is not None


def asks_when(masked: str) -> bool:
    return _WHEN.search(masked) is not None
