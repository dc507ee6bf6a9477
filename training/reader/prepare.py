"""Gather the labels of the reader into one file of token ids: python training/reader/prepare.py --data DIR --out data.npz.json.gz

DIR holds the label files as their authors wrote them, packed with xz (training/reader/labels in the repository):
  chats/*.txt    labelled chats: `U abk text` / `+ abk text`, worth (0 1 b), alone (0 1), kind (one letter)
  own/*.jsonl    chats with `planted` (not the user's own words) and `own` pieces
  change/*.jsonl changed minds, different facts, the same and not the same in nearly the same words; mini*: histories of one person
  lives/*.txt    whole lives, every sentence tagged with what a careful person would keep of it (labels/lives/README.md)
  short.jsonl    messages of one line: bare statements, rules, requests and reports
  pairs.jsonl    two statements and their relation
  norms.jsonl    sentences that oblige, forbid, permit or prescribe, and others
and the older labels by turn: training/labels.
Every item says its author, so that a model can be judged on authors it has not read.
"""
from __future__ import annotations

import argparse
import gzip
import json
import lzma
import re
import sys
from pathlib import Path

from holdfast.gate.own_words import pasted_parts
from holdfast.gate.reader import KINDS, RELATIONS, pair_tokens, sentence_spans, turn_windows

ROOT = Path(__file__).parents[2]
LETTERS = dict(i="fact", l="relationship", h="health", p="preference", d="decision", e="event", r="rule", t="technical", n="none")
items: list[dict] = []
pairs: list[dict] = []


def text_of(path: Path) -> str:
    """Return the text of a label file, packed or not."""
    return lzma.decompress(path.read_bytes()).decode() if path.suffix == ".xz" else path.read_text(encoding="utf-8")


def name_of(path: Path) -> str:
    return path.name.split(".")[0]


