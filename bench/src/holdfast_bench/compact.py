"""Compaction: what other people's conversations lose by it, and what it must never lose.

Rules of our own are planted in LoCoMo and BEAM conversations (rules.py), everything is compacted, and the
same questions are asked before and after. Each conversation is taken in twice: as one session, the way a host holds a
long conversation, and as the set's own sittings, the way `bench locomo` does. Files of rules
measure the detector.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.compact.abstract import SourceTurns, unsupported
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.settings import Settings, load_settings
from holdfast.testing import FixedClock
from holdfast.version import __version__
from holdfast_bench import beam, locomo
from holdfast_bench.ask import DEPTH, Outcome, Progress, means
from holdfast_bench.data import Haystack, read_text
from holdfast_bench.machine import KILOBYTES
from holdfast_bench.rules import Labelled, Planted, plant, read_labelled
from holdfast_bench.rules import measure as measure_detector

# --- How long one long session takes to be compacted, and how much memory that needs, in a process of its own.


_SHORT = 5  # the memory of a session of a fifth of the length says whether it is flat
_TIMEOUT_S = 600.0
_PROGRAM = """
import json, time
from dataclasses import replace
from holdfast import Memory, Settings

settings = Settings()
settings = replace(settings, admit=replace(settings.admit, enabled=False))  # no other work beside it
memory = Memory(sys.argv[1], "bench", settings=settings)
started, cpu = time.perf_counter(), time.process_time()
made = memory.compact("long", force=True)
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
print(json.dumps({
    "seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "peak_mb": round(kilobytes("VmHWM:") / 1024, 1),
    "turns_removed": made.turns_removed, "summaries": len(made.summaries),
}))
memory.close()
"""


def measure_speed(haystacks: Sequence[Haystack], turns: int) -> dict[str, object]:
    """One session of so many turns, told over and over from the conversations, and one of a fifth of that."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        return {
            "turns": turns,
            **_compacted(haystacks, turns, Path(folder) / "long.db"),
            "peak_mb_of_a_fifth": _compacted(haystacks, turns // _SHORT, Path(folder) / "short.db")["peak_mb"],
        }


