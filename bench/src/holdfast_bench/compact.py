"""Compaction benchmark: what conversations lose by it, and what it must never lose.

Rules are planted in LoCoMo and BEAM conversations (rules.py), everything is compacted, and the same questions are asked
before and after. Each conversation is ingested twice: as one session, as a host holds a long conversation, and as the
set's own sessions, as in `bench locomo`. Files of labelled sentences measure the rule detector.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.compact.abstract import SourceTurns, unsupported
from holdfast.compact.prepare import CompactSizes
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.settings import Settings, tuned
from holdfast.testing import FixedClock, temporary_memory
from holdfast.version import __version__
from holdfast_bench import beam, locomo
from holdfast_bench.ask import DEPTH, Outcome, means, outcome_of
from holdfast_bench.data import Haystack, read_text
from holdfast_bench.machine import KILOBYTES, Progress
from holdfast_bench.memories import swept_settings
from holdfast_bench.rules import LabelledText, PlantedRule, plant, read_labelled
from holdfast_bench.rules import measure as measure_detector

_PINNED = (
    "recall@10_before", "recall@10_after", "active_tokens_ratio", "rules_kept", "rules_recallable",
    "planted_rules_kept", "unfaithful", "seconds_per_10k_turns",
)  # fmt: skip
_TOP = 10  # hits in which a planted rule must be
_EXAMPLES = 20
_SHORT = 5  # a session of a fifth of the length shows whether memory is flat
_TIMEOUT_S = 600.0
_PROGRAM = """
import json, time
from dataclasses import replace
from holdfast import Memory, Settings

settings = Settings()
settings = replace(settings, admit=replace(settings.admit, enabled=False))  # no other work
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


@dataclass
class _SetResult:
    """Results of one set in one layout."""

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
    """CPU time of this process, which is more reliable on a shared machine."""
    unsupported: list[str] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    recalled: set[str] = field(default_factory=set)


def run(data: Sequence[Path], progress: Progress | None = None, turns: int = 10_000) -> dict[str, object]:
    """Measure; `turns` is the length of the session for speed and memory, 0 for none."""
    started = time.perf_counter()
    sets, labelled = _read(data)
    settings = _without_automatic(swept_settings())
    figures: dict[str, object] = {
        "set": "compact",
        "n": sum(len(one.questions) for part in sets.values() for one in part),
        **dict.fromkeys(_PINNED),
    }
    if sets:
        figures |= _measure_conversations(sets, settings, progress)
    if labelled:
        figures["detector"] = measure_detector(labelled)
    if sets and turns:
        if progress is not None:
            progress("speed", 0, turns)
        figures["speed"] = measure_speed(next(iter(sets.values())), turns)
    seconds = round(time.perf_counter() - started, 1)
    return figures | {"seconds": seconds, "embedder": settings.embedder.profile, "version": __version__}


