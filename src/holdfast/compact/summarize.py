"""The extractive summary: a cluster's most telling sentences, each once, in the order of time, in the speakers' words.

No model is needed and none is asked; the same turns give the same summary.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.admit import floor as junk
from holdfast.admit.floor import Reason, judge
from holdfast.compact.prepare import (
    Line,
    Method,
    Part,
    Said,
    Summary,
    Telling,
    is_filler,
    meanings,
    read_cluster,
    render,
)
from holdfast.settings import CompactSettings
from holdfast.text.words import query_terms

# --- A closer look at a sentence that may go into a digest: how it reads there, what it names, what it leans on.
#
# English; a sentence in another language is taken as it is. Each pattern reads one sentence of bounded length.


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


_SAME = 0.85
"""Cosine from which two sentences tell one thing: a share below the static model's .90 for one claim (MERGE-1)."""
_ALIKE = 0.45
"""… and from which what they share begins to count against the second."""
_REDUNDANT = 1.2
_TOLD = 0.8
"""Share of a sentence's terms that another must hold to tell it too."""
_LONGEST_LINE = 300  # terms
_LEAST = 0.3
"""What a sentence must be worth beside those that were chosen."""
_TRIES = 5
"""Sentences that may be found too long for the room that is left before it counts as full."""
_TOO_LITTLE = 40
"""Characters in which hardly a sentence fits."""
_FARTHEST = 2
"""Sentences that are taken along so that another one can be understood."""


def summarize(parts: Sequence[Part], settings: CompactSettings | None = None) -> Summary | None:
    """A digest smaller than its source, or None: then the cluster is declined (COMP-6). Parts in order of time."""
    settings = settings or CompactSettings()
    return choose(parts, read_cluster(parts, settings), settings)


def choose(parts: Sequence[Part], telling: Telling, settings: CompactSettings) -> Summary | None:
    """The same, of a cluster that was read already."""
    lines = _Choice(parts, telling, room_for(parts, settings)).lines()
    return make_summary(lines, "extractive", parts, telling) if lines else None


def room_for(parts: Sequence[Part], settings: CompactSettings) -> int:
    """Characters that a summary may have."""
    return min(int(settings.share * sum(len(part.text) for part in parts)), settings.most_chars)


def make_summary(lines: Sequence[Line], method: Method, parts: Sequence[Part], telling: Telling) -> Summary:
    """The lines as a summary, with what can be said of it."""
    turns = [part.turn for part in parts]
    vectors = meanings([line.text for line in lines])
    return Summary(
        text=render(lines),
        method=method,
        alignment=telling.alignment(vectors),
        coverage=telling.coverage(vectors),
        turn_ids=tuple(turn.id for turn in turns),
        since=min(turn.at for turn in turns),
        until=max(turn.at for turn in turns),
    )


class _Choice:
    """Sentences taken one after the other, each time the one that adds most, as long as there is room.

    A sentence is looked at closely when it comes first by what it can be worth at best: most never do.
    """

    def __init__(self, parts: Sequence[Part], telling: Telling, room: int) -> None:
        self._parts = parts
        self._telling = telling
        self._room = room
        self._worth = np.array([one.worth + one.share * MOST_GAINED for one in telling.said], np.float64)
        self._nearest = np.zeros(len(telling.said))
        self._looked: dict[int, Gleaned] = {}
        self._known_terms: dict[int, frozenset[str]] = {}
        self._chosen: set[int] = set()
        self._tries = _TRIES

    def lines(self) -> list[Line]:
        while self._step():
            pass
        return self._lines(self._chosen)

    def _step(self) -> bool:
        if not len(self._worth):
            return False
        gain = np.where(self._nearest < _SAME, self._worth, -np.inf)
        gain -= _REDUNDANT * np.maximum(self._nearest - _ALIKE, 0.0)
        best = int(np.argmax(gain))
        if gain[best] == -np.inf or (gain[best] < _LEAST and self._chosen):
            return False
        if best not in self._looked:
            self._worth[best] = self._look(best).worth
            return True
        together = self._together(best)
        self._worth[best] = -np.inf
        if self._is_told(best):
            return True
        length = len(render(self._lines(self._chosen | together)))
        if length > self._room:
            self._tries -= 1
            return self._tries > 0
        self._chosen |= together
        for one in together:
            self._worth[one] = -np.inf
            near = np.einsum("ij,j->i", self._telling.vectors, self._telling.vectors[one])  # no BLAS: the same anywhere
            self._nearest = np.maximum(self._nearest, near)
        return self._room - length >= _TOO_LITTLE

    def _look(self, at: int) -> Gleaned:
        if at not in self._looked:
            self._looked[at] = glean(self._telling.said[at], at)
        return self._looked[at]

    def _is_told(self, at: int) -> bool:
        """Whether its words are almost all in a sentence that was chosen, or that sentence's in it."""
        own = self._terms(at)
        for other in map(self._terms, self._chosen):
            shorter = min(len(own), len(other))
            if shorter and len(own & other) >= _TOLD * shorter:
                return True
        return False

    def _terms(self, at: int) -> frozenset[str]:
        if at not in self._known_terms:
            self._known_terms[at] = frozenset(query_terms(self._look(at).text, _LONGEST_LINE))
        return self._known_terms[at]

    def _together(self, at: int) -> set[int]:
        """The sentence, and those before it without which it cannot be understood."""
        found = {at}
        while (needs := self._look(at).needs) is not None and len(found) <= _FARTHEST:
            at = needs
            found.add(at)
        return found

    def _lines(self, chosen: set[int]) -> list[Line]:
        return [Line(self._parts[self._telling.said[at].part].turn, self._look(at).text) for at in sorted(chosen)]
