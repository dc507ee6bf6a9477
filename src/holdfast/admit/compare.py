"""Compare a new statement with a remembered one: the same, a replacement, or something else.

The reader proposes a relation; code decides. Two texts count as the same only if nothing that carries the meaning
differs: numbers, names, weekdays and the like, negation, and who does what (MERGE-3). One replaces another only if the
reader is sure and both are about one matter (BEL-4). In doubt both stay.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from holdfast.admit.topics import index_keys
from holdfast.gate.reader import RELATIONS, relation_of
from holdfast.models.embedder import shipped_embedder
from holdfast.text.words import folded, script_of, terms

SAME = 0.9
"""From this probability on two statements that pass the guard are one …"""
_SAME_NEGATED = 0.97
"""… and from this one on if one of them has a negation more: "I quit smoking", "I don't smoke any more"."""
_LONGEST = 2_000  # characters; a longer text is not one statement


def is_same(old: str, new: str) -> bool:
    """Return whether two statements say the same in other words."""
    if not _readable(old, new) or differs(old, new, negation=False) is not None:
        return False  # for these the reader, which costs a thousand times as much, need not be asked
    chance = relation_of(old, new)[RELATIONS.index("same")]
    return chance >= SAME and differs(old, new, negation=chance < _SAME_NEGATED) is None


def is_replaced(
    old: str, said: str, previous: str, least: float, rarest: float = 0.0, rank: int = 0, lifts: bool = False
) -> bool:
    """Return whether a turn (`said`) takes the place of an older statement.

    The reader judges the statement against the turn and the one before it. Nearness decides with it: of meaning, of the
    rarest word that both have (`rarest`, from the ledger), and by how many other records are nearer (`rank`). `lifts`
    says that the turn lifts a rule.
    """
    if not rarest or not _readable(old, said) or folded(old) in folded(said):
        return False
    one, two = shipped_embedder().embed([old, said])
    near = _COSINE * float(one @ two) + _RAREST * rarest + _RANK * min(rank, 20) + _LIFTS * lifts + _BIAS
    if near < _FAR:
        return False
    chance = replacement(old, said, previous)
    return chance >= _LEAST and near + _READER * math.log((chance + 0.01) / (1.01 - chance)) >= least


_READER, _COSINE, _RAREST, _RANK, _LIFTS, _BIAS = 0.702, 3.171, 0.466, -0.0927, 1.67, -4.653
"""Weights, fitted to eleven lives that the reader was not trained on (training/reader/changes.py). At a recall of .6
they are right in .57 of the pairs; the reader and two cosines, as before, in .48. Without a word in common nothing is
replaced: of 3,109 such pairs 14 were replacements, and no score finds one of them."""
REPLACED = -0.4
"""Least score for a replacement: right in .64 of the pairs, and finds half of the endings …"""
RULE_REPLACED = -1.0
"""… of a rule by a rule, or by words that lift one: these end each other far more often …"""
SURELY_REPLACED = 0.5
"""… and of what the user asked to have remembered."""
_FAR = -4.5
"""The reader is not asked below this nearness, where 1 of 100 replacements lies and a quarter of the other pairs."""
_LEAST = 0.25
"""Least probability of the reader: two statements of one form about two people have nearly the same vector."""


_CLAUSE_END = re.compile(
    r"[.!?;:,)]\s++\(?+(?!(?:who|which|whose|where|when|while|because|since|until|if|with|so|that)\b)"
    r"|(?<!\s)\s++(?:\(|[–—-]++\s++|(?=(?:and|but|or)\b))",
    re.IGNORECASE,
)
"""Before the next thing that a statement says; a subordinate clause belongs to the one before it."""
_LEADS_ON = re.compile(r"^(?:(?:and|but|or|so|also)\b[, ]*)+", re.IGNORECASE)


def remainders(old: str, said: str) -> list[str]:
    """Return the parts of a replaced statement that the turn which replaces it does not speak of.

    "I have atrial fibrillation, and I take apixaban 5 mg." keeps its first clause when the apixaban is stopped.
    """
    topics = index_keys(said)
    cuts = [0, *(match.end() for match in _CLAUSE_END.finditer(old)), len(old)]
    parts: list[str] = []
    begins = True
    for start, end in pairwise(cuts):
        if not topics.isdisjoint(index_keys(old[start:end])):
            begins = True
        elif begins:
            parts.append(_LEADS_ON.sub("", old[start:end]))
            begins = False
        else:
            parts[-1] += old[start:end]
    return [text for part in parts if (text := part.strip(_LOOSE)) and text != old.strip(_LOOSE)]


_LOOSE = " ,;:–—-("


def _readable(*texts: str) -> bool:
    """Return whether the reader knows the script of the texts, and they are short enough to be statements."""
    scripts = shipped_embedder().profile.scripts
    return all(len(text) <= _LONGEST and script_of(text) in scripts for text in texts)


_ENDS = re.compile(
    r"\b(?:no longer|any ?more|any longer|after all|instead|stopped|quit|gave up|given up|cancell?ed|called off|moved)"
    r"\b",
    re.IGNORECASE,
)


def replacement(old: str, said: str, previous: str = "") -> float:
    """Return the probability that a turn replaces an older statement, or contradicts it with a word that ends it."""
    shares = dict(zip(RELATIONS, relation_of(old, said, previous), strict=True))
    return shares["replaces"] + (shares["contradicts"] if _ENDS.search(said) else 0.0)


# --- the value guard


def _words(text: str) -> list[str]:
    return text.split()


_NUMBERS = {word: str(value) for value, word in enumerate(_words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty
"""))}  # fmt: skip
_NUMBERS |= {
    word: str(10 * value) for value, word in enumerate(_words("thirty forty fifty sixty seventy eighty ninety"), 3)
}
_NUMBERS |= {"hundred": "100", "thousand": "1000", "once": "1", "twice": "2", "half": "0.5", "dozen": "12"}
_NUMBERS |= {word: str(value) for value, word in enumerate(_words("first second third fourth fifth"), 1)}
_CLASSES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "january february march april may june july august september october november december",
    "morning noon afternoon evening night midnight",
    "spring summer autumn fall winter",
    "mother father brother sister son daughter uncle aunt cousin nephew niece husband wife mum mom dad grandmother "
    "grandfather gran grandma grandpa grandson granddaughter partner boyfriend girlfriend friend boss colleague "
    "neighbour",
    "left right north south east west upstairs downstairs",
    "red blue green yellow black white brown grey gray pink purple orange",
)
"""Words of one class: near in meaning to any embedding, and each another fact."""
_CLASS_OF = {word: number for number, line in enumerate(_CLASSES) for word in line.split()}
_NEGATIONS = frozenset(_words("""
    not no never none nobody nothing neither nor without cannot can't don't doesn't didn't won't wouldn't isn't aren't
    wasn't weren't haven't hasn't hadn't shouldn't couldn't hardly barely refuse refuses refused stopped quit quits
    avoid avoids avoided hate hates dislike dislikes nope ain't dont doesnt didnt wont isnt cant
"""))  # fmt: skip
_UNIT = re.compile(r"(?<=\d)(?:st|nd|rd|th|am|pm|h)$")
_WORD = re.compile(r"[^\W_]+(?:['’.,:/-][^\W_]+)*")


