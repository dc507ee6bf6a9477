"""Extractive summaries: the most informative sentences of a cluster, once each, in order, in the speakers' words.

No model is involved; the same turns give the same summary. A summary has a date line for each day and one line per turn
below it, so that "yesterday" and "next week" keep their meaning. The patterns are English; sentences in other languages
are used unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from holdfast.admit import floor as junk
from holdfast.admit.floor import Reason, judge
from holdfast.compact.prepare import (
    ClusterText,
    CompactSizes,
    Excerpt,
    ScoredSentence,
    is_filler,
    read_cluster,
    sentence_vectors,
    speaker_of,
)
from holdfast.model import Turn
from holdfast.text.words import query_terms

Method = Literal["extractive", "abstractive"]

_DUPLICATE = 0.85
"""Cosine from which two sentences say the same: slightly below the static model's .90 for one claim (MERGE-1)."""
_SIMILAR = 0.45  # cosine from which similarity to a chosen sentence lowers the value of another
_REDUNDANCY_COST = 1.2
_SHARED_TERMS = 0.8  # share of a sentence's terms that another must contain to make it redundant
_MAX_LINE_TERMS = 300
_MIN_VALUE = 0.3  # lowest value of a sentence that is added to others
_MAX_MISFITS = 5  # sentences that may turn out too long for the remaining space before it counts as full
_MIN_SPACE = 40  # characters in which hardly any sentence fits
_MAX_CONTEXT = 2  # sentences that are included so that another one can be understood
_SENTENCE_ENDS = (".", "!", "?", "…", ":", ";", ",", "。", "！", "？", '"', "”", ")")

# The closer look at one sentence: bonuses and costs, and the patterns behind them.
_SPECIFIC = 0.12  # bonus for each of a number, a name and a decision in a sentence
_MAX_BONUSES = 2
_POINTS_BACK_COST = 0.25  # for a turn that begins with a reference to the turn before
_HEADING_COST = 0.6  # for a heading or an announcement of the next line
_REFUSED_COST = {Reason.QUESTION: 0.75, Reason.COMMAND: 0.4, Reason.FRAGMENT: 0.5, Reason.HYPOTHETICAL: 0.3,
                 Reason.TAUTOLOGY: 0.4, Reason.WORKFLOW_EVENT: 0.1, Reason.REPORTED: 0.1}  # fmt: skip
"""Cost of sentences that the quality floor refuses as records; in a summary they may still be the best available."""
_CUT_COST = 0.05  # for a sentence that has to be cut
_MAX_SENTENCE = 220  # characters; a longer sentence is cut at the end of a clause
_SHORT_ANSWER = 110  # characters of an answer that may need its question …
_SUBJECT_CHARS = 40  # … unless these first characters say who does what
_MIN_REST = 12  # characters that must remain of a sentence without its lead-in

