"""Hostile texts benchmark: each is stored byte for byte or refused with a reason, and nothing else happens.

Every text goes in by each carrier (as a user's, an assistant's, a tool's and a pasted turn; as the name of a session,
as a key, as metadata) and is read back by thread, recent and search, and once more after the store was reopened.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.version import __version__
from holdfast_bench import injection
from holdfast_bench.data import read_text, strings_in
from holdfast_bench.machine import Progress

_NAMESPACE = "hostile"
_FILLER = "the harbour opens at nine"
_EXAMPLES = 5  # failures that are listed for each carrier


@dataclass(frozen=True, slots=True)
class Carrier:
    """Writes a text in one way, and checks it when the turn is read back."""

    put: Callable[[Memory, str], Turn]
    is_intact: Callable[[Turn, str], bool]


def _turn(role: str, origin: str) -> Carrier:
    session = f"as {origin}"
    return Carrier(
        lambda memory, text: memory.ingest(text, role=role, origin=origin, session=session),
        lambda turn, text: (turn.text, turn.role, turn.origin, turn.session) == (text, role, origin, session),
    )


CARRIERS: Mapping[str, Carrier] = {
    "user": _turn("user", "user"),
    "assistant": _turn("assistant", "assistant"),
    "tool": _turn("tool", "tool"),
    "pasted": _turn("user", "user_pasted"),
    "session": Carrier(
        lambda memory, text: memory.ingest(_FILLER, session=text),
        lambda turn, text: turn.session == text and turn.text == _FILLER,
    ),
    "key": Carrier(
        lambda memory, text: memory.ingest(_FILLER, session="by key", key=text),
        lambda turn, text: turn.key == text and turn.text == _FILLER,
    ),
    "metadata": Carrier(
        lambda memory, text: memory.ingest(_FILLER, session="with metadata", metadata={"value": text, text: "name"}),
        lambda turn, text: turn.metadata == {"value": text, text: "name"} and turn.text == _FILLER,
    ),
}


@dataclass(slots=True)
class _CarrierCounts:
    """Results of one carrier."""

    carrier: Carrier
    kept: list[tuple[str, Turn]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    """Failures by text."""
    search_errors: list[str] = field(default_factory=list)
    questions_refused: int = 0

    def fail(self, text: str, what: str) -> None:
        self.wrong.setdefault(text, []).append(what)

    def figures(self, texts: int) -> dict[str, object]:
        examples = [f"{text[:60]!r}: {whats[0]}" for text, whats in self.wrong.items()] + self.search_errors
        return {
            "n": texts,
            "stored_byte_for_byte": sum(text not in self.wrong for text, _ in self.kept),
            "refused": self.refused.total(),
            "reasons": dict(self.refused.most_common()),
            "wrong": len(self.wrong),
            "search_errors": len(self.search_errors),
            "questions_refused": self.questions_refused,
            **({"examples": examples[:_EXAMPLES]} if examples else {}),
        }


def run(
    paths: Sequence[Path], progress: Progress | None = None, carriers: Mapping[str, Carrier] = CARRIERS
) -> dict[str, object]:
    """Put each text of the files (JSON or JSONL, may be .gz) through every carrier."""
    start = time.perf_counter()
    report = progress or (lambda step, done, total: None)
    texts = [text for path in paths for text in read_texts(path)]
    counters = {name: _CarrierCounts(carrier) for name, carrier in carriers.items()}
    with tempfile.TemporaryDirectory(prefix="holdfast-hostile-") as home:
        store = Path(home) / "memory.db"
        with Memory(store, namespace=_NAMESPACE) as memory:
            for name, counts in counters.items():
                _write(memory, counts, texts, name, report)
            memory.flush()
            for name, counts in counters.items():
                _read_threads(memory, counts, "thread")
                _search(memory, counts, name, report)
        with Memory(store, namespace=_NAMESPACE) as memory:
            for counts in counters.values():
                _read_threads(memory, counts, "thread of the reopened store")
            damage = memory.check()
    report("frame", 0, 1)
    frame = injection.measure_rendering(texts, lambda done, total: report("frame", done, total))
    report("contexts", 0, 1)
    contexts = injection.measure_contexts(texts)
    report("disguises", 0, 1)
    disguised = injection.measure_disguises(texts, lambda done, total: report("disguises", done, total))
    return {
        "set": "hostile",
        "n": len(texts),
        "carriers": {name: counts.figures(len(texts)) for name, counts in counters.items()},
        "wrong": sum(len(counts.wrong) for counts in counters.values()) + len(damage),
        "refused": sum(counts.refused.total() for counts in counters.values()),
        "search_errors": sum(len(counts.search_errors) for counts in counters.values()),
        "frame": frame,
        "contexts": contexts,
        "disguised": disguised,
        "seconds": round(time.perf_counter() - start, 1),
        "version": __version__,
    }


def read_texts(path: Path) -> list[str]:
    """Return every string in a JSON file or JSON lines."""
    content = read_text(path)
    try:
        values = [json.loads(content)]
    except json.JSONDecodeError:
        try:
            values = [json.loads(line) for line in content.split("\n") if line.strip()]
        except json.JSONDecodeError as error:
            raise InputError(f"{path} is neither JSON nor JSON lines: {error}") from error
    texts = list(strings_in(values))
    if not texts:
        raise InputError(f"{path} contains no texts")
    return texts


def _write(memory: Memory, counts: _CarrierCounts, texts: Sequence[str], name: str, report: Progress) -> None:
    known: set[str] = set()
    for number, text in enumerate(texts):
        try:
            turn = counts.carrier.put(memory, text)
        except InputError as error:
            counts.refused[re.sub(r"\d", "#", str(error))] += (
                1  # "… has 1,300 bytes" and "… 1,400 bytes" are one reason
            )
            continue
        except Exception as error:  # counted: anything but a refusal is a failure of this text
            counts.fail(text, f"writing raised {type(error).__name__}: {error}")
            continue
        counts.kept.append((text, turn))
        _compare(counts, text, turn, "the answer of ingest")
        if turn.id not in known:  # a repeated key returns the first turn, which is no longer the newest
            newest = memory.recent(limit=1, session=turn.session)
            _compare(counts, text, newest[0] if newest and newest[0].id == turn.id else None, "recent")
        known.add(turn.id)
        report(f"write {name}", number + 1, len(texts))


def _read_threads(memory: Memory, counts: _CarrierCounts, what: str) -> None:
    threads: dict[str, dict[str, Turn]] = {}
    for text, turn in counts.kept:
        if turn.session not in threads:
            threads[turn.session] = {one.id: one for one in memory.thread(turn.session)}
        _compare(counts, text, threads[turn.session].get(turn.id), what)


def _search(memory: Memory, counts: _CarrierCounts, name: str, report: Progress) -> None:
    said = {turn.id: (text, turn) for text, turn in counts.kept}
    for number, (text, turn) in enumerate(counts.kept):
        try:
            hits = memory.search(text, session=turn.session)
        except InputError:
            counts.questions_refused += 1
            continue
        except Exception as error:  # counted as a failure
            counts.search_errors.append(f"{text[:60]!r}: search raised {type(error).__name__}: {error}")
            continue
        for hit in hits:
            if hit.id not in said or hit.text != said[hit.id][1].text or hit.session != turn.session:
                counts.fail(text, f"search returned {hit.id} with another text or session than was stored")
        report(f"search {name}", number + 1, len(counts.kept))


def _compare(counts: _CarrierCounts, text: str, turn: Turn | None, what: str) -> None:
    if turn is None:
        counts.fail(text, f"{what} does not have it")
    elif not counts.carrier.is_intact(turn, text):
        counts.fail(text, f"{what} has something else")
