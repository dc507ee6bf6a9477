"""Every pattern that reads what people say is linear: 100 kB of the worst text it could meet take it under 50 ms."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import pytest

import holdfast.admit
import holdfast.gate
from holdfast.admit.sentences import MAX_SENTENCE

SIZE = 100_000
MOST_S = 0.05
SOURCE = Path(holdfast.admit.__file__).parent.parent
WHOLE = (
    "holdfast.gate.",
    "holdfast.admit.secrets",
    "holdfast.admit.sentences._END",
    "holdfast.admit.pasted._MARK",
    "holdfast.admit.echo",
)
"""Patterns that are given whole texts; the others are given a sentence or a line, of at most 600 characters."""
BEGINNINGS = ("holdfast.admit.pasted._RUNS", "holdfast.admit.pasted_cues.")
"""Looked for at the beginning of a line only, through a variable."""
SEARCHED = ("OWN", "ANNOUNCES", "REPORTS")
KNOWN = {"holdfast.admit.junk.": 1.0}
"""What misses the bar by a constant, in seconds for 100 kB of sentences: up to 3 ms for one of 600 characters."""
ALMOST = 0.15
"""Whoever reads sentences may take this long where two cores are shared: the growth is bounded by their length."""


def _patterns() -> dict[str, re.Pattern[str]]:
    found: dict[tuple[str, int], tuple[str, re.Pattern[str]]] = {}

    def walk(value: object, name: str, depth: int = 0) -> None:
        if isinstance(value, re.Pattern):
            found.setdefault((value.pattern, value.flags), (name, value))
        elif depth < 4 and isinstance(value, Mapping):
            for key, one in value.items():
                walk(one, f"{name}[{key}]", depth + 1)
        elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
            for number, one in enumerate(value):
                walk(one, f"{name}[{number}]", depth + 1)
        elif depth < 4 and is_dataclass(value) and not isinstance(value, type):
            for field in fields(value):
                walk(getattr(value, field.name), f"{name}.{field.name}", depth + 1)

    for package in (holdfast.admit, holdfast.gate):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            loaded = importlib.import_module(module.name)
            own = {name: one for name, one in vars(loaded).items() if not name.startswith("__")}
            for name, value in own.items():
                walk(value, f"{module.name}.{name}")
    return dict(found.values())


@cache
def _uses() -> dict[str, set[str]]:
    """By the name of a pattern: how the code asks it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for name, use in re.findall(
            r"\b(\w+)\.(match|fullmatch|search|finditer|findall|sub|subn|split)\b", path.read_text(encoding="utf-8")
        ):
            found[name].add(use)
    return found


def _only_matched(name: str) -> bool:
    """Whether the code only ever asks if a text begins with it."""
    uses = _uses()[re.sub(r"\W.*", "", name.rpartition(".")[2])]
    return bool(uses) and uses <= {"match", "fullmatch"}


def _hostile(pattern: re.Pattern[str]) -> Iterator[str]:
    """Long runs of what the pattern itself is made of, so that it nearly fits everywhere."""
    plain = re.sub(r"\\.", " ", pattern.pattern)
    words = sorted(set(re.findall(r"[^\W\d_']{2,}", plain)), key=lambda word: (-len(word), word))
    marks = sorted(set(re.findall(r"[^\w\s\\]", pattern.pattern)))[:4]
    pieces = ["a", " ", "i ", *(f"{word} " for word in words[:1] + words[-1:]), *marks, "".join(marks) or "-"]
    for piece in dict.fromkeys(pieces):
        yield (piece * (SIZE // len(piece) + 1))[:SIZE]


def _seconds(pattern: re.Pattern[str], text: str, size: int, begins: bool) -> float:
    parts = [text[start : start + size] for start in range(0, len(text), size)]
    started = time.process_time()
    for part in parts:
        if begins:
            pattern.match(part)
        else:
            for _ in pattern.finditer(part):
                pass
    return time.process_time() - started


def _begins(name: str) -> bool:
    if name.startswith(BEGINNINGS):
        return name.rpartition(".")[2] not in SEARCHED
    return _only_matched(name)


def _limit(name: str) -> float:
    known = next((most for start, most in KNOWN.items() if name.startswith(start)), None)
    return known or (MOST_S if name.startswith(WHOLE) else ALMOST)


@pytest.mark.requirement("SAFE-4")
def test_every_pattern_of_the_gate_and_of_admission_is_linear() -> None:
    slow = {}
    for name, pattern in _patterns().items():
        whole = name.startswith(WHOLE)
        begins = _begins(name)
        # Sentences are read one by one, so a twentieth of them takes a twentieth of the time.
        size, share = (SIZE, 1.0) if whole else (MAX_SENTENCE, 0.05)
        most = _limit(name) * share
        for text in _hostile(pattern):
            text = text[: int(SIZE * share)]
            if whole and _seconds(pattern, text[: SIZE // 20], size, begins) > most:
                slow[name, text[:12]] = "a twentieth of it took as long"
                break
            took = _seconds(pattern, text, size, begins)
            for _ in range(3):  # somebody else may have had the machine
                took = took if took <= most else min(took, _seconds(pattern, text, size, begins))
            if took > most:
                slow[name, text[:12]] = f"{took / share * 1000:.0f} ms for 100 kB"
    assert slow == {}