_POINTS_BACK = re.compile(
    r"\W*(?:it|that|this|these|those|they|them|he|she|him|her|his|its|their|which|both|same|there|here|then|one"
    r"|because|or|such)\b(?!['’]s (?:my|our|called|\w+day)\b)",
    re.IGNORECASE,
)
_BARE_ANSWER = re.compile(
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
_LEAD_IN = re.compile(
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
"""A request that follows a statement; only the statement is kept."""
_HEADING = re.compile(r"(?:step|option|phase|part|section|tip|example|note)\b.{0,80}[^.!?]$|.{1,120}:$", re.IGNORECASE)
_TRAILING = " ,;:–—-"
_SMALL_WORD = 3  # letters of words that titles do not capitalise
_CLAUSE = re.compile(r"[;–—]\s|\s-\s|,\s(?=(?:and|but|so|which|because|although|while|where)\b)")


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """A line of a summary and its turn."""

    turn: Turn
    text: str
    quoted: bool = True
    """True for the speaker's own words, False for a paraphrase."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of a cluster, its quality and its sources (COMP-6, COMP-7)."""

    text: str
    method: Method
    alignment: float
    """Cosine of the summary with its cluster."""
    coverage: float
    """Share of the cluster's content that the summary covers."""
    turn_ids: tuple[str, ...]
    """Every turn of the cluster, in order of time; `expand` returns them."""
    since: datetime
    until: datetime

    @property
    def confidence(self) -> float:
        """Geometric mean of alignment and coverage, in [0, 1]: a summary of half a cluster is not good."""
        return max(0.0, min(1.0, self.alignment * self.coverage)) ** 0.5 if self.alignment > 0 else 0.0

    @property
    def decay_rate(self) -> float:
        return 1.0 - self.confidence


@dataclass(frozen=True, slots=True)
class _Assessment:
    """A sentence as a summary would show it."""

    text: str
    value: float
    """Minus infinity for filler."""
    needs: int | None
    """Index of an earlier sentence that it needs: the question it answers, or what "she" refers to."""


def summarize(excerpts: Sequence[Excerpt], settings: CompactSizes | None = None) -> Summary | None:
    """Summarise excerpts in order of time; None if no summary is smaller than its source (COMP-6)."""
    settings = settings or CompactSizes()
    return summarize_cluster(excerpts, read_cluster(excerpts, settings), settings)


def summarize_cluster(excerpts: Sequence[Excerpt], cluster: ClusterText, settings: CompactSizes) -> Summary | None:
    """Summarise a cluster that was already read."""
    lines = _Selection(excerpts, cluster, max_summary_chars(excerpts, settings)).lines()
    return build_summary(lines, "extractive", excerpts, cluster) if lines else None


def max_summary_chars(excerpts: Sequence[Excerpt], settings: CompactSizes) -> int:
    return min(int(settings.share * sum(len(excerpt.text) for excerpt in excerpts)), settings.most_chars)


def build_summary(
    lines: Sequence[SummaryLine], method: Method, excerpts: Sequence[Excerpt], cluster: ClusterText
) -> Summary:
    turns = [excerpt.turn for excerpt in excerpts]
    vectors = sentence_vectors([line.text for line in lines])
    return Summary(
        text=_render(lines),
        method=method,
        alignment=cluster.alignment(vectors),
        coverage=cluster.coverage(vectors),
        turn_ids=tuple(turn.id for turn in turns),
        since=min(turn.at for turn in turns),
        until=max(turn.at for turn in turns),
    )


def day_of(turn: Turn) -> str:
    return turn.at.astimezone(UTC).date().isoformat()


def _render(lines: Iterable[SummaryLine]) -> str:
    """Render the lines below their days; quotes from one turn share a line."""
    shown: list[str] = []
    day = turn = ""
    for line in lines:
        if (today := day_of(line.turn)) != day:
            day = today
            shown.append(day)
        if not line.quoted:
            shown.append(f"- {line.text}")
        elif line.turn.id == turn:
            shown[-1] += f"{' ' if shown[-1].endswith(_SENTENCE_ENDS) else '; '}{line.text}"
        else:
            turn = line.turn.id
            shown.append(f"{speaker_of(line.turn)}: {line.text}")
    return "\n".join(shown)


class _Selection:
    """Greedy choice of sentences: each time the one that adds most, while there is space.

    A sentence is assessed only when its upper bound comes first; most never are.
    """

    def __init__(self, excerpts: Sequence[Excerpt], cluster: ClusterText, space: int) -> None:
        self._excerpts = excerpts
        self._cluster = cluster
        self._space = space
        bonus = _MAX_BONUSES * _SPECIFIC
        self._value = np.array([one.value + one.role_weight * bonus for one in cluster.sentences], np.float64)
        self._nearest = np.zeros(len(cluster.sentences))
        self._assessed: dict[int, _Assessment] = {}
        self._known_terms: dict[int, frozenset[str]] = {}
        self._chosen: set[int] = set()
        self._misfits = _MAX_MISFITS

    def lines(self) -> list[SummaryLine]:
        while self._step():
            pass
        return self._lines_of(self._chosen)

    def _step(self) -> bool:
        if not len(self._value):
            return False
        gain = np.where(self._nearest < _DUPLICATE, self._value, -np.inf)
        gain -= _REDUNDANCY_COST * np.maximum(self._nearest - _SIMILAR, 0.0)
        best = int(np.argmax(gain))
        if gain[best] == -np.inf or (gain[best] < _MIN_VALUE and self._chosen):
            return False
        if best not in self._assessed:
            self._value[best] = self._assess(best).value
            return True
        together = self._with_context(best)
        self._value[best] = -np.inf
        if self._is_redundant(best):
            return True
        length = len(_render(self._lines_of(self._chosen | together)))
        if length > self._space:
            self._misfits -= 1
            return self._misfits > 0
        self._chosen |= together
        vectors = self._cluster.vectors
        for one in together:
            self._value[one] = -np.inf
            near = np.einsum("ij,j->i", vectors, vectors[one])  # no BLAS: the same result on every machine
            self._nearest = np.maximum(self._nearest, near)
        return self._space - length >= _MIN_SPACE

    def _assess(self, at: int) -> _Assessment:
        if at not in self._assessed:
            self._assessed[at] = _assess(self._cluster.sentences[at], at)
        return self._assessed[at]

    def _is_redundant(self, at: int) -> bool:
        """Return True if almost all of its terms are in a chosen sentence, or the other way round."""
        own = self._terms(at)
        for other in map(self._terms, self._chosen):
            shorter = min(len(own), len(other))
            if shorter and len(own & other) >= _SHARED_TERMS * shorter:
                return True
        return False

    def _terms(self, at: int) -> frozenset[str]:
        if at not in self._known_terms:
            self._known_terms[at] = frozenset(query_terms(self._assess(at).text, _MAX_LINE_TERMS))
        return self._known_terms[at]

    def _with_context(self, at: int) -> set[int]:
        """Return the sentence with the earlier ones that it needs."""
        found = {at}
        while (needs := self._assess(at).needs) is not None and len(found) <= _MAX_CONTEXT:
            at = needs
            found.add(at)
        return found

    def _lines_of(self, chosen: set[int]) -> list[SummaryLine]:
        sentences = self._cluster.sentences
        return [SummaryLine(self._excerpts[sentences[at].excerpt].turn, self._assess(at).text) for at in sorted(chosen)]


def _assess(sentence: ScoredSentence, at: int) -> _Assessment:
    """Clean and value one sentence; `at` is its index in the cluster."""
    refusal = judge(sentence.text, answers_question=sentence.question is not None)
    if is_filler(sentence.text, refusal):
        return _Assessment(sentence.text, float("-inf"), None)
    text = _clean(sentence.text)
    points_back = _POINTS_BACK.match(text) is not None
    specifics = sum(cue.search(text) is not None for cue in (junk.NUMBER, junk.NAME, _DECIDES))
    gain = _SPECIFIC * min(specifics, _MAX_BONUSES)
    gain -= _POINTS_BACK_COST * (points_back and sentence.number == 0) + _HEADING_COST * _is_heading(text)
    gain -= (_REFUSED_COST.get(refusal.reason, 0.0) if refusal else 0.0) + _CUT_COST * text.endswith(" …")
    answers = sentence.question is not None and len(text) <= _SHORT_ANSWER and _is_bare_answer(text)
    needs = sentence.question if answers else at - 1 if points_back and sentence.number else None
    return _Assessment(text, sentence.value + sentence.role_weight * gain, needs)


def _is_heading(text: str) -> bool:
    """Recognise announcements: "Step 2: …", "Here are the options:", "Work Experience And Skills"."""
    if text.endswith((".", "!", "?", "…")):
        return False
    long = [word for word in text.split() if len(word) > _SMALL_WORD]
    return _HEADING.match(text) is not None or all(word[0].isupper() for word in long)


def _is_bare_answer(text: str) -> bool:
    """Recognise answers without subject and verb: "For 72 hours", "Eleven, with three pupils each"."""
    if _HAS_SUBJECT.match(text) or junk.STATEMENT.search(text[:_SUBJECT_CHARS]):
        return False
    return _BARE_ANSWER.match(text) is not None or junk.VERB.search(text.partition(",")[0]) is None


def _clean(sentence: str) -> str:
    """Remove lead-in words and requests, and cut a long sentence at the end of a clause. No word is changed."""
    lead = _LEAD_IN.match(sentence)
    text = sentence
    if lead and len(sentence) - lead.end() >= _MIN_REST and not sentence[lead.end()].islower():
        text = sentence[lead.end() :]  # a rest in lower case would need another first letter
    asks = _ASKS_FOR_HELP.search(text)
    if asks and asks.start() >= _SUBJECT_CHARS:
        text = f"{text[: asks.start()].rstrip(_TRAILING)}."
    if len(text) <= _MAX_SENTENCE:
        return text
    ends = [found.start() for found in _CLAUSE.finditer(text, _MAX_SENTENCE // 3, _MAX_SENTENCE)]
    end = ends[-1] if ends else text.rfind(" ", 0, _MAX_SENTENCE)
    return f"{text[: end if end > 0 else _MAX_SENTENCE].rstrip(_TRAILING)} …"
