"""Find the rules in a text: sentences that oblige, forbid, permit or prescribe, for longer than this moment.

The user tells the assistant or the team how things are to be done; a contract binds its parties. An errand, a
question, a quotation, a report and a story are no rules. In doubt a sentence is one: a missed rule costs more than a
protected remark (COMP-9). Linear in the text.

A language is a reader of one sentence and one of headings (`deontic_verdict.laid_down`, `deontic_english.announced`);
another language is another module with its own two, and one more line in `_LANGUAGES`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import shipped_embedder
from holdfast.rules import modals as deontic_english
from holdfast.rules.modals import read, voice
from holdfast.rules.orders import kinds, kinds_of, marks, tokens
from holdfast.rules.text import Finding, Modality, Norm, Said, masked, sentences_of

# --- Which words an English sentence has and which follow each other, alone and next to the kinds of their
# neighbours.
#
# "One question at a time", "hands off", "from here on": many rules are turns of phrase, and the learned reader
# (deontic_learned) weighs them, next to how the sentence is put (deontic_manner). Linear in the sentence.


_FIRST = 3
"""Words that begin a sentence: in which place they stand counts, and that they stand there at all."""


def wording(words: Sequence[str]) -> list[str]:
    """Its words, neighbours, words with one between them, and how it begins; each once."""
    first = words[:_FIRST]
    return [
        *dict.fromkeys(words),
        *dict.fromkeys([f"{one} {other}" for one, other in pairwise(["^", *words, "$"])]),
        *dict.fromkeys([f"{one} _ {other}" for one, other in zip(words, words[2:], strict=False)]),
        *[f"{place}:{word}" for place, word in enumerate(first, 1)],
        *dict.fromkeys([f"^{word}" for word in first]),
    ]


def blend(words: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """A word next to the kind of its neighbour, three kinds in a row, two with one between them; each once."""
    said, kind = ["^", *words, "$"], ["^", *kinds, "$"]
    found = [f"{one}>{other}" for one, other in zip(said, kind[1:], strict=False)]
    found += [f"{one}<{other}" for one, other in zip(kind, said[1:], strict=False)]
    found += [f"{one}-{two}-{three}" for one, two, three in zip(kind, kind[1:], kind[2:], strict=False)]
    found += [f"{one}_{other}" for one, other in zip(kinds, kinds[2:], strict=False)]
    return list(dict.fromkeys(found))


# --- Whether an English sentence reads like a rule: a logistic score over its words, how it is put and what it is
# about.
#
# It decides. What the patterns found (deontic_english) is one of the things it weighs, next to the sentence's words and
# which follow which (deontic_wording), their kinds (deontic_manner) and what each word is about (the packaged static
# model). The weights are learned from sentences of our own (training/deontic.py) and shipped as a table; the bar is set
# on our own everyday dialogue. Public sets only judge.


FAMILIES = ("manner", "wording", "blend")
SCALE = 1000.0
"""The table holds whole numbers: a weight times this."""
_WORDS_KEPT = 20_000
_VOICE, _FOUND = "voice", "found by"
OWN = "own"
"""The voice of somebody who neither asks nor reports: what a pattern finds in others counts less."""

Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Table:
    bias: float
    kept: float
    """The score from which what a pattern found is a rule …"""
    added: float
    """… and from which a sentence is one in which none found any."""
    kept_in_doubt: float
    doubted: float
    """The same two, from which it may be one: compaction keeps it, for a missed rule costs more (COMP-9)."""
    hopeless: float
    """Below it no pattern changes the verdict."""
    reading: dict[str, float]
    families: tuple[dict[str, float], ...]
    meaning: Vector
    worth: dict[str, float]
    """Weights of the training words by their meaning, so that they need not be looked up in the model."""


def score(text: str) -> float:
    """Score how much a sentence by itself reads like a rule; `chance` adds the patterns."""
    table = _table()
    words, families = features(text)
    total = table.bias
    for weights, names in zip(table.families, families, strict=True):
        if names:
            total += sum(filter(None, map(weights.get, names))) / math.sqrt(len(names))
    spoken = [_worth(word) for word in words if word[0].isalnum()]
    return total + sum(spoken) / math.sqrt(len(spoken)) if spoken else total


def is_hopeless(score: float) -> bool:
    """Return True if the sentence is not a rule whatever the patterns say, which spares most talk the patterns."""
    return score < _table().hopeless


def chance(score: float, voice: str, reader: str, in_doubt: bool = False) -> float | None:
    """Return the probability of a rule, given the voice and the reader that found one ("" for none); None if low."""
    table = _table()
    total = score + _by_reading(voice, reader)
    kept, added = (table.kept_in_doubt, table.doubted) if in_doubt else (table.kept, table.added)
    if total < (kept if reader and voice == OWN else added):
        return None
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, total))))


def features(text: str) -> tuple[list[str], tuple[list[str], list[str], list[str]]]:
    """A sentence's words in lower case, and its features by family."""
    written = tokens(text)
    words = [token.lower() for token in written]
    kinds = kinds_of(written, words)
    return words, (marks(kinds), wording(words), blend(words, kinds))


