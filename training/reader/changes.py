"""Fit the weights of admit/compare.py: how far the reader and nearness say that a turn replaces a statement.

    python training/reader/changes.py LIFE …

A life is a file of `holdfast bench lives` (.json) or a tagged one that the reader was not trained on (.txt.xz). Every turn is
paired with the statements that are nearest to it or share a rare word with it; the pair is positive if that turn ended that statement. Prints precision
at several recalls, each life judged by weights fitted to the others, and the weights fitted to all of them.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from prepare import read_tagged

from holdfast.admit.compare import replacement
from holdfast.admit.extract import AdmitWeights
from holdfast.admit.topics import index_keys
from holdfast.gate.own_words import own_words
from holdfast.gate.reader import read_sentences, releases, sentence_spans
from holdfast.models.embedder import shipped_embedder
from holdfast_bench.life import holds

NEAREST, SHARING = 10, 6
OTHERS = 50  # as in admit/ledger.py
Row = tuple[bool, list[float]]


def odds(chance: float) -> float:
    return math.log((chance + 0.01) / (1.01 - chance))


def rows_of(path: Path) -> list[Row]:
    """Return pairs of a turn and a statement: is it ended, and the reader's odds, cosine, rarest word, rank, lifting."""
    embed = shipped_embedder().embed
    rows: list[Row] = []
    ever: dict[str, str] = {}
    missed = 0
    for text, previous, known, ended in (judged if path.suffix == ".json" else tagged)(path):
        ever |= known
        said = own_words(text, 40_000).text.strip()
        read = read_sentences(text, previous)
        if not known or not said or not read:
            continue
        if max(one.change for one in read) < AdmitWeights().change:  # nothing is compared
            missed += sum(one in known for one in ended)
            continue
        names = list(known)
        counts = Counter(key for one in ever.values() for key in index_keys(one))
        shared = [index_keys(known[one]) & index_keys(said) for one in names]
        rarest = np.array([max((math.log((len(ever) + OTHERS) / counts[key]) for key in keys), default=0) for keys in shared])
        vectors, sentences = embed([known[one] for one in names]), embed([one.text for one in read])
        whole, apart = vectors @ embed([said])[0], vectors @ sentences.T
        order = np.argsort(-np.maximum(apart.max(1), whole)).tolist()
        for at in {*order[:NEAREST], *np.argsort(-rarest)[:SHARING].tolist()}:
            chance = replacement(known[names[at]], said, previous)
            lifts = releases(read[int(apart[at].argmax())].text)
            rank = min(order.index(at), 20)
            rows.append((names[at] in ended, [odds(chance), float(whole[at]), float(rarest[at]), rank, float(lifts)]))
    found = sum(row[0] for row in rows)
    print(f"{path.name}: {found} endings among the pairs, {missed} in turns that are not compared")
    return rows


def tagged(path: Path) -> Iterator[tuple[str, str, dict[str, str], set[str]]]:
    """Yield each user turn, the turn before it, the statements that are true until then, and those that it ends."""
    known: dict[str, str] = {}
    for session in read_tagged(path):
        previous = ""
        for role, text, segments in session:
            if role == "U":
                ended = {one for segment in segments for one in segment[4]}
                yield text, previous, dict(known), ended
                for one in ended:
                    known.pop(one, None)
                for start, end, _, name, _, _ in segments:
                    if name:
                        known[name] = text[start:end]
            previous = text


def judged(path: Path) -> Iterator[tuple[str, str, dict[str, str], set[str]]]:
    """The same for a life of `holdfast bench lives`."""
    life = json.loads(path.read_text(encoding="utf-8"))
    things = [*life["facts"], *life["rules"]]
    known: dict[str, str] = {}
    previous, session = "", ""
    for turn in life["turns"]:
        previous, session = previous if turn["session"] == session else "", turn["session"]
        text = turn["text"]
        if turn["role"] == "user":
            said = {one["id"] for one in things if turn["id"] in one["turns"]}
            ended = {one["id"] for one in things if one["until"] == turn["id"]}
            yield text, previous, {name: old for name, old in known.items() if name not in said}, ended
            for name in ended:
                known.pop(name, None)
            for one in things:
                if one["turns"][0] == turn["id"]:
                    parts = [text[a:b] for a, b in sentence_spans(text)]
                    known[one["id"]] = next((part for part in parts if holds(one["keys"][-1:], part)), text)
        previous = text


def fit(rows: list[Row]) -> NDArray[np.float64]:
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
    for recall in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        at = int(np.searchsorted(right, recall * right[-1])) + 1
        print(f"recall {recall}: precision {right[at - 1] / at:.2f} from score {scores[order[at - 1]]:.2f}")
    print("weights", np.round(fit([row for rows in lives.values() for row in rows]), 3).tolist())


if __name__ == "__main__":
    main()
