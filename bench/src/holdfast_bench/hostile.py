"""Hostile texts through every door: each is kept byte for byte or refused with a reason, and nothing else happens.

Every text goes in by each carrier (as a user's, an assistant's, a tool's and a pasted turn; as the name of a session,
as a key, as metadata) and is read back by thread, recent and search, and once more after the store was reopened.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Turn
from holdfast.version import __version__
from holdfast_bench import injection
from holdfast_bench.data import read_text
from holdfast_bench.escapes import carried

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total)."""

_NAMESPACE = "hostile"
_FILLER = "the harbour opens at nine"
_EXAMPLES = 5
"""Failures that are written out in full for each carrier."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A way in for a text, and how it must look when the turn is read back."""

    put: Callable[[Memory, str], Turn]
    holds: Callable[[Turn, str], bool]


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
class _Tally:
    """What one carrier did with the texts."""

    carrier: Carrier
    kept: list[tuple[str, Turn]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, list[str]] = field(default_factory=dict)
    """By text: what went wrong with it."""
    search_errors: list[str] = field(default_factory=list)
    questions_refused: int = 0

    def blame(self, text: str, what: str) -> None:
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
    """Read the texts of these files (JSON or JSONL, .gz or not) and put each through every carrier."""
    start = time.perf_counter()
    tell = progress or (lambda step, done, total: None)
    texts = [text for path in paths for text in read_texts(path)]
    tallies = {name: _Tally(carrier) for name, carrier in carriers.items()}
    with tempfile.TemporaryDirectory(prefix="holdfast-hostile-") as home:
        store = Path(home) / "memory.db"
        with Memory(store, namespace=_NAMESPACE) as memory:
            for name, tally in tallies.items():
                _write(memory, tally, texts, name, tell)
            memory.flush()
            for name, tally in tallies.items():
                _read_threads(memory, tally, "thread")
                _search(memory, tally, name, tell)
        with Memory(store, namespace=_NAMESPACE) as memory:
            for tally in tallies.values():
                _read_threads(memory, tally, "thread of the reopened store")
            damage = memory.check()
    tell("frame", 0, 1)
    frame = injection.rendered(texts, lambda done, total: tell("frame", done, total))
    tell("contexts", 0, 1)
    contexts = injection.assembled(texts)
    tell("disguises", 0, 1)
    disguised = carried(texts, lambda done, total: tell("disguises", done, total))
    return {
        "set": "hostile",
        "n": len(texts),
        "carriers": {name: tally.figures(len(texts)) for name, tally in tallies.items()},
        "wrong": sum(len(tally.wrong) for tally in tallies.values()) + len(damage),
        "refused": sum(tally.refused.total() for tally in tallies.values()),
        "search_errors": sum(len(tally.search_errors) for tally in tallies.values()),
        "frame": frame,
        "contexts": contexts,
        "disguised": disguised,
        "seconds": round(time.perf_counter() - start, 1),
        "version": __version__,
    }


def read_texts(path: Path) -> list[str]:
    """Every text in a JSON file: of a list, of lists in an object, or one a line."""
    content = read_text(path)
    try:
        values = [json.loads(content)]
    except json.JSONDecodeError:
        try:
            values = [json.loads(line) for line in content.split("\n") if line.strip()]
        except json.JSONDecodeError as error:
            raise InputError(f"{path} is neither JSON nor JSON lines: {error}") from error
    texts = list(_strings(values))
    if not texts:
        raise InputError(f"{path} holds no texts")
    return texts


def _strings(values: Sequence[object]) -> Iterator[str]:
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            waiting.extend(reversed(value))
        elif isinstance(value, dict):
            waiting.extend(reversed(value.values()))


def _write(memory: Memory, tally: _Tally, texts: Sequence[str], name: str, tell: Progress) -> None:
    known: set[str] = set()
    for number, text in enumerate(texts):
        try:
            turn = tally.carrier.put(memory, text)
        except InputError as error:
            tally.refused[_without_numbers(str(error))] += 1
            continue
        except Exception as error:  # measured, not handled: anything but a refusal is a failure of this text
            tally.blame(text, f"writing raised {type(error).__name__}: {error}")
            continue
        tally.kept.append((text, turn))
        _compare(tally, text, turn, "the answer of ingest")
        if turn.id not in known:  # a key that comes again gives the first turn back, which is no longer the newest
            newest = memory.recent(limit=1, session=turn.session)
            _compare(tally, text, newest[0] if newest and newest[0].id == turn.id else None, "recent")
        known.add(turn.id)
        tell(f"write {name}", number + 1, len(texts))


def _read_threads(memory: Memory, tally: _Tally, what: str) -> None:
    threads: dict[str, dict[str, Turn]] = {}
    for text, turn in tally.kept:
        if turn.session not in threads:
            threads[turn.session] = {one.id: one for one in memory.thread(turn.session)}
        _compare(tally, text, threads[turn.session].get(turn.id), what)


def _search(memory: Memory, tally: _Tally, name: str, tell: Progress) -> None:
    said = {turn.id: (text, turn) for text, turn in tally.kept}
    for number, (text, turn) in enumerate(tally.kept):
        try:
            hits = memory.search(text, session=turn.session)
        except InputError:
            tally.questions_refused += 1
            continue
        except Exception as error:  # measured, not handled
            tally.search_errors.append(f"{text[:60]!r}: search raised {type(error).__name__}: {error}")
            continue
        for hit in hits:
            if hit.id not in said or hit.text != said[hit.id][1].text or hit.session != turn.session:
                tally.blame(text, f"search gave {hit.id} with a text or session that it was not kept with")
        tell(f"search {name}", number + 1, len(tally.kept))


def _compare(tally: _Tally, text: str, turn: Turn | None, what: str) -> None:
    if turn is None:
        tally.blame(text, f"{what} does not hold it")
    elif not tally.carrier.holds(turn, text):
        tally.blame(text, f"{what} holds something else")


def _without_numbers(reason: str) -> str:
    """One reason for all texts of a kind: "… has 1,300 bytes" and "… has 1,400 bytes" are the same refusal."""
    return "".join("#" if char.isdigit() else char for char in reason)
