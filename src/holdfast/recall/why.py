"""Why: everything that was decided about a turn or a record, in the order it happened."""

from __future__ import annotations

from holdfast.errors import NotFound
from holdfast.model import Action, Decision, Entry, Kind, Record, Turn, Why
from holdfast.recall.semantic import vectors_stage
from holdfast.settings import IndexSettings
from holdfast.store.protocol import Snapshot, Space

__all__ = ["explain_act", "find", "why"]


def find(view: Snapshot, noun_id: str) -> Turn | Record:
    """The turn or record of this id, or NotFound."""
    noun = view.turn(noun_id) or view.record(noun_id)
    if noun is None:
        raise NotFound(f"there is no turn or record {noun_id!r} in this namespace")
    return noun


_ACTS = {
    Entry.REMEMBER: ("remembered", "at the operator's word; no gate judged it"),
    Entry.FORGET: ("forgotten", "by the operator; hidden from recall, kept in the log"),
    Entry.UNFORGET: ("restored", "by the operator; it is recalled again"),
}


def explain_act(act: Action) -> Decision:
    what, reason = _ACTS[act.entry]
    return Decision(what, reason, act.at)


def why(view: Snapshot, noun_id: str, fingerprint: str | None, settings: IndexSettings) -> Why:
    noun = find(view, noun_id)
    if isinstance(noun, Record):
        turns = tuple(turn for turn_id in noun.turn_ids if (turn := view.turn(turn_id)) is not None)
        told = [explain_act(act) for act in view.acts(noun.id)]
        return Why(noun.id, noun.kind, noun.text, None, (*told, *view.receipts(noun.id)), turns=turns)
    decisions = [
        _kept(noun),
        _indexed(noun, settings),
        _embedded(view, noun, fingerprint),
        *view.receipts(noun.id),
        *(explain_act(act) for act in view.acts(noun.id)),
    ]
    return Why(noun.id, Kind.TURN, noun.text, noun.session, tuple(decisions), records=tuple(view.records_of(noun)))


def _kept(turn: Turn) -> Decision:
    return Decision(
        "kept",
        f"turn {turn.index} of session {turn.session!r}, said by {turn.role.value} (origin {turn.origin.value}), "
        f"stability {turn.stability:g}; only erase removes it",
        turn.recorded_at,
        {"seq": turn.seq, **({"key": turn.key} if turn.key else {})},
    )


def _indexed(turn: Turn, settings: IndexSettings) -> Decision:
    if len(turn.text) > settings.max_chars:
        return Decision(
            "found by words", f"its first {settings.max_chars:,} characters are indexed, of {len(turn.text):,}"
        )
    return Decision("found by words", "by every word of it, from the moment it was kept")


def _embedded(view: Snapshot, turn: Turn, fingerprint: str | None) -> Decision:
    if fingerprint is None:
        return Decision("not found by meaning", "no embedder is configured")
    if turn.seq > view.cursor(vectors_stage(Space.TURN, fingerprint)):
        return Decision("not found by meaning yet", "waiting to be embedded", None, {"embedder": fingerprint})
    stored = view.vectors(Space.TURN, fingerprint, [turn.seq])
    if not stored or not any(stored[0][1]):
        return Decision(
            "not found by meaning", "nothing in it that the embedder knows", None, {"embedder": fingerprint}
        )
    return Decision("found by meaning", "embedded", None, {"embedder": fingerprint})
