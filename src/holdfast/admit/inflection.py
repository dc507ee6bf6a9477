"""One key for the forms of an English word (live, lives, living), and no more than that.

A stemmer's keys are too coarse for a guard: to Snowball "experience" and "experiment" are one. This takes away only
what grammar put there, and puts back the e that grammar took.
"""

from __future__ import annotations

from functools import lru_cache

from holdfast.admit.vocabulary import IRREGULAR, PAST_FORMS

__all__ = ["is_past", "lemma"]

_VOWELS = frozenset("aeiouy")
_KNOWN_WORDS = 20_000  # words remembered; a conversation uses a few thousand


@lru_cache(maxsize=_KNOWN_WORDS)
def lemma(word: str) -> str:
    """The base form of a lower-case word; a word it cannot take apart is its own."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in PAST_FORMS:
        return PAST_FORMS[word]
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ing") and _has_vowel(word[:-3]) and len(word) > 5:
        return _base(word[:-3])
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("eed"):
        return word
    if word.endswith("ed") and _has_vowel(word[:-2]) and len(word) > 4:
        return _base(word[:-2])
    return _singular(word)


def is_past(word: str) -> bool:
    """Whether a lower-case word has the form of a past tense or participle."""
    if word in PAST_FORMS:
        return True
    return len(word) > 4 and word.endswith("ed") and not word.endswith("eed") and lemma(word) != word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _base(stem: str) -> str:
    """The word a stem came from: running, run; riding, ride; handling, handle; eating, eat."""
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    if stem.endswith(("ll", "ss", "zz")):
        # travelling, travel; calling, call
        return stem[:-1] if stem.endswith("ll") and _groups(stem) > 1 else stem
    if stem[-1] in "vuz" or stem.endswith(
        ("bl", "tl", "dl", "gl", "pl", "kl", "fl", "rs", "ns", "nc", "rc", "iz", "dg")
    ):
        return stem + "e"
    groups = _groups(stem)
    if len(stem) >= 2 and stem[-1] not in _VOWELS and stem[-2] in _VOWELS:
        long_vowel = len(stem) >= 3 and stem[-3] in _VOWELS and stem[-3:-1] != "ui"
        if groups == 1 and not long_vowel and stem[-1] not in "wxy":
            return stem + "e"
        if long_vowel and stem[-1] in "s":  # raising, raise; housing, house
            return stem + "e"
        if groups > 1 and (
            stem.endswith(("at", "ag", "id", "ut", "ir", "ur", "ic", "os", "is", "us", "ar")) and not long_vowel
        ):
            return stem + "e"  # relocate, manage, decide, compute, require, measure
    if len(stem) == 2 and stem[0] in _VOWELS:
        return stem + "e"
    return stem


def _has_vowel(text: str) -> bool:
    return any(char in _VOWELS for char in text)


def _groups(text: str) -> int:
    """Groups of vowels: about the syllables."""
    count, inside = 0, False
    for char in text:
        vowel = char in _VOWELS
        count += vowel and not inside
        inside = vowel
    return count
