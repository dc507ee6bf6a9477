"""Fit the weights of admit/compare.py: how far the reader and nearness say that a turn replaces a statement.

    python training/reader/changes.py LIFE.json [LIFE.json ...]

A life is a file of `holdfast bench lives`. Every turn that ends a fact, and every third other turn, is paired with the
statements that are nearest to it; the pair is positive if that turn ended that fact. Prints precision at several
recalls, each life judged by weights fitted to the others, and the weights fitted to all of them.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.compare import replacement
from holdfast.gate.reader import sentence_spans
from holdfast.models.embedder import shipped_embedder
from holdfast_bench.life import holds

NEAREST = 8


def rows_of(path: Path) -> list[tuple[bool, list[float]]]:
    life = json.loads(path.read_text(encoding="utf-8"))
    turns = {turn["id"]: turn for turn in life["turns"]}
    place = {turn_id: number for number, turn_id in enumerate(turns)}
    things = [*life["facts"], *life["rules"]]
    said = {thing["id"]: statement(thing, turns) for thing in things}
    ends = {thing["until"] for thing in things if thing["until"]}
    embed = shipped_embedder().embed
    rows = []
    for turn_id in sorted({*ends, *list(turns)[::3]}, key=place.__getitem__):
        if turns[turn_id]["role"] != "user":
            continue
        text = turns[turn_id]["text"]
        olds = [
            thing
            for thing in things
            if place[thing["turns"][0]] < place[turn_id]
            and (not thing["until"] or place[thing["until"]] >= place[turn_id])
        ]
        if not olds:
            continue
        vectors = embed([said[thing["id"]] for thing in olds])
        sentences = [text[start:end] for start, end in sentence_spans(text)] or [text]
        best, whole = (vectors @ embed(sentences).T).max(1), vectors @ embed([text])[0]
        for at in np.argsort(-best)[:NEAREST]:
            chance = replacement(said[olds[at]["id"]], text)
            odds = math.log((chance + 0.01) / (1.01 - chance))
            rows.append((olds[at]["until"] == turn_id, [odds, float(best[at]), float(whole[at])]))
    return rows


def statement(thing: dict, turns: dict) -> str:
    """Return the sentence of its turn that holds the value of a fact."""
    text = turns[thing["turns"][0]]["text"]
    sentences = [text[start:end] for start, end in sentence_spans(text)]
    return next((one for one in sentences if holds(thing["keys"][-1:], one)), sentences[0] if sentences else text)


def fit(rows: list[tuple[bool, list[float]]]) -> NDArray[np.float64]:
    """Return logistic weights, the bias last (Newton's method, ridge 1 on scaled features)."""
    x, y = np.array([row[1] for row in rows]), np.array([row[0] for row in rows], float)
    mean, spread = x.mean(0), x.std(0) + 1e-6
    z = np.c_[(x - mean) / spread, np.ones(len(x))]
    w = np.zeros(z.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-z @ w))
        ridge = np.r_[w[:-1], 0.0]
        w -= np.linalg.solve((z * (p * (1 - p))[:, None]).T @ z + np.eye(len(w)), z.T @ (p - y) + ridge)
    return np.r_[w[:-1] / spread, w[-1] - (w[:-1] * mean / spread).sum()]


def main() -> None:
    lives = {path: rows_of(Path(path)) for path in sys.argv[1:]}
    scores, labels = [], []
    for held, rows in lives.items():
        weights = fit([row for path, others in lives.items() if path != held for row in others])
        scores += [float(np.dot(weights[:-1], row[1]) + weights[-1]) for row in rows]
        labels += [row[0] for row in rows]
    order = np.argsort(-np.array(scores))
    right = np.cumsum(np.array(labels, float)[order])
    for recall in (0.2, 0.3, 0.4, 0.5, 0.6):
        at = int(np.searchsorted(right, recall * right[-1])) + 1
        print(f"recall {recall}: precision {right[at - 1] / at:.2f} from score {scores[order[at - 1]]:.2f}")
    print("weights", np.round(fit([row for rows in lives.values() for row in rows]), 3).tolist())


if __name__ == "__main__":
    main()
