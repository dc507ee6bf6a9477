"""English rules that are said as facts: "internal notes are never shown", "one idea per slide", "metric only".

What is said of nobody in particular, in the present, with a word that draws a line ("only", "never", "at most"), lays
down how things are to be. What happened, and what somebody does, is a story.
"""

from __future__ import annotations

import re

from holdfast.admit.vocabulary import word_set
from holdfast.compact.deontic_norm import Finding, Modality, Said
from holdfast.compact.deontic_words import DETERMINERS, IDLE_NOS, PARTIES, THIRD_PERSONS

__all__ = ["general"]

_NOT, _HOW, _MUST = Modality.PROHIBITION, Modality.PRESCRIPTION, Modality.OBLIGATION

_STORY = re.compile(
    r"\b(?:was|were|had|did|didn't|went|came|said|got|took|made|told|been|i|i'm|i've|i'll|he|she|he's"
    r"|she's|him|me|us|yesterday|ago"
    r"|last|tomorrow|tonight|today|will|would|could|might|so far|yet|because|though|showed|haha|lol|gonna"
    r"|let's|maybe|perhaps)\b|!"
)
"""Words of stories, plans and guesses: a rule that is said as a fact has none of them."""
_FINITE = re.compile(
    r"\b(?:is|are|am|isn't|aren't|has|have|hasn't|haven't|do|does|don't|doesn't|can|can't|cannot|it's"
    r"|that's|there's|we're|you're|they're"
    r"|we|you|they|it|works?|seems?|looks?|needs?|wants?|knows?|means?|costs?|takes?|thanks?|\w{3,20}ed)\b"
)
_FRAGMENT = re.compile(
    r"\bonly\b|\b(?:at most|at least|max|exclusively|throughout|everywhere)\b|\bper (?!month|year|night"
    r"|day|hour|week|person|annum|cent|minute|kilo|head|unit)\w+"
    r"|, (?:always|never|not [\w-]+|no [\w-]+)|\b(?:always|never)$"
)
_AMOUNT = re.compile(
    r"[$€£\d]|a (?:minimum|maximum|little|lot)|about|around|almost|long|sometimes|actually|hopefully|usually"
)
_IDLE_START = word_set(
    """only always never not no just also even maybe what how why who when where which yes yeah ok okay well so oh hey
    hi but and or because if as at in on for with from to of by about than then still there here nice good great
    sorry thanks please sure right too very really quite more less better all"""
)
_FRAGMENT_WORDS = 12
_LINE_WORDS = 20
"""A longer sentence tells more than a rule."""
_VERB = re.compile(
    r"\b(?:is|are|has|have|get|gets|go|goes|come|comes|live|lives|stay|stays|contain|contains|belong"
    r"|belongs|start|starts|end|ends|follow|follows"
    r"|use|uses|need|needs|carry|carries|take|takes|run|runs|sit|sits|receive|receives|remain|remains"
    r"|return|returns|expire|expires|file|files|sign|signs"
    r"|need|leave|leaves|include|includes|close|closes|open|opens|report|reports|answer|answers|check"
    r"|checks|wear|wears)\b"
)
_LINE = re.compile(
    r"\b(?:never|only|unless|without|always|exactly|nowhere|first|at least|at most|no later|no more|within"
    r"|no exceptions|exclusively"
    r"|in advance|next to the|every (?:day|evening|morning|night|week|month|\w+day)|each (?:day|evening"
    r"|week|month)|straight (?:into|to)|before (?:any|each|every|the|being|they|[a-z]+s)"
    r"|after (?:each|every|[a-z]+s))\b|, (?:not|then|never|no) \w|\b(?:contain|contains|include"
    r"|includes) no \w"
)
_NEEDED = re.compile(
    r" (?:an?|at least|two|type|their|explicit|prior|proper)\b|\b(?:hints|tests?|coverage|approval"
    r"|reviews?|docs|documentation)\b"
)
_QUANTIFIED = re.compile(
    r"(?:every|each|any|anybody who|anyone who|anyone \w+ing|anybody \w+ing|whoever|no)(?! (?:day|time|now"
    r"|morning|evening|year|week|month|night|one|of|summer|winter|spring|autumn|weekend|other|thing|wonder"
    r"|doubt|problem|way|single|bit)\b) (?:new |single |other )?[\w-]+"
)
_STATED = re.compile(
    r"\b(?:is|are) (?:always |strictly |hereby )?(?:for (?:[\w-]+ )?[\w-]+ only|only allowed|payable"
    r"|rejected|refused|declined|barred from|expected to|reserved for|due (?:in|on|by|within|at)"
    r"|subject to|counted|limited to|restricted to|capped at|to be|void|final|confidential|read-only"
    r"|non-negotiable|closed to)\b"
    r"|\b(?:is|are) not (?:welcome|tolerated|negotiable|wanted)\b|^(?!i |he |she |they |it |we "
    r"|you )(?:[a-z-]+ ){1,3}stays? (?:in|out|off|on|inside|outside|closed|open|locked|shut|at) "
    r"|\bno \w+ is valid\b"
)
_BETWEEN_US = re.compile(r"\b(?:stays?|keep \w+|keeps?) between (?:us|you and me)\b")
_NAMED = re.compile(
    r"(?:the )?(?:default )?(?:indentation|encoding|font|spelling|line length|tone|style|naming"
    r"|line endings|(?:default|main|working) (?:language|branch|unit|currency|format)"
    r"|language|units?|currency|format|register|audience)(?: \w+)?(?: is (?!wrong|broken|bad|not|off|weird"
    r"|missing|too|so|really|very|the|a|an|my|hard|difficult|easy|spoken|called)\w| ?: ?\w)"
)
_WORK = re.compile(
    r"(?:[a-z-]+ ){0,3}(?:imports?|commits?|branches|files?|functions?|classes|modules?|tests?|components?"
    r"|variables?|names?|messages?|keys?|ids?|endpoints?|tables?|columns?|queries"
    r"|logs?|errors?|secrets?|flags?|versions?|dates?|times(?:tamps)?|prices?|amounts?|numbers?|titles?"
    r"|headings?|sections?|replies|answers?|summaries|reports?|invoices?|reminders?|tickets?|styles?"
    r"|colou?rs?|fixtures?|models?|css|sql|migrations?|dashboards?|post-mortems|incidents?|drafts?"
    r"|letters?|mails?|emails?|e-mails?) "
    r"(?:follow|are (?:written|shown|stored|named|kept|removed|sorted|formatted|spelled|numbered|listed"
    r"|quoted|rounded|reviewed|signed|singular|plural|fine|ok|okay)|start|end|begin|go|get|live|lives|come"
    r"|belong|belongs|at the top|next to)\b"
)
_PLACED = re.compile(
    r"^(?:lights|shoes|hands|phones|hats|coats|laptops|cameras|devices) (?:off|away|out|down)\b"
    r"|^(?:[a-z-]+ ){1,3}is (?:stored|kept|served|placed) (?:below|above|before|first|separately)\b"
)
_PEOPLE_CHECK = re.compile(r"^(?:two|three|one|four|\d) [a-z]+s (?:check|sign|approve|review) (?:each|every|any|all)\b")
_REPEATED = re.compile(
    r"^the [a-z]+(?: [a-z]+)? (?:gets|is) \w+(?: [\w-]+){0,3} (?:every|each|twice|daily|nightly|before|after)\b"
)
_OURS = re.compile(
    r"^we (?:write|name|keep|store|use|format|spell|put|prefer|review|test|pay|charge) [^.]{2,60}, (?:not|never) \w"
)


