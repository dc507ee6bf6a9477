"""The deterministic extractor: sentences of the user's that are worth keeping, in the user's own words.

It needs no model. It decides what a sentence is (a rule, a decision, a preference, a fact), how sure it is, and which
time it speaks of; it never rewrites it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from holdfast.admit import floor as junk
from holdfast.admit.secrets import mask
from holdfast.gate.durability import weigh_apart
from holdfast.gate.own_words import own_words
from holdfast.gate.reader import READER_VERSION, SentenceReading, asks_for_good, read_sentences, releases
from holdfast.model import Kind, Provenance, Role, Turn
from holdfast.settings import AdmitSettings
from holdfast.text.time import read_spans
from holdfast.text.words import sentences


@dataclass(frozen=True)
class AdmitWeights(AdmitSettings):
    """The settings of admission and its fitted thresholds (docs/evidence/records.md)."""

    worth: float = 0.5  # keep a sentence from this probability that it helps a later conversation
    rule: float = 0.7  # a sentence is a standing rule from this probability
    own: float = 0.3
    """Keep a sentence from this probability that it is the user's own. Of texts by authors outside the training it
    loses 9 % of the genuine statements and passes 12 % of the planted ones (`holdfast bench own`)."""
    own_rule: float = 0.5  # the same for a rule: if unsure, it is recalled and not followed (RULE-4)
    alone: float = 0.5  # below this probability of being understood alone, the sentence before is kept as its lead
    apart: float = 0.8  # below this one it is one record with the kept sentence before it
    slight: float = 0.2  # keep a sentence from this probability if it changes something remembered
    change: float = 0.1
    """… or from this probability that it tells of a change. Of the turns that end something in four lives .89 have such
    a sentence, and .26 of the others."""
    slight_per_turn: int = 2
    recited_lines: int = 3  # a list with this many earlier statements, word for word, comes from a host (admit/echo.py)
    own_chars: int = 40_000  # the user's own words are looked for up to here: a longer turn is a document
    noted_cosine: float = 0.6  # neighbours in receipts, for `tune similarity`: a third below any profile's threshold
    tuned_turns: int = 5000  # newest turns that `tune similarity` compares: 5,000 take about a second
    turns_before: int = 32  # turns whose words are not new: AUC .840 with 6 (LoCoMo development), .842 with 32 or all
    turns_shown: int = 6  # turns before that the model sees: what "yes" and "the other one" mean is rarely farther
    records_shown: int = 12  # nearest live records that the model may propose to supersede
    turn_chars: int = 4000  # a shown turn is cut here: what a person says is shorter
    grounded_share: float = 0.7
    """Share of a candidate's content words that its source must hold. Changing "I" to "the user" costs none, an
    invented clause costs more than .3."""
    confidence_stated: float = 0.9  # ADMIT-5
    confidence_confirmed: float = 0.7  # ADMIT-5
    confidence_implied: float = 0.5  # ADMIT-5
    hedged: float = 0.8  # factor for "maybe", "I think": .9 becomes .72, just above what the user only confirmed


# --- Explicit requests to remember something: kept whatever the score.
#
# "Remember that …", "for the record, …", "call me Max". A sentence must begin with it; a question, a quotation and a
# turn of phrase ("remember that night") ask for nothing.
# English. Every pattern is matched at a sentence's beginning and is linear.


ASKED = "the user asked to remember it"
NAMED = "the user said what to call them"

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
"""Beginnings of a clause after "that", where we do not know the verb: "that the gate sticks"."""
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
_MARK = re.compile(r"(?<!\d)[\"“”«»]")  # 30" is a length
_LEAST = 2
"""Words without which nothing was said: "remember that, ok"."""


def requested(sentences: Sequence[str]) -> dict[int, str]:
    """Return the sentences of a turn that are kept on request, each with the request in words."""
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
    """Return the sentence that "remember this" announces or "remember that" concludes; else its other neighbour."""
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
    return None


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
    """A proposal of an extractor, which code accepts or refuses (ADMIT-2)."""

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
    """A statement from an extractor, with its provenance and confidence."""

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
    """Probability that it helps a later conversation that does not include the turn (the floor's question)."""
    change: float = 0.0
    """Probability that it ends or changes something that was true before."""
    slight: bool = False
    """Too slight to be kept on its own; as the change of something remembered it is news."""
    when: When | None = None
    extractor: str = "deterministic"
    criterion: str = ""
    """Version of the prompt or rules that proposed it."""
    notes: dict[str, object] = field(default_factory=dict)


class Extractor(Protocol):
    """Turns in, candidates out. It never decides what is stored."""

    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        """Return the candidates of one user turn, as it was said.

        `before` are the turns of the session that came before it, oldest first.

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
_KINDS = {"preference": Kind.PREFERENCE, "decision": Kind.DECISION, "rule": Kind.PREFERENCE}
"""Record kinds of the reader's kinds; the others are facts. Guidance takes more than the kind (`_is_rule`)."""
_NORM = 0.5
_ORDERS = re.compile(
    r"(?:(?:and|so|but|please|also|then|just|from now on)[, ]+){0,3}(?:never|always|don't|do not)\b", re.IGNORECASE
)
"""A short order out of the blue, which the reader takes for a norm and no rule: "Never book flights before 9 am"."""
_SURE_NORM = 0.9
_STANDS = re.compile(
    r"^(?:(?:and|so|but|please|also)[, ]+){0,3}(?:never(?! mind)|always)\b|\bfrom now on\b"
    r"|\byou\b.{0,30}\b(?:always|never|every time)\b",
    re.IGNORECASE,
)
"""… and a norm with words that make it stand: "You must always give distances in miles"."""
_PRONOUN = re.compile(
    r"(?:(?:and|but|so|also) ){0,3}(?:he|she|it|they|that|those|these|his|her|their|its)\b", re.IGNORECASE
)
_CLINGS = re.compile(
    r"(?:even (?:if|when)|e?specially|unless|except|including|not even|only (?:if|when))\b", re.IGNORECASE
)
_PLAIN_WORDS, _PLAIN_WORTH, _PLAIN_DURABLE = 8, 0.05, 0.7
"""A plain short statement ("I'm a baker.") says too little for the reader: the score of its form decides with it."""
_SURE_WORTH = 0.8  # "The project uses Postgres." is kept, though the reader would like to know which project
_LEAD_CHARS = 240
_MOST_READ = 40_000  # characters of a turn, half at each end: nobody writes more, and a paste of 20 MB took seconds
_GAP_CHARS = 3  # between two sentences of one record: more is a paste or a list
_GROUP_WORDS = 60
"""Words of sentences that lean on each other and are kept as one record."""

# ADMIT-5: a direct statement, one that confirms what the assistant said, one that is only implied.
_DIRECT, _CONFIRMED, _HEDGED, _IMPLIED = 0.9, 0.7, 0.6, 0.5


def _talk(text: str) -> str:
    """Return a text without the middle of a very long one."""
    return text if len(text) <= _MOST_READ else f"{text[: _MOST_READ // 2]}\n\n{text[-_MOST_READ // 2 :]}"


def read_turn(turn: Turn, before: Sequence[Turn], settings: AdmitWeights) -> list[SentenceReading]:
    """Judge the sentences of a user's turn in its session; secrets are masked, pastes are context and not judged."""
    previous = before[-1] if before else None
    text = mask(_talk(turn.text)).text
    same = previous is not None and previous.role is turn.role
    own = [(part.start, part.end) for part in own_words(text, settings.own_chars).parts]
    return read_sentences(text, previous.text if previous else "", same, own)


class DeterministicExtractor:
    """Finds the sentences of a turn that are worth keeping, with the reader (gate/reader.py)."""

    def __init__(self, settings: AdmitWeights) -> None:
        self._settings = settings

    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        """Return the statements and rules of a turn, then slighter ones that count only if they change a record."""
        text = mask(_talk(turn.text)).text
        read = read_turn(turn, before, self._settings)
        asked = requested([one.text for one in read])
        groups: list[list[int]] = []
        slight: list[Candidate] = []
        for number, one in enumerate(read):
            if one.own < (self._settings.own / 2 if number in asked else self._settings.own):
                continue
            stands = self._is_alone(one, sure=one.worth >= _SURE_WORTH) or bool(_lead(before, read, number))
            worth = (one.worth >= self._settings.worth or _is_plain(one)) and not _announces(one.text)
            if number in asked or self._is_rule(one) or (worth and stands):
                if groups and groups[-1][-1] == number - 1 and self._leans(text, read, groups[-1], number):
                    groups[-1].append(number)
                else:
                    groups.append([number])
            elif self._may_change(one) and not _announces(one.text):
                slight.append(replace(self._candidate(turn, text, before, read, [number], asked), slight=True))
        slight.sort(key=lambda one: -max(one.durability, one.change))
        kept = [self._candidate(turn, text, before, read, group, asked) for group in groups]
        return kept + slight[: self._settings.slight_per_turn]

    def _is_rule(self, one: SentenceReading) -> bool:
        """Return whether a sentence of the user's own is a standing rule, a bare order or a standing request."""
        worth = one.worth >= self._settings.worth
        orders = worth and one.norm >= _NORM and _ORDERS.match(one.text.replace("’", "'")) is not None
        stands = one.norm >= _SURE_NORM and _STANDS.search(one.text) is not None
        if releases(one.text) or one.own < self._settings.own_rule:
            return False
        # Kind and form must agree: on six lives outside the training .75 of the findings are rules, and .71 without
        sure = one.rule >= self._settings.rule and one.kind == "rule" and not _announces(one.text)
        return sure or orders or stands or asks_for_good(one.text)

    def _may_change(self, one: SentenceReading) -> bool:
        return one.worth >= self._settings.slight or one.change >= self._settings.change

    def _is_alone(self, one: SentenceReading, sure: bool = False) -> bool:
        """Return whether a sentence can be understood without the one before it; "He works there." cannot."""
        alone = sure or one.alone >= self._settings.alone
        return alone and not (_PRONOUN.match(one.text) or _CLINGS.match(one.text))

    def _leans(self, text: str, read: Sequence[SentenceReading], group: Sequence[int], number: int) -> bool:
        """Return whether a sentence cannot be understood without the kept one before it; a rule goes with rules.

        A clause ("Even if I start.") goes with any.
        """
        last, one = read[group[-1]], read[number]
        is_rule = [self._is_rule(last), self._is_rule(one)]
        gap = text[last.start + len(last.text) : one.start]
        beside = len(gap) <= _GAP_CHARS and "\n" not in gap
        words = sum(len(read[at].text.split()) for at in (*group, number))
        fits = is_rule[0] == is_rule[1] or _CLINGS.match(one.text) is not None
        apart = one.alone >= self._settings.apart and not (_PRONOUN.match(one.text) or _CLINGS.match(one.text))
        return not apart and beside and fits and words <= _GROUP_WORDS

    def _candidate(
        self,
        turn: Turn,
        said: str,
        before: Sequence[Turn],
        read: Sequence[SentenceReading],
        group: Sequence[int],
        asked: Mapping[int, str],
    ) -> Candidate:
        ones = [read[number] for number in group]
        text = said[ones[0].start : ones[-1].start + len(ones[-1].text)]
        best = max(ones, key=lambda one: max(one.worth, one.rule))
        request = next((asked[number] for number in group if number in asked), None)
        confidence = _HEDGED if _HEDGE.search(text) else _DIRECT
        notes: dict[str, object] = {"subject": best.kind}
        if group[0] == 0 and answers_question(before):
            notes["answers"] = before[-1].text[-300:]
            if _CONFIRMS.match(text):
                confidence = min(confidence, _CONFIRMED)
        if request:
            notes["explicit"] = request
        else:
            confidence = min(confidence, max(round(max(best.worth, best.rule), 2), _IMPLIED))
        if not self._is_alone(ones[0]) and (lead := _lead(before, read, group[0])):
            notes["lead"] = lead
        if speaker := turn.metadata.get("speaker") or turn.metadata.get("name"):
            notes["speaker"] = speaker
        is_rule = any(self._is_rule(one) for one in ones)
        spans = read_spans(text, turn.at)
        return Candidate(
            text=text,
            kind=Kind.GUIDANCE if is_rule else _KINDS.get(best.kind, Kind.FACT),
            confidence=confidence,
            provenance=Provenance.USER_STATED,
            turn_ids=(turn.id,),
            durability=max(best.worth, best.rule),
            change=max(one.change for one in ones),
            when=When(spans[0].phrase, spans[0].start, spans[0].end) if spans else None,
            criterion=READER_VERSION,
            notes=notes,
        )


def _is_plain(one: SentenceReading) -> bool:
    """Return whether a short sentence has the form of a lasting statement."""
    if len(one.text.split()) > _PLAIN_WORDS or one.worth < _PLAIN_WORTH:
        return False
    return weigh_apart([one.text])[0].whole >= _PLAIN_DURABLE


def _announces(sentence: str) -> bool:
    """Return whether a sentence asks, or announces what follows it ("Here is the letter:")."""
    return _asks(sentence) or sentence.rstrip().endswith(":")


def _lead(before: Sequence[Turn], read: Sequence[SentenceReading], number: int) -> str:
    """Return the line that a sentence depends on: the one before it, or the question it answers; empty if none."""
    if number:
        return read[number - 1].text if len(read[number - 1].text) <= _LEAD_CHARS else ""
    if answers_question(before):
        question = sentences(before[-1].text)[-1:]
        return question[0] if question and len(question[0]) <= _LEAD_CHARS else ""
    return ""


def answers_question(before: Sequence[Turn]) -> bool:
    """Return True if the turn before was somebody else's question, so that a fragment may be a full answer."""
    return bool(before) and before[-1].role is not Role.USER and before[-1].text.rstrip().endswith("?")