def differs(first: str, second: str, negation: bool = True) -> str | None:
    """Return what keeps two texts from being one fact, in words; None if nothing does."""
    one, two = _values(first), _values(second)
    if one.numbers != two.numbers:
        return f"the numbers differ: {_listed(one.numbers - two.numbers)} and {_listed(two.numbers - one.numbers)}"
    if one.classed != two.classed:
        return f"they differ in {_listed((one.classed - two.classed) + (two.classed - one.classed))}"
    if negation and one.negations % 2 != two.negations % 2:
        return "one of them is negated"
    only = (one.names - two.words) | (two.names - one.words)
    if only:
        return f"only one names {', '.join(sorted(only))}"
    names = one.names | two.names
    first_order = [word for word in one.order if word in names]
    second_order = [word for word in two.order if word in names]
    if len(first_order) > 1 and first_order != second_order and (" by " in first) == (" by " in second):
        return "the same names in another order"
    return None


@dataclass(frozen=True)
class _Values:
    numbers: Counter[str]
    classed: Counter[str]
    negations: int
    names: frozenset[str]
    order: tuple[str, ...]
    """The words with a capital as they come, also those that begin a sentence."""
    words: frozenset[str]


@lru_cache(maxsize=8192)
def _values(text: str) -> _Values:
    numbers: Counter[str] = Counter()
    classed: Counter[str] = Counter()
    negations = 0
    names: list[str] = []
    order: list[str] = []
    words = set(terms(text))
    begins = True
    for match in _WORD.finditer(text.replace("’", "'")):
        said = match[0]
        word = said.lower()
        base = word.removesuffix("'s")
        words.add(base)
        if base in _NEGATIONS:
            negations += 1
        if any(char.isdigit() for char in base):
            numbers[_UNIT.sub("", base.replace(",", ""))] += 1
        elif base in _NUMBERS:
            numbers[_NUMBERS[base]] += 1
        single = base[:-1] if base.endswith("s") and base[:-1] in _CLASS_OF else base
        if single in _CLASS_OF:
            classed[single] = 1
        elif said[:1].isupper() and said not in ("I", "I'm", "I've", "I'd", "I'll"):
            order.append(base)
            if not begins:
                names.append(base)
        begins = (
            text[match.end() : match.end() + 2].strip()[:1] in (".", "!", "?", "…")
            or "\n" in text[match.end() : match.end() + 2]
        )
    return _Values(numbers, classed, negations, frozenset(names), tuple(order), frozenset(words))


def _listed(words: Counter[str]) -> str:
    return ", ".join(sorted(words)) or "nothing"
