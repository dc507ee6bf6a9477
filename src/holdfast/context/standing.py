"""The light prompt section: the surest records of a namespace, without a question (API-3).

The user's rules come first, then what the user prefers, decided and told, the surest first. It is framed and escaped
as everything else that a model is handed.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.admit.secrets import masked_text
from holdfast.context.assemble import items_of
from holdfast.context.budget import Pieces
from holdfast.context.render import ContextFrame, Item, render
from holdfast.context.tiers import READ_CHARS, is_own_word, repeated_rules, why_gone, with_lead
from holdfast.model import ContextReceipt, Kind, Record, StandingSection, Tier
from holdfast.models.tokens import TokenCounter
from holdfast.store.snapshot import Snapshot

_KINDS = (Kind.GUIDANCE, Kind.PREFERENCE, Kind.DECISION, Kind.FACT)
_NEWEST = 200
"""Records read per kind: a section of 500 tokens holds about ten."""


def standing_section(
    view: Snapshot, secret: bytes, namespace: str, budget: int, counter: TokenCounter
) -> StandingSection:
    """Return as many whole records as fit; one that is too long is left out and the next is tried."""
    frame = ContextFrame.of(secret, "", namespace)
    tiers: dict[Tier, list[Item]] = {}
    taken: list[Record] = []
    text, tokens = "", 0
    for record in _surest(view):
        tier = _tier(record, view)
        if tier is None:
            continue
        items = tiers.setdefault(tier, [])
        said = masked_text(with_lead(record.text, record.metadata.get("lead")))
        speaker = masked_text(str(record.metadata.get("speaker") or ""))
        items.append(Item(record.id, said, record.provenance.value, record.kind.value, record.at, speaker))
        longer = render(frame, tiers)
        count = counter.count(longer)
        if count > budget:
            items.pop()
            continue
        text, tokens = longer, count
        taken.append(record)
    pieces = Pieces(frame, counter)
    receipt = ContextReceipt(
        "standing",
        f"{len(taken)} records; {tokens} of {budget} tokens",
        budget=budget,
        tokens=tokens,
        frame_tokens=pieces.frame_tokens,
        counter=counter.name,
        items=items_of(tiers, pieces),
    )
    return StandingSection(text, tokens, tuple(taken), receipt)


def _surest(view: Snapshot) -> Iterator[Record]:
    for kind in _KINDS:
        found = view.recent_records(_NEWEST, kind, None, None, None)
        repeated = repeated_rules(found) if kind is Kind.GUIDANCE else frozenset[str]()
        # A stable sort: of equally sure ones the newest come first, as they were read.
        yield from sorted((one for one in found if one.id not in repeated), key=lambda record: -record.confidence)


def _tier(record: Record, view: Snapshot) -> Tier | None:
    """Return the tier of a record by the checks that a context makes; None for guidance that no longer holds."""
    if record.kind is not Kind.GUIDANCE:
        return Tier.RECALLED
    read = view.turns_by_id(record.turn_ids, READ_CHARS)
    turns = [read[turn_id] for turn_id in record.turn_ids if turn_id in read]
    if why_gone(record, turns, view):
        return None
    return Tier.ELEVATED if is_own_word(record, turns) else Tier.RECALLED
