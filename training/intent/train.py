"""Train the intent of questions (search/question.py): themes, recent talk, many things over time, or none of these.

    python training/intent/train.py             # cross-validate on the training questions
    python training/intent/train.py --test      # train on all of them and measure on test.txt and the held-out authors
    python training/intent/train.py --write     # train on all of them and write the weights into the package

The labels are ours: questions.txt, templates.txt (each line with several of the topics), and as ordinary questions those
of training/ask/questions. Nothing is fitted to test.txt, nor to the ordinary questions of two authors (HELD_OUT). The
network is a convolution over three tokens of the static table with the maximum of each filter, and the mean of the tokens;
numpy alone trains it in half a minute.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.search.calendar import TimeQuery
from holdfast.search.question import FILTERS, INTENTS, SPAN, intent_features, intent_tokens, looks_ahead
from holdfast.search.when import Intent, read_windows
from holdfast.text.words import terms

HOME = Path(__file__).parent
WEIGHTS = HOME.parent.parent / "src" / "holdfast" / "search" / "intent.npz"
HELD_OUT = ("chats_7_8", "mini6")  # authors whose questions are measured on and never trained on
ORDINARY = 3000  # questions of training/ask that are trained on
TOPICS = 6  # topics that each template is filled with
LEAST, RATHER = 3, 2.7  # a word that only asks: questions that have it, and how much more often than ordinary ones
NOW = datetime(2026, 1, 15, tzinfo=UTC)
EPOCHS, BATCH, RATE, DECAY, KEPT = 10, 64, 3e-3, 1e-4, 0.6
CLASS_WEIGHTS = np.array([0.35, 1.2, 1.2, 1.0], np.float32)  # chosen by cross-validation

SHIFT = 0.34  # added to the biases of themes and recent talk: one more ordinary question of 500 is misrouted, two fewer missed

Array = NDArray[np.float32]
Labelled = tuple[str, int]


def read_kinds(path: Path) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            lines = kinds.setdefault(line[2:], [])
        elif line:
            lines.append(line)
    return kinds


def labelled(kinds: dict[str, list[str]]) -> list[Labelled]:
    return [(line, INTENTS.index(Intent(kind))) for kind, lines in kinds.items() for line in lines]


def ordinary(held_out: bool) -> list[Labelled]:
    """Return the questions of training/ask, of the held-out authors or of the others, in a fixed random order."""
    found = []
    for path in sorted((HOME.parent / "ask" / "questions").glob("*.jsonl.xz")):
        if (path.name.split(".")[0] in HELD_OUT) is held_out:
            rows = [json.loads(line) for line in lzma.decompress(path.read_bytes()).decode().splitlines()]
            found += [text for row in rows for text in (*(asked for asked, _ in row["qs"]), *row["un"])]
    random.Random(0).shuffle(found)
    return [(text, INTENTS.index(Intent.ORDINARY)) for text in found]


def filled_templates() -> list[Labelled]:
    kinds = read_kinds(HOME / "templates.txt")
    topics, choice = kinds.pop("topics"), random.Random(0)
    names = kinds.pop("names")
    del kinds["leads"]
    return [
        (template.format(x=topic, n=name), kind)
        for template, kind in labelled(kinds)
        for topic, name in zip(choice.sample(topics, TOPICS), choice.sample(names, TOPICS), strict=True)
    ]


def with_leads(questions: Sequence[Labelled]) -> list[Labelled]:
    """Return each question once more, behind words that ask for nothing; half of them in small letters."""
    leads, choice = read_kinds(HOME / "templates.txt")["leads"], random.Random(1)
    said = [(f"{choice.choice(leads)} {text}", kind) for text, kind in questions]
    return [(text.lower().rstrip("?") if choice.random() < 0.5 else text, kind) for text, kind in said]


class Network:
    def __init__(self, width: int, seed: int = 0) -> None:
        choice = np.random.RandomState(seed)
        self.weights = {
            "filters": (choice.randn(SPAN * width, FILTERS) / np.sqrt(60)).astype(np.float32),
            "offsets": np.zeros(FILTERS, np.float32),
            "classes": (choice.randn(FILTERS + width, len(INTENTS)) * 0.1).astype(np.float32),
            "bias": np.zeros(len(INTENTS), np.float32),
        }
        self._first = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self._second = {name: np.zeros_like(value) for name, value in self.weights.items()}
        self._steps = 0

    def step(self, texts: Sequence[Array], kinds: NDArray[np.int64], rate: float, choice: np.random.RandomState) -> None:
        """Take one step of Adam on a batch, with dropout of the filters."""
        shape = (len(texts), FILTERS)
        places, features = zip(*(intent_features(text, self.weights) for text in texts), strict=True)
        kept = np.ones((len(texts), len(features[0])), np.float32)
        kept[:, :FILTERS] = (choice.rand(*shape) < KEPT) / KEPT
        inputs = np.stack(features) * kept
        slopes = softmax(inputs @ self.weights["classes"] + self.weights["bias"])
        slopes[np.arange(len(kinds)), kinds] -= 1
        weights = CLASS_WEIGHTS[kinds]
        slopes *= (weights / weights.sum())[:, None]
        back = (slopes @ self.weights["classes"].T * kept)[:, :FILTERS] * (inputs[:, :FILTERS] > 0)
        filters = np.zeros_like(self.weights["filters"])
        for text, place, slope in zip(texts, places, back, strict=True):
            spans = np.stack([text[at : at + SPAN].ravel() for at in place])
            filters += (spans * slope[:, None]).T
        self._move("filters", filters + DECAY * self.weights["filters"], rate, first=True)
        self._move("offsets", back.sum(axis=0), rate)
        self._move("classes", inputs.T @ slopes + DECAY * self.weights["classes"], rate)
        self._move("bias", slopes.sum(axis=0), rate)

    def _move(self, name: str, slope: Array, rate: float, first: bool = False) -> None:
        self._steps += first
        self._first[name] = 0.9 * self._first[name] + 0.1 * slope
        self._second[name] = 0.99 * self._second[name] + 0.01 * slope * slope
        mean, square = self._first[name] / (1 - 0.9**self._steps), self._second[name] / (1 - 0.99**self._steps)
        self.weights[name] -= (rate * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)

    def chances(self, texts: Sequence[Array]) -> Array:
        inputs = np.stack([intent_features(text, self.weights)[1] for text in texts])
        return softmax(inputs @ self.weights["classes"] + self.weights["bias"])


def asking_words() -> list[str]:
    """Return terms that two kinds of questions share, and that are much rarer in ordinary ones."""
    kinds = read_kinds(HOME / "questions.txt")
    kinds["gather"] += read_kinds(HOME / "templates.txt")["gather"]
    plain = [*kinds.pop("ordinary"), *(text for text, _ in ordinary(held_out=False)[:ORDINARY])]
    counts = {kind: Counter(term for text in texts for term in set(terms(text))) for kind, texts in kinds.items()}
    asked, usual = sum(counts.values(), Counter[str]()), Counter(term for text in plain for term in set(terms(text)))
    size = sum(map(len, kinds.values()))
    return sorted(
        term
        for term, count in asked.items()
        if count >= LEAST
        and sum(term in one for one in counts.values()) > 1
        and (count + 0.5) / size > RATHER * (usual[term] + 0.5) / len(plain)
    )


def softmax(scores: Array) -> Array:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


def tokens_of(questions: Sequence[Labelled]) -> list[Array]:
    asked = [(text, read_windows(TimeQuery(text, NOW, looks_ahead(text)))) for text, _ in questions]
    return [intent_tokens(text, [window.place for window, _ in found]) for text, found in asked]


def train(questions: Sequence[Labelled], seed: int = 0) -> Network:
    questions = [*questions, *with_leads(questions)]
    texts, kinds = tokens_of(questions), np.array([kind for _, kind in questions])
    network, choice = Network(texts[0].shape[1], seed), np.random.RandomState(seed)
    for epoch in range(EPOCHS):
        order = choice.permutation(len(texts))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            network.step([texts[at] for at in batch], kinds[batch], RATE * (1 - 0.8 * epoch / EPOCHS), choice)
    network.weights["bias"][[INTENTS.index(Intent.THEMES), INTENTS.index(Intent.RECENT)]] += SHIFT
    return network


def report(name: str, questions: Sequence[Labelled], chances: Array, wrong: bool = False) -> None:
    """Print how the questions of each kind are routed, and those that are routed wrong."""
    routed = chances.argmax(axis=1)
    for number, intent in enumerate(INTENTS):
        of_kind = [at for at, (_, kind) in enumerate(questions) if kind == number]
        if of_kind:
            counts = Counter(INTENTS[routed[at]].value for at in of_kind)
            print(f"{name}: {intent.value} {len(of_kind)} → {dict(counts)}")
    for at, (text, kind) in enumerate(questions):
        if wrong and routed[at] != kind:
            print(f"  {INTENTS[kind].value} → {INTENTS[routed[at]].value} {chances[at].max():.2f} {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--wrong", action="store_true", help="Print what is routed wrong.")
    options = parser.parse_args()
    written = labelled(read_kinds(HOME / "questions.txt"))
    questions = [*written, *filled_templates(), *ordinary(held_out=False)[:ORDINARY]]
    texts = tokens_of(questions)
    if not (options.test or options.write):
        order, chances = np.random.RandomState(0).permutation(len(questions)), np.zeros((len(questions), 4), np.float32)
        for fold in range(3):
            held, rest = order[fold::3], np.setdiff1d(order, order[fold::3])
            network = train([questions[at] for at in rest])
            chances[held] = network.chances([texts[at] for at in held])
        report("cross-validation, written", written, chances[: len(written)], options.wrong)
        report("cross-validation, other", questions[len(written) :], chances[len(written) :])
        return
    network = train(questions)
    if options.test:
        for name, held in (("test", labelled(read_kinds(HOME / "test.txt"))), ("held out", ordinary(True)[:500])):
            report(name, held, network.chances(tokens_of(held)), options.wrong)
    if options.write:
        weights = {name: value.astype(np.float16) for name, value in network.weights.items()}
        np.savez_compressed(WEIGHTS, asking=np.array(asking_words()), **weights)


if __name__ == "__main__":
    main()
