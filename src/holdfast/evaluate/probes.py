"""Probes: questions of one's own with the record or turn that answers each. One JSON object a line.

{"question": "Which port does the shop use?", "expect": ["r-017d…"], "note": "changed in May"}
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from holdfast.errors import InputError
from holdfast.json_lines import complain, lines_of_file

__all__ = ["Probe", "probe_hash", "probes_of_file", "write_probes"]

_FORM = '{"question": TEXT, "expect": [ID, …], "note": TEXT}'


@dataclass(frozen=True)
class Probe:
    question: str
    expect: tuple[str, ...]
    """Ids of records or turns; any one of them answers it."""
    note: str = ""
    draft: bool = False
    """Proposed by `eval init` and not looked at by a person yet: it is not asked."""


def probes_of_file(path: str | os.PathLike[str]) -> list[Probe]:
    """Every bad line is named with its number."""
    found = _read(lines_of_file(path))
    if not found:
        name = Path(path).name
        raise InputError(f"{name} holds no probes; `holdfast eval init` drafts some, or write one a line: {_FORM}")
    return found


def write_probes(path: str | os.PathLike[str], probes: Sequence[Probe]) -> None:
    """A new file; one that is there already is somebody's work and stays."""
    lines = [
        json.dumps(
            {"question": one.question, "expect": list(one.expect), "note": one.note, "draft": one.draft},
            ensure_ascii=False,
        )
        for one in probes
    ]
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
    except FileExistsError as error:
        raise InputError(f"{path} is there already; name another file, or remove it first") from error


def probe_hash(probes: Iterable[Probe]) -> str:
    """The same for the same questions and expectations in any order: two runs of one hash can be compared."""
    told = sorted(json.dumps([one.question, sorted(one.expect)], ensure_ascii=False) for one in probes)
    return sha256("\n".join(told).encode(errors="surrogatepass")).hexdigest()[:16]


def _read(given: Sequence[tuple[str, object]]) -> list[Probe]:
    probes: list[Probe] = []
    faults: list[str] = []
    seen: dict[str, str] = {}
    for where, one in given:
        probe = _probe(one)
        if isinstance(probe, str):
            faults.append(f"{where}: {probe}")
        elif probe.question in seen:
            faults.append(f"{where}: the question of {seen[probe.question]} again; give all ids in one probe")
        else:
            seen[probe.question] = where
            probes.append(probe)
    complain(faults)
    return probes


def _probe(one: object) -> Probe | str:
    """The probe, or what is wrong with it."""
    if not isinstance(one, Mapping):
        return f"no JSON object; write {_FORM}"
    question, expect, note = one.get("question"), one.get("expect"), one.get("note", "")
    ids = [expect] if isinstance(expect, str) else expect
    if not isinstance(question, str) or not question.strip():
        return '"question" must be a text'
    if not isinstance(ids, list | tuple) or not ids or not all(isinstance(one, str) and one for one in ids):
        return f'"expect" must be the id of a record or turn, or a list of ids; write {_FORM}'
    if not isinstance(note, str):
        return '"note" must be a text'
    draft = one.get("draft", False)
    if not isinstance(draft, bool):
        return '"draft" must be true or false'
    return Probe(question.strip(), tuple(dict.fromkeys(str(one) for one in ids)), note, draft)
