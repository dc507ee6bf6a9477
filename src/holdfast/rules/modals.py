"""English modals: who must, shall, should, may, can or has to do what, and when that is no rule.

The same modal binds ("all commits must be signed"), concludes ("he must be tired"), advises ("you must try the cake")
and expects ("the tests should pass"). Who is spoken of and which verb follows tell them apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

from holdfast.rules.orders import order
from holdfast.rules.phrases import framed
from holdfast.rules.text import (
    ADVERBS,
    BEFORE_VERBS,
    DETERMINERS,
    EPISTEMIC,
    EVERYBODY,
    IDLE_NOS,
    MENTAL,
    PARTIES,
    PEOPLE,
    PRACTICES,
    PREDICTED,
    RECOMMENDED,
    STANDING,
    STATES,
    STRONG,
    TECHNICAL,
    THIRD_PERSONS,
    Finding,
    Modality,
    Said,
)
from holdfast.text.vocabulary import word_set

_MOST_MODALS = 8
"""Modals of a sentence that are looked at: the ninth says nothing new."""
_MUST, _NOT, _MAY, _HOW = Modality.OBLIGATION, Modality.PROHIBITION, Modality.PERMISSION, Modality.PRESCRIPTION
_MODALS = word_set(
    """must mustn't shall shan't should shouldn't may can can't cannot have has need needs needn't ought will won't"""
)
_NEGATIVE = {"mustn't": "must", "shan't": "shall", "shouldn't": "should", "can't": "can", "cannot": "can",
             "needn't": "need", "won't": "will"}  # fmt: skip
_WITH_TO = word_set("have has need needs ought")
_BREAKS = word_set(", ; : ( ) – — and but so or then that")
_SUPPOSING = word_set("""if when whenever unless whether because while until once since where how why what as than""")
_PREPOSED = word_set("not never")
_HELPING = word_set(
    """will would might could did didn't won't i'll we'll you'll i'd we'd you'd they'll he'll she'll it'll"""
)
_SOMEBODY = word_set("i i'm i've me we he she they his her my mum mom dad")


class _Who(Enum):
    SELF = auto()
    YOU = auto()
    WE = auto()
    THIRD = auto()
    OWN = auto()
    """My sister, her landlord: people one tells of."""
    GENERIC = auto()
    """All commits, functions, nobody: no one in particular."""
    PARTY = auto()
    THING = auto()
    NOBODY = auto()
    """No subject at all: "must be signed"."""


@dataclass(frozen=True, slots=True)
class _Use:
    """One modal in its sentence."""

    modal: str
    negative: bool
    who: _Who
    verb: str
    next: str
    standing: bool
    """The sentence has a word that makes it hold beyond the moment …"""
    strong: bool
    """… or one that hardly leaves a doubt."""
    anybody: bool
    """Anyone, only admins: whom a "can" allows and does not only enable."""
    guests: bool
    """Guests, pupils, tenants: people whom a house allows, where users are only enabled."""
    spared: bool
    """Without asking, without review: what a permission spares."""
    capital: bool
    """The subject is written like a defined term: "the Borrower"."""

    @property
    def cue(self) -> str:
        return f"{self.modal}{' not' if self.negative else ''}{' to' if self.modal in _WITH_TO else ''}"


def modal(said: Said) -> Finding | None:
    """The first modal of the sentence that binds somebody."""
    if _MODALS.isdisjoint(said.words):
        return None
    tokens, looked = said.tokens, 0
    for place, token in enumerate(tokens):
        if token not in _MODALS or looked >= _MOST_MODALS:
            continue
        looked += 1
        use = _use(said, tokens, place)
        if use is not None and (found := _JUDGES[use.modal](use)) is not None:
            return Finding(found, use.cue)
    return None


def _use(said: Said, tokens: list[str], place: int) -> _Use | None:
    token = tokens[place]
    name, negative = _NEGATIVE.get(token, token), token in _NEGATIVE
    after = tokens[place + 1 : place + 12]
    if name in _WITH_TO and token != "needn't":
        while after and after[0] in ADVERBS:
            del after[0]
        if after[:1] != ["to"] or _helped(tokens, place):
            return None
        negative = place > 0 and tokens[place - 1] in ("not", "don't", "doesn't")
        del after[0]
    elif after[:1] and after[0] in _PREPOSED:
        negative = True
    start = place
    while start and place - start < 40 and tokens[start - 1] not in _BREAKS and tokens[start - 1] not in _SUPPOSING:
        start -= 1
    if (start and tokens[start - 1] in _SUPPOSING) or (token == "may" and after[:1] and after[0][0].isdigit()):
        return None  # a condition, a date
    subject = tokens[start:place]
    if not subject and start and tokens[start - 1] in (",", ")", "and", "or", "that", "—", "–"):
        subject = _carried(tokens, start)
    if (
        after[:1]
        and after[0] in ("i", "you", "we", "he", "she", "they", "the", "my", "it")
        and name not in _WITH_TO
        and (not subject or negative)
    ):
        return None  # "should I …", "may the best win", "shouldn't I"
    rest = [word for word in after if word not in ADVERBS]
    verb, following = [*rest, "", ""][:2]
    return _Use(
        modal=name,
        negative=negative,
        who=_who(subject),
        verb=verb,
        next=following,
        standing=not STANDING.isdisjoint(said.words),
        strong=not STRONG.isdisjoint(said.words),
        anybody=subject[:1] in (["anyone"], ["anybody"], ["everyone"], ["everybody"], ["only"]),
        guests=not _GUESTS.isdisjoint(subject),
        spared="without" in said.words and not _SPARING.isdisjoint(said.words),
        capital=_is_term(said.text, subject),
    )


def _helped(tokens: list[str], place: int) -> bool:
    """Will have to, might need to, no need to: what comes, not what is laid down."""
    before = [word for word in tokens[max(0, place - 3) : place] if word not in ADVERBS]
    return bool(before) and (before[-1] in _HELPING or before[-1] in ("no", "the", "a", "any", "your"))


def _carried(tokens: list[str], start: int) -> list[str]:
    """The subject of a clause that goes on with another's: "Tenant, at its cost, shall …"."""
    if tokens[start - 1] == "that" and start == 1:
        return ["it"]
    first = next((number for number, token in enumerate(tokens[:start]) if token in _BREAKS), start)
    return tokens[:first]


