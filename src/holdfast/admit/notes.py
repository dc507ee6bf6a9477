"""Notes of agents: which turns of the user bear one out, by the check of the chat-model route (TRUST-2).

A model that writes a note through a tool call is a model that proposes a record. So its note is judged like such a
proposal (admit/llm.py): the user's own words must hold it, and code decides its provenance and confidence. A note that
they bear out becomes a record of those turns; any other stays the agent's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from holdfast.admit.extract import AdmitWeights, Candidate
from holdfast.admit.llm import LlmExtractor
from holdfast.gate.own_words import own_words
from holdfast.model import Kind, Origin, Provenance, Role, Turn
from holdfast.models.chat import Message, Schema
from holdfast.store.snapshot import Snapshot

_TURNS = 200  # of the session's last, that a note may rest on
_TOGETHER = 4  # of the user's turns that may bear a note out only together


class _NoteAsProposal:
    """A Chat that proposes one note, resting on the last `cited` turns that it is shown."""

    name = "agent"

    def __init__(self, text: str, kind: Kind, cited: int) -> None:
        self._text = text
        self._kind = kind
        self._cited = cited

    def complete(self, messages: Sequence[Message], schema: Schema | None, timeout_s: float) -> str:
        numbers = [turn["number"] for turn in json.loads(messages[-1].content)["turns"]][-self._cited :]
        proposal = {"text": self._text, "kind": self._kind.value, "turns": numbers, "basis": "stated"}
        return json.dumps({"candidates": [proposal | {"supersedes": None}]})


def ground_note(view: Snapshot, text: str, kind: Kind, session: str | None, settings: AdmitWeights) -> Candidate | None:
    """Return the note as a statement of the user's turns in this session (default: the last one); None if it is not.

    What the user forgot or has replaced since bears nothing out.
    """
    settings = replace(settings, grounded_share=1.0)  # every word of content: a wrong verb is a wrong fact
    name = session or next((one.name for one in view.sessions(1)), None)
    if name is None:
        return None
    turns = view.thread(name, view.last_index(name) - _TURNS, _TURNS)
    said = [
        replace(turn, text=own_words(turn.text, settings.own_chars).text)
        for turn in turns
        if turn.role is Role.USER and turn.origin is Origin.USER and not view.is_hidden(turn.id)
    ]
    said = [turn for turn in said if turn.text.strip()]
    for turn in reversed(said):
        if found := _borne_out(text, kind, turn, (), settings):
            return found if _still_holds(view, turn) else None
    if len(said) < 2:
        return None
    *before, last = said[-_TOGETHER:]
    found = _borne_out(text, kind, last, before, settings)
    return found if found and all(_still_holds(view, turn) for turn in (*before, last)) else None


def _borne_out(text: str, kind: Kind, turn: Turn, before: Sequence[Turn], settings: AdmitWeights) -> Candidate | None:
    agent = LlmExtractor(_NoteAsProposal(text, kind, len(before) + 1), settings)
    found = agent.propose(turn, before, ()).candidates
    return next((one for one in found if one.provenance is Provenance.USER_STATED), None)


def _still_holds(view: Snapshot, turn: Turn) -> bool:
    return all(record.superseded_by is None for record in view.records_of(turn))
