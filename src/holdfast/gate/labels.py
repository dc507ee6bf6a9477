"""Labels for the gate: a score, or the turn that has it, and whether it was worth remembering."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from holdfast.errors import InputError
from holdfast.json_lines import complain, lines_of_file

__all__ = ["Label", "labels_of_file", "read_labels"]

_FORM = '{"turn": ID, "useful": true} or {"g": 0.4, "useful": false}'


@dataclass(frozen=True, slots=True)
class Label:
    useful: bool
    where: str
    """How an error calls it: "label 3", "labels.jsonl:3"."""
    turn: str | None = None
    g: float | None = None
    """One of the two is given."""


def read_labels(given: Iterable[Mapping[str, object] | tuple[str | float, bool] | Label]) -> list[Label]:
    """Mappings with "turn" or "g" and "useful", or pairs of a turn id or G with whether it was useful."""
    return _read((f"label {number}", one) for number, one in enumerate(given, 1))


def labels_of_file(path: str | os.PathLike[str]) -> list[Label]:
    """One JSON object a line; every bad line is named with its number."""
    found = _read(lines_of_file(path))
    if not found:
        raise InputError(f"{Path(path).name} holds no labels; write one a line: {_FORM}")
    return found


def _read(given: Iterable[tuple[str, object]]) -> list[Label]:
    labels: list[Label] = []
    faults: list[str] = []
    for where, one in given:
        label = _label(where, one)
        if isinstance(label, Label):
            labels.append(label)
        else:
            faults.append(f"{where}: {label}")
    complain(faults)
    return labels


def _label(where: str, one: object) -> Label | str:
    """The label, or what is wrong with it."""
    if isinstance(one, Label):
        return one
    if one is None:
        return f"no JSON object; write {_FORM}"
    if isinstance(one, tuple) and len(one) == 2:
        one = {"turn" if isinstance(one[0], str) else "g": one[0], "useful": one[1]}
    if not isinstance(one, Mapping):
        return f"no label; write {_FORM}"
    turn, g, useful = one.get("turn"), one.get("g"), one.get("useful")
    if not isinstance(useful, bool):
        return '"useful" must be true or false'
    if (turn is None) == (g is None):
        return f'"turn" or "g", one of them; write {_FORM}'
    if turn is not None:
        return Label(useful, where, turn=turn) if isinstance(turn, str) else '"turn" must be the id of a turn'
    if isinstance(g, bool) or not isinstance(g, int | float) or not 0 <= g <= 1:
        return f'"g" must be a number from 0 to 1, not {g!r}'
    return Label(useful, where, g=float(g))