def _who(subject: list[str]) -> _Who:
    words = [word.partition("'")[0] for word in subject if word not in ADVERBS or word == "each"]
    if not words:
        return _Who.NOBODY
    first, last = words[0], words[-1]
    if last == "i":
        return _Who.SELF
    if last == "you":
        return _Who.YOU if len(words) == 1 or words[-2] in BEFORE_VERBS else _Who.THIRD  # "the service you need to use"
    if last in ("we", "us"):
        return _Who.WE
    if first in EVERYBODY:
        return _Who.GENERIC
    if last in THIRD_PERSONS:
        return _Who.THIRD
    if not PARTIES.isdisjoint(words) and first not in _SOMEBODY:
        return _Who.PARTY
    if first in _SOMEBODY and (first != "my" or not PEOPLE.isdisjoint(words)):
        return _Who.OWN
    if first not in DETERMINERS and (last.endswith("s") and not last.endswith("ss")):
        return _Who.GENERIC
    return _Who.THING


def _is_term(text: str, subject: list[str]) -> bool:
    if not subject or len(subject) > 4:
        return False
    term = subject[-1].capitalize()
    return f"he {term} " in text or (subject[-1] in PARTIES and not term.endswith("s") and f"{term} " in text)


# --- what each modal says --------------------------------------------------------------------------------------------


def _looks_back(use: _Use) -> bool:
    """Must have been, should have called: what was, or what was not done."""
    return use.verb == "have" and (use.next.endswith(("ed", "en", "n't")) or use.next in _PAST)


