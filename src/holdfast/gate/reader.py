"""The reader: a small transformer that judges the sentences of a user's turn in their context.

It answers the questions that admission asks about a sentence: is it worth keeping, can it be understood alone, is it a
standing rule for the assistant, which kind is it, and are these the user's own words. A second use compares two
statements: the same, a replacement, a contradiction, an addition, or unrelated.

Twelve layers of bge-small (MIT), trained on labels of our own (training/reader); numpy alone. The lower six judge
sentences, all twelve compare statements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from holdfast.models.bert import Floats, TransformerLayer, layer_norm, one_thread, restore, token_table
from holdfast.models.embedder import ID_BYTES, shipped_embedder
from holdfast.text.words import sentences

CLS, SEP, LINE = 101, 102, 1
"""Ids of the vocabulary: BERT's own marks, and an unused one for a line break."""
KINDS = ("none", "fact", "relationship", "health", "preference", "decision", "event", "rule", "technical")
RELATIONS = ("same", "replaces", "contradicts", "adds", "unrelated")

_SENTENCE, _GAP_HEAD, _GAP_TAIL, _WINDOW = 64, 16, 8, 160
"""Most tokens of a sentence, of the beginning and the end of what stands between two sentences, and of a window."""
_BEFORE, _AFTER, _HEAD, _TAIL, _PREVIOUS = 40, 24, 16, 16, 32
"""Tokens around a window: just before and after it, of the turn's beginning and end, and of the turn before."""
_STATEMENT, _NEWS, _ASKED = 56, 144, 24
"""Tokens of the older side of a pair, of the newer one, which is a whole turn, and of the end of the turn before it."""
_CHARS = 8  # characters that are tokenized for each wanted token
FEATURES = 16
_SAID, _AROUND, _PASTED, _OPENS, _CLOSES, _EARLIER, _SECOND = range(7)
"""Segments: sentences to judge, what is around them, pastes, the turn's ends, the turn before, a second statement."""

Span = tuple[int, int]
Piece = tuple[int, tuple[int, ...], int]
"""Segment, tokens and number of a sentence; the number is -1 for what stands between two."""


class TurnWindow(NamedTuple):
    """One input: token ids, the segment of each, and for each sentence its tokens and the features of its form."""

    ids: list[int]
    segments: list[int]
    sentences: list[Span]
    features: list[list[float]]


def sentence_spans(text: str) -> list[Span]:
    """Return where the sentences of a text's prose begin and end, in order."""
    spans: list[Span] = []
    at = 0
    for sentence in sentences(text):
        start = text.find(sentence, at)
        if start < 0:  # a sentence that was put together from pieces around code: it has no single place
            continue
        at = start + len(sentence)
        spans.append((start, at))
    return spans


def turn_windows(
    text: str, spans: Sequence[Span], previous: str = "", same_speaker: bool = False, pasted: Sequence[Span] = ()
) -> list[TurnWindow]:
    """Build the inputs for a turn whose sentences are to be judged, in order; a long turn takes several."""
    pieces = list(_pieces(text, spans, pasted))
    flat = [token for _, tokens, _ in pieces for token in tokens]
    earlier = _encode(previous[-_PREVIOUS * _CHARS :])[-_PREVIOUS:]
    found: list[TurnWindow] = []
    start = at = 0
    while at < len(pieces):
        first = at
        size = 0
        while at < len(pieces) and (at == first or size + len(pieces[at][1]) <= _WINDOW):
            size += len(pieces[at][1])
            at += 1
        judged = [number for _, _, number in pieces[first:at] if number >= 0]
        if judged:
            window = _window(pieces[first:at], flat, start, start + size, earlier)
            features = [_features(text, spans[number], previous, same_speaker, bool(pasted)) for number in judged]
            found.append(window._replace(features=features))
        start += size
    return found


