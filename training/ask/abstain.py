"""Fit when search answers with nothing (BEL-8; src/holdfast/search/ask.py) to questions with and without an answer.

    HOLDFAST_MODELS=FOLDER python training/ask/abstain.py --chats CHATS… [--locomo FILE] [--lives FILE…] --out abstain.json

FOLDER holds ask.onnx.gz; `abstain.json` belongs beside it (models/src/holdfast_models). CHATS are files of chats with
questions: `?` lines are answerable, `??` lines are not (the format is described in training/ask/README.md). Each chat is
a store of its own, and again part of a store of eight: among many turns one lies near any question by accident. Rare
words of the turns that answer are asked as keywords too, so that a search for a word is not turned away. Every question
about a chat is judged by weights fitted without that chat's group. Prints the curve: of the unanswerable questions, how
many are answered with nothing, by the share of answerable ones that are lost; LoCoMo (development half) and lives are
measured with the weights of all chats and never fitted to.
"""
import argparse, json, os, re, tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
import numpy as np
import holdfast.search.ask as abstain
from holdfast.memory import Memory
from holdfast.models.ask import Abstention
from holdfast.settings import Settings
from holdfast.testing import FixedClock
from dataclasses import replace

LOST = (0.0, 0.005, 0.01, 0.02, 0.05)
NAMES = ("Maren", "Joss", "Odile", "Tariq", "Wren", "Ilse", "Bram", "Suda", "Pavel", "Nell", "Yemi", "Greta", "Luca", "Hana", "Otis", "Vera")


def read_chats(paths):
    chats = []
    for path in paths:
        for block in re.split(r"^## ", Path(path).read_text(), flags=re.M)[1:]:
            kind, *lines = block.splitlines()
            a, b = NAMES[2 * len(chats) % 16], NAMES[(2 * len(chats) + 1) % 16]
            name = lambda text: text.replace("{A}", a).replace("{B}", b)
            chat, at, labels = {"kind": kind.strip(), "turns": [], "asked": [], "name": f"{Path(path).stem}-{len(chats)}"}, None, {}
            for line in lines:
                if line.startswith("@"):
                    at = datetime.fromisoformat(line[1:].strip()).replace(tzinfo=UTC, hour=9)
                elif line.startswith("??"):
                    chat["asked"].append((name(line[2:].strip()), "unanswerable"))
                elif line.startswith("?"):
                    question, _, marks = line[1:].partition("|")
                    chat["asked"].append((name(question.strip()), "answerable"))
                    for mark in marks.split(",")[:1]:
                        if mark.strip() in labels:
                            chat.setdefault("gold", []).append(labels[mark.strip()])
                elif found := re.match(r"([ABU])(?: (\w+))?: (.*)", line):
                    who, mark, text = found.groups()
                    friends = not re.search(r"^U( \w+)?: ", block, flags=re.M)
                    turn = {"content": name(text), "at": at, "role": "user" if friends or who == "U" else "assistant"}
                    if friends:
                        turn["metadata"] = {"speaker": a if who == "A" else b}
                    chat["turns"].append(turn)
                    if mark:
                        labels[mark] = name(text)
                    at += timedelta(minutes=1)
            chats.append(chat)
    return chats


def keywords(chat, common):
    for text in chat.get("gold", [])[:4]:
        words = sorted({word for word in re.findall(r"[A-Za-z]{5,}", text)}, key=lambda word: (common[word.lower()], word))
        if len(words) >= 2:
            yield " ".join(words[:2]), "keyword"


def rows(stores):
    """One row per question: the store's group, the features, and what it is."""
    seen, original = [], abstain.abstain_features
    def record(*given):
        seen.append(original(*given))
        return seen[-1]
    abstain.abstain_features = record
    settings = replace(Settings(), admit=replace(Settings().admit, enabled=False), store=replace(Settings().store, durable=False))
    found = []
    with tempfile.TemporaryDirectory() as home:
        for number, (group, size, chats, asked) in enumerate(stores):
            clock = FixedClock()
            with Memory(os.path.join(home, f"{number}.db"), "x", settings=settings, clock=clock) as memory:
                memory._shared.ask = replace(memory._shared.ask, abstention=Abstention((0.0,) * len(abstain.FEATURES), 9.0, 0.0))
                for place, chat in enumerate(chats):
                    for turn in chat["turns"]:
                        clock.now = turn["at"]
                        day = turn.get("session") or f"{place}-{turn['at'].date()}"
                        memory.ingest(turn["content"], role=turn["role"], session=day, at=turn["at"], metadata=turn.get("metadata"))
                memory.flush()
                clock.now = max(turn["at"] for chat in chats for turn in chat["turns"]) + timedelta(days=3)
                for question, kind in asked:
                    seen.clear()
                    memory.search(question)
                    found.append((group, size, kind, None if not seen or seen[-1] is None else seen[-1].tolist(), question))
            print(f"\r{number + 1} of {len(stores)} stores", end="", flush=True)
    print()
    abstain.abstain_features = original
    return [one for one in found if one[3] is not None]