def measure_speed(haystacks: Sequence[Haystack], turns: int) -> dict[str, object]:
    """Compact a session of that many turns, repeated from the conversations, and one of a fifth, in new processes."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder:
        return {
            "turns": turns,
            **_compact_in_process(haystacks, turns, Path(folder) / "long.db"),
            "peak_mb_of_a_fifth": _compact_in_process(haystacks, turns // _SHORT, Path(folder) / "short.db")["peak_mb"],
        }


def _compact_in_process(haystacks: Sequence[Haystack], turns: int, path: Path) -> dict[str, object]:
    cycle = itertools.cycle(turn for one in haystacks for session in one.sessions for turn in session.turns)
    with Memory(path, "bench", embedder="none", settings=_without_automatic(Settings())) as memory:
        for turn in itertools.islice(cycle, turns):
            memory.ingest(turn.text, turn.role, "long")
    command = [sys.executable, "-c", KILOBYTES + _PROGRAM, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S)
    figures = json.loads(done.stdout)
    assert isinstance(figures, dict)
    return figures


def _without_automatic(settings: Settings) -> Settings:
    """Switch off automatic compaction, and durable writes because the store is temporary."""
    store, compact = replace(settings.store, durable=False), replace(settings.compact, automatic=False)
    return replace(settings, store=store, compact=compact)


def _read(data: Sequence[Path]) -> tuple[dict[str, list[Haystack]], list[LabelledText]]:
    """Return the conversations by set, and the sentences labelled as rules."""
    sets: dict[str, list[Haystack]] = {}
    labelled: list[LabelledText] = []
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


def _measure_conversations(
    sets: Mapping[str, Sequence[Haystack]], settings: Settings, progress: Progress | None
) -> dict[str, object]:
    haystacks = [haystack for part in sets.values() for haystack in part]
    grown, planted = plant(haystacks, free=2 * tuned(settings, CompactSizes).tail)
    by_name = {haystack.name: haystack for haystack in grown}
    own = [one for one in planted if one.question is not None]
    layouts = {}
    for layout in ("conversation", "sittings"):
        results = {name: _SetResult() for name in sets}
        for name, part in sets.items():
            for number, haystack in enumerate(part, 1):
                if progress is not None:
                    progress(f"{name}, one session per {layout.removesuffix('s')}", number, len(part))
                mine = [one for one in planted if one.haystack == haystack.name]
                _measure_haystack(by_name[haystack.name], mine, layout == "conversation", settings, results[name])
        kept = set().union(*(one.kept for one in results.values()))
        recalled = set().union(*(one.recalled for one in results.values()))
        layouts[layout] = {
            "rules_kept": sum(one.turn in kept for one in own),
            "rules_recallable": sum(one.turn in recalled for one in own),
            "planted_rules_kept": len(kept) - sum(one.turn in kept for one in own),
            "rules_missed": [one.text for one in own if one.turn not in kept],
            "rules_not_recallable": [one.text for one in own if one.turn not in recalled],
            "sets": {name: _figures(one) for name, one in results.items()},
        }
        if layout == "conversation":
            pinned = _pinned(results, layouts[layout])
    return {**pinned, "planted": {"rules": len(own), "others": len(planted) - len(own)}, "layouts": layouts}


def _pinned(results: Mapping[str, _SetResult], layout: Mapping[str, object]) -> dict[str, object]:
    """Return recall and tokens of LoCoMo, if it was given, and rules of all sets, with one session per conversation."""
    main = _figures(results["locomo"] if "locomo" in results else next(iter(results.values())))
    turns, seconds = sum(one.turns for one in results.values()), sum(one.seconds for one in results.values())
    return {
        **{name: main[name] for name in _PINNED[:3]},
        **{name: layout[name] for name in _PINNED[3:6]},
        "unfaithful": sum(len(one.unsupported) for one in results.values()),
        "seconds_per_10k_turns": round(10_000 * seconds / max(turns, 1), 2),
    }


def _figures(result: _SetResult) -> dict[str, object]:
    before, after = means(result.before, "turn"), means(result.after, "turn")
    ratio = round(result.tokens_after / result.tokens_before, 4) if result.tokens_before else 1.0
    return {
        "n": sum(outcome.question.counts for outcome in result.before),
        "turns": result.turns,
        "recall@10_before": before and before["recall@10"],
        "recall@10_after": after and after["recall@10"],
        "mrr_before": before and before["mrr"],
        "mrr_after": after and after["mrr"],
        "active_tokens_before": result.tokens_before,
        "active_tokens_after": result.tokens_after,
        "active_tokens_ratio": ratio,
        "turns_removed": result.removed,
        "summaries": result.summaries,
        "mean_confidence": round(result.confidence / max(result.summaries, 1), 4),
        "guidance": result.guidance,
        "unfaithful": len(result.unsupported),
        "unfaithful_examples": result.unsupported[:_EXAMPLES],
        "seconds_per_10k_turns": round(10_000 * result.seconds / max(result.turns, 1), 2),
        "cpu_seconds_per_10k_turns": round(10_000 * result.cpu_seconds / max(result.turns, 1), 2),
    }


def _measure_haystack(
    haystack: Haystack, planted: Sequence[PlantedRule], whole: bool, settings: Settings, result: _SetResult
) -> None:
    """Ingest, ask, compact everything, ask again, and check the active view."""
    clock = FixedClock()
    embedder = settings.embedder.profile
    with temporary_memory(haystack.name, embedder=embedder, settings=settings, clock=clock) as memory:
        places: dict[str, tuple[str, str]] = {}
        for one in haystack.sessions:
            clock.now = one.at
            for turn in one.turns:
                speaker = None if turn.speaker is None else {"speaker": turn.speaker}
                name = haystack.name if whole else one.session
                kept = memory.ingest(turn.text, turn.role, name, at=one.at, metadata=speaker)
                places[kept.id] = (turn.id, one.session)
        memory.flush()
        sessions = [haystack.name] if whole else list(dict.fromkeys(one.session for one in haystack.sessions))
        result.turns += len(places)
        result.tokens_before += sum(memory.active(session).tokens for session in sessions)
        result.before += _ask(memory, haystack, clock, places)
        for session in sessions:
            started, cpu = time.perf_counter(), time.process_time()
            result.removed += memory.compact(session, force=True).turns_removed
            result.seconds += time.perf_counter() - started
            result.cpu_seconds += time.process_time() - cpu
        memory.flush()
        result.after += _ask(memory, haystack, clock, places)
        _check_active(memory, sessions, result, planted)
        for rule in planted:
            if rule.question is not None:
                hits = memory.search(rule.question, limit=_TOP)
                if rule.turn in {places[turn][0] for hit in hits for turn in hit.turn_ids}:
                    result.recalled.add(rule.turn)


def _ask(
    memory: Memory, haystack: Haystack, clock: FixedClock, places: Mapping[str, tuple[str, str]]
) -> Iterator[Outcome]:
    for question in haystack.questions:
        clock.now = question.at
        hits = memory.search(question.text, limit=DEPTH)
        yield outcome_of(question, [places[turn] for hit in hits for turn in hit.turn_ids])


def _check_active(memory: Memory, sessions: Sequence[str], result: _SetResult, planted: Sequence[PlantedRule]) -> None:
    guidance: list[str] = []
    for session in sessions:
        view = memory.active(session)
        result.tokens_after += view.tokens
        result.summaries += len(view.summaries)
        result.guidance += len(view.guidance)
        guidance += [record.text for record in view.guidance]
        for record in view.summaries:
            result.confidence += record.confidence
            result.unsupported += unsupported(record.text, SourceTurns(memory.expand(record.id)))
    result.kept |= {one.turn for one in planted if any(one.text in text for text in guidance)}
