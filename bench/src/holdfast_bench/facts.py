"""FactConsolidation benchmark: numbered facts, later ones overriding earlier ones; is the newest found first?

The user states every fact, in order, without its number. `newest_first`: the first hit contains the answer.
`stale_first`: it does not, and is an older version of a fact with the answer, equal except for the value. Plain BM25
and plain vectors are asked the same questions over the same facts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime, timedelta
from operator import add
from pathlib import Path

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.models.embedder import Embedder
from holdfast_bench.ask import Bm25Baseline, VectorBaseline
from holdfast_bench.data import read_json, read_shape
from holdfast_bench.machine import Progress, run_info
from holdfast_bench.memories import bench_embedder, bench_settings, share, temporary_memories

_SOURCE = re.compile(r"_(sh|mh)_(\w+)$")
_HOPS = {"sh": "single_hop", "mh": "multi_hop"}
_NUMBERED = re.compile(r"^\d+\.\s+(.+)$", re.MULTILINE)
_START = datetime(2026, 1, 1, tzinfo=UTC)
_TOP = 5
_MIN_FRAME = 2  # words that two versions of a fact must share in addition to the value
_EXAMPLES = 20
_BASELINES = ("bm25", "vector")

_Finder = Callable[[str], Sequence[str]]  # returns the texts found for a question, best first


@dataclass(frozen=True)
class _Metadata:
    source: str


@dataclass(frozen=True)
class _Part:
    """One list of facts with its questions."""

    context: str
    questions: Sequence[str]
    answers: Sequence[Sequence[str]]
    metadata: _Metadata

    def kind(self, path: Path) -> tuple[str, str]:
        """Return its size and its hops: "6k", "single_hop"."""
        found = _SOURCE.search(self.metadata.source)
        if found is None or len(self.questions) != len(self.answers):
            raise InputError(f"{path}: {self.metadata.source!r} is not a known part of FactConsolidation")
        return found[2], _HOPS[found[1]]


@dataclass(slots=True)
class _Counts:
    n: int = 0
    newest_first: int = 0
    newest_in_top: int = 0
    stale_first: int = 0

    def __add__(self, other: _Counts) -> _Counts:
        return _Counts(*map(add, astuple(self), astuple(other)))

    def figures(self) -> dict[str, object]:
        return {
            "n": self.n,
            "newest_first": share(self.newest_first, self.n),
            f"newest@{_TOP}": share(self.newest_in_top, self.n),
            "stale_first": share(self.stale_first, self.n),
        }


_ByHops = dict[str, _Counts]


@dataclass(slots=True)
class _Size:
    """Results for one list of facts: of search, and of every baseline by name."""

    facts: int
    live: int
    superseded: int
    counts: _ByHops = field(default_factory=dict)
    baselines: dict[str, _ByHops] = field(default_factory=dict)

    def figures(self) -> dict[str, object]:
        records = {"facts": self.facts, "records_live": self.live, "records_superseded": self.superseded}
        baselines = {name: _figures(counts) for name, counts in self.baselines.items()}
        return {**records, **_figures(self.counts), "baselines": baselines}


def run(paths: Sequence[Path], progress: Progress | None = None) -> dict[str, object]:
    start = time.perf_counter()
    contexts: dict[str, list[tuple[str, str, _Part]]] = {}
    for path in paths:
        for part in read_shape(list[_Part], read_json(path), path, "FactConsolidation"):
            contexts.setdefault(part.context, []).append((*part.kind(path), part))
    settings = bench_settings()
    embedder = bench_embedder(settings)
    sizes: dict[str, _Size] = {}
    missed: dict[str, list[str]] = {hops: [] for hops in _HOPS.values()}
    with temporary_memories(settings, embedder) as memory_of:
        for number, (context, parts) in enumerate(contexts.items()):
            facts = [found.strip() for found in _NUMBERED.findall(context)]
            asked = [(hops, part) for _, hops, part in parts]
            with memory_of(f"facts {number}") as memory:
                size = _ingest(memory, facts)
                size.counts = _ask_all(_search(memory), asked, facts, missed, progress)
            size.baselines = {name: _ask_all(find, asked, facts) for name, find in _plain(facts, embedder).items()}
            name = parts[0][0]
            sizes[name if name not in sizes else f"{name} ({len(sizes) + 1})"] = size
    baselines = {name: [size.baselines[name] for size in sizes.values()] for name in _BASELINES}
    return {
        "set": "facts",
        "n": sum(counts.n for size in sizes.values() for counts in size.counts.values()),
        **_sum([size.counts for size in sizes.values()]),
        "baselines": {name: _sum(counts) for name, counts in baselines.items()},
        "sizes": {name: size.figures() for name, size in sizes.items()},
        "examples": {hops: some[:_EXAMPLES] for hops, some in missed.items()},
        **run_info(start, embedder),
    }


def is_stale(text: str, answers: Sequence[str], facts: Sequence[str]) -> bool:
    """Return True if a later fact says the same about the same thing, with the answer as its value."""
    places = [number for number, fact in enumerate(facts) if fact == text]
    if not places:
        return False
    for fact in facts[places[-1] + 1 :]:
        for answer in answers:
            before, found, after = fact.partition(answer)
            framed = len((before + after).split()) >= _MIN_FRAME and bool(before)
            if found and framed and text.startswith(before) and text.endswith(after):
                return True
    return False


def _sum(counts: Sequence[_ByHops]) -> dict[str, object]:
    return _figures({hops: sum((one[hops] for one in counts if hops in one), _Counts()) for hops in _HOPS.values()})


def _figures(counts: _ByHops) -> dict[str, object]:
    return {hops: one.figures() for hops, one in counts.items()}


def _ingest(memory: Memory, facts: Sequence[str]) -> _Size:
    """Ingest the facts a minute apart, so that time and log agree on which is the newest."""
    messages = [
        {"role": "user", "content": fact, "at": _START + timedelta(minutes=number), "key": str(number)}
        for number, fact in enumerate(facts)
    ]
    turns = memory.ingest_many(messages, session="facts")
    memory.flush()
    records = {record.id: record for turn in turns for record in memory.why(turn.id).records}
    live = sum(record.superseded_by is None for record in records.values())
    return _Size(len(facts), live, len(records) - live)


def _search(memory: Memory) -> _Finder:
    return lambda question: [hit.text for hit in memory.search(question, limit=_TOP)]


def _plain(facts: Sequence[str], embedder: Embedder) -> dict[str, _Finder]:
    """Return the baselines; of equals both put the later first, in their favour."""

    def finder(rank: Callable[[str], Sequence[int]]) -> _Finder:
        return lambda question: [facts[number] for number in rank(question)[:_TOP]]

    return {"bm25": finder(Bm25Baseline(facts).rank), "vector": finder(VectorBaseline(facts, embedder).rank)}


def _ask_all(
    find: _Finder,
    asked: Sequence[tuple[str, _Part]],
    facts: Sequence[str],
    missed: Mapping[str, list[str]] | None = None,
    progress: Progress | None = None,
) -> _ByHops:
    counts: _ByHops = {}
    for hops, part in asked:
        found = _ask(find, part, facts, [] if missed is None else missed[hops], progress)
        counts[hops] = counts.get(hops, _Counts()) + found
    return counts


def _ask(find: _Finder, part: _Part, facts: Sequence[str], missed: list[str], progress: Progress | None) -> _Counts:
    counts = _Counts(n=len(part.questions))
    for number, (question, answers) in enumerate(zip(part.questions, part.answers, strict=True)):
        texts = find(question)
        counts.newest_in_top += any(_contains(text, answers) for text in texts)
        if texts and _contains(texts[0], answers):
            counts.newest_first += 1
        else:
            stale = bool(texts) and is_stale(texts[0], answers, facts)
            counts.stale_first += stale
            first = texts[0] if texts else "nothing"
            missed.append(f"{question} {' / '.join(answers)} | {'stale' if stale else 'other'}: {first}")
        if progress is not None:
            progress(part.metadata.source, number + 1, len(part.questions))
    return counts


def _contains(text: str, answers: Sequence[str]) -> bool:
    return any(answer.casefold() in text.casefold() for answer in answers)
