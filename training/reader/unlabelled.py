"""Sentences and pairs without labels, for the teacher to answer: python training/reader/unlabelled.py --chats DIR --docs train_docs.json.xz --out unlabelled.json.gz

DIR holds chats of our own in the format of training/ask; the documents are public texts that are read here and not kept in the repository (training/reader/README.md).
"""
from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import re
from pathlib import Path

import numpy as np

from prepare import shape

from holdfast.gate.own_words import pasted_parts
from holdfast.gate.reader import pair_tokens, sentence_spans, turn_windows
from holdfast.models.embedder import shipped_embedder

ROOT = Path(__file__).parents[2]
rnd = random.Random(3)
items, pairs = [], []


def turn(text: str, prev: str, same: bool) -> list[str]:
    parts = [(p.start, p.end) for p in pasted_parts(text)]
    spans = [s for s in sentence_spans(text) if not any(a < sum(s) // 2 < b for a, b in parts)]
    items.extend(shape(one) for one in turn_windows(text, spans, prev, same, parts))
    return [text[a:b] for a, b in spans]


def near_pairs(statements: list[str], most: int) -> None:
    """Each statement with the nearest earlier ones of the same chat, where the relation is a question at all."""
    if len(statements) < 4:
        return
    v = shipped_embedder().embed(statements)
    for i in range(1, len(statements)):
        sims = v[:i] @ v[i]
        for j in np.argsort(-sims)[:most]:
            if sims[j] > .25:
                pairs.append(shape(pair_tokens(statements[j], statements[i])))


def chats(path: Path) -> None:
    who = {"A": "Robin", "B": "Kim"}
    prev, last, said = "", "", []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            near_pairs(said, 3)
            prev, last, said = "", "", []
        elif m := re.match(r"^([ABUS])(?: \w+)?: (.*)$", line):
            text = m[2].replace("{A}", who["A"]).replace("{B}", who["B"])
            if not (m[1] in "AS" and "U:" in path.read_text()[:400]):
                said += turn(text, prev, last == m[1])
            prev, last = text, m[1]
    near_pairs(said, 3)


def main() -> None:
    a = argparse.ArgumentParser()
    a.add_argument("--chats", type=Path, nargs="+"); a.add_argument("--docs", type=Path); a.add_argument("--out", type=Path, required=True); a.add_argument("--most", type=int, default=40000)
    g = a.parse_args()
    for folder in g.chats:
        for path in sorted(folder.glob("*.txt")):
            chats(path)
    print("chats", len(items), len(pairs))
    for path in sorted((ROOT / "training/labels").glob("*.jsonl")):
        if path.stem == "pairs": continue
        prev, last, said, d = "", "", [], None
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if row["dialogue"] != d: near_pairs(said, 2); prev, last, said, d = "", "", [], row["dialogue"]
            if row["speaker"] != "assistant": said += turn(row["text"], prev, last == row["speaker"])
            prev, last = row["text"], row["speaker"]
    print("labels", len(items), len(pairs))
    if g.docs:
        docs = json.load(lzma.open(g.docs)); rnd.shuffle(docs)
        for doc in docs:
            if doc["src"] in ("squadshifts-reddit", "squadshifts-amazon_reviews", "friendsqa", "molweni"):
                said = []
                if doc["src"].startswith("squadshifts"):
                    text = " ".join(t for _, t in doc["turns"])[:1500]
                    said = turn(text[: 200 + rnd.randrange(1200)], "", False)
                else:
                    prev = ""
                    for _, text in doc["turns"][:30]: said += turn(text, prev, False); prev = text
                if rnd.random() < .3: near_pairs(said[:30], 1)
            if len(items) > g.most: break
    rnd.shuffle(items); rnd.shuffle(pairs)
    with gzip.open(g.out, "wt") as file: json.dump(dict(items=items[:g.most], pairs=pairs[:30000]), file)
    print(len(items), len(pairs))


main()
