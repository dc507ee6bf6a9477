"""Learn the weights of compact/deontic.json: whether a sentence reads like a rule.

Rules and look-alikes are our own labelled sentences: `training/deontic.jsonl` (lessons) and the parts `development` and
`rounds` of `tests/compact/data/deontic.jsonl`; never `held` and `verdict`, which judge. What people say when they lay
nothing down are the sentences of `training/labels` outside turns labelled as rules. A logistic regression with a
quadratic penalty, cross-validated over blocks of neighbouring lines (they share a topic) and over dialogues.

    pip install scipy
    python training/deontic.py --out src/holdfast/compact/deontic.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from holdfast.admit.sentences import sentences
from holdfast.compact.deontic import reader_of
from holdfast.compact.deontic_learned import MOST_WORDS_DROPPED, bar, embed, found_by
from holdfast.compact.deontic_manner import marks
from holdfast.models.static import shipped_embedder

VERSION = "1"
ROOT = Path(__file__).parent
LEARNED_PARTS = ("lessons", "development", "rounds")
TALK = "talk"
BLOCK = 12
"""Lines of a file that are held out together."""
TALK_WORTH = 0.6
"""How much a sentence of talk counts: in full it pulls the rules that are said as facts below the bar."""
PENALTY = 3.0
FOUND_PENALTY = 0.3
"""What a reader found is seldom beside the marks, and worth more than the common penalty would leave it."""
LEAST_SEEN = 15
"""A mark of fewer sentences says nothing; with 8 of them it is as good and the table a third larger."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Sentence:
    text: str
    rule: bool
    part: str
    block: str


def read() -> list[Sentence]:
    found = []
    for path in (ROOT / "deontic.jsonl", ROOT.parent / "tests/compact/data/deontic.jsonl"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            row = json.loads(line)
            if row["part"] in LEARNED_PARTS:
                block = f"{row['part']}-{number // BLOCK}"
                found.append(Sentence(row["text"], row["norm"] is not None, row["part"], block))
    said: set[str] = set()
    for path in sorted((ROOT / "labels").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "speaker" not in row or row["speaker"] == "assistant" or row["why"] == "rule":
                continue
            for text in sentences(row["text"]):
                if text not in said and " " in text and not text.endswith("?"):
                    said.add(text)
                    found.append(Sentence(text, False, TALK, row["dialogue"]))
    return found


def design(found: list[Sentence], readers: list[str | None]) -> tuple[list[str], Numbers, Numbers]:
    """The names of the marks, a row of numbers for each sentence (1, its marks, its vector), and the penalties."""
    seen = [
        {*marks(one.text), *([found_by(reader)] if reader else [])} for one, reader in zip(found, readers, strict=True)
    ]
    counted = Counter(mark for each in seen for mark in each)
    names = sorted(mark for mark, count in counted.items() if count >= LEAST_SEEN or mark.startswith("found"))
    place = {name: number for number, name in enumerate(names, 1)}
    rows = np.zeros((len(found), 1 + len(names)))
    rows[:, 0] = 1.0
    for row, each in zip(rows, seen, strict=True):
        row[[place[mark] for mark in each if mark in place]] = 1.0
    vectors = np.asarray(embed([one.text for one in found]), dtype=np.float64)
    shrink = np.full(1 + len(names) + vectors.shape[1], PENALTY)
    shrink[0] = 0.0  # the bias is not shrunk
    for name in names:
        if name.startswith("found"):
            shrink[place[name]] = FOUND_PENALTY
    return names, np.hstack([rows, vectors]), shrink


def fit(rows: Numbers, labels: Numbers, worth: Numbers, shrink: Numbers) -> Numbers:
    def loss(weights: Numbers) -> tuple[float, Numbers]:
        scores = rows @ weights
        error = worth * (1 / (1 + np.exp(-np.clip(scores, -60, 60))) - labels)
        lost = worth * (np.logaddexp(0, scores) - labels * scores)
        return float(lost.sum() + (shrink * weights * weights).sum() / 2), rows.T @ error + shrink * weights

    found: Numbers = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    return found


def held_out(found: list[Sentence], rows: Numbers, labels: Numbers, worth: Numbers, shrink: Numbers) -> Numbers:
    """Each sentence's score by weights that were learned without its block."""
    part_of = np.array([int(hashlib.sha256(one.block.encode()).hexdigest(), 16) % 5 for one in found])
    scores = np.zeros(len(found))
    for part in range(5):
        away = part_of == part
        scores[away] = rows[away] @ fit(rows[~away], labels[~away], worth[~away], shrink)
    return scores


def judged(found: list[Sentence], readers: list[str | None], scores: Numbers) -> dict[str, dict[str, float]]:
    """By part, with the patterns alone and with the second opinion: the share of rules found, the share of talk."""
    chances = 1 / (1 + np.exp(-np.clip(scores, -60, 60)))
    before = np.array([bool(reader) for reader in readers])
    open_to = np.array([reader is not None for reader in readers])
    long = np.array([len(one.text.split()) > MOST_WORDS_DROPPED for one in found])
    bars = np.array([bar(marks(one.text), reader or "") for one, reader in zip(found, readers, strict=True)])
    after = open_to & ((before & long) | (chances >= bars))
    rules = np.array([one.rule for one in found])
    parts = np.array([one.part for one in found])
    figures = {}
    for part in (*LEARNED_PARTS, TALK):
        here = parts == part
        if part == TALK:
            figures[part] = {"flagged_before": float(before[here].mean()), "flagged": float(after[here].mean())}
            continue
        figures[part] = {
            "recall_before": float(before[here & rules].mean()),
            "recall": float(after[here & rules].mean()),
            "precision_before": float(rules[here & before].mean()),
            "precision": float(rules[here & after].mean()),
        }
    return {part: {name: round(value, 4) for name, value in each.items()} for part, each in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    found = read()
    readers = [reader_of(one.text) for one in found]
    labels = np.array([one.rule for one in found], dtype=np.float64)
    worth = np.array([TALK_WORTH if one.part == TALK else 1.0 for one in found])
    names, rows, shrink = design(found, readers)
    figures = judged(found, readers, held_out(found, rows, labels, worth, shrink))
    learned = fit(rows, labels, worth, shrink)
    of_meaning = rows[:, 1 + len(names) :] @ learned[1 + len(names) :]
    table = {
        "version": VERSION,
        "sentences": len(found),
        "rules": int(labels.sum()),
        "held_out": figures,
        "model": shipped_embedder().profile.fingerprint,
        "bias": round(float(learned[0]), 3),
        "reach": round(float(np.abs(of_meaning).max()), 3),
        "marks": {name: round(float(weight), 3) for name, weight in zip(names, learned[1:], strict=False)},
        "meaning": [round(float(weight), 3) for weight in learned[1 + len(names) :]],
    }
    args.out.write_text(json.dumps(table, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps({name: value for name, value in table.items() if name not in ("marks", "meaning")}, indent=1))


if __name__ == "__main__":
    main()
