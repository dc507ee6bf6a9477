"""The deterministic extractor: sentences of the user's that are worth keeping, in the user's own words.

It needs no model. It decides what a sentence is (a rule, a decision, a preference, a fact), how sure it is, and which
time it speaks of; it never rewrites it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from holdfast.admit.claim import Candidate, When
from holdfast.admit.durability import Weighed, weigh_all, weights_version
from holdfast.admit.explicit import requested
from holdfast.model import Kind, Provenance, Role, Turn
from holdfast.settings import AdmitSettings
from holdfast.spans import read_spans

__all__ = ["DeterministicExtractor"]

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