def _pieces(text: str, spans: Sequence[Span], pasted: Sequence[Span]) -> Iterator[Piece]:
    """Yield the sentences and what stands between them, in order."""
    at = 0
    for number, (start, end) in enumerate([*spans, (len(text), len(text))]):
        if gap := text[at:start]:
            tokens = _encode(gap[: _GAP_HEAD * _CHARS])[:_GAP_HEAD]
            if len(gap) > _GAP_HEAD * _CHARS:
                tokens += _encode(gap[-_GAP_TAIL * _CHARS :])[-_GAP_TAIL:]
            yield _PASTED if _inside((at, start), pasted) else _AROUND, tokens, -1
        if end > start:
            yield _SAID, _encode(text[start:end])[:_SENTENCE] or (LINE,), number
        at = end


def _window(pieces: Sequence[Piece], flat: Sequence[int], start: int, end: int, earlier: Sequence[int]) -> TurnWindow:
    before, after = flat[max(0, start - _BEFORE) : start], flat[end : end + _AFTER]
    ids, segments = [CLS, *before], [_SAID] + [_AROUND] * len(before)
    sentences: list[Span] = []
    for segment, tokens, number in pieces:
        if number >= 0:
            sentences.append((len(ids), len(ids) + len(tokens)))
        ids += tokens
        segments += [segment] * len(tokens)
    ids += [*after, SEP]
    segments += [_AROUND] * (len(after) + 1)
    opens = flat[: min(_HEAD, max(0, start - _BEFORE))]
    closes = flat[max(len(flat) - _TAIL, end + _AFTER) :]
    for segment, around in ((_OPENS, opens), (_CLOSES, closes), (_EARLIER, earlier)):
        if around:
            ids += [*around, SEP]
            segments += [segment] * (len(around) + 1)
    return TurnWindow(ids, segments, sentences, [])


