"""The reader: a small transformer that judges one sentence of a user's turn in its context.

It answers the questions that admission asks about a sentence: is it worth keeping, can it be understood alone, is it a
standing rule for the assistant, which kind is it, and are these the user's own words. A second use compares two
statements: the same, a replacement, a contradiction, an addition, or unrelated.

Four layers of bge-small (MIT) trained on labels of our own and on the answers of a larger model that does not ship
(training/reader); numpy alone, about 10 ms per sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from holdfast.models.bert import Arrays, Floats, TransformerLayer, layer_norm, restore, token_table
from holdfast.models.embedder import ID_BYTES, shipped_embedder
from holdfast.text.words import sentences

CLS, SEP, LINE = 101, 102, 1
"""Ids of the vocabulary: BERT's own marks, and an unused one for a line break."""
KINDS = ("none", "fact", "relationship", "health", "preference", "decision", "event", "rule", "technical")
RELATIONS = ("same", "replaces", "contradicts", "adds", "unrelated")

_SENTENCE, _BEFORE, _AFTER, _HEAD, _TAIL, _PREVIOUS = 64, 40, 24, 16, 16, 32
"""Tokens of each field."""
_STATEMENT = 56
"""Tokens of each side of a pair."""
_CHARS = 8  # characters that are tokenized for each wanted token
FEATURES = 16


class Tokens(NamedTuple):
    """One input: token ids, the segment of each, and features of the sentence's form."""

    ids: list[int]
    segments: list[int]
    features: list[float]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text's prose begin and end, in order."""
    spans: list[tuple[int, int]] = []
    at = 0
    for sentence in sentences(text):
        start = text.find(sentence, at)
        if start < 0:  # a sentence that was put together from pieces around code: it has no single place
            continue
        at = start + len(sentence)
        spans.append((start, at))
    return spans


def sentence_tokens(
    text: str, span: tuple[int, int], previous: str = "", same_speaker: bool = False, pasted: bool = False
) -> Tokens:
    """Build the input for one sentence: itself, what stands around it in its turn, and the turn before."""
    start, end = span
    before, after = text[:start], text[end:]
    near_before, near_after = before[-_BEFORE * _CHARS :], after[: _AFTER * _CHARS]
    head = before[: -len(near_before)][: _HEAD * _CHARS] if len(before) > len(near_before) else ""
    tail = after[len(near_after) :][-_TAIL * _CHARS :] if len(after) > len(near_after) else ""
    fields = (
        _encode(text[start:end])[:_SENTENCE],
        _encode(near_before)[-_BEFORE:],
        _encode(near_after)[:_AFTER],
        _encode(head)[:_HEAD],
        _encode(tail)[-_TAIL:],
        _encode(previous[-_PREVIOUS * _CHARS :])[-_PREVIOUS:],
    )
    ids, segments = [CLS], [0]
    for segment, field in enumerate(fields):
        if field or not segment:
            ids += [*field, SEP]
            segments += [segment] * (len(field) + 1)
    return Tokens(ids, segments, _features(text, span, previous, same_speaker, pasted))


def pair_tokens(old: str, new: str) -> Tokens:
    """Build the input for two statements, the older first."""
    first, second = _encode(old)[:_STATEMENT], _encode(new)[:_STATEMENT]
    ids = [CLS, *first, SEP, *second, SEP]
    return Tokens(ids, [0] * (len(first) + 2) + [6] * (len(second) + 1), [0.0] * FEATURES)


_QUOTE_MARKS = re.compile(r"[\"“”„«»]")
_LABEL = re.compile(r"[ \t]*[\w .'-]{1,30}:\s")
_LIST = re.compile(r"[ \t]*(?:[-*•–—]|\d{1,3}[.)])[ \t]")


def _features(text: str, span: tuple[int, int], previous: str, same_speaker: bool, pasted: bool) -> list[float]:
    start, end = span
    sentence = text[start:end]
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    marks_before = len(_QUOTE_MARKS.findall(text, max(0, start - 2000), start))
    lines = text.count("\n") + 1
    words = len(text.split())
    asked = previous.rstrip().endswith("?")
    return [
        float(pasted),
        float(marks_before % 2),
        float(bool(_QUOTE_MARKS.search(sentence))),
        float(bool(_LABEL.match(line))),
        float(bool(_LIST.match(line))),
        float(sentence.rstrip("\"'”’) ").endswith("?")),
        float(sentence.rstrip().endswith("!")),
        min(lines, 30) / 10,
        min(words, 400) / 100,
        start / max(len(text), 1),
        float(start == 0),
        float(end >= len(text.rstrip())),
        float(asked),
        float(same_speaker),
        float(not previous),
        float("\n\n" in text[:start]),
    ]


