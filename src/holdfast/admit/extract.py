"""The deterministic extractor: sentences of the user's that are worth keeping, in the user's own words.

It needs no model. It decides what a sentence is (a rule, a decision, a preference, a fact), how sure it is, and which
time it speaks of; it never rewrites it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from holdfast.admit import floor as junk
from holdfast.gate.durability import Weighed, weigh_all, weights_version
from holdfast.model import Kind, Provenance, Role, Turn
from holdfast.settings import AdmitSettings
from holdfast.text.time import read_spans

# --- What the user asks to be remembered, in so many words: kept whatever its score says.
#
# "Remember that …", "for the record, …", "call me Max", "from now on …", "never deploy on Fridays". A sentence must
# begin with it; a question, a quotation and a turn of phrase ("remember that night", "never mind") ask for nothing.
# English. Every pattern is matched at a sentence's beginning and is linear.


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


# --- A claim: one sentence of the user's that may become a record, and what a plain reading finds in it.


class Proposal(StrEnum):
    """What an extractor proposes; code disposes (ADMIT-2)."""

    ADD = "add"
    SUPERSEDE = "supersede"
    SKIP = "skip"


@dataclass(frozen=True, slots=True)
class When:
    """A time that the sentence names, resolved against the time it was said; the original phrase is kept."""

    phrase: str
    start: datetime
    end: datetime
    """Exclusive: "in May" ends with the first of June."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an extractor hands over: a statement, who vouches for it, and how sure that is."""

    text: str
    """In the user's own words, one sentence."""
    kind: Kind
    confidence: float
    provenance: Provenance
    turn_ids: tuple[str, ...]
    proposal: Proposal = Proposal.ADD
    supersedes: str | None = None
    """The id of the record it replaces, if the extractor knows one."""
    durability: float = 1.0
    """How likely it is to help a future conversation that does not include the turn (the floor's question)."""
    slight: bool = False
    """Too slight to be kept on its own; as the change of something remembered it is news."""
    when: When | None = None
    extractor: str = "deterministic"
    criterion: str = ""
    """Version of the prompt or rules that proposed it."""
    notes: dict[str, object] = field(default_factory=dict)


@runtime_checkable
class ExtractsMany(Protocol):
    """An extractor that reads many turns in less time than one by one."""

    def extract_all(self, turns: Sequence[tuple[Turn, Sequence[Turn]]]) -> list[list[Candidate]]: ...


class Extractor(Protocol):
    """Turns in, candidates out. It never decides what is stored."""

    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        """Candidates of one user turn; `before` are the turns of the session that came before it, oldest first.

        Raises ModelError when a model cannot answer: the cursor stays, and the turn is tried again (SAL-5).
        """
        ...


_HEDGE = re.compile(
    r"\b(?:i think|i guess|i suppose|maybe|perhaps|probably|possibly|might|not sure|kind of|sort of|apparently"
    r"|i believe"
    r"|as far as i know|afaik|if i remember)\b",
    re.IGNORECASE,
)
_CONFIRMS = re.compile(r"(?:yes|yeah|yep|yup|right|correct|exactly|indeed|that['’]s right|true)\b", re.IGNORECASE)
_RULE = re.compile(
    r"\b(?:from now on|in future|always|never|make sure|don['’]t ever|do not ever|remember (?:that|this|to)"
    r"|please (?:always|never|don['’]t|do not)|call me|stop \w+ing|no \w+ without|ask me before|only ever)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:(?:i|we)(?:['’]ve| have)? (?:decided|agreed|chose|chosen|settled on|switched|opted)|decision:|going with"
    r"|changed my mind|instead of|no longer|from .{1,40} to .{1,40}|moved? (?:it |this )?to)\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:prefer|favou?rites?|i (?:really |absolutely |still )?(?:like|love|enjoy|hate|dislike|adore)|can['’]t stand"
    r"|rather (?:have|not)|allergic|fan of|not a fan|obsessed with|my go-to|i['’]m into)\b",
    re.IGNORECASE,
)