def pair_tokens(old: str, new: str, previous: str = "") -> TurnWindow:
    """Build the input for an older statement and a newer one, or a turn and the turn before it."""
    first, second = _encode(old)[:_STATEMENT], _encode(new)
    if len(second) > _NEWS:
        second = second[: _NEWS // 2] + second[-_NEWS // 2 :]
    ids = [CLS, *first, SEP, *second, SEP]
    segments = [_SAID] * (len(first) + 2) + [_SECOND] * (len(second) + 1)
    if earlier := _encode(previous[-_ASKED * _CHARS :])[-_ASKED:]:
        ids += [*earlier, SEP]
        segments += [_EARLIER] * (len(earlier) + 1)
    return TurnWindow(ids, segments, [(0, len(ids))], [[0.0] * FEATURES])


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
    """The forward pass, one input at a time. Its upper half is loaded when the first two statements are compared."""

    def __init__(self) -> None:
        weights = _weights(upper=False)
        self._positions, self._segments, self._marks = weights["p.weight"], weights["s.weight"], weights["marks.weight"]
        self._features = weights["x.weight"].T.copy()
        self._norm = weights["n.weight"], weights["n.bias"]
        self._lower = [TransformerLayer(weights, f"layers.{number}", _HEAD_COUNT) for number in range(_HALF)]
        self._early = weights["early.weight"].T.copy(), weights["early.bias"]

    @cached_property
    def _upper(self) -> tuple[list[TransformerLayer], tuple[Floats, Floats]]:
        weights = _weights(upper=True)
        layers = [TransformerLayer(weights, f"layers.{number}", _HEAD_COUNT) for number in range(_HALF, 2 * _HALF)]
        return layers, (weights["head.weight"].T.copy(), weights["head.bias"])

    def judge(self, window: TurnWindow) -> Floats:
        """Return the logits of each sentence of one input. Half of the layers judge them as well as all."""
        with one_thread():
            return _logits(self._halfway(window), window, *self._early)

    def relate(self, window: TurnWindow) -> Floats:
        """Return the shares of RELATIONS for a pair: those after half of the layers, if they rule out most."""
        with one_thread():
            x = self._halfway(window)
            shares = _shares(_logits(x, window, *self._early))
            if max(shares[_SAME], shares[_REPLACES]) < _UNRELATED:
                return shares
            layers, head = self._upper
            for layer in layers:
                x = layer(x)
            return _shares(_logits(x, window, *head))

    def _halfway(self, window: TurnWindow) -> Floats:
        ids, segments = np.array(window.ids), np.array(window.segments)
        x = token_table().of(window.ids) + self._positions[: len(ids)] + self._segments[segments]
        for mark, token in ((1, CLS), (2, SEP), (3, LINE)):
            x[ids == token] += self._marks[mark]
        shapes = np.array(window.features, np.float32) @ self._features
        for (start, end), shape in zip(window.sentences, shapes, strict=True):
            x[start:end] += shape
        x = layer_norm(x, *self._norm)
        for layer in self._lower:
            x = layer(x)
        return x


_HALF, _HEAD_COUNT = 6, 12
_UPPER = ("head.", *(f"layers.{number}." for number in range(_HALF, 2 * _HALF)))


def _weights(upper: bool) -> dict[str, Floats]:
    """Read one half of the weights, which takes .2 s and 40 MB."""
    with (files("holdfast.gate") / _WEIGHTS).open("rb") as file, np.load(file) as arrays:
        plain = {name: name.removeprefix("q:").removeprefix("s:") for name in arrays.files}
        return restore({name: arrays[name] for name in arrays.files if plain[name].startswith(_UPPER) is upper})


_SAME, _REPLACES = RELATIONS.index("same"), RELATIONS.index("replaces")
_UNRELATED = 0.15
"""Share of `same` and of `replaces` after half of the layers below which a pair is not read to the end."""


def _logits(x: Floats, window: TurnWindow, weight: Floats, bias: Floats) -> Floats:
    means = [np.concatenate([x[0], x[start:end].mean(0)]) for start, end in window.sentences]
    logits: Floats = np.array(means) @ weight + bias
    return logits


def _shares(logits: Floats) -> Floats:
    relation = logits[0, -len(RELATIONS) :]
    powers = np.exp(relation - relation.max())
    shares: Floats = powers / powers.sum()
    return shares


# --- what it answers

_WEIGHTS = "reader.npz"
READER_VERSION = "reader-3"
MOST_AT_AN_END = 24
_HEADS = ("worth", "alone", "rule", "own", "norm", "change")


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
    change: float
    """It ends or changes something that was true before."""
    kind: str
    """The likeliest of KINDS, if it is worth keeping at all."""


@cache
def _network() -> Network:
    return Network()


def read_sentences(
    text: str, previous: str = "", same_speaker: bool = False, pasted: Sequence[Span] = ()
) -> list[SentenceReading]:
    """Judge the sentences of a turn. `pasted` says which parts are known not to be the user's own words.

    Of a very long turn, which is a document, the first and the last sentences outside of `pasted` are judged.
    """
    spans = [span for span in sentence_spans(text) if not _inside(span, pasted)]
    if len(spans) > 2 * MOST_AT_AN_END:
        spans = spans[:MOST_AT_AN_END] + spans[-MOST_AT_AN_END:]
    read = list(_judge(text, tuple(spans), previous, same_speaker, tuple(pasted)))
    bare = not previous and len(read) <= _BARE
    if pasted or _FRAMED.search(text) or not (bare or any(one.own < _OWN for one in read)):
        return read
    alone = [_judge(one.text, ((0, len(one.text)),), "", False, ())[0] for one in read]
    if bare:
        alone = [
            replace(
                one,
                worth=_raised(one.worth, _BARE_WORTH),
                rule=_raised(one.rule, _BARE_RULE),
                own=_raised(one.own, _BARE_OWN),
            )
            for one in alone
        ]
    if not all(one.own >= _OWN and one.worth >= _STATES for one in alone):
        return read
    return [
        replace(
            one, own=max(one.own, plain.own), worth=max(one.worth, plain.worth),
            rule=max(one.rule, plain.rule if bare else 0.0), norm=max(one.norm, plain.norm if bare else 0.0),
        )
        for one, plain in zip(read, alone, strict=True)
    ]  # fmt: skip


_OWN, _STATES, _BARE = 0.5, 0.2, 2
_FRAMED = re.compile(r"\n|[\"“”„«»]")
"""A turn of nothing but statements, on one line and without quotation marks, has nobody else to be ascribed to: its
sentences are read by themselves too. In context the reader takes an introduction for a pasted one."""
_BARE_WORTH, _BARE_RULE, _BARE_OWN = 1.0, 4.5, 1.5
"""Added to the log odds of worth, of a rule and of own words in a short message that begins a session. The reader
learned from chats, so it doubts a bare "I want answers in German.": of 160 such rules by an author outside the training
it finds .29 without this and .74 with it, and it takes 4 of 320 other messages for one. Of 150 facts it keeps .99
instead of .93, and .04 of small talk instead of .01 (training/reader/labels/short.jsonl.xz)."""


def _raised(chance: float, by: float) -> float:
    return round(1.0 / (1.0 + (1.0 - chance) / max(chance, 1e-4) * math.exp(-by)), 4)


def _inside(span: Span, parts: Sequence[Span]) -> bool:
    return any(start < sum(span) // 2 < end for start, end in parts)


@lru_cache(maxsize=512)
def _judge(
    text: str, spans: tuple[Span, ...], previous: str, same_speaker: bool, pasted: tuple[Span, ...]
) -> tuple[SentenceReading, ...]:
    windows = turn_windows(text, spans, previous, same_speaker, pasted)
    logits = [row for window in windows for row in _network().judge(window)]
    return tuple(_reading(text, span, row) for span, row in zip(spans, logits, strict=True))


def _reading(text: str, span: Span, logits: Floats) -> SentenceReading:
    chances = 1.0 / (1.0 + np.exp(-logits[: len(_HEADS)].astype(np.float64)))
    kinds = logits[len(_HEADS) + 1 : len(_HEADS) + len(KINDS)]
    worth, alone, rule, own, norm, change = (round(float(one), 4) for one in chances)
    kind = KINDS[1 + int(kinds.argmax())]
    return SentenceReading(text[span[0] : span[1]], span[0], worth, alone, rule, own, norm, change, kind)


@lru_cache(maxsize=4096)
def relation_of(old: str, new: str, previous: str = "") -> tuple[float, ...]:
    """Return the probability of each of RELATIONS between an older statement and a newer one, or a turn."""
    return tuple(round(float(one), 4) for one in _network().relate(pair_tokens(old, new, previous)))


# --- forms that say enough by themselves

_STANDING = re.compile(
    r"(?:could|can|would|will) you\b.{0,200}\b(?:from now on|in (?:the )?future|going forward|always|every time)\b",
    re.IGNORECASE,
)
_RELEASE = re.compile(
    r"\byou (?:can|may)\b.{0,80}\b(?:again|now|any ?more)\b|\byou (?:can|may) (?:stop|drop|forget|skip|ignore)\b"
    r"|\bno longer (?:needed|necessary|applies)\b|\b(?:allowed|permitted|fine|all right|ok(?:ay)?) again\b"
    r"|\brule\b.{0,30}\b(?:dead|over|lifted|gone|off)\b|\bforget (?:about )?(?:the|that) (?:rule|thing)\b",
    re.IGNORECASE,
)


def asks_for_good(sentence: str) -> bool:
    """Return True for a question that asks for something from now on: "could you always …?"."""
    return _STANDING.match(sentence) is not None


def releases(sentence: str) -> bool:
    """Return True for a sentence that lifts a rule: "you can drop the two lines now"."""
    return _RELEASE.search(sentence) is not None