_PAST = word_set(
    """been had done gone known seen lost made taken said told come left got found thought brought bought run put cut
    hit heard felt met slept won become"""
)


def _concludes(use: _Use) -> bool:
    if use.verb in _FELT or (use.verb == "have" and use.next in ("a", "so", "lots", "such", "quite")):
        return not use.negative
    return use.verb == "be" and (use.next in STATES or use.next == "" or use.next.endswith("ing"))


_FELT = word_set("""feel love miss mean seem like hate look sound mind enjoy hurt bring suck know think hope wonder""")


_APPROVAL = word_set("approval permission consent sign-off authorisation authorization")


def _instructs(use: _Use) -> bool:
    """Return True if "you should" or "you have to" is about how to work, not advice about life."""
    if use.verb in ("be", "have") or use.next in ("this", "it"):
        return False
    if use.next in _APPROVAL or (use.next == "my" and use.verb in ("get", "ask")):
        return True
    return (
        use.verb in TECHNICAL
        or (use.verb in PRACTICES and use.standing)
        or (use.strong and (use.verb not in RECOMMENDED or use.verb in PRACTICES))
    )


def _team(use: _Use) -> bool:
    """Return True if "we should" or "we must" states how a team works, not a plan."""
    return use.verb in TECHNICAL or (use.verb in PRACTICES and (use.strong or use.modal == "must"))


_INFORMED = word_set("informed told asked consulted notified copied called warned")


def _must(use: _Use) -> Modality | None:
    if use.who is _Who.NOBODY and not (
        use.verb in PRACTICES or (use.verb == "be" and use.next.endswith("ed")) or use.negative
    ):
        return None
    if _looks_back(use) or _concludes(use):
        return None
    if use.who is _Who.SELF and not (use.verb == "be" and use.next in _INFORMED):
        return None
    if use.who is _Who.THIRD and (use.verb == "be" or not use.standing):
        return None
    if use.who is _Who.YOU and (use.verb in RECOMMENDED and not (use.standing or use.negative)):
        return None
    if use.who is _Who.WE and not _team(use):
        return None
    if use.who is _Who.OWN and not (use.verb == "be" and use.next.endswith("ed")):
        return None
    return _NOT if use.negative else _MUST


def _shall(use: _Use) -> Modality | None:
    if use.who in (_Who.SELF, _Who.WE):
        return None
    return _NOT if use.negative else _MUST


def _should(use: _Use) -> Modality | None:
    if _looks_back(use) or use.who in (_Who.SELF, _Who.THIRD, _Who.OWN):
        return None
    strong = use.standing or (use.negative and use.verb != "be")
    if use.who is _Who.YOU:
        kept = _instructs(use)
    elif use.who is _Who.WE:
        kept = _team(use)
    elif use.verb == "be":
        kept = use.who is not _Who.THING or use.next.endswith("ed") or strong
        kept = kept and use.next not in STATES
    else:
        kept = use.verb not in PREDICTED or use.standing
    if not kept:
        return None
    return _NOT if use.negative else _HOW


def _has_to(use: _Use) -> Modality | None:
    if use.who in (_Who.SELF, _Who.THIRD, _Who.OWN) or _looks_back(use):
        return None
    if (use.who is _Who.YOU and not _instructs(use)) or (use.who is _Who.WE and not _team(use)):
        return None
    if use.negative and use.who not in (_Who.PARTY, _Who.GENERIC):
        return None
    if use.who is _Who.NOBODY:
        return None
    return _MAY if use.negative else _MUST