_CHANGE = re.compile(
    r"\d|\b(?:now|no longer|instead|actually|any ?more|changed|moved|moves|switched|quit|stopped|became|postponed)\b",
    re.IGNORECASE,
)
_SPOKEN = (Role.USER, Role.ASSISTANT)

# ADMIT-5: a direct statement, one that confirms what the assistant said, one that is only implied.
_DIRECT, _CONFIRMED, _HEDGED = 0.9, 0.7, 0.6


class DeterministicExtractor:
    def __init__(self, settings: AdmitSettings) -> None:
        self._settings = settings

    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        (found,) = self.extract_all([(turn, before)])
        return found

    def extract_all(self, turns: Sequence[tuple[Turn, Sequence[Turn]]]) -> list[list[Candidate]]:
        """Many turns, each as `extract` reads it, in less time."""
        weighed = weigh_all(
            [
                (turn.text, answers_question(before), [one.text for one in before if one.role in _SPOKEN])
                for turn, before in turns
            ]
        )
        return [self._found(turn, before, one) for (turn, before), one in zip(turns, weighed, strict=True)]

    def _found(self, turn: Turn, before: Sequence[Turn], weighed: Weighed) -> list[Candidate]:
        answers = answers_question(before)
        asked = requested(weighed.sentences)
        worth = sorted({*self._worth(weighed), *asked})
        kept = [self._candidate(turn, before, weighed, number, answers, asked.get(number)) for number in worth]
        changes = [number for number in self._changes(weighed) if number not in worth]
        return kept + [
            replace(self._candidate(turn, before, weighed, number, answers, None), slight=True) for number in changes
        ]

    def _changes(self, weighed: Weighed) -> list[int]:
        """Sentences that may change what is remembered: "it is port 7070 now", said again with another number."""
        return [
            at
            for at, (sentence, one) in enumerate(zip(weighed.sentences, weighed.each, strict=True))
            if one >= self._settings.change_durability and _CHANGE.search(sentence) and not sentence.endswith("?")
        ]

    def _worth(self, weighed: Weighed) -> list[int]:
        """Sentences that are likely enough on their own; in a turn that is as a whole, its best one at least."""
        if weighed.whole < self._settings.durability:
            return []
        worth = [at for at, one in enumerate(weighed.each) if one >= self._settings.sentence_durability]
        return worth or [max(range(len(weighed.each)), key=lambda at: weighed.each[at])]

    def _candidate(
        self, turn: Turn, before: Sequence[Turn], weighed: Weighed, number: int, answers: bool, asked: str | None
    ) -> Candidate:
        text = weighed.sentences[number]
        confidence = _HEDGED if _HEDGE.search(text) else _DIRECT
        notes: dict[str, object] = {}
        if answers and number == 0:
            notes["answers"] = before[-1].text[-300:]
            if _CONFIRMS.match(text):
                confidence = min(confidence, _CONFIRMED)
        if asked:
            notes["explicit"] = asked
        spans = read_spans(text, turn.at)
        return Candidate(
            text=text,
            kind=_kind(text),
            confidence=confidence,
            provenance=Provenance.USER_STATED,
            turn_ids=(turn.id,),
            durability=weighed.each[number],
            when=When(spans[0].phrase, spans[0].start, spans[0].end) if spans else None,
            criterion=weights_version(),
            notes=notes,
        )


def answers_question(before: Sequence[Turn]) -> bool:
    """Whether the turn before was another's question, so that a fragment may be a full answer."""
    return bool(before) and before[-1].role is not Role.USER and before[-1].text.rstrip().endswith("?")


def _kind(text: str) -> Kind:
    if _RULE.search(text):
        return Kind.GUIDANCE
    if _DECISION.search(text):
        return Kind.DECISION
    return Kind.PREFERENCE if _PREFERENCE.search(text) else Kind.FACT
