"""What the user asks to be remembered, in so many words: kept whatever its score says.

"Remember that …", "for the record, …", "call me Max", "from now on …", "never deploy on Fridays". A sentence must begin
with it; a question, a quotation and a turn of phrase ("remember that night", "never mind") ask for nothing. English.
Every pattern is matched at a sentence's beginning and is linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from holdfast.admit import junk

__all__ = ["requested"]

ASKED = "the user asked to remember it"
NAMED = "the user said what to call them"
STANDING = "a standing instruction of the user's"

_LEAD = (
    r"(?>(?:(?:and|but|so|ok|okay|also|oh|well|hi|hey|hello|yes|no|actually|please|pls|just|btw|by the way"
    r"|one more thing|first|again)[,.!:]* +){0,3})"
)
_REMEMBER = (
    r"(?>(?:please |you (?:should|must) |i (?:want|need|would like|'d like) you to )?)"
    r"(?:remember|(?:do not|don't|never) forget|note|keep in mind|bear in mind|make a note|take note)"
)
_RECORD = "(?>(?:just )?)for the record|fyi|for your information|for future reference"
# "Remember that night", "remember that song": a memory shared, not one to be made.
_SHARED = (
    r"(?:time|day|night|evening|morning|afternoon|summer|winter|spring|autumn|year|week|weekend|one|guy|man|woman|girl"
    r"|boy|kid|place|song|film|movie|book|story|joke|party|trip|holiday|thing|feeling|moment|game|house|scene|face)\b"
)
_REQUEST = re.compile(
    rf"{_LEAD}(?:{_REMEMBER}(?:[,:]| -| –| this:| the following:| of this:|(?P<that> that(?! {_SHARED})))"
    rf"|(?:{_RECORD})[,:]?+) *+(?P<said>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_BEGINS_CLAUSE = re.compile(
    r"(?:(?:the|an?|my|our|your|his|her|their|its|i|i'm|i've|we|we're|he|she|it|it's|they|there|there's|all|no|every"
    r"|on|in|for|if|when)\b|\d|(?-i:[A-Z]))",
    re.IGNORECASE,
)
"""How a clause begins after "that", where no verb is known to us: "that the gate sticks"."""
_BARE_REQUEST = re.compile(
    rf"{_LEAD}(?:(?>(?:please |can you |could you |i want you to )?)(?:remember|note|save|keep in mind|don't forget)"
    r" (?:this|the following|these|(?P<back>that|it))(?: for (?:later|me|next time|the future))?)(?: please)?\W*$",
    re.IGNORECASE,
)
_CALLS_ME = re.compile(
    rf"{_LEAD}(?:(?>(?:please |you (?:can|may|should) |just )*)(?:call|address) me(?: as)? |i go by |i'm called "
    r"|my (?:friends|family|colleagues) call me |everyone calls me |everybody calls me )"
    r"(?:(?:by )?my \w+ name\b|(?P<name>(?-i:[A-Z])[\w'’-]*))(?P<rest>.{0,40})$",
    re.IGNORECASE | re.DOTALL,
)
_NO_NAMES = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
    october november december christmas easter when if at on in back later tomorrow tonight today now anytime again
    after before i crazy old
"""
_NOT_A_NAME = frozenset(_NO_NAMES.split())
_NAME_IS = re.compile(
    rf"{_LEAD}(?:my (?:\w+ )?name(?:'s| is)|my (?:nickname|surname|pronouns) (?:is|are)) (?!(?:on|in|not|at|there|what"
    r"|that|the|written|missing|spelled|misspelled|hard|difficult|too|so|very|always|often|never|a)\b)[^\W\d_]",
    re.IGNORECASE,
)
_FROM_NOW = re.compile(
    rf"{_LEAD}(?:from now on|from today on|from here on|going forward|in (?:the )?future|as a rule|by default)\b[,:]? "
    r"\S+ \S+|[^?]{8,200} from now on\W*$",
    re.IGNORECASE,
)
_ORDERED = (
    "add|address|answer|ask|assume|avoid|back up|book|buy|call|check|cite|commit|confirm|convert|copy|delete|deploy"
    "|edit|email|encrypt|end|explain|format|give|include|keep|link|mail|make|mention|merge|name|open|order|print|push"
    "|put|quote|recommend|refer|remind|reply|respond|reveal|round|run|save|schedule|send|share|show|sign|speak|start"
    "|store|suggest|summari[sz]e|talk|tell|test|touch|translate|use|verify|write"
)
_ALWAYS = re.compile(
    rf"{_LEAD}(?>(?:i want you to |you (?:should|must) )?)(?:always|never|don't ever|do not ever) (?>(?:please )?)"
    rf"(?:{_ORDERED}) (?!(?:up|me wrong|it up|the truth|your best)\b)\S",
    re.IGNORECASE,
)
_MARK = re.compile(r"(?<!\d)[\"“”«»]")  # 30" is a length
_LEAST = 2
"""Words without which nothing was said: "remember that, ok"."""


def requested(sentences: Sequence[str]) -> dict[int, str]:
    """Which sentences of a turn are kept on request, and what the request was, in words."""
    found: dict[int, str] = {}
    quoted = False
    for number, sentence in enumerate(sentences):
        marks = len(_MARK.findall(sentence))
        if not quoted and not sentence.startswith(('"', "“", "«", "'", "‘")):
            plain = sentence.replace("’", "'")
            if bare := _BARE_REQUEST.match(plain):
                meant = _beside(number, sentences, back=bare["back"] is not None)
                found |= {} if meant is None else {meant: ASKED}
            elif why := _request(plain):
                found[number] = why
        quoted = quoted != (marks % 2 == 1)
    return found


def _beside(number: int, sentences: Sequence[str], *, back: bool) -> int | None:
    """What a bare "remember this" announces, or a bare "remember that" concludes; else its other neighbour."""
    places = (number - 1, number + 1) if back else (number + 1, number - 1)
    return next((place for place in places if 0 <= place < len(sentences) and not _asks(sentences[place])), None)


def _request(plain: str) -> str | None:
    if _asks(plain):
        return None
    if (request := _REQUEST.match(plain)) and _states(request):
        return ASKED
    called = _CALLS_ME.match(plain)
    if _NAME_IS.match(plain) or (called and _is_name(called)):
        return NAMED
    return STANDING if _ALWAYS.match(plain) or _FROM_NOW.match(plain) else None


def _states(request: re.Match[str]) -> bool:
    said = request["said"]
    clause = not request["that"] or _BEGINS_CLAUSE.match(said) or junk.VERB.search(said)
    return bool(clause) and len(said.split()) >= _LEAST


def _is_name(called: re.Match[str]) -> bool:
    name = called["name"]
    few = len(called["rest"].split()) <= _LEAST or called["rest"].lstrip()[:1] in (",", ".")
    return name is None or (name.lower() not in _NOT_A_NAME and few)


def _asks(sentence: str) -> bool:
    return sentence.rstrip("\"'”’) ").endswith("?")
