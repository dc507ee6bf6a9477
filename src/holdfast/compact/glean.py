"""A closer look at a sentence that may go into a digest: how it reads there, what it names, what it leans on.

English; a sentence in another language is taken as it is. Each pattern reads one sentence of bounded length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.admit import junk
from holdfast.admit.floor import Reason, judge
from holdfast.compact.prepare import is_filler
from holdfast.compact.said import Said

__all__ = ["MOST_GAINED", "Gleaned", "glean"]

_SPECIFIC = 0.12
"""A number, a name, a decision: each makes a sentence worth more to a reader who was not there."""
_MOST_SPECIFIC = 2
MOST_GAINED = _MOST_SPECIFIC * _SPECIFIC
_LEANS = 0.25  # taken off a turn that begins with what only the turn before explains
_LEADS_IN = 0.6  # … off a heading, and off what only announces the next line
_DULL = {Reason.QUESTION: 0.75, Reason.COMMAND: 0.4, Reason.FRAGMENT: 0.5, Reason.HYPOTHETICAL: 0.3,
         Reason.TAUTOLOGY: 0.4, Reason.WORKFLOW_EVENT: 0.1, Reason.REPORTED: 0.1}  # fmt: skip
"""… off what the floor would refuse as a record: in a digest it may still be the best there is."""
_CUT = 0.05  # … off a sentence that has to be cut
_LONGEST = 220
"""Characters of a line that is read at a glance; a longer sentence is cut where a clause ends."""
_BRIEF = 110
"""Characters of an answer that may need its question …"""
_SUBJECT = 40
"""… unless it says within so many who does what."""
_LEFT = 12
"""Characters that must be left of a sentence without its first words."""

_POINTS_BACK = re.compile(
    r"\W*(?:it|that|this|these|those|they|them|he|she|him|her|his|its|their|which|both|same|there|here|then|one"
    r"|because|or|such)\b(?!['’]s (?:my|our|called|\w+day)\b)",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\W{0,8}+(?:\d|(?:for|in|at|on|with|because|by|from|since|about|around|until|to|only|mostly|probably|maybe|usually"
    r"|every|both|none|all|some|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|yes|no)\b)",
    re.IGNORECASE,
)
_HAS_SUBJECT = re.compile(
    r"\W{0,8}+(?:the|my|our|your|his|her|their|an?|this|that|there|it|he|she|they|you|we|i)\b", re.I
)
_DECIDES = re.compile(
    r"\b(?:decid\w+|agreed|chose|chosen|settled on|going with|switch\w*|moved?|instead|no longer|plan(?:ned|s|ning)? to"
    r"|will|booked|signed|bought|start(?:ed|s|ing)|finish\w*|quit|cancell?ed|postponed|deadline|due)\b|['’]ll\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:(?:oh|ah|wow|yeah|yep|yup|haha+|lol|well|so|and|but|also|ok|okay|hey|hi|hello|anyways?|by the way|btw|actually"
    r"|alright|right|sure|hmm+|aww*|thanks|thank you|totally|absolutely|definitely|yes|congrats|cool|nice|great)"
    r"(?:,? (?-i:[A-Z])[a-z]+(?=[,!]))?(?:[,!.…–—-]++ *+| ++(?=(?:and|but|so|well|i|i['’]\w+|we|my|our)\b)))+",
    re.IGNORECASE,
)
_ASKS_FOR_HELP = re.compile(
    r",?\s(?:and |so |but )?(?:(?:can|could|would|will) you|do you (?:have|know|think)|any (?:ideas|tips|advice))\b"
    r"[^.!?]{0,400}[.?]?$"
    r"|(?:,| -| –| —)\s(?:and |so |but )?(?:what|how|should|does|did|is (?:it|that|this|there)"
    r"|are (?:there|they|these))\b[^.!?]{0,160}\?$",
    re.IGNORECASE,
)
"""What a user adds to a statement to get an answer: the statement is what lasts."""
_HEADING = re.compile(r"(?:step|option|phase|part|section|tip|example|note)\b.{0,80}[^.!?]$|.{1,120}:$", re.IGNORECASE)
_TRAILING = " ,;:–—-"
_SMALL_WORD = 3
"""Letters of a word that titles do not capitalise."""
_CLAUSE = re.compile(r"[;–—]\s|\s-\s|,\s(?=(?:and|but|so|which|because|although|while|where)\b)")


@dataclass(frozen=True, slots=True)
class Gleaned:
    """A sentence as a digest would show it."""

    text: str
    worth: float
    """Minus infinity for what no digest misses."""
    needs: int | None
    """The sentence before it without which it cannot be understood: the question it answers, or what "she" means."""


def glean(said: Said, place: int) -> Gleaned:
    """`place` is the sentence's own among those of its cluster."""
    refusal = judge(said.text, answers_question=said.asked is not None)
    if is_filler(said.text, refusal):
        return Gleaned(said.text, float("-inf"), None)
    text = _clean(said.text)
    leans = _POINTS_BACK.match(text) is not None
    named = sum(cue.search(text) is not None for cue in (junk.NUMBER, junk.NAME, _DECIDES))
    gain = _SPECIFIC * min(named, _MOST_SPECIFIC)
    gain -= _LEANS * (leans and said.number == 0) + _LEADS_IN * _is_heading(text)
    gain -= (_DULL.get(refusal.reason, 0.0) if refusal else 0.0) + _CUT * text.endswith(" …")
    answers = said.asked is not None and len(text) <= _BRIEF and _is_bare(text)
    needs = said.asked if answers else place - 1 if leans and said.number else None
    return Gleaned(text, said.worth + said.share * gain, needs)


def _is_heading(text: str) -> bool:
    """Whether it only announces what follows: "Step 2: …", "Here are the options:", "Work Experience And Skills"."""
    if text.endswith((".", "!", "?", "…")):
        return False
    long = [word for word in text.split() if len(word) > _SMALL_WORD]
    return _HEADING.match(text) is not None or all(word[0].isupper() for word in long)


def _is_bare(text: str) -> bool:
    """Whether it answers without saying who does what: "For 72 hours", "Eleven, with three pupils each"."""
    if _HAS_SUBJECT.match(text) or junk.STATEMENT.search(text[:_SUBJECT]):
        return False
    return _BARE.match(text) is not None or junk.VERB.search(text.partition(",")[0]) is None


def _clean(sentence: str) -> str:
    """Without the words that only lead in, and cut where a clause ends if it is long. No word is changed."""
    lead = _LEAD.match(sentence)
    text = sentence
    if lead and len(sentence) - lead.end() >= _LEFT and not sentence[lead.end()].islower():
        text = sentence[lead.end() :]  # what goes on in small letters would need another letter to begin with
    asks = _ASKS_FOR_HELP.search(text)
    if asks and asks.start() >= _SUBJECT:
        text = f"{text[: asks.start()].rstrip(_TRAILING)}."
    if len(text) <= _LONGEST:
        return text
    ends = [found.start() for found in _CLAUSE.finditer(text, _LONGEST // 3, _LONGEST)]
    end = ends[-1] if ends else text.rfind(" ", 0, _LONGEST)
    return f"{text[: end if end > 0 else _LONGEST].rstrip(_TRAILING)} …"