def add(author: str, group: str, text: str, labels: dict[tuple[int, int], dict], prev: str, same: bool, pasted: bool = True) -> None:
    """Add a turn with the labels of its sentences. What patterns know to be pasted is shown and not judged, if `pasted`."""
    parts = [(part.start, part.end) for part in pasted_parts(text)] if pasted else []
    spans = sorted(span for span in labels if not any(start < sum(span) // 2 < end for start, end in parts))
    given = iter([{k: v for k, v in labels[span].items() if v is not None} for span in spans])
    for window in turn_windows(text, spans, prev, same, parts):
        y = [next(given) for _ in window.sentences]
        if any(y):
            items.append(dict(author=author, group=group, x=window, y=y))


def add_pair(author: str, old: str, new: str, relation: str, prev: str = "") -> None:
    pairs.append(dict(author=author, old=old, new=new, prev=prev, y=RELATIONS.index(relation)))


def read_chats(path: Path, author: str) -> None:
    """A turn is its sentences joined by blanks; each knows its place in it."""
    name, prev, turn, who = "", ("", ""), [], ""

    def close() -> None:
        nonlocal prev
        if not turn:
            return
        text, at, labels = " ".join(t for t, _ in turn), 0, {}
        for sentence, label in turn:
            span = (at, at + len(sentence))
            at += len(sentence) + 1
            kind = LETTERS[label[2]]
            worth = {"0": 0.0, "1": 1.0, "b": 0.5}[label[0]]
            labels[span] = dict(worth=worth, alone=int(label[1]) if worth else None, kind=KINDS.index(kind),
                                rule=float(kind == "rule"), own=1.0 if worth == 1 else None)
        add(author, name, text, labels, prev[1], prev[0] == who, pasted=False)
        prev = (who, text)
        turn.clear()

    for line in text_of(path).splitlines():
        if line.startswith("## "):
            close()
            name, prev, who = f"{author}:{line[3:].strip()}", ("", ""), ""
        elif line.strip():
            sign, rest = line.split(" ", 1)
            if sign == "A":
                close()
                prev = ("A", rest)
                continue
            label, _, text = rest.partition(" ")
            if sign != "+":
                close()
                who = sign
            turn.append((text, label))
    close()


def read_old_labels(path: Path) -> None:
    for line in text_of(path).splitlines():
        row = json.loads(line)
        before = row["before"] or ""
        text = f"{before} {row['text']}".strip()
        span = (len(text) - len(row["text"]), len(text))
        same = (row["context"] or "").startswith("me:") and bool(row["prev"])
        label = dict(worth=row["worth"], alone=row["alone"] if row["worth"] else None, kind=KINDS.index(row["kind"]),
                     rule=float(row["kind"] == "rule"), own=1.0 if row["worth"] == 1 else None)
        others = {(start, end): {} for start, end in sentence_spans(before) if end <= span[0]}
        add("first", f"first:{row['dialogue']}", text, others | {span: label}, row["prev"] or "", same, pasted=False)


def read_turn_labels(folder: Path) -> None:
    """By turn: of a turn that is worth nothing no sentence is; of one that is, only a single sentence is known to be."""
    for path in sorted(folder.glob("*.jsonl")):
        if path.name == "pairs.jsonl":
            for line in path.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                name = {"supersede": "replaces", "add": "adds", "same": "same", "contradicts": "contradicts", "adds": "adds",
                        "unrelated": "unrelated", "different": "adds"}.get(row["relation"])
                if name:
                    add_pair("turns", row["old"], row["new"], name)
            continue
        prev = ("", "")
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            text, spans = row["text"], sentence_spans(row["text"])
            if row.get("turn", 0) == 0:
                prev = ("", "")
            if row["speaker"] != "assistant" and (not row["durable"] or len(spans) == 1):
                labels = {span: dict(worth=float(row["durable"])) for span in spans}
                add("turns", f"turns:{row['dialogue']}", text, labels, prev[1], prev[0] == row["speaker"], pasted=False)
            prev = (row["speaker"], text)


def read_norms(path: Path) -> None:
    for line in text_of(path).splitlines():
        row = json.loads(line)
        text, norm = row["text"], row["norm"]
        spans = sentence_spans(text)
        if len(spans) == 1:
            add("norms", f"norms:{row['file']}", text, {spans[0]: dict(norm=float(norm), rule=None if norm else 0.0)}, "", False, pasted=False)


def shape(window) -> list:  # noqa: ANN001
    """Return an input as lists, small enough to send."""
    return [window.ids, window.segments, window.sentences, [[round(v, 2) for v in one] for one in window.features]]


def overlaps(span: tuple[int, int], pieces: list[tuple[int, int]]) -> bool:
    start, end = span
    return any(min(end, e) - max(start, s) >= min(end - start, e - s) * 0.5 for s, e in pieces)


def read_own(path: Path, author: str) -> None:
    for line in text_of(path).splitlines():
        row = json.loads(line)
        prev = ("", "")
        for turn in row["turns"]:
            text = turn["text"]
            if turn["role"] == "user":
                found = {name: [(m.start(), m.end()) for piece in row[name] for m in [re.search(re.escape(piece), text)] if m] for name in ("planted", "own")}
                labels = {}
                for span in sentence_spans(text):
                    planted, own = overlaps(span, found["planted"]), overlaps(span, found["own"])
                    # What is planted reads like something worth keeping; whether it is a rule says its kind, not ours.
                    labels[span] = {} if planted == own else dict(
                        own=float(own), worth=1.0 if own and row["kind"] != "joke" else None,
                        rule=0.0 if planted and row["kind"] != "third_party_order" else None)
                for with_patterns in (True, False) if pasted_parts(text) else (True,):
                    add(author, f"{author}:{row['id']}", text, labels, prev[1], prev[0] == "user", with_patterns)
            prev = (turn["role"], text)


def read_changes(path: Path, author: str) -> None:
    for line in text_of(path).splitlines():
        row = json.loads(line)
        if row["what"] == "change":
            new = row["new"]
            for old in row["old"]:
                for start, end in sentence_spans(old):
                    sentence = old[start:end]
                    ended = row["ended"] in sentence or sentence in row["ended"]
                    still = any(piece in sentence or sentence in piece for piece in row["still"])
                    if ended and not still:
                        add_pair(author, sentence, new, "replaces")
                    elif still and not ended:
                        add_pair(author, sentence, new, "adds")
            add_pair(author, row["ended"], new, "replaces")
            if row["answer"]:
                for start, end in sentence_spans(new):
                    if row["answer"].lower() in new[start:end].lower() and end - start < len(new) - 4:
                        add_pair(author, row["ended"], new[start:end], "replaces")
            for piece in row["still"]:
                if len(piece.split()) > 2:
                    add_pair(author, piece, new, "adds")
            for other in row["between"]:
                add_pair(author, row["ended"], other, "unrelated")
        elif row["what"] == "different":
            add_pair(author, row["first"], row["second"], "adds")
            add_pair(author, row["second"], row["first"], "adds")
        elif row["what"] == "same":
            add_pair(author, row["first"], row["second"], "same")
            add_pair(author, row["second"], row["first"], "same")
        elif row["what"] == "not_same":
            add_pair(author, row["first"], row["second"], "contradicts")
            add_pair(author, row["second"], row["first"], "contradicts")


def read_mini_lives(path: Path, author: str) -> None:
    """Histories of one person: what each later turn ends or says again, and the nearest of all that it leaves alone."""
    import numpy as np

    from holdfast.models.embedder import shipped_embedder

    for line in text_of(path).splitlines():
        row = json.loads(line)
        known = [text[a:b] for text in row["early"] for a, b in sentence_spans(text)]
        for later in row["later"]:
            new = later["turn"]
            marked: dict[str, str] = {}
            for name, relation in (("ends", "replaces"), ("same", "same")):
                for piece in later[name]:
                    marked[piece] = relation
                    for one in known:
                        if piece in one and len(piece) >= len(one) * 0.6 or one in piece:
                            marked[one] = relation
                        elif piece in one:
                            marked.setdefault(one, "")  # it says more than what ended: not told either way
            for one, relation in marked.items():
                if relation:
                    add_pair(author, one, new, relation)
            rest = [one for one in dict.fromkeys(known) if one not in marked and len(one.split()) > 2]
            cosines = shipped_embedder().embed(rest) @ shipped_embedder().embed([new])[0]
            for place, at in enumerate(np.argsort(-cosines)[:6]):
                add_pair(author, rest[at], new, "adds" if place < 3 else "unrelated")
            known = [one for one in known if marked.get(one) != "replaces"]
            known += [new[a:b] for a, b in sentence_spans(new)]


TAG = re.compile(r"[ ]*\{(k|c|r|rc|n|b|x)((?: [!=]?[A-Za-z0-9_-]+)*)\}")


def read_tagged(path: Path) -> list[list[tuple[str, str, list]]]:
    """Return the sessions of a life: its turns as role, text and, for the user's, segments (start, end, tag, id, ends, same)."""
    sessions: list[list[tuple[str, str, list]]] = []
    turns: list[list[str]] = []

    def close() -> None:
        for role, *lines in turns:
            marked, text, segments = "\n".join(lines).strip(), "", []
            at = 0
            for match in TAG.finditer(marked) if role == "U" else ():
                start = len(text)
                text += marked[at : match.start()]
                at = match.end()
                words = match[2].split()
                own = [one for one in words if one[0] not in "!="]
                start += len(text[start:]) - len(text[start:].lstrip())
                segments.append((start, len(text), match[1], own[0] if own else "", [one[1:] for one in words if one[0] == "!"],
                                 [one[1:] for one in words if one[0] == "="]))
            sessions[-1].append((role, text + marked[at:], segments))
        turns.clear()

    for line in text_of(path).split("\n"):
        if line.startswith("## "):
            if sessions:
                close()
            sessions.append([])
        elif line.startswith(("U: ", "A: ")) and sessions:
            turns.append([line[0], line[3:]])
        elif turns:
            turns[-1].append(line)
    close()
    return sessions


def label_of(span: tuple[int, int], segments: list) -> dict:
    """Return the labels of a sentence by the segments it shares most of its text with."""
    start, end = span
    over = [(min(end, one[1]) - max(start, one[0]), one) for one in segments]
    over = [(size, one) for size, one in over if size > 0 and size >= 0.4 * min(end - start, one[1] - one[0])]
    if not over:
        return {}
    tags = {one[2] for _, one in over}
    change = float(any(one[4] for _, one in over))
    if tags == {"x"}:
        return dict(worth=0.0, rule=0.0, own=0.0, change=change)
    if "x" in tags:
        return {}
    worth = 1.0 if tags & {"k", "c", "r", "rc"} else 0.5 if "b" in tags else 0.0
    alone = None if worth < 1 else float("c" not in tags and "rc" not in tags)
    rule = float(bool(tags & {"r", "rc"}))
    return dict(worth=worth, alone=alone, rule=rule, own=1.0, change=change)


def read_life(path: Path, author: str) -> None:
    """A whole life: each sentence in its context, and each turn against the statements that were true until then."""
    import numpy as np

    from holdfast.gate.own_words import own_words
    from holdfast.models.embedder import shipped_embedder

    embed = shipped_embedder().embed
    known: dict[str, str] = {}
    for number, session in enumerate(read_tagged(path)):
        prev = ("", "")
        for role, text, segments in session:
            if role == "U":
                labels = {span: label_of(span, segments) for span in sentence_spans(text)}
                add(author, f"{author}:{number}", text, labels, prev[1], prev[0] == "U")
                said = own_words(text, 40_000).text.strip()
                ended = {one for segment in segments for one in segment[4] if one in known}
                again = {one for segment in segments for one in segment[5] if one in known}
                if said:
                    for one in ended:
                        add_pair(author, known[one], said, "replaces", prev[1])
                    for one in again - ended:
                        add_pair(author, known[one], said, "same", prev[1])
                    rest = [one for one in known if one not in ended | again]
                    if rest:
                        pieces = [said[a:b] for a, b in sentence_spans(said)] or [said]
                        cosines = (embed([known[one] for one in rest]) @ embed([*pieces, said]).T).max(1)
                        most = 10 if any(segment[2] in ("k", "c", "r", "rc") or segment[4] for segment in segments) else 4
                        for place, at in enumerate(np.argsort(-cosines)[:most]):
                            add_pair(author, known[rest[at]], said, "adds" if place < 3 and most > 4 else "unrelated", prev[1])
                for one in ended:
                    known.pop(one)
                for place, (start, end, tag, name, _, _) in enumerate(segments):
                    if name and tag in ("k", "c", "r", "rc"):
                        lead = ""
                        if tag in ("c", "rc"):
                            before = text[segments[place - 1][0] : segments[place - 1][1]] if place else prev[1][-200:]
                            lead = f"{before[-200:]} "
                        known[name] = f"{lead}{text[start:end]}"
            prev = (role, text)


def read_short(path: Path) -> None:
    for number, line in enumerate(text_of(path).splitlines()):
        row = json.loads(line)
        label = {name: float(row[name]) for name in ("worth", "rule", "own")} | dict(alone=1.0 if row["worth"] else None)
        add("test_short", f"short:{number}", row["text"], {span: dict(label) for span in sentence_spans(row["text"])}, "", False)


def read_bench_life(path: Path) -> None:
    """A life of `holdfast bench lives`, to judge by and not to learn from: sentences with a value, noise, and real neighbours."""
    import numpy as np

    from holdfast.models.embedder import shipped_embedder
    from holdfast_bench.life import holds

    embed = shipped_embedder().embed
    life = json.loads(path.read_text(encoding="utf-8"))
    author = f"test_{path.stem}"
    things = [*life["facts"], *life["rules"]]
    rules = {one["id"] for one in life["rules"]}
    noise = {one["turn"] for one in life["noise"]}
    prev, session = ("", ""), ""
    known: list[tuple[dict, str]] = []
    for turn in life["turns"]:
        text = turn["text"]
        prev, session = prev if turn["session"] == session else ("", ""), turn["session"]
        if turn["role"] == "user":
            said = [one for one in things if turn["id"] in one["turns"]]
            ending = [one for one in things if one["until"] == turn["id"]]
            labels = {}
            for start, end in sentence_spans(text):
                found = [one for one in said if holds(one["keys"][-1:], text[start:end])]
                labels[start, end] = (
                    dict(worth=1.0, rule=float(any(one["id"] in rules for one in found))) if found
                    else dict(worth=0.0, rule=0.0) if turn["id"] in noise or not said and not ending
                    else dict(rule=0.0) if not any(one["id"] in rules for one in said) else {}
                )
                if not ending and labels[start, end]:
                    labels[start, end]["change"] = 0.0
            if len(labels) == 1 and ending:
                next(iter(labels.values()))["change"] = 1.0
            add(author, author, text, labels, prev[1], prev[0] == "user")
            live = [(one, old) for one, old in known if one not in said]
            if live:
                pieces = [text[a:b] for a, b in sentence_spans(text)] or [text]
                cosines = (embed([old for _, old in live]) @ embed([*pieces, text]).T).max(1)
                for at in np.argsort(-cosines)[:8]:
                    one, old = live[at]
                    add_pair(author, old, text, "replaces" if one in ending else "unrelated", prev[1])
            known = [(one, old) for one, old in known if one not in ending]
            for one in said:
                if turn["id"] == one["turns"][0]:
                    value = [text[a:b] for a, b in sentence_spans(text) if holds(one["keys"][-1:], text[a:b])]
                    known.append((one, value[0] if value else text))
        prev = (turn["role"], text)


def add_far_pairs() -> None:
    """A turn that tells of a change, beside statements it has nothing to do with: the nearest and some at random."""
    import random

    import numpy as np

    from holdfast.models.embedder import shipped_embedder

    chance = random.Random(4)
    for author in sorted({one["author"] for one in pairs}):
        if author.removeprefix("test_")[0] in "wv":
            continue  # a life has its own
        olds = sorted({one["old"] for one in pairs if one["author"] == author})
        news = sorted({one["new"] for one in pairs if one["author"] == author and one["y"] == RELATIONS.index("replaces")})
        known = {(one["old"], one["new"]) for one in pairs}
        mates: dict[str, set[str]] = {}
        for one in pairs:
            mates.setdefault(one["new"], set()).add(one["old"])
        if len(olds) < 20:
            continue
        vectors, wanted = shipped_embedder().embed(olds), shipped_embedder().embed(news)
        for new, vector in zip(news, wanted, strict=True):
            near = [olds[at] for at in np.argsort(-(vectors @ vector))[:12]]
            chosen = [old for old in near if old not in mates[new]][:5] + chance.sample(olds, 3)
            for old in chosen:
                if (old, new) not in known:
                    add_pair(author, old, new, "unrelated")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=ROOT / "training/reader/labels")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--judge", type=Path, nargs="*", default=[], help="lives of `holdfast bench lives` to judge by")
    given = parser.parse_args()
    for path in sorted((given.data / "chats").glob("*.txt.xz")):
        read_chats(path, name_of(path))
    if (given.data / "labels_new.jsonl.xz").exists():
        read_old_labels(given.data / "labels_new.jsonl.xz")
    read_turn_labels(ROOT / "training/labels")
    read_norms(given.data / "norms.jsonl.xz")
    for path in sorted((given.data / "own").glob("*.jsonl.xz")):
        if "turns" in text_of(path)[:2000] and name_of(path) != "orders":
            read_own(path, name_of(path))
    for path in sorted((given.data / "change").glob("*.jsonl.xz")):
        (read_mini_lives if name_of(path).startswith("mini") else read_changes)(path, name_of(path))
    for path in sorted((given.data / "lives").glob("*.txt.xz")):
        read_life(path, name_of(path))
    if (given.data / "short.jsonl.xz").exists():
        read_short(given.data / "short.jsonl.xz")
    if (given.data / "pairs_new.jsonl.xz").exists():
        for line in text_of(given.data / "pairs_new.jsonl.xz").splitlines():
            row = json.loads(line)
            add_pair("first", row["old"], row["new"], row["rel"])
            if row["rel"] in ("same", "contradicts", "adds", "unrelated"):
                add_pair("first", row["new"], row["old"], row["rel"])
    add_far_pairs()
    for path in given.judge:
        read_bench_life(path)
    for one in items:
        one["x"] = shape(one["x"])
    for one in pairs:
        one["x"] = shape(pair_tokens(one["old"], one["new"], one["prev"]))
        del one["old"], one["new"], one["prev"]
    with gzip.open(given.out, "wt", encoding="utf-8") as file:
        json.dump(dict(items=items, pairs=pairs), file)
    from collections import Counter

    print(len(items), Counter(one["author"] for one in items))
    for label in ("worth", "alone", "kind", "rule", "own", "norm", "change"):
        print(label, Counter(round(y[label], 1) for one in items for y in one["y"] if label in y))
    print(len(pairs), Counter((one["author"], RELATIONS[one["y"]]) for one in pairs))


if __name__ == "__main__":
    main()