def reading(voice: str, reader: str) -> tuple[str, str]:
    """The names of what the patterns say."""
    return f"{_VOICE} {voice}", f"{_FOUND} {reader or 'none'}"


def about(words: Sequence[str]) -> Vector:
    """Return the mean vector of a sentence's words in the packaged static model, whichever model is configured."""
    spoken = [word for word in words if word[0].isalnum()]
    if not spoken:
        return np.zeros(shipped_embedder().profile.dims)
    summed: Vector = np.asarray(shipped_embedder().embed(spoken), np.float64).sum(axis=0) / math.sqrt(len(spoken))
    return summed


@cache
def _by_reading(voice: str, reader: str) -> float:
    """Return the weight of a voice and of a reader of the patterns; there are few of both."""
    weights = _table().reading
    return sum(weights.get(mark, 0.0) for mark in reading(voice, reader))


@lru_cache(maxsize=_WORDS_KEPT)
def _worth(word: str) -> float:
    """Return the weight of a word by its meaning."""
    table = _table()
    known = table.worth.get(word)
    return worth_of(word, table.meaning) if known is None else known


def worth_of(word: str, meaning: Vector) -> float:
    return float(np.einsum("ij,j->i", np.asarray(shipped_embedder().embed([word]), np.float64), meaning)[0])


@cache
def _table() -> _Table:
    table = json.loads(resources.files("holdfast.rules").joinpath("deontic.json").read_text(encoding="utf-8"))
    assert table["model"] == shipped_embedder().profile.fingerprint, "the weights belong to another static model"
    weights = {mark: weight / SCALE for mark, weight in table["reading"].items()}
    kept, added, kept_in_doubt, doubted = (table[bar] / SCALE for bar in ("kept", "added", "kept_in_doubt", "doubted"))
    none = weights[reading("", "")[1]]
    found = max(weight for mark, weight in weights.items() if mark.startswith(_FOUND))
    voice_weight = max(weight for mark, weight in weights.items() if mark.startswith(_VOICE))
    return _Table(
        table["bias"] / SCALE,
        kept,
        added,
        kept_in_doubt,
        doubted,
        min(kept_in_doubt - found, doubted - none) - voice_weight,
        weights,
        tuple({name: weight / SCALE for name, weight in table[family].items()} for family in FAMILIES),
        np.array(table["meaning"], dtype=np.float64) / SCALE,
        {word: weight / SCALE for word, weight in table["worth"].items()},
    )


# --- Whether an English sentence lays something down: the learned score decides, with what the patterns found.


def laid_down(sentence: str, in_doubt: bool = False) -> Finding | None:
    """Return the rule that a sentence states, or in doubt may state, with its words; or None."""
    alone = score(sentence)
    if is_hopeless(alone):
        return None
    said = Said(sentence)
    speaker, found = voice(said), read(said)
    if found is None and sentence.endswith(":"):
        return None  # it announces what comes
    likely = chance(alone, speaker, found.reader if found else "", in_doubt)
    if likely is None:
        return None
    return found or _reads_like(sentence, likely)


def reading_of(sentence: str) -> tuple[str, str]:
    """Return the voice of a sentence, and the reader of the patterns that finds a rule in it ("" for none)."""
    said = Said(sentence)
    found = read(said)
    return voice(said), found.reader if found else ""


def _reads_like(sentence: str, chance: float) -> Finding:
    put = kinds(sentence)
    modality = Modality.PRESCRIPTION
    if "not" in put or "no" in put:
        modality = Modality.PROHIBITION
    elif "may" in put:
        modality = Modality.PERMISSION
    return Finding(modality, f"reads like a rule (p {chance:.2f})".replace("0.", "."))


_LANGUAGES: tuple[tuple[Callable[[str, bool], Finding | None], Callable[[str], Modality | None]], ...] = (
    (laid_down, deontic_english.announced),
)


def norms(text: str, in_doubt: bool = False) -> list[Norm]:
    """The rules of a text, sentence by sentence: `text[norm.start:norm.stop] == norm.text`.

    In doubt: what may be one, too. Compaction asks so, for what it takes for talk leaves the active view.
    """
    found, readable = [], masked(text)
    for sentence in sentences_of(text):
        start, stop = sentence.start, sentence.stop
        finding = _finding(readable[start:stop], in_doubt)
        if sentence.over and (finding is None or not finding.reader):
            finding = _listed(text[start:stop], sentence.over) or finding  # what stands over it says which kind it is
        if finding is not None:
            found.append(Norm(text[start:stop], start, stop, finding.modality, finding.cue))
    return found


def _finding(sentence: str, in_doubt: bool) -> Finding | None:
    """Return the rule of a sentence in the first language that has one; one word is not a rule."""
    if " " not in sentence:
        return None
    for laid_down, _ in _LANGUAGES:
        if (finding := laid_down(sentence, in_doubt)) is not None:
            return finding
    return None


def _listed(sentence: str, over: str) -> Finding | None:
    """An item of a list that its heading calls rules is one, whatever its words; a question is none."""
    if sentence.endswith(("?", ":")):
        return None
    for _, announced in _LANGUAGES:
        if (modality := announced(over)) is not None:
            return Finding(modality, over.strip(" :#*"))
    return None