@lru_cache(maxsize=4096)
def _encode(text: str) -> tuple[int, ...]:
    """Return the token ids of a text; a line break is a token."""
    if not text:
        return ()
    pieces = shipped_embedder().pieces
    found: list[int] = []
    for number, line in enumerate(text.split("\n")):
        if number:
            found.append(LINE)
        packed = pieces.encode(line, len(line) + 1)
        found += np.frombuffer(packed, "<i4").tolist() if len(packed) >= ID_BYTES else []
    return tuple(found)


# --- the network


class Network:
    """The forward pass, one input at a time."""

    def __init__(self, arrays: Arrays) -> None:
        meta = json.loads(bytes(arrays["meta"].astype(np.uint8)))
        _, _, heads, layers = meta["shape"]
        weights = restore(arrays)
        self._positions, self._segments, self._marks = weights["p.weight"], weights["s.weight"], weights["marks.weight"]
        self._features, self._features_bias = weights["x.weight"].T.copy(), weights["x.bias"]
        self._norm = weights["n.weight"], weights["n.bias"]
        self._layers = [TransformerLayer(weights, f"layers.{number}", int(heads)) for number in range(int(layers))]
        self._head, self._head_bias = weights["head.weight"].T.copy(), weights["head.bias"]

    def run(self, tokens: Tokens) -> Floats:
        """Return the logits of one input."""
        ids, segments = np.array(tokens.ids), np.array(tokens.segments)
        x = token_table().of(tokens.ids) + self._positions[: len(ids)] + self._segments[segments]
        for mark, token in ((1, CLS), (2, SEP), (3, LINE)):
            x[ids == token] += self._marks[mark]
        x[0] += np.array(tokens.features, np.float32) @ self._features + self._features_bias
        x = layer_norm(x, *self._norm)
        for layer in self._layers:
            x = layer(x)
        mean = x[(segments == 0) | (segments == 6)].mean(0)
        logits: Floats = np.concatenate([x[0], mean]) @ self._head + self._head_bias
        return logits


# --- what it answers

_WEIGHTS = "reader.npz"
READER_VERSION = "reader-1"
MOST_AT_AN_END = 24
_HEADS = ("worth", "alone", "rule", "own", "norm")


@dataclass(frozen=True, slots=True)
class SentenceReading:
    """One sentence as the reader judges it; every number is a probability."""

    text: str
    start: int
    """Start of the sentence in its turn."""
    worth: float
    alone: float
    rule: float
    """A standing wish about how the assistant should behave."""
    own: float
    """The user's own words, not pasted, quoted, reported, invented or supposed."""
    norm: float
    """It obliges, forbids, permits or prescribes, whomever it addresses."""
    kind: str
    """The likeliest of KINDS, if it is worth keeping at all."""


@cache
def _network() -> Network:
    with (files("holdfast.gate") / _WEIGHTS).open("rb") as file, np.load(file) as arrays:
        return Network({name: arrays[name] for name in arrays.files})


def read_sentences(
    text: str, previous: str = "", same_speaker: bool = False, pasted: Sequence[tuple[int, int]] = ()
) -> list[SentenceReading]:
    """Judge the sentences of a turn. `pasted` says which parts are known not to be the user's own words.

    Of a very long turn, which is a document, the first and the last sentences outside of `pasted` are judged.
    """
    spans = [span for span in sentence_spans(text) if not _inside(span, pasted)]
    if len(spans) > 2 * MOST_AT_AN_END:
        spans = spans[:MOST_AT_AN_END] + spans[-MOST_AT_AN_END:]
    return [_judge(text, span, previous, same_speaker) for span in spans]


def _inside(span: tuple[int, int], parts: Sequence[tuple[int, int]]) -> bool:
    return any(start < sum(span) // 2 < end for start, end in parts)


@lru_cache(maxsize=2048)
def _judge(text: str, span: tuple[int, int], previous: str, same_speaker: bool) -> SentenceReading:
    logits = _network().run(sentence_tokens(text, span, previous, same_speaker))
    chances = 1.0 / (1.0 + np.exp(-logits[: len(_HEADS)].astype(np.float64)))
    kinds = logits[len(_HEADS) + 1 : len(_HEADS) + len(KINDS)]
    worth, alone, rule, own, norm = (round(float(one), 4) for one in chances)
    return SentenceReading(
        text[span[0] : span[1]], span[0], worth, alone, rule, own, norm, KINDS[1 + int(kinds.argmax())]
    )


@lru_cache(maxsize=4096)
def relation_of(old: str, new: str) -> tuple[float, ...]:
    """Return the probability of each of RELATIONS between an older and a newer statement."""
    logits = _network().run(pair_tokens(old, new))[-len(RELATIONS) :].astype(np.float64)
    shares = np.exp(logits - logits.max())
    return tuple(round(float(one), 4) for one in shares / shares.sum())