def fit(x, y, weight, ridge=1e-3):
    """Logistic regression by Newton's method, on standardised features; returns weights for the plain ones."""
    mean, spread = x.mean(0), x.std(0) + 1e-9
    z = np.c_[(x - mean) / spread, np.ones(len(x))]
    w = np.zeros(z.shape[1])
    for _ in range(60):
        p = 1 / (1 + np.exp(-z @ w))
        g = z.T @ (weight * (p - y)) / weight.sum() + ridge * np.r_[w[:-1], 0]
        h = (z * (weight * p * (1 - p))[:, None]).T @ z / weight.sum() + ridge * np.eye(len(w))
        w -= np.linalg.solve(h, g)
    plain = w[:-1] / spread
    return plain, float(w[-1] - (plain * mean).sum())


def curve(name, chance, answerable):
    lost, kept = chance[answerable], chance[~answerable]
    line = []
    for share in LOST:
        bar = np.sort(lost)[int(share * len(lost))] if len(lost) else 0.0
        line.append(f"{share:.1%} lost: {np.mean(kept < bar):.3f}")
    order = np.argsort(chance); ranks = np.empty(len(chance)); ranks[order] = np.arange(len(chance))
    auc = (ranks[answerable].mean() - ranks[~answerable].mean()) / len(chance) + 0.5
    print(f"{name:28} {len(kept)} unanswerable, {len(lost)} answerable; AUC {auc:.3f}; " + ", ".join(line), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--chats", nargs="+", required=True)
    parser.add_argument("--locomo"); parser.add_argument("--lives", nargs="*", default=[])
    parser.add_argument("--lost", type=float, default=0.01); parser.add_argument("--out"); parser.add_argument("--rows"); parser.add_argument("--most", type=int)
    given = parser.parse_args()
    chats = read_chats(given.chats)[: given.most]
    common = Counter(word.lower() for chat in chats for turn in chat["turns"] for word in re.findall(r"[A-Za-z]{5,}", turn["content"]))
    for chat in chats:
        chat["asked"] += keywords(chat, common)
    groups = [chats[at : at + 8] for at in range(0, len(chats), 8)]
    stores = [(number, "one", [chat], chat["asked"]) for number, group in enumerate(groups) for chat in group]
    stores += [(number, "eight", group, [one for chat in group for one in chat["asked"]]) for number, group in enumerate(groups)]
    found = rows(stores)
    if given.rows:
        json.dump(found, open(given.rows, "w"))
    x, y = np.array([one[3] for one in found]), np.array([one[2] != "unanswerable" for one in found])
    group, size, kind = (np.array([one[at] for one in found]) for at in (0, 1, 2))
    weight = np.where(y, 1.0, y.sum() / max((~y).sum(), 1))
    chance = np.zeros(len(x))
    for out in np.unique(group):
        w, b = fit(x[group != out], y[group != out], weight[group != out])
        chance[group == out] = 1 / (1 + np.exp(-(x[group == out] @ w + b)))
    for one in ("one", "eight"):
        here = size == one
        curve(f"chats, stores of {one}", chance[here & (kind != "keyword")], y[here & (kind != "keyword")])
    w, b = fit(x, y, weight)
    bar = float(np.sort(chance[y])[int(given.lost * y.sum())])
    print(dict(zip(abstain.FEATURES, np.round(w, 3))), "bias", round(b, 3), "threshold", round(bar, 4))
    print("keywords lost:", np.mean(chance[kind == "keyword"] < bar), "answerable lost:", np.mean(chance[kind == "answerable"] < bar),
          "unanswerable turned away:", np.mean(chance[~y] < bar))
    for name, more in others(given):
        part = rows(more)
        x2, y2 = np.array([one[3] for one in part]), np.array([one[2] != "unanswerable" for one in part])
        c2 = 1 / (1 + np.exp(-(x2 @ w + b)))
        curve(name, c2, y2)
        print(f"  at the threshold: {np.mean(c2[~y2] < bar):.3f} turned away, {np.mean(c2[y2] < bar):.4f} lost")
    if given.out:
        fitted = {"weights": dict(zip(abstain.FEATURES, w.round(5).tolist())), "bias": round(b, 5), "threshold": round(bar, 5)}
        Path(given.out).write_text(json.dumps(fitted, indent=1) + "\n")


def others(given):
    if given.locomo:
        from holdfast_bench import locomo
        stores = []
        for talk in locomo.read([Path(given.locomo)]):
            turns = [{"content": t.text, "at": s.at, "role": "user", "session": s.session, "metadata": {"speaker": t.speaker}} for s in talk.sessions for t in s.turns]
            stores.append((talk.name, "", [{"turns": turns}], [(q.text, "answerable" if q.answerable else "unanswerable") for q in talk.questions]))
        yield "LoCoMo, development", stores
    if given.lives:
        from holdfast_bench.life import read_life
        stores = []
        for path in given.lives:
            life = read_life(Path(path))
            turns = [{"content": t.text, "at": t.at, "role": t.role, "session": t.session} for t in life.turns]
            stores.append((life.name, "", [{"turns": turns}], [(q.text, "unanswerable" if q.kind == "unknown" else "answerable") for q in life.questions]))
        yield "lives", stores


if __name__ == "__main__":
    main()
