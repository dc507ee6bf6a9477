"""Whether an English sentence is a rule: not asked, not reported, not told of, but laid down."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from holdfast.compact.deontic_frames import framed
from holdfast.compact.deontic_general import general
from holdfast.compact.deontic_modals import modal
from holdfast.compact.deontic_norm import Finding, Modality, Said
from holdfast.compact.deontic_orders import order

__all__ = ["announced", "read", "voice"]

_ASKS = re.compile(
    r"(?:what|why|who|whom|which|how|where(?![^?]*, )|when do|when does|when is|when are"
    r"|when should)\b(?! i need| i want| i expect|ever)"
    r"|(?:does|did|is|are|am|was|were|could|would|will|isn't|aren't|wasn't|couldn't|wouldn't|won't"
    r"|shouldn't|doesn't|didn't|can|shall) (?!not\b|only\b)"
    r"|(?:may|must|should) (?:i|we|you|he|she|they|the|my|it|a|an|this|that|there|have)\b(?![^,]{3,80}, )"
    r"|do (?:i|we|you|they|he|she|people|[a-z]{3,20}s)\b(?! (?:not|sure))|(?:don't|do not) (?:i"
    r"|you(?! ever| dare)|we|they)\b"
)
_ASKS_WITHIN = re.compile(r"\?[\"'”’)\s]*$")
_SPEECH = (
    r"(?:said|says|told|tells|asked|asks|claims|claimed|thinks|thought|believes|insists|insisted|states"
    r"|stated|reads|ordered|orders"
    r"|warned|warns|suggested|suggests|recommended|recommends|advised|advises|wrote|writes|explained"
    r"|explains|demanded|demands"
    r"|argued|argues|mentioned|repeated|repeating|repeats|shouted|announced|forbids|wants|wanted|(?:makes?"
    r"|made) (?:me|us|them|him|her))"
)
_REPORTED = re.compile(
    r"\b(?:according to|apparently|allegedly|supposedly|reportedly|rumou?r has it|i (?:was|'ve been"
    r"|have been) told|we were told|i (?:heard|read|learned)"
    r"|(?:used|like[sd]?|keeps?|kept|tend) (?:to say|saying|telling|repeating)|as they say|motto|proverb"
    r"|(?:the )?(?:sign|poster|label|box|leaflet|manual|article|book|recipe|docs?|documentation|error"
    r"|message|legend|song|film|movie|story|game|notice)s? (?:says?|said|reads?|states?|tells?|told"
    r"|claims?|wants?|the rule)"
    r"|it says|in the (?:film|movie|book|story|game|novel|series|play)|in (?:her|his|their) (?:village"
    r"|country|house|family|day)"
    r"|at my (?:old|last|previous|former) (?:job|school|company)|in school|as a (?:child|kid|boy|girl)|when i was"
    r"|(?:they|people|experts|doctors|some|many|folks|scientists|parents|others) (?:say|think|claim"
    r"|believe|recommend|suggest|want|make|made))\b"
)
_SAYS = re.compile(
    rf"^(?P<who>(?:[\w'-]+ ){{1,4}}?)(?:always |also |never |just |once |still |keeps )?{_SPEECH}\b(?P<whom> (?:me"
    rf"|us|him|her|them|you|everyone|everybody|people|that|to|we|i|he|she|all|the|it|no))?"
)
_SAYS_LAST = re.compile(
    rf", (?:{_SPEECH}) (?:the|my|our|his|her|he|she|[a-z]+)(?: \w+)?\W*$|, (?:he|she|they|\w+) (?:said|says"
    rf"|kept \w+|told \w+)\W*$"
)
_OWN_VOICE = re.compile(
    r"(?:i|i'd|we|as i|like i|please|if|when|whenever|unless|once|before|after|don't|never|always|do|and i"
    r"|you|no|nobody|every|each|all|any|our|the rule|make|whoever|the (?:supplier|tenant)) "
)


def voice(said: Said) -> str:
    """Who speaks: "asked" and "wondering" are questions, "reported" is another's word, "own" the speaker's."""
    lower = said.lower.lstrip("*_ \t([")
    if _ASKS_WITHIN.search(lower):
        return "asked"
    if _ASKS.match(lower):
        return "wondering"
    return "reported" if _is_reported(lower) else "own"


def read(said: Said) -> Finding | None:
    """What a sentence lays down by its words, whoever says it, or None: it tells."""
    for name, reader in _READERS:
        if found := reader(said):
            return Finding(found.modality, found.cue, name)
    return None


_IF = re.compile(
    r"(?:if|when|whenever|unless|once|until|before|after|in|on|for|at|during|with"
    r"|without) [^,]{2,120}, (?P<then>\S.*)",
    re.DOTALL,
)
_TEAM_DONT = re.compile(
    r"(?!these |those |things |people |kids |girls |boys |men |women |i |we |you |they |my |your |his "
    r"|her )(?:[a-z-]+ ){0,2}[a-z-]{2,}s "
    r"(?:don't|do not|never) (?!make|take|get|look|seem|mean|grow|give|help|sell|cost|last|taste|go|know"
    r"|like|want|need|care|mind|think|have|see|understand|remember|believe|come|feel|love|really"
    r"|even|always|exist|work)(?:[a-z]+)"
)


def _supposed(said: Said) -> Finding | None:
    """What holds under a condition: "if the light is red, nobody deploys"."""
    lower = said.lower.lstrip("*_ \t([")
    if found := _TEAM_DONT.match(lower):
        return Finding(Modality.PROHIBITION, found[0])
    if found := _IF.match(lower):
        then = Said(found["then"])
        return framed(then) or general(then)
    return None


_READERS: tuple[tuple[str, Callable[[Said], Finding | None]], ...] = (
    ("phrase", framed),
    ("order", order),
    ("modal", modal),
    ("fact", general),
    ("condition", _supposed),
)


def _is_reported(lower: str) -> bool:
    """Whether somebody else said it, or it held elsewhere: "my boss says …", "in the film …"."""
    if _REPORTED.search(lower):
        return True
    if (says := _SAYS.match(lower)) and not _OWN_VOICE.match(lower):
        return says["whom"] is not None or says["who"].split()[0] in (
            "my",
            "his",
            "her",
            "our",
            "the",
            "he",
            "she",
            "they",
            "their",
        )
    return _SAYS_LAST.search(lower) is not None and not _OWN_VOICE.match(lower)


_RULES_OVER = re.compile(
    r"\b(?:rules?|guidelines?|conventions?|polic(?:y|ies)|requirements|standards|style|constraints|instructions"
    r"|principles|best practices|code of conduct|boundaries|dos?|house style|preferences|the following apply)\b"
)
_MUST_OVER = re.compile(
    r"\b(?:must|shall|always|agrees? to|needs? to|has to|have to|should|undertakes? to|required"
    r"|mandatory)(?: \w+)?\W*$"
)
_NOT_OVER = re.compile(
    r"^(?:\w+ )?(?:never|don'ts?|do not|avoid|forbidden|prohibited|not allowed|no-gos?|anti-patterns?)\b"
    r"|\b(?:must|shall|may|can|do|should) ?(?:not|never)(?: \w+)?\W*$"
)
_MAY_OVER = re.compile(r"\b(?:may|can|allowed(?: to)?|permitted(?: to)?|free to|entitled to|optional)\W*$")
_NO_RULES_OVER = re.compile(
    r"^(?:i|i'm|i've|my (?!rules|style|preferences)|he|she|can|could|what|which|how|who|task|todo|to do)\b"
    r"|\b(?:said|says|told|shopping|ingredients|agenda|questions?|example|i (?:must|should|need|have))\b"
)
_MOST_WORDS_OVER = 10
"""A heading is short; a long sentence with a colon tells something."""


@lru_cache(maxsize=256)
def announced(over: str) -> Modality | None:
    """What the items of a list are whose heading this is: rules, if it says so."""
    lower = over.lower().replace("’", "'").strip(" \t#*_:.")
    if not lower or len(lower.split()) > _MOST_WORDS_OVER or _NO_RULES_OVER.search(lower):
        return None
    if _NOT_OVER.search(lower):
        return Modality.PROHIBITION
    if _MUST_OVER.search(lower):
        return Modality.OBLIGATION
    if _MAY_OVER.search(lower):
        return Modality.PERMISSION
    return Modality.PRESCRIPTION if _RULES_OVER.search(lower) else None
