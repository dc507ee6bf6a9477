"""Every hostile text in every disguise through Memory.context: as a turn of every origin, a speaker, a record, a rule.

One context holds hundreds of them. Turns come by the tail, made long enough for all; records by search, whose floor is
taken away; rules as list items and as quotations, none of which is cut within so large a budget.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.context.render import Frame, Item, parse
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.results import Context, Tier
from holdfast.settings import Settings
from holdfast.testing import HashEmbedder
from holdfast_bench.injection import CARRIERS, faults_of

ORIGINS = {"user": "user", "assistant": "assistant", "tool": "tool", "user_pasted": "user", "imported": "user"}
"""Each with its role."""
_TEXTS = 160  # of one context, each as a turn of every origin and twice as a rule
_TOKENS = 10**8
_NAMESPACE = "hostile"
_QUESTION = [{"role": "user", "content": "What is known so far?"}]


@dataclass
class _Tally:
    contexts: int = 0
    shown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("turns", "records", "rules"), 0))
    refused: int = 0
    escapes: int = 0
    changed: int = 0
    raised: int = 0
    examples: list[str] = field(default_factory=list)

    def blame(self, what: str) -> None:
        if len(self.examples) < 5:
            self.examples.append(what)


def carried(
    texts: Sequence[str],
    progress: Callable[[int, int], None] = lambda done, total: None,
    carriers: Mapping[str, Callable[[str, str], str]] = CARRIERS,
) -> dict[str, object]:
    """`changed`: shown as something else than was stored; `raised_to_guidance`: treated as the user's standing wish."""
    tally = _Tally()
    once = list(dict.fromkeys(texts))
    for number, (name, carry) in enumerate(carriers.items(), 1):
        with (
            tempfile.TemporaryDirectory(prefix="holdfast-hostile-") as home,
            Memory(Path(home) / "memory.db", _NAMESPACE, embedder=HashEmbedder(), settings=_settings()) as memory,
        ):
            for start in range(0, len(once), _TEXTS):
                some = once[start : start + _TEXTS]
                _as_turns_and_rules(memory, Path(home), f"from {start}", name, carry, some, tally)
        _as_records(name, carry, once, tally)
        progress(number, len(carriers))
    return {
        "carriers": len(carriers),
        "contexts": tally.contexts,
        "shown": tally.shown,
        "refused": tally.refused,
        "escapes": tally.escapes,
        "changed": tally.changed,
        "raised_to_guidance": tally.raised,
        **({"examples": tally.examples} if tally.examples else {}),
    }


def _settings() -> Settings:
    usual = Settings()
    return replace(
        usual,
        store=replace(usual.store, durable=False),
        admit=replace(usual.admit, enabled=False),  # what a turn said would be said twice
        compact=replace(usual.compact, budget_tokens=_TOKENS),  # a rule of the user's own may well become guidance
        context=replace(
            usual.context, deadline_s=600.0, embedder_s=60.0, tail_turns=_TEXTS * len(ORIGINS), candidates=10**4,
            soft_share=1.0,
        ),
        recall=replace(usual.recall, floor_against=0.0, floor_rise=0.0),
    )  # fmt: skip


def _as_turns_and_rules(
    memory: Memory,
    home: Path,
    session: str,
    name: str,
    carry: Callable[[str, str], str],
    texts: Sequence[str],
    tally: _Tally,
) -> None:
    frame = Frame.of(memory._store.secret(), session, _NAMESPACE)
    attacks = [attack for text in texts if (attack := carry(text, frame.mark)).strip()]
    stored = []
    for attack in attacks:
        for origin, role in ORIGINS.items():
            try:
                memory.ingest(attack, role=role, origin=origin, session=session, metadata={"speaker": attack})
            except InputError:
                tally.refused += 1
                continue
            stored.append((attack, origin, attack))
    rules = home / f"{session}.md"
    rules.write_text("".join(_rules(attacks)), encoding="utf-8", errors="replace", newline="")
    made = memory.context(_QUESTION, session, memory_budget=_TOKENS, rules=[rules])
    tiers = _look_at(made, frame, name, tally)
    shown = [(item.text, item.origin, item.speaker) for item in tiers.get(Tier.TAIL, [])]
    if shown != stored:
        tally.changed += max(1, sum(one != other for one, other in zip(stored, shown, strict=False)))
        tally.blame(f"{name}: a turn reads back as another")
    tally.shown["turns"] += len(shown)
    tally.shown["rules"] += len(tiers.get(Tier.HARD, [])) + len(tiers.get(Tier.SOFT, []))


def _rules(attacks: Sequence[str]) -> Iterator[str]:
    for attack in attacks:
        yield "- " + attack.replace("\n", "\n  ") + "\n\n"
        yield "> " + attack.replace("\n", "\n> ") + "\n\n"


def _as_records(name: str, carry: Callable[[str, str], str], texts: Sequence[str], tally: _Tally) -> None:
    """In a memory of their own: beside the turns that say the same, search would give one of the two."""
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-hostile-") as home,
        Memory(Path(home) / "memory.db", _NAMESPACE, embedder=HashEmbedder(), settings=_settings()) as memory,
    ):
        frame = Frame.of(memory._store.secret(), "asking", _NAMESPACE)
        stored = set()
        for text in texts:
            try:
                stored.add(memory.remember(carry(text, frame.mark)).text)
            except InputError:
                tally.refused += 1
        memory.flush()
        made = memory.context(_QUESTION, "asking", memory_budget=_TOKENS)
        shown = [item.text for item in _look_at(made, frame, name, tally).get(Tier.RECALLED, [])]
    for text in shown:
        if text not in stored:
            tally.changed += 1
            tally.blame(f"{name}: a record reads back as {text[:60]!r}")
    tally.shown["records"] += len(shown)


def _look_at(made: Context, frame: Frame, name: str, tally: _Tally) -> dict[Tier, list[Item]]:
    """The parts of a block, after it was looked through for a way out."""
    tally.contexts += 1
    tally.raised += sum(one.tier == Tier.ELEVATED.value and one.included for one in made.receipt.candidates)
    faults = [made.degraded] if made.degraded else list(faults_of(frame, made.text))
    tally.escapes += len(faults)
    if faults:
        tally.blame(f"{name}: {faults[0]}")
        return {}
    return dict(parse(frame, made.text).tiers)
