"""Every pattern that reads what people say is linear: 100 kB of the worst text it could meet take it under 50 ms."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

import holdfast.admit
import holdfast.compact
import holdfast.gate
import holdfast.rules
import holdfast.text
from holdfast.text.words import MAX_SENTENCE, LatePattern, sentences
from tests.support.pace import slowness

SIZE = 100_000
MOST_S = 0.05
SOURCE = Path(holdfast.admit.__file__).parent.parent
WHOLE = (
    "holdfast.gate.calibrate",
    "holdfast.gate.patterns",
    "holdfast.gate.salience",
    "holdfast.gate.score",
    "holdfast.admit.secrets",
    "holdfast.text.words._END",
    "holdfast.gate.own_words._MARK",
    "holdfast.admit.echo._",
)
"""Patterns that are given whole texts; the others are given a sentence or a line, of at most 600 characters."""
BEGINNINGS = tuple(
    f"holdfast.gate.own_words.{name}"
    for name in [
        "_RUNS",
        "_I",
        "FRAME",
        "FRAME_ENDS",
        "REMEMBERED",
        "FENCE",
        "QUOTED",
        "DELIMITER",
        "BEGIN",
        "END",
        "FORWARDED",
        "HEADER",
        "SALUTATION",
        "SIGN_OFF",
        "TRACEBACK",
        "LOG",
        "DIFF",
        "PATCH",
        "CODE",
        "HTML",
        "MARKUP",
        "TAG",
        "FURNITURE",
        "_THING",
        "_PASTES",
        "_SHOWS",
        "_SAYS",
        "OWN",
        "_PASTED",
        "_PASTED_CUES_TOLD",
        "_SHOWN",
        "_POINTED",
        "_NAMED",
        "_SHOWN_WITHIN",
        "_POINTED_WITHIN",
        "AGAIN",
    ]
)
"""Looked for at the beginning of a line only, through a variable."""
SEARCHED = ("OWN", "_PASTED", "_TOLD", "_SHOWN", "_POINTED", "_NAMED")
SHARE = 0.05
"""Sentences are read one by one, so a twentieth of them takes a twentieth of the time."""
ROUNDS = 20
TRIES = 12
"""Somebody else may have had the machine: the fastest of so many counts."""


def _patterns() -> dict[str, re.Pattern[str]]:
    found: dict[tuple[str, int], tuple[str, re.Pattern[str]]] = {}

    def walk(value: object, name: str, depth: int = 0) -> None:
        if isinstance(value, LatePattern):
            value = value.compiled
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

    for package in (holdfast.admit, holdfast.compact, holdfast.gate, holdfast.rules, holdfast.text):
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


def _example(tree: Iterable[Any], chance: random.Random) -> str:
    """One of the texts that a pattern is made for, from its parts as the interpreter reads them."""
    said = ""
    for kind, part in tree:
        match str(kind):
            case "LITERAL":
                said += chr(part)
            case "NOT_LITERAL" | "ANY":
                said += "a"
            case "IN":
                first, what = chance.choice(part)
                said += {"LITERAL": lambda w: chr(w), "RANGE": lambda w: chr(w[0])}.get(str(first), lambda w: "a")(what)
            case "BRANCH":
                said += _example(chance.choice(part[1]), chance)
            case "SUBPATTERN":
                said += _example(part[-1], chance)
            case "ATOMIC_GROUP":
                said += _example(part, chance)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = part
                said += "".join(_example(inner, chance) for _ in range(max(least, min(1, most))))
    return said


def _hostile(pattern: re.Pattern[str]) -> Iterator[str]:
    """Long runs of what the pattern itself is made of, so that it fits, or nearly fits, everywhere."""
    chance = random.Random(pattern.pattern)
    tree = list(importlib.import_module("re._parser").parse(pattern.pattern, pattern.flags))
    examples = [_example(tree, chance) for _ in range(6)]
    words = sorted({word for example in examples for word in re.findall(r"[^\W\d_']{2,}", example)})
    marks = sorted(set(re.findall(r"[^\w\s\\]", pattern.pattern)))[:4]
    nearly = (f"{example[: len(example) * 2 // 3]} " for example in examples)
    pieces = ["a", " ", "i ", "a ", *(f"{word} " for word in words[:8]), *nearly, *marks, "".join(marks) or "-"]
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


@pytest.mark.requirement("SAFE-4")
def test_every_pattern_that_reads_what_people_say_is_linear() -> None:
    slow: dict[tuple[str, str], str] = {}
    suspects: dict[tuple[str, str], tuple[Callable[[], float], float, float]] = {}
    for name, pattern in _patterns().items():
        whole = name.startswith(WHOLE)
        begins = _begins(name)
        size, share = (SIZE, 1.0) if whole else (MAX_SENTENCE, SHARE)
        most = MOST_S * share
        for text in _hostile(pattern):
            text = text[: int(SIZE * share)]
            if whole and _seconds(pattern, text[: SIZE // 20], size, begins) > most:
                slow[name, text[:12]] = "a twentieth of it took as long"
                break
            measure = partial(_seconds, pattern, text, size, begins)
            took = _best(measure(), measure, most)
            if took > most and took > most * slowness():
                suspects[name, text[:12]] = (measure, took, most)
    for _ in range(ROUNDS):  # the machine may have been slow for seconds: those that seemed slow are looked at again
        for key, (again, took, most) in suspects.items():
            suspects[key] = (again, _best(took, again, most), most)
    for key, (_, took, most) in suspects.items():
        if took > most and took > most * slowness():
            slow[key] = f"{took / most * MOST_S * 1000:.0f} ms for 100 kB"
    assert slow == {}


def _best(took: float, measure: Callable[[], float], most: float) -> float:
    """The fastest of a few, if the first was not fast enough."""
    for _ in range(TRIES):
        took = took if took <= most else min(took, measure())
    return took


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("piece", ["a. ", "1. ", "Mr. ", ". ", "? ", "。", "a\n", "- a\n", "\n", "> \n", "```\n", " "])
def test_a_text_is_split_into_sentences_in_linear_time(piece: str) -> None:
    text = (piece * SIZE)[:SIZE]
    took = MOST_S * 2
    for _ in range(TRIES):
        if took > MOST_S:
            started = time.process_time()
            sentences(text)
            took = min(took, time.process_time() - started)
    assert took <= MOST_S or took <= MOST_S * slowness()


def test_no_group_is_repeated_possessively() -> None:
    """Python 3.11.0 to 3.11.4 (Debian 12 has 3.11.2) read `(?:,\\w+)*+` beyond its match, not `(?>(?:,\\w+)*)`."""
    repeated = re.compile(r"(?<![\\(])\)(?:[*+?]|\{\{?[\d,]+\}\}?)\+")
    found = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in SOURCE.rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if repeated.search(line)
    ]
    assert found == []