def general(said: Said) -> Finding | None:
    """A rule in the form of a fact or of a few words, or None."""
    lower = said.lower.strip("*_ \t.([")
    if found := _BETWEEN_US.search(lower):
        return Finding(_NOT, found[0])
    if _STORY.search(lower) or lower.startswith("my "):
        return None
    for pattern in (_STATED, _PLACED, _PEOPLE_CHECK, _REPEATED, _OURS):
        if found := pattern.search(lower):
            return Finding(_HOW, found[0])
    if found := _NAMED.match(lower) or _WORK.match(lower):
        return Finding(_HOW, found[0])
    return _drawn(lower) or _fragment(lower)


def _drawn(lower: str) -> Finding | None:
    """A fact about nobody in particular that draws a line."""
    verb = _VERB.search(lower)
    if verb is None or len(lower.split()) > _LINE_WORDS:
        return None
    subject = lower[: verb.start()].split()
    if not subject:
        return None
    quantified = _QUANTIFIED.match(lower) is not None and not (
        subject[0] == "no" and subject[1:2] and subject[1].strip(",") in IDLE_NOS
    )
    first, last = subject[0], subject[-1]
    plural = (
        first not in DETERMINERS | THIRD_PERSONS | _IDLE_START | {"we", "you", "people"}
        and last.endswith("s")
        and len(subject) <= 6
    )
    plural = plural or (last.endswith("s") and not PARTIES.isdisjoint(subject))
    line = _LINE.search(lower)
    if quantified and (line or verb[0] not in ("is", "are")):
        return Finding(_NOT if first == "no" else _MUST, f"{first} … {verb[0]}")
    if verb[0] in ("need", "needs") and (plural or first == "new") and _NEEDED.search(lower, verb.end()):
        return Finding(_MUST, verb[0])
    if plural and line:
        return Finding(_NOT if "never" in line[0] or "no " in line[0] else _HOW, line[0].strip(" ,"))
    return None


def _fragment(lower: str) -> Finding | None:
    """A few words without a verb that draw a line: "dogs only on a leash"."""
    words = lower.split()
    if not 2 <= len(words) <= _FRAGMENT_WORDS or words[0].strip(",") in _IDLE_START | THIRD_PERSONS | DETERMINERS:
        return None
    if _FINITE.search(lower) or _AMOUNT.match(lower):
        return None
    found = _FRAGMENT.search(lower, len(words[0]))
    return (
        Finding(_NOT if found[0].startswith((", no ", ", never", "never")) else _HOW, found[0].strip(" ,"))
        if found
        else None
    )
