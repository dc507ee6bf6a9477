"""What may be kept of turns, read out of them before any is compared: rules, floor and models need no ledger.

Many turns are read together, which takes half the time of one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.claim import Candidate, Extractor, ExtractsMany, Proposal
from holdfast.admit.echo import is_echo
from holdfast.admit.extract import answers_question
from holdfast.admit.floor import judge as judge_floor
from holdfast.admit.pasted import OwnWords, own_words
from holdfast.admit.proposed import Proposed, unpack
from holdfast.admit.recited import holds_list
from holdfast.admit.secrets import mask
from holdfast.derive.claims import Embedded, embed_claims
from holdfast.model import Metadata, Role, Turn
from holdfast.models.embedder import Embedder
from holdfast.settings import Settings
from holdfast.store.nouns import CLAIMS_A_TURN, Space
from holdfast.store.protocol import Snapshot

__all__ = ["ABOVE_THE_CAP", "Read", "Reader"]

ABOVE_THE_CAP = ("cap", "the turn has its full number of records; it stays recallable")

_Said = tuple[Turn, Sequence[Turn]]
"""A turn, and those before it in its session."""


@dataclass(frozen=True, slots=True)
class Found:
    candidate: Candidate
    refused: tuple[str, str] | None
    """The rule that refuses it, and why."""


@dataclass(frozen=True, slots=True)
class Read:
    """One turn: what was found in it, and what passed the floor, with its vectors."""

    before: Sequence[Turn]
    dropped: tuple[tuple[str, str, str], ...]
    """(text, rule, why) of what a model proposed and code did not take."""
    found: tuple[Found, ...]
    kept: tuple[Candidate, ...]
    vectors: NDArray[np.float32]
    rows: list[tuple[Space, int, bytes]]
    """Vectors made now, to be stored."""


class Reader:
    def __init__(self, view: Snapshot, embedder: Embedder, extractor: Extractor, settings: Settings) -> None:
        self._view = view
        self._embedder = embedder
        self._extractor = extractor
        self._settings = settings.admit
        self._own: dict[str, OwnWords] = {}
        self.proposals: Mapping[str, Metadata] = {}
        """What the log holds of a model's proposals, by turn."""

    def own_words(self, turn: Turn) -> OwnWords:
        if turn.id not in self._own:
            self._own[turn.id] = own_words(turn.text, self._settings.own_chars)
        return self._own[turn.id]

    def own_turn(self, turn: Turn) -> Turn:
        return replace(turn, text=self.own_words(turn).text)

    def just_before(self, before: Sequence[Turn]) -> Sequence[Turn]:
        return before[-self._settings.turns_shown :]

    def read(self, said: Sequence[_Said]) -> dict[int, Read]:
        """By the turn's place in the log; what the log says a model proposed, else what rules find."""
        proposed = {turn.seq: self._proposed(turn) for turn, _ in said}
        by_rules = [(self.own_turn(turn), before) for turn, before in said if proposed[turn.seq] is None]
        ruled = {turn.seq: found for (turn, _), found in zip(by_rules, self._extract(by_rules), strict=True)}
        found = {}
        for turn, before in said:
            model = proposed[turn.seq]
            candidates = ruled[turn.seq] if model is None else model.candidates
            found[turn.seq] = self._floored(candidates, before, self._most(turn))
        kept = {
            seq: tuple(_masked(one.candidate) for one in many if one.refused is None) for seq, many in found.items()
        }
        embedded = embed_claims(
            self._view, {seq: [one.text for one in many] for seq, many in kept.items() if many}, self._embedder
        )
        nothing = Embedded(np.zeros((0, self._embedder.profile.dims), np.float32), [])
        return {
            turn.seq: Read(
                before,
                tuple((one.text, one.rule, one.reason) for one in model.dropped)
                if (model := proposed[turn.seq])
                else (),
                found[turn.seq],
                kept[turn.seq],
                embedded.get(turn.seq, nothing).vectors,
                embedded.get(turn.seq, nothing).rows,
            )
            for turn, before in said
        }

    def _proposed(self, turn: Turn) -> Proposed | None:
        proposed = unpack(self.proposals[turn.id]) if turn.id in self.proposals else None
        return None if proposed is None or proposed.by_rules else proposed

    def _extract(self, said: Sequence[_Said]) -> list[list[Candidate]]:
        if isinstance(self._extractor, ExtractsMany):
            return self._extractor.extract_all(said)
        return [self._extractor.extract(turn, before) for turn, before in said]

    def _most(self, turn: Turn) -> int:
        """Statements that are looked at: more than make records where some of them may be a list that was recalled."""
        listed = holds_list(self.own_words(turn).text, self._settings.recited_lines)
        return max(CLAIMS_A_TURN if listed else 0, self._settings.records_per_turn)

    def _floored(self, candidates: Sequence[Candidate], before: Sequence[Turn], most: int) -> tuple[Found, ...]:
        heard = _heard(self.just_before(before))
        found: list[Found] = []
        kept = 0
        for number, candidate in enumerate(candidates):
            refused = self._refused(candidate, number, before, heard)
            if refused is None and kept >= most:
                refused = ABOVE_THE_CAP
            kept += refused is None
            found.append(Found(candidate, refused))
        return tuple(found)

    def _refused(
        self, candidate: Candidate, number: int, before: Sequence[Turn], heard: Sequence[str]
    ) -> tuple[str, str] | None:
        if candidate.proposal is Proposal.SKIP:
            return "skipped", "its extractor proposed nothing"
        refusal = judge_floor(candidate.text, answers_question=number == 0 and answers_question(before))
        if refusal is not None:
            return refusal.reason.value, refusal.why
        if self._view.is_refused(mask(candidate.text).text):
            return "erased", "a record that said this was erased"
        if not candidate.notes.get("confirmed") and is_echo(candidate.text, heard):
            return "echo", "it repeats what the assistant had just said"
        return None


def _masked(candidate: Candidate) -> Candidate:
    return replace(candidate, text=mask(candidate.text).text)


def _heard(before: Sequence[Turn]) -> list[str]:
    """What the user has just been told, so that saying it again is no news (ADMIT-4).

    What was recalled for the session, and its rule files, are told by their form (admit/handed.py) and by what they
    repeat (admit/recited.py): the log does not know what a context showed, and a rebuild must decide the same.
    """
    return [one.text for one in before if one.role is not Role.USER]
