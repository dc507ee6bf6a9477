"""Learn the weights of admit/durability.json from the labels in training/labels.

A turn is labelled as a whole, but its sentences are what is kept or not. So the score of a turn is the log of the sum
of its sentences' exponentials (one good sentence is enough, two are better), and the weights of a sentence's features
are fitted to the turns' labels through it, with a quadratic penalty. Judged by cross-validation over dialogues.

    pip install scipy
    python training/durability.py --labels training/labels --out src/holdfast/admit/durability.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from holdfast.admit.glance import FEATURES, glance
from holdfast.admit.sentences import sentences

FILES = ("friends", "assistant", "warm", "everyday", "persona")


def read(folder: Path) -> tuple[list[np.ndarray], np.ndarray, list[str]]:
    """Features of every sentence of every labelled turn, the labels, and the dialogue each turn belongs to."""
    bags, labels, dialogues = [], [], []
    for name in FILES:
        before, dialogue = None, None
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["dialogue"] != dialogue:
                before, dialogue = None, row["dialogue"]
            if row["speaker"] != "assistant":
                asked = before is not None and before["speaker"] != row["speaker"] and before["text"].rstrip().endswith("?")
                found = sentences(row["text"])
                if found:
                    bags.append(np.array([glance(s, asked and i == 0, i == 0, len(found) == 1) for i, s in enumerate(found)]))
                    labels.append(row["durable"])
                    dialogues.append(row["dialogue"])
            before = row
    return bags, np.array(labels, float), dialogues


def pooled(scores: np.ndarray, turn: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Each turn's score, and how much each sentence had a part in it."""
    highest = np.full(count, -np.inf)
    np.maximum.at(highest, turn, scores)
    parts = np.exp(scores - highest[turn])
    sums = np.zeros(count)
    np.add.at(sums, turn, parts)
    return highest + np.log(sums), parts / sums[turn]


def fit(bags: list[np.ndarray], labels: np.ndarray, penalty: float) -> np.ndarray:
    rows = np.vstack(bags)
    turn = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores, parts = pooled(rows @ weights, turn, len(bags))
        error = 1 / (1 + np.exp(-scores)) - labels
        shrunk = weights.copy()
        shrunk[0] = 0.0  # the bias is not shrunk
        value = float((np.logaddexp(0, scores) - labels * scores).sum() + penalty * (shrunk @ shrunk) / 2)
        return value, rows.T @ (error[turn] * parts) + penalty * shrunk

    return minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    positives = labels.sum()
    return float((ranks[labels == 1].sum() - positives * (positives + 1) / 2) / (positives * (len(labels) - positives)))


def score(bags: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    turn = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    return pooled(np.vstack(bags) @ weights, turn, len(bags))[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--penalty", type=float, default=60.0)
    args = parser.parse_args()
    bags, labels, dialogues = read(args.labels)
    fold = np.array([int(hashlib.sha256(name.encode()).hexdigest(), 16) % 5 for name in dialogues])
    held = np.zeros(len(labels))
    for part in range(5):
        learned = fit([bag for bag, f in zip(bags, fold, strict=True) if f != part], labels[fold != part], args.penalty)
        held[fold == part] = score([bag for bag, f in zip(bags, fold, strict=True) if f == part], learned)
    weights = fit(bags, labels, args.penalty)
    table = {
        "version": "1",
        "turns": len(labels),
        "durable": int(labels.sum()),
        "penalty": args.penalty,
        "held_out_auc": round(auc(labels, held), 4),
        "weights": {name: round(float(weight), 4) for name, weight in zip(FEATURES, weights, strict=True)},
    }
    args.out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print({name: value for name, value in table.items() if name != "weights"})


if __name__ == "__main__":
    main()
