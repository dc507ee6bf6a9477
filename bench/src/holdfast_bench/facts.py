"""FactConsolidation: numbered facts of which later ones override earlier ones; is the newest the first that is found?

Every fact is said by the user, in order, without its number. `newest_first`: the first hit holds the answer.
`stale_first`: it does not, and is an older wording of a fact that holds the answer: the same but for the value.
Plain BM25 and plain vectors are asked the same over the same facts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Record
from holdfast.models.embedder import Embedder
from holdfast.version import __version__
from holdfast_bench.admission import Progress, admitting, became, bench_embedder, bench_settings, share
from holdfast_bench.ask import Bm25, Vectors
from holdfast_bench.data import read_json, read_shape

_SOURCE = re.compile(r"_(sh|mh)_(\w+)$")
_HOPS = {"sh": "single_hop", "mh": "multi_hop"}
_NUMBERED = re.compile(r"^\d+\.\s+(.+)$", re.MULTILINE)
_START = datetime(2026, 1, 1, tzinfo=UTC)
_LOOKED_AT = 5
_LEAST_FRAME = 2
"""Words that two wordings of a fact must share at least, besides the value."""
_EXAMPLES = 20
_BASELINES = ("bm25", "vector")

_Found = Callable[[str], Sequence[str]]
"""The texts that are found for a question, best first."""


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
        """Its size and its hops: "6k", "single_hop"."""
        found = _SOURCE.search(self.metadata.source)
        if found is None or len(self.questions) != len(self.answers):
            raise InputError(f"{path}: {self.metadata.source!r} is not a part of FactConsolidation as it is known")
        return found[2], _HOPS[found[1]]


@dataclass(slots=True)
class _Tally:
    n: int = 0
    newest_first: int = 0
    newest_among: int = 0
    stale_first: int = 0

    def __add__(self, other: _Tally) -> _Tally:
        return _Tally(
            self.n + other.n,
            self.newest_first + other.newest_first,
            self.newest_among + other.newest_among,
            self.stale_first + other.stale_first,
        )

    def figures(self) -> dict[str, object]:
        return {
            "n": self.n,
            "newest_first": share(self.newest_first, self.n),
            f"newest@{_LOOKED_AT}": share(self.newest_among, self.n),
            "stale_first": share(self.stale_first, self.n),
        }


_Tallies = dict[str, _Tally]
"""By hops."""


@dataclass(slots=True)
class _Size:
    """All that was asked of one list of facts: of search, and of every baseline by its name."""

    facts: int
    live: int
    superseded: int
    tallies: _Tallies = field(default_factory=dict)
    baselines: dict[str, _Tallies] = field(default_factory=dict)

    def figures(self) -> dict[str, object]:
        told = {"facts": self.facts, "records_live": self.live, "records_superseded": self.superseded}
        baselines = {name: _figures(tallies) for name, tallies in self.baselines.items()}
        return {**told, **_figures(self.tallies), "baselines": baselines}


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
    with admitting(settings, embedder) as memory_of:
        for number, (context, parts) in enumerate(contexts.items()):
            facts = _facts(context)
            asked = [(hops, part) for _, hops, part in parts]
            with memory_of(f"facts {number}") as memory:
                size = _tell_facts(memory, facts)
                size.tallies = _ask_all(_search(memory), asked, facts, missed, progress)
            size.baselines = {name: _ask_all(found, asked, facts) for name, found in _plain(facts, embedder).items()}
            sizes[_free_name(parts[0][0], sizes)] = size
    baselines = {name: [size.baselines[name] for size in sizes.values()] for name in _BASELINES}
    return {
        "set": "facts",
        "n": sum(tally.n for size in sizes.values() for tally in size.tallies.values()),
        **_together([size.tallies for size in sizes.values()]),
        "baselines": {name: _together(tallies) for name, tallies in baselines.items()},
        "sizes": {name: size.figures() for name, size in sizes.items()},
        "examples": {hops: some[:_EXAMPLES] for hops, some in missed.items()},
        "seconds": round(time.perf_counter() - start, 1),
        "embedder": embedder.profile.name,
        "version": __version__,
    }


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def _together(tallies: Sequence[_Tallies]) -> dict[str, object]:
    return _figures({hops: sum((one[hops] for one in tallies if hops in one), _Tally()) for hops in _HOPS.values()})


def _figures(tallies: _Tallies) -> dict[str, object]:
    return {hops: tally.figures() for hops, tally in tallies.items()}


def _facts(context: str) -> list[str]:
    return [found.strip() for found in _NUMBERED.findall(context)]


def _tell_facts(memory: Memory, facts: Sequence[str]) -> _Size:
    """A minute between two facts: which is the newest is told by time and by the log alike."""
    messages = [
        {"role": "user", "content": fact, "at": _START + timedelta(minutes=number), "key": str(number)}
        for number, fact in enumerate(facts)
    ]
    turns = memory.ingest_many(messages, session="facts")
    memory.flush()
    records: dict[str, Record] = {}
    for turn in turns:
        records |= {record.id: record for record in became(memory, turn.id).records}
    live = sum(record.superseded_by is None for record in records.values())
    return _Size(len(facts), live, len(records) - live)


def _search(memory: Memory) -> _Found:
    return lambda question: [hit.text for hit in memory.search(question, limit=_LOOKED_AT)]


def _plain(facts: Sequence[str], embedder: Embedder) -> dict[str, _Found]:
    """The baselines over the facts as they are told; of equals both put the later first, which is to their favour."""

    def found_by(rank: Callable[[str], Sequence[int]]) -> _Found:
        return lambda question: [facts[number] for number in rank(question)[:_LOOKED_AT]]

    return {"bm25": found_by(Bm25(facts).rank), "vector": found_by(Vectors(facts, embedder).rank)}


def _ask_all(
    found: _Found,
    asked: Sequence[tuple[str, _Part]],
    facts: Sequence[str],
    missed: Mapping[str, list[str]] | None = None,
    tell: Progress | None = None,
) -> _Tallies:
    tallies: _Tallies = {}
    for hops, part in asked:
        tally = _ask(found, part, facts, [] if missed is None else missed[hops], tell)
        tallies[hops] = tallies.get(hops, _Tally()) + tally
    return tallies


def _ask(found: _Found, part: _Part, facts: Sequence[str], missed: list[str], tell: Progress | None) -> _Tally:
    tally = _Tally(n=len(part.questions))
    for number, (question, answers) in enumerate(zip(part.questions, part.answers, strict=True)):
        texts = found(question)
        tally.newest_among += any(_holds(text, answers) for text in texts)
        if texts and _holds(texts[0], answers):
            tally.newest_first += 1
        else:
            stale = bool(texts) and is_stale(texts[0], answers, facts)
            tally.stale_first += stale
            first = texts[0] if texts else "nothing"
            missed.append(f"{question} {' / '.join(answers)} | {'stale' if stale else 'other'}: {first}")
        if tell is not None:
            tell(part.metadata.source, number + 1, len(part.questions))
    return tally


def _holds(text: str, answers: Sequence[str]) -> bool:
    return any(answer.casefold() in text.casefold() for answer in answers)


def is_stale(text: str, answers: Sequence[str], facts: Sequence[str]) -> bool:
    """Whether a later fact says the same of the same thing, with the answer as its value."""
    said = [number for number, fact in enumerate(facts) if fact == text]
    if not said:
        return False
    for fact in facts[said[-1] + 1 :]:
        for answer in answers:
            before, found, after = fact.partition(answer)
            framed = len((before + after).split()) >= _LEAST_FRAME and bool(before)
            if found and framed and text.startswith(before) and text.endswith(after):
                return True
    return False
