"""The LLM extractor: a chat model proposes candidates, code disposes (ADMIT-2).

Whatever the model says, only this comes out: sentences that the user's own words (or the assistant's, then so marked)
bear out, with a provenance and a confidence that code decides, and supersessions of records that were offered.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from holdfast.admit.claim import Candidate, Proposal, When
from holdfast.admit.echo import is_echo
from holdfast.admit.grounding import ground
from holdfast.admit.prompt import Shown, instructions, prompt_version, repair, show
from holdfast.admit.proposed import Dropped
from holdfast.admit.secrets import mask
from holdfast.admit.sentences import MAX_SENTENCE
from holdfast.errors import ModelMisbehaved, ModelUnavailable
from holdfast.model import Kind, Origin, Provenance, Record, Role, Turn
from holdfast.models.chat import Chat, Schema, unfenced
from holdfast.settings import AdmitSettings, ChatSettings
from holdfast.spans import read_spans

__all__ = ["Dropped", "LlmExtractor", "Proposals"]


@dataclass(frozen=True, slots=True)
class Proposals:
    """What is left of a model's answer, and what is not."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...] = ()


class _Item(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    text: str = Field(min_length=1)
    kind: Literal["fact", "preference", "decision", "guidance"]
    turns: list[int]
    basis: Literal["stated", "confirmed", "implied"]
    supersedes: int | None


class _Reply(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    candidates: list[_Item] = Field(max_length=50)


_SCHEMA: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["candidates"],
    "properties": {
        "candidates": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["text", "kind", "turns", "basis", "supersedes"],
                "properties": {
                    "text": {"type": "string"},
                    "kind": {"type": "string", "enum": ["fact", "preference", "decision", "guidance"]},
                    "turns": {"type": "array", "items": {"type": "integer"}},
                    "basis": {"type": "string", "enum": ["stated", "confirmed", "implied"]},
                    "supersedes": {"type": ["integer", "null"]},
                },
            },
        }
    },
}

_CAP = "the turn has"
_SPOKEN = (Role.USER, Role.ASSISTANT)
_OWN_WORDS = (Origin.USER, Origin.IMPORTED)
"""Not what the user pasted: that is somebody else's until they say otherwise."""
_YES = re.compile(
    r"\W*(?:yes|yeah|yep|yup|right|correct|exactly|indeed|true|sure|ok|okay|agreed|absolutely|definitely|of course"
    r"|that['’]?s (?:right|it|correct|true)|spot on|please do|good|perfect|do it)\b",
    re.IGNORECASE,
)
_NO = re.compile(r"\W*(?:no|nope|nah|not|wrong|never|that['’]?s (?:not|wrong)|i (?:didn|don|never))\b", re.IGNORECASE)


def _no_records(turn: Turn) -> Sequence[Record]:
    return ()