def _compacted(haystacks: Sequence[Haystack], turns: int, path: Path) -> dict[str, object]:
    said = itertools.cycle(turn for haystack in haystacks for sitting in haystack.sittings for turn in sitting.turns)
    settings = Settings()
    quick = replace(
        settings,
        store=replace(settings.store, durable=False),
        compact=replace(settings.compact, automatic=False),
    )
    with Memory(path, "bench", embedder="none", settings=quick) as memory:
        for turn in itertools.islice(said, turns):
            memory.ingest(turn.text, turn.role, "long")
    done = subprocess.run(
        [sys.executable, "-c", KILOBYTES + _PROGRAM, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=_TIMEOUT_S,
    )
    figures = json.loads(done.stdout)
    assert isinstance(figures, dict)
    return figures


_PINNED = (
    "recall@10_before", "recall@10_after", "active_tokens_ratio", "rules_kept", "rules_recallable",
    "planted_rules_kept", "unfaithful", "seconds_per_10k_turns",
)  # fmt: skip
_FOUND = 10
"""Hits among which a planted rule must be."""
_EXAMPLES = 20


@dataclass
class _Told:
    """What was seen of one set in one layout."""

    before: list[Outcome] = field(default_factory=list)
    after: list[Outcome] = field(default_factory=list)
    tokens_before: int = 0
    tokens_after: int = 0
    turns: int = 0
    removed: int = 0
    summaries: int = 0
    guidance: int = 0
    confidence: float = 0.0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of this process; where others share the machine it says more."""
    unfaithful: list[str] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    recalled: set[str] = field(default_factory=set)


def run(data: Sequence[Path], progress: Progress | None = None, turns: int = 10_000) -> dict[str, object]:
    """`turns`: the length of the session that speed and memory are measured on; 0 leaves that out."""
    started = time.perf_counter()
    sets, labelled = _read(data)
    settings = _settings()
    figures: dict[str, object] = {
        "set": "compact",
        "n": sum(len(one.questions) for part in sets.values() for one in part),
        **dict.fromkeys(_PINNED),
    }
    if sets:
        figures |= _conversations(sets, settings, progress)
    if labelled:
        figures["detector"] = measure_detector(labelled)
    if sets and turns:
        if progress is not None:
            progress("speed", 0, turns)
        first = next(iter(sets.values()))
        figures["speed"] = measure_speed(first, turns)
    return figures | {
        "seconds": round(time.perf_counter() - started, 1),
        "embedder": settings.embedder.profile,
        "version": __version__,
    }


def _read(data: Sequence[Path]) -> tuple[dict[str, list[Haystack]], list[Labelled]]:
    """The conversations by set, and the sentences that are labelled as rules."""
    sets: dict[str, list[Haystack]] = {}
    labelled: list[Labelled] = []
    for path in data:
        content = read_text(path)
        if not content.lstrip().startswith("["):
            labelled += read_labelled(path, content)
        elif '"probing_questions"' in content:
            sets.setdefault("beam", []).extend(beam.read([path]))
        elif '"conversation"' in content:
            sets.setdefault("locomo", []).extend(locomo.read([path]))
        else:
            raise InputError(f"{path} is neither a LoCoMo nor a BEAM file, nor one of labelled sentences")
    return sets, labelled


def _settings() -> Settings:
    """As configured, but nothing is compacted before it is told to, and the store goes away with the run."""
    settings = load_settings()
    return replace(
        settings,
        store=replace(settings.store, durable=False),
        compact=replace(settings.compact, automatic=False),
    )


def _conversations(
    sets: Mapping[str, Sequence[Haystack]], settings: Settings, progress: Progress | None
) -> dict[str, object]:
    haystacks = [haystack for part in sets.values() for haystack in part]
    grown, planted = plant(haystacks, free=2 * settings.compact.tail)
    by_name = {haystack.name: haystack for haystack in grown}
    own = [one for one in planted if one.question is not None]
    layouts = {}
    for layout in ("conversation", "sittings"):
        told = {name: _Told() for name in sets}
        for name, part in sets.items():
            for number, haystack in enumerate(part, 1):
                if progress is not None:
                    progress(f"{name}, one session a {layout.removesuffix('s')}", number, len(part))
                mine = [one for one in planted if one.haystack == haystack.name]
                _live(by_name[haystack.name], mine, layout == "conversation", settings, told[name])
        kept = set().union(*(one.kept for one in told.values()))
        recalled = set().union(*(one.recalled for one in told.values()))
        layouts[layout] = {
            "rules_kept": sum(one.turn in kept for one in own),
            "rules_recallable": sum(one.turn in recalled for one in own),
            "planted_rules_kept": len(kept) - sum(one.turn in kept for one in own),
            "rules_missed": [one.text for one in own if one.turn not in kept],
            "rules_not_recallable": [one.text for one in own if one.turn not in recalled],
            "sets": {name: _figures(one) for name, one in told.items()},
        }
        if layout == "conversation":
            pinned = _pinned(told, layouts[layout])
    return {**pinned, "planted": {"rules": len(own), "others": len(planted) - len(own)}, "layouts": layouts}


def _pinned(told: Mapping[str, _Told], layout: Mapping[str, object]) -> dict[str, object]:
    """Recall and tokens of LoCoMo where it was given, rules over everything; a conversation is a session."""
    asked = told["locomo"] if "locomo" in told else next(iter(told.values()))
    before, after = means(asked.before, "turn"), means(asked.after, "turn")
    return {
        "recall@10_before": before and before["recall@10"],
        "recall@10_after": after and after["recall@10"],
        "active_tokens_ratio": _ratio(asked.tokens_after, asked.tokens_before),
        "rules_kept": layout["rules_kept"],
        "rules_recallable": layout["rules_recallable"],
        "planted_rules_kept": layout["planted_rules_kept"],
        "unfaithful": sum(len(one.unfaithful) for one in told.values()),
        "seconds_per_10k_turns": round(
            10_000 * sum(one.seconds for one in told.values()) / max(sum(one.turns for one in told.values()), 1), 2
        ),
    }


def _figures(told: _Told) -> dict[str, object]:
    before, after = means(told.before, "turn"), means(told.after, "turn")
    return {
        "n": sum(outcome.question.counts for outcome in told.before),
        "turns": told.turns,
        "recall@10_before": before and before["recall@10"],
        "recall@10_after": after and after["recall@10"],
        "mrr_before": before and before["mrr"],
        "mrr_after": after and after["mrr"],
        "active_tokens_before": told.tokens_before,
        "active_tokens_after": told.tokens_after,
        "active_tokens_ratio": _ratio(told.tokens_after, told.tokens_before),
        "turns_removed": told.removed,
        "summaries": told.summaries,
        "mean_confidence": round(told.confidence / max(told.summaries, 1), 4),
        "guidance": told.guidance,
        "unfaithful": len(told.unfaithful),
        "unfaithful_examples": told.unfaithful[:_EXAMPLES],
        "seconds_per_10k_turns": round(10_000 * told.seconds / max(told.turns, 1), 2),
        "cpu_seconds_per_10k_turns": round(10_000 * told.cpu_seconds / max(told.turns, 1), 2),
    }


def _ratio(after: int, before: int) -> float:
    return round(after / before, 4) if before else 1.0


# --- one conversation


def _live(haystack: Haystack, planted: Sequence[Planted], whole: bool, settings: Settings, told: _Told) -> None:
    """Take it in, ask, compact all of it, ask again, and look at what is there."""
    clock = FixedClock()
    with _opened(haystack.name, settings, clock) as memory:
        places: dict[str, tuple[str, str]] = {}
        sessions = []
        for sitting in haystack.sittings:
            clock.now = sitting.at
            session = haystack.name if whole else sitting.session
            kept = [
                memory.ingest(
                    said.text, said.role, session, at=sitting.at,
                    metadata=None if said.speaker is None else {"speaker": said.speaker},
                )
                for said in sitting.turns
            ]  # fmt: skip
            places |= {turn.id: (said.id, sitting.session) for turn, said in zip(kept, sitting.turns, strict=True)}
            sessions.append(session)
        memory.flush()
        sessions = list(dict.fromkeys(sessions))
        told.turns += len(places)
        told.tokens_before += sum(memory.active(session).tokens for session in sessions)
        told.before += _asked(memory, haystack, clock, places)
        for session in sessions:
            started, cpu = time.perf_counter(), time.process_time()
            told.removed += memory.compact(session, force=True).turns_removed
            told.seconds += time.perf_counter() - started
            told.cpu_seconds += time.process_time() - cpu
        memory.flush()
        told.after += _asked(memory, haystack, clock, places)
        _look(memory, sessions, told, planted)
        for one in planted:
            if one.question is not None:
                hits = memory.search(one.question, limit=_FOUND)
                if one.turn in {places[turn][0] for hit in hits for turn in hit.turn_ids}:
                    told.recalled.add(one.turn)


@contextmanager
def _opened(name: str, settings: Settings, clock: FixedClock) -> Iterator[Memory]:
    with (
        tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder,
        Memory(Path(folder) / "memory.db", name, settings=settings, clock=clock) as memory,
    ):
        yield memory


def _asked(
    memory: Memory, haystack: Haystack, clock: FixedClock, places: Mapping[str, tuple[str, str]]
) -> Iterator[Outcome]:
    for question in haystack.questions:
        clock.now = question.at
        found = [places[turn] for hit in memory.search(question.text, limit=DEPTH) for turn in hit.turn_ids]
        turns = list(dict.fromkeys(turn for turn, _ in found))[:DEPTH]
        yield Outcome(question, turns, list(dict.fromkeys(session for _, session in found)))


def _look(memory: Memory, sessions: Sequence[str], told: _Told, planted: Sequence[Planted]) -> None:
    guidance: list[str] = []
    for session in sessions:
        view = memory.active(session)
        told.tokens_after += view.tokens
        told.summaries += len(view.summaries)
        told.guidance += len(view.guidance)
        guidance += [record.text for record in view.guidance]
        for record in view.summaries:
            told.confidence += record.confidence
            told.unfaithful += unsupported(record.text, SourceTurns(memory.expand(record.id)))
    told.kept |= {one.turn for one in planted if any(one.text in text for text in guidance)}