def _may(use: _Use) -> Modality | None:
    if use.who in (_Who.SELF, _Who.THIRD, _Who.OWN, _Who.WE, _Who.NOBODY):
        return None
    if use.negative:
        idle = use.verb in EPISTEMIC and not use.next.endswith("ed")
        return None if idle and not (use.who is _Who.YOU and use.standing) else _NOT
    if use.who is _Who.YOU:
        return None if use.verb in EPISTEMIC | MENTAL else _MAY
    if use.verb == "be" and use.who is _Who.GENERIC and use.next.endswith("ed"):
        return _MAY
    if use.verb in EPISTEMIC or (use.verb in ("contain", "include") and use.who is _Who.THING):
        return None
    return _MAY if use.who in (_Who.GENERIC, _Who.PARTY) or use.capital else None


_GUESTS = word_set(
    """guests visitors residents tenants members students pupils children kids employees staff volunteers interns"""
)
_ENABLED = word_set(
    """see find enjoy choose expect hear log reach wait sleep afford access sing dance swim walk learn maintain"""
)
_SPARING = word_set("asking approval review permission consent me notice checking confirmation")
_SPARED = word_set("skip omit assume ignore abbreviate interrupt")


def _can(use: _Use) -> Modality | None:
    practice = use.verb in PRACTICES and use.verb not in MENTAL
    if use.negative:
        if use.who is _Who.YOU:
            allowed = use.verb in PRACTICES or use.standing
            return (
                _NOT
                if allowed
                and (use.verb not in MENTAL or (use.verb in PRACTICES and use.standing))
                and use.next not in ("this", "it")
                else None
            )
        if use.who in (_Who.GENERIC, _Who.PARTY, _Who.THING):
            limits = use.verb in ("exceed", "leave") or (use.verb == "be" and use.next.endswith("ed") and use.standing)
            house = use.who is _Who.PARTY and use.verb not in MENTAL - {"bring"} | _ENABLED
            return _NOT if limits or house or (practice and use.who is not _Who.THING) else None
        return _NOT if use.who is _Who.WE and use.verb in TECHNICAL and use.next not in ("this", "it") else None
    if use.who is _Who.YOU:
        return (
            _MAY
            if (practice and use.standing)
            or use.verb in _SPARED
            or (use.verb == "be" and use.next not in STATES and use.standing)
            else None
        )
    if use.guests and use.verb not in MENTAL - {"bring"} | _ENABLED:
        return _MAY
    return _MAY if (use.anybody and practice) or (use.who is _Who.GENERIC and use.spared) else None


def _will(use: _Use) -> Modality | None:
    if use.who is _Who.WE and use.negative and use.standing and use.verb in PRACTICES:
        return _NOT
    bound = use.capital or (use.who is _Who.YOU and use.verb in PRACTICES and (use.standing or use.verb in TECHNICAL))
    return (_NOT if use.negative else _MUST) if bound and use.verb != "have" else None


_JUDGES = {
    "must": _must, "shall": _shall, "should": _should, "ought": _should, "may": _may, "can": _can, "will": _will,
    "have": _has_to, "has": _has_to, "need": _has_to, "needs": _has_to,
}  # fmt: skip


# --- English rules that are said as facts: "internal notes are never shown", "one idea per slide", "metric only".
#
# What is said of nobody in particular, in the present, with a word that draws a line ("only", "never", "at most"), lays
# down how things are to be. What happened, and what somebody does, is a story.


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


# --- Whether an English sentence is a rule: not asked, not reported, not told of, but laid down.


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
    """Return the voice: "asked" and "wondering" are questions, "reported" is somebody else's, "own" the speaker's."""
    lower = said.lower.lstrip("*_ \t([")
    if _ASKS_WITHIN.search(lower):
        return "asked"
    if _ASKS.match(lower):
        return "wondering"
    return "reported" if _is_reported(lower) else "own"


def read(said: Said) -> Finding | None:
    """Return the rule that a sentence states by its words, for any speaker, or None for a plain statement."""
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
    """Return the rule under a condition: "if the light is red, nobody deploys"."""
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
    """Return True if somebody else said it, or it applied elsewhere: "my boss says …", "in the film …"."""
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
    """Return the modality of a list's items by its heading: rules, if it says so."""
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