class LlmExtractor:
    """An Extractor (admit/claim.py). `known` gives the live records nearest to a turn: what may be superseded."""

    def __init__(
        self,
        chat: Chat,
        settings: AdmitSettings | None = None,
        *,
        timeout_s: float | None = None,
        known: Callable[[Turn], Sequence[Record]] = _no_records,
    ) -> None:
        self._chat = chat
        self._settings = settings or AdmitSettings()
        self._timeout_s = timeout_s or ChatSettings().timeout_s
        self._known = known
        self.name = f"llm:{getattr(chat, 'name', type(chat).__name__)}"
        self.criterion = self._settings.criterion
        self.prompt = prompt_version(self.criterion)

    def extract(self, turn: Turn, before: Sequence[Turn]) -> list[Candidate]:
        return list(self.propose(turn, before).candidates)

    def propose(self, turn: Turn, before: Sequence[Turn], known: Sequence[Record] | None = None) -> Proposals:
        """The candidates of a user turn, and what was dropped. Raises ModelError: then the turn is tried again.

        The texts are the user's own words: the caller has set aside what they pasted (admit/pasted.py).
        """
        if turn.role is not Role.USER or not turn.text.strip():
            return Proposals(())
        spoken = [one for one in before if one.role in _SPOKEN][-self._settings.turns_shown :]
        records = (self._known(turn) if known is None else known)[: self._settings.records_shown]
        shown = show(turn, spoken, records, self._settings.turn_chars)
        return self._dispose(shown, self._ask(shown))

    def _ask(self, shown: Shown) -> _Reply:
        deadline = time.monotonic() + self._timeout_s
        messages = [instructions(self._settings.criterion), shown.message()]
        answer = self._chat.complete(messages, _SCHEMA, self._timeout_s)
        try:
            return _read(answer)
        except ValidationError as error:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ModelUnavailable(f"{self.name} left no time to ask again for a usable answer") from error
            messages += repair(answer, _complaint(error))
        try:
            return _read(self._chat.complete(messages, _SCHEMA, left))
        except ValidationError as error:
            raise ModelMisbehaved(f"{self.name} gave two unusable answers: {_complaint(error)}") from error

    def _dispose(self, shown: Shown, reply: _Reply) -> Proposals:
        kept: list[Candidate] = []
        dropped: list[Dropped] = []
        for item in reply.candidates:
            outcome = self._weigh(item, shown, kept)
            if isinstance(outcome, Candidate):
                kept.append(outcome)
            else:
                rule = "cap" if outcome.startswith(_CAP) else "proposal"
                dropped.append(Dropped(mask(item.text[:MAX_SENTENCE]).text, outcome, rule))
        return Proposals(tuple(kept), tuple(dropped))

    def _weigh(self, item: _Item, shown: Shown, kept: Sequence[Candidate]) -> Candidate | str:
        """The candidate that an item becomes, or why it becomes none."""
        text = " ".join(item.text.split())
        if len(text) > MAX_SENTENCE:
            return "it is longer than a sentence"
        if mask(text).found:  # the model saw masked texts, so it cannot know one
            return "it holds a secret that was not in what the model was shown"
        if not item.turns or not all(number in shown.turns for number in item.turns):
            return "it cites a turn that was not shown"
        if item.supersedes is not None and item.supersedes not in shown.records:
            return "it supersedes a record that was not offered"
        source = self._source(text, item, shown)
        if source is None:
            return "the turns do not bear it out"
        if len(kept) >= self._settings.llm_records_per_turn:
            return f"{_CAP} {self._settings.llm_records_per_turn} already"
        if any(is_echo(text, [one.text]) or is_echo(one.text, [text]) for one in kept):
            return "it says what another one says"
        return self._candidate(text, item, shown, source)

    def _candidate(self, text: str, item: _Item, shown: Shown, source: _Source) -> Candidate:
        turn = shown.turns[shown.current]
        spans = read_spans(text, turn.at)
        # A lower-trust origin never supersedes what the user stated (MERGE-5).
        replaced = item.supersedes if source.provenance is Provenance.USER_STATED else None
        return Candidate(
            text=text,
            kind=Kind(item.kind),
            confidence=source.confidence,
            provenance=source.provenance,
            turn_ids=tuple(shown.turns[number].id for number in sorted(source.turns)),
            proposal=Proposal.ADD if replaced is None else Proposal.SUPERSEDE,
            supersedes=None if replaced is None else shown.records[replaced].id,
            when=When(spans[0].phrase, spans[0].start, spans[0].end) if spans else None,
            extractor=self.name,
            criterion=self.criterion,
            notes={"prompt": self.prompt, "basis": item.basis, **({"confirmed": True} if source.confirmed else {})},
        )

    def _source(self, text: str, item: _Item, shown: Shown) -> _Source | None:
        """Who bears it out: the current turn, the user over several turns, or only the assistant's words as well."""
        settings = self._settings
        for numbers, confidence, agreed in _tiers(item, shown, settings):
            said = "\n".join(shown.texts[number] for number in numbers)
            alone = all(shown.turns[number].role is Role.USER for number in numbers)
            grounding = ground(text, said, least_share=settings.grounded_share, stated=alone)
            if grounding is None:
                continue
            own = alone and grounding.in_order and shown.turns[shown.current].origin in _OWN_WORDS
            if (alone and not own) or item.basis == "implied":
                confidence = min(confidence, settings.confidence_implied)
            if not grounding.complete:
                confidence = min(confidence, settings.confidence_confirmed)
            if grounding.hedged:
                confidence *= settings.hedged
            provenance = Provenance.USER_STATED if own else Provenance.ASSISTANT_DERIVED
            return _Source(provenance, min(max(confidence, 0.0), 1.0), numbers, agreed)
        return None


@dataclass(frozen=True, slots=True)
class _Source:
    """Who vouches for a sentence, how surely, and in which turns."""

    provenance: Provenance
    confidence: float
    turns: tuple[int, ...]
    confirmed: bool
    """Another said it and the user agreed: their saying it is no echo."""


def _tiers(item: _Item, shown: Shown, settings: AdmitSettings) -> Iterator[tuple[tuple[int, ...], float, bool]]:
    """The turns that may bear an item out, best source first, the confidence that each deserves (ADMIT-5), and whether
    the user agreed to what another said in them.
    """
    now = shown.current
    yield (now,), settings.confidence_stated, False
    cited = sorted({*item.turns, now})
    users = tuple(number for number in cited if shown.turns[number].role is Role.USER)
    if len(users) > 1:
        yield users, settings.confidence_confirmed, False
    others = [number for number in cited if number not in users]
    if others and not _NO.match(shown.texts[now]):
        agreed = bool(_YES.match(shown.texts[now])) or shown.texts[others[-1]].rstrip().endswith("?")
        yield tuple(cited), settings.confidence_confirmed if agreed else settings.confidence_implied, agreed


def _read(answer: str) -> _Reply:
    return _Reply.model_validate_json(unfenced(answer))


def _complaint(error: ValidationError) -> str:
    """What is wrong, without the values: they may be anything."""
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'answer'}: {one['msg']}" for one in error.errors(include_input=False)[:5]
    )
