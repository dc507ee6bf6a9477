"""Sentences that are rules: they oblige, forbid, permit or prescribe, for longer than this moment (COMP-9).

The reader (gate/reader.py) decides, in rule files, contracts and talk alike: its head for norms learned from 18,000
labelled sentences (training/reader). Code, quotations and pasted parts lay nothing down; an item of a list whose
heading says so is a rule whatever its words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from holdfast.gate.own_words import own_words
from holdfast.gate.reader import SentenceReading, asks_for_good, read_sentences

NORM, NORM_IN_DOUBT = 0.31, 0.2
"""Probabilities from which a sentence is a norm, and may be one: on two lists by strangers recall is .96 at .31, at a
precision above .9 (`holdfast bench compact`)."""
RULE = 0.7
"""Probability from which a sentence is a wish about how the assistant should behave."""
OWN = 0.2
"""Probability from which a sentence counts as the user's own words in compaction (RULE-4)."""
_PAGE_CHARS = 800
_MOST_CHARS = 40_000  # a longer text is a document, of which the beginning is read


class Modality(StrEnum):
    OBLIGATION = "obligation"
    PROHIBITION = "prohibition"
    PERMISSION = "permission"
    PRESCRIPTION = "prescription"
    """A way to do something: "use tabs", "dates are written day first"."""


@dataclass(frozen=True, slots=True)
class Norm:
    """A sentence that is a rule: text[start:stop] of the text it was found in."""

    text: str
    start: int
    stop: int
    modality: Modality
    cue: str
    """The words that name its modality, or how likely it is a rule, for receipts."""


_WORDS = (
    (Modality.PROHIBITION, r"never|not|no|don't|doesn't|mustn't|shouldn't|can't|cannot|avoid|stop|forbidden|nobody"),
    (Modality.PERMISSION, r"may|can|allowed|free to|permitted|fine to|optional|feel free"),
    (
        Modality.OBLIGATION,
        r"must|shall|always|has to|have to|need(?:s)? to|required|make sure|ensure|every|from now on",
    ),
)
_MODALITIES = tuple((modality, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for modality, words in _WORDS)


def norms(text: str, in_doubt: bool = False, own: float = 0.0) -> list[Norm]:
    """Return the rules of a text, sentence by sentence: `text[norm.start:norm.stop] == norm.text`.

    `in_doubt` includes what may be one: compaction asks so, because what it takes for talk leaves the active view.
    `own` is the least probability that a sentence is the user's own words.
    """
    text = text[:_MOST_CHARS]
    if len(text.split(maxsplit=2)) < 3:
        return []  # "yes please" lays nothing down, and a session holds thousands of these
    pasted = [(part.start, part.end) for part in own_words(text).parts]
    least = NORM_IN_DOUBT if in_doubt else NORM
    read = read_sentences(text, pasted=pasted)
    page = in_doubt and len(text) > _PAGE_CHARS
    return [_norm(one) for one in read if one.own >= own and _is_norm(text, one, least, page or len(read) == 1)]


_ITEM = re.compile(r"[ \t]*(?:[-*+•–—]|\d{1,3}[.)]|\([a-z\d]{1,3}\))[ \t]")


def _is_norm(text: str, one: SentenceReading, least: float, whole: bool) -> bool:
    """Return True for a rule. What follows a list of rules need not be one, so a sentence must be one by itself too.

    An item of a list is read with the line over it: "British spelling" under "Rules:". With `whole`, being a rule by
    itself is enough: in a page of talk one is easily overlooked.
    """
    lays_down = _lays_down(one, NORM_IN_DOUBT)
    if _ITEM.match(text, text.rfind("\n", 0, one.start) + 1) or (lays_down and one.rule >= RULE):
        return lays_down
    return (lays_down or whole) and any(_lays_down(again, least) for again in read_sentences(one.text))


def _lays_down(one: SentenceReading, least: float) -> bool:
    if " " not in one.text or one.text.startswith("#") or one.text.endswith(":"):
        return False  # a heading, or what announces a list
    if one.text.endswith("?"):
        return one.rule >= RULE or asks_for_good(one.text)
    return one.rule >= RULE or one.norm >= least


def _norm(one: SentenceReading) -> Norm:
    for modality, words in _MODALITIES:
        if found := words.search(one.text.replace("’", "'")):
            return Norm(one.text, one.start, one.start + len(one.text), modality, found[0].lower())
    cue = f"reads like a rule (p {max(one.norm, one.rule):.2f})".replace("0.", ".")
    return Norm(one.text, one.start, one.start + len(one.text), Modality.PRESCRIPTION, cue)
