"""FactConsolidation: numbered facts of which later ones override earlier ones; is the newest the first that is found?

Every fact is said by the user, in order, without its number. `newest_first`: the first hit holds the answer.
`stale_first`: it does not, and is an older wording of a fact that holds the answer: the same but for the value.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.errors import InputError
from holdfast.evaluate.admitting import (
    Progress,
    admitting,
    became,
    bench_embedder,
    bench_settings,
    share,
)
from holdfast.evaluate.files import read_json
from holdfast.evaluate.shapes import read_shape
from holdfast.memory import Memory
from holdfast.model import Hit, Record
from holdfast.version import __version__

__all__ = ["is_stale", "run"]

_SOURCE = re.compile(r"_(sh|mh)_(\w+)$")
_HOPS = {"sh": "single_hop", "mh": "multi_hop"}
_NUMBERED = re.compile(r"^\d+\.\s+(.+)$", re.MULTILINE)
_START = datetime(2026, 1, 1, tzinfo=UTC)
_LOOKED_AT = 5
_LEAST_FRAME = 2
"""Words that two wordings of a fact must share at least, besides the value."""
_EXAMPLES = 20


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


@dataclass(slots=True)
class _Size:
    """All that was asked of one list of facts."""

    facts: int
    live: int
    superseded: int
    tallies: dict[str, _Tally]

    def figures(self) -> dict[str, object]:
        hops = {name: tally.figures() for name, tally in self.tallies.items()}
        return {"facts": self.facts, "records_live": self.live, "records_superseded": self.superseded, **hops}


def run(paths: Sequence[Path], progress: Progress | None = None) -> dict[str, object]:
    start = time.perf_counter()
    tell = progress or (lambda step, done, total: None)
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
            with memory_of(f"facts {number}") as memory:
                size = _tell_facts(memory, context)
                for _, hops, part in parts:
                    size.tallies[hops] = size.tallies.get(hops, _Tally()) + _ask(memory, part, missed[hops], tell)
            sizes[_free_name(parts[0][0], sizes)] = size
    together = {hops: _together(sizes, hops).figures() for hops in _HOPS.values()}
    return {
        "set": "facts",
        "n": sum(tally.n for size in sizes.values() for tally in size.tallies.values()),
        **together,
        "sizes": {name: size.figures() for name, size in sizes.items()},
        "examples": {hops: some[:_EXAMPLES] for hops, some in missed.items()},
        "seconds": round(time.perf_counter() - start, 1),
        "embedder": embedder.profile.name,
        "version": __version__,
    }


def _free_name(name: str, taken: Mapping[str, object]) -> str:
    return name if name not in taken else f"{name} ({len(taken) + 1})"


def _together(sizes: Mapping[str, _Size], hops: str) -> _Tally:
    return sum((size.tallies[hops] for size in sizes.values() if hops in size.tallies), _Tally())


def _facts(context: str) -> list[str]:
    return [found.strip() for found in _NUMBERED.findall(context)]


def _tell_facts(memory: Memory, context: str) -> _Size:
    """A minute between two facts: which is the newest is told by time and by the log alike."""
    facts = _facts(context)
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
    return _Size(len(facts), live, len(records) - live, {})


def _ask(memory: Memory, part: _Part, missed: list[str], tell: Progress) -> _Tally:
    facts = _facts(part.context)
    tally = _Tally(n=len(part.questions))
    for number, (question, answers) in enumerate(zip(part.questions, part.answers, strict=True)):
        hits = memory.search(question, limit=_LOOKED_AT)
        tally.newest_among += any(_holds(hit, answers) for hit in hits)
        if hits and _holds(hits[0], answers):
            tally.newest_first += 1
        else:
            stale = bool(hits) and is_stale(hits[0].text, answers, facts)
            tally.stale_first += stale
            found = hits[0].text if hits else "nothing"
            missed.append(f"{question} {' / '.join(answers)} | {'stale' if stale else 'other'}: {found}")
        tell(part.metadata.source, number + 1, len(part.questions))
    return tally


def _holds(hit: Hit, answers: Sequence[str]) -> bool:
    return any(answer.casefold() in hit.text.casefold() for answer in answers)


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
