"""The words that tell one group of turns from the others, written as people wrote them (in the way of c-TF-IDF)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from holdfast.words import FUNCTION_WORDS, terms

__all__ = ["Worded", "label", "read_words", "telling"]

_WRITTEN = re.compile(r"([^\W_](?:[\w'’.@/+#:-]*[^\W_])?)|[^\s\w]")
"""A word, or a sign that ends a phrase."""
_BREAK = (None,)
_LETTER = re.compile(r"[^\W\d_]")
_SPACELESS = "\u0e00"
"""From here on most scripts are written without spaces, and a term is a piece of a word, shown as it is."""
_LONGEST = 32  # characters of a word in a label: longer ones are addresses and hashes
_SHORTEST = 3
_RARE = 2  # turns that hold a word, at least: one alone names that turn, not the theme
_KNOWN = 0.08  # … and of a large group this share
_CONSIDERED = 5  # times the words that are shown: those that may be part of a phrase
_JOINED = 0.5
"""Two words are shown as one phrase when this share of each stands beside the other."""

# What people say about anything: it holds a conversation together as function words hold a sentence.
_TALK_TEXT = """
    ability able absolutely actually ago already alright always amazing another anyone anything anyway appreciate
    around ask asked aw away awesome awhile back bad basically believe best bet better big bit bring busy bye call
    came check coming cool couple day days definitely different does doing done else enjoy enough especially even
    ever every everyone everything exactly excited exciting fantastic far feel feeling feels felt find fine first
    found fun gave getting glad goes going gone gonna good got gotta great guess guy guys haha happen happened
    happening happy hard hear heard hello help helped helps hey hi hope hoping hours huge idea imagine important
    incredible interested interesting keep keeps kept kind kinda knew know last lately later least less life like
    liked little lol long look looked looking looks lot lots love loved lovely luck made make makes making many
    maybe mean means mention mentioned might mind minutes moment months morning must myself need needed needs never
    new next nice night nope nothing number often oh ok okay old ourselves part past people perfect place plan plans
    pretty probably proud put question quick quite rather read ready real really recently remember right said saw
    says see seem seems seen send sent set share shared show side since small someone something sometimes soon sorry
    sort sound sounds special start started stay still stuff super supposed sure take taken talk talked talking tell
    thank thanks themselves thing things think thinking though thought time times tip tips today together told
    tomorrow tonight took totally tried true try trying two understand use used using usually wait want wanted wants
    wasn week weekend weeks well went wish without won won't wonder wonderful word words work worked working works
    world worry worth wouldn wow writing wrong yeah year years yep yes yesterday yet yourself yup
"""
_DAYS_TEXT = """
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december
"""
_EMPTY = FUNCTION_WORDS | frozenset(_TALK_TEXT.split()) | frozenset(_DAYS_TEXT.split())


@dataclass(frozen=True)
class Worded:
    """What a turn is about, in order: (term, as written); None where something else stands between."""

    words: tuple[tuple[str, str] | None, ...]
    terms: frozenset[str]


@dataclass
class _Group:
    """How many turns of a group hold a term."""

    turns: Sequence[Worded]
    held: Counter[str]


@dataclass
class _Written:
    """How the terms of a label are written in its group, and what stands beside them."""

    alone: dict[str, Counter[str]] = field(default_factory=dict)
    pairs: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)


def read_words(text: str) -> Worded:
    found: list[tuple[str, str] | None] = []
    for written in _WRITTEN.findall(text):
        found.extend((written and telling(written)) or _BREAK)
    return Worded(tuple(found), frozenset(word[0] for word in found if word is not None))


@lru_cache(maxsize=50_000)
def telling(written: str) -> tuple[tuple[str, str], ...]:
    """The term of a written word if it may name a theme, with how it is shown; several in scripts without spaces."""
    shown = re.sub(r"['’]s$", "", written)
    if len(shown) > _LONGEST and shown < _SPACELESS:
        return ()
    if shown >= _SPACELESS:
        pairs = [term for term in terms(shown) if len(term) > 1]
        return tuple((term, term) for term in dict.fromkeys(pairs))
    plain = shown.lower().replace("’", "'")
    empty = plain in _EMPTY or not _LETTER.search(shown)
    if empty or (len(shown) < _SHORTEST and not shown.isupper()):
        return ()
    return ((terms(shown)[-1], shown),)


def label(groups: Sequence[Sequence[Worded]], others: Sequence[Worded], most: int) -> list[tuple[str, ...]]:
    """For each group the words that tell it from the others, best first; `others` are turns of no group."""
    counted = [_Group(group, _held(group)) for group in groups]
    everywhere = _held(others)
    for group in counted:
        everywhere.update(group.held)
    mean = sum(len(group.turns) for group in counted) / max(len(counted), 1)
    return [_best(group, everywhere, mean, most) for group in counted]


def _held(turns: Sequence[Worded]) -> Counter[str]:
    # A word counts once a turn: a paste that repeats one names nothing.
    held: Counter[str] = Counter()
    for turn in turns:
        held.update(turn.terms)
    return held


def _best(group: _Group, everywhere: Counter[str], mean: float, most: int) -> tuple[str, ...]:
    size = len(group.turns)
    scores = {
        term: held / size * math.log1p(mean / everywhere[term])
        for term, held in group.held.items()
        if held >= max(_RARE, _KNOWN * size)
    }
    order = sorted(scores, key=lambda term: (-round(scores[term], 9), term))[: _CONSIDERED * most]
    written = _read_written(group.turns, set(order))
    shown: list[str] = []
    told: set[str] = set()
    for term in order:
        if term not in told:
            phrase, forms = _phrase(term, written)
            told.update(phrase)
            shown.append(_as_written(forms))
    return tuple(shown[:most])


def _read_written(turns: Sequence[Worded], wanted: set[str]) -> _Written:
    written = _Written()
    for turn in turns:
        if wanted.isdisjoint(turn.terms):
            continue
        former: tuple[str, str] | None = None
        for word in turn.words:
            if word is not None and word[0] in wanted:
                written.alone.setdefault(word[0], Counter())[word[1]] += 1
                if former is not None and former[0] != word[0]:
                    written.pairs.setdefault((former[0], word[0]), Counter())[f"{former[1]} {word[1]}"] += 1
                former = word
            else:
                former = None
    return written


def _phrase(term: str, written: _Written) -> tuple[tuple[str, ...], Counter[str]]:
    """The term, or the pair that it mostly stands in; with how that is written."""
    pairs = [pair for pair in written.pairs if term in pair]
    for pair in sorted(pairs, key=lambda pair: (-written.pairs[pair].total(), pair)):
        forms = written.pairs[pair]
        if forms.total() >= max(_RARE, _JOINED * max(written.alone[one].total() for one in pair)):
            return pair, forms
    return (term,), written.alone[term]


def _as_written(forms: Counter[str]) -> str:
    """As it is written most; in small letters if it ever is, for a sentence begins with a capital."""
    lowered = Counter({form: count for form, count in forms.items() if form == form.lower()})
    best = sorted((lowered or forms).items(), key=lambda one: (-one[1], one[0]))
    return best[0][0]
