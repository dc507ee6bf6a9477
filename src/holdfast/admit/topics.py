"""The finding that one statement replaces another, and the words every way to that finding needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from holdfast.admit.frames import kind_of_tool
from holdfast.admit.values import ParsedStatement, Word, WordKind, read
from holdfast.text.vocabulary import (
    FILLERS,
    MODALS,
    NEGATIONS,
    PERSONS,
    PREPOSITIONS,
    STRUCTURE,
    SYNONYMS,
    either,
    lemma,
    word_set,
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Result of the comparison; neither `sure` nor `alone` means: keep both, and say so."""

    sure: bool
    reason: str
    alone: bool = False
    """It holds if this is the only record it can mean: "the review has moved" ends the one review we know of."""


CONTENT = (WordKind.PLAIN, WordKind.NAME)
IS = frozenset({"is", "am", "are", "s"})
NOW = re.compile(r"\b(?:now|nowadays|these days|by now|meanwhile)\b", re.IGNORECASE)
MOST_DETAIL = 3
"""Words by which a statement may be more detailed than what ended it: tennis ends with tennis on Mondays."""
REMEMBERED = 8192
"""Sentences whose reading is kept: a candidate meets several neighbours, and neighbours meet several candidates."""

# Verbs that only tie a thing to its owner or its place; with the value gone nothing is left of the statement.
TIES = word_set(
    """me us have own use drive keep foster run work live study play write code on in at plan schedule due listen be
    sit start happen take-place call name say it attend take learn read wear prefer always daily weekly enjoy
    love want like expect set cost pay host base belong deploy go eat drink do need for from under over the will
    apply train practise practice you subscribe rent lease employ ride fly"""
)


@lru_cache(maxsize=REMEMBERED)
def reading_of(text: str) -> ParsedStatement:
    return read(text)


def keys_of(words: tuple[Word, ...]) -> tuple[str, ...]:
    return tuple(word.key for word in words)


def said(words: tuple[Word, ...]) -> str:
    return " ".join(word.said for word in words)


# --- What a sentence is about: its content words without the verbs that tie them, and words by which it tells of
# a change.
#
# A person recognises "the doctor doubled my blood pressure pills" as news of "20 mg of blood pressure pills" by these.


_VAGUE = word_set(
    """thing way lot bit time day week month year hour minute moment idea place kind sort reason part side end while
    new old good bad great nice well better best big small long short high low sure able real whole last next late
    later early recently lately finally soon ago today tonight morning evening night weekend currently really actually
    get make come give put let feel find know think say tell talk see look seem keep stay become grow turn change move
    switch begin stop quit finish end raise lower increase reduce extend postpone reschedule push shift double halve
    decide want plan hope intend consider need prepare accept complete pass sign arrive deliver open close happen
    buy find hire adopt build definitely especially particularly quite rather instead anyway together
    altogether maybe also
    still person people mind"""
)
"""Too common to say what a sentence is about, or the change itself."""
_VERBS = TIES - word_set("rent lease train code study host")
"""Verbs that only connect a thing with its owner, without those that are things as well."""
_ENDINGS = ("ations", "ation", "ition", "ions", "ion", "ments", "ment", "ings", "ing", "ate", "er", "e", "s")
_SHORTEST_ROOT = 3

_CHANGES = (
    "now|nowadays|these days|from now on|by now|at the moment|no longer|any ?more|any longer|instead|after all"
    r"|again|already|meanwhile|moved|moves|moving|switched|changed|became|become|turned|grown|grew|raised|lowered"
    r"|increased|reduced|bumped|pushed|postponed|rescheduled|shifted|extended|cut|brought forward|put off|delayed"
    r"|updated|upgraded|doubled|halved|renamed|replaced|corrected|up to|down to|went up|gone up|went down|dropped|rose"
    r"|risen|climbed|fell|slipped|promoted|promotion|is over|are over|s over|since|starting|as of|mixed up"
    r"|i meant|correction"
    r"|from (?:the )?(?:\d|next|this|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march"
    r"|april|may|june|july|august|september|october|november|december)\w*"
)
_CHANGED = re.compile(rf"\b{either(_CHANGES)}\b", re.IGNORECASE)


@lru_cache(maxsize=REMEMBERED)
def changed(text: str) -> bool:
    """Return True if the sentence states that something has changed."""
    return _CHANGED.search(text) is not None


@lru_cache(maxsize=20_000)  # words, as in values.py: a conversation uses a few thousand
def root(key: str) -> str:
    """A coarse key for finding, never for merging: renovation and renovate are one here."""
    for ending in _ENDINGS:
        if key.endswith(ending) and len(key) - len(ending) >= _SHORTEST_ROOT:
            return key[: -len(ending)]
    return key


@lru_cache(maxsize=REMEMBERED)
def topics(text: str) -> frozenset[str]:
    """Return the topics of the sentence."""
    return topics_of(reading_of(text))


def topics_of(reading: ParsedStatement) -> frozenset[str]:
    return frozenset(
        root(word.key)
        for word in reading.words
        if word.kind in CONTENT and word.key not in _VERBS and word.key not in _VAGUE and len(word.key) > 1
    ) | frozenset(f"tool {kind}" for word in reading.words if word.kind in CONTENT and (kind := kind_of_tool(word.key)))


_WORD = re.compile(r"[^\W_]{2,60}")
_FAMILIES_TEXT = """
    home: live reside move relocate settle home house flat apartment stay
    work: work job employ join hire retire promote position role title promotion career
    diet: vegan vegetarian pescatarian meat fish eat diet
    bond: marry single engage divorce separate boyfriend girlfriend husband wife date relationship
    kept: call name favourite prefer like enjoy love hate dislike
"""
_FAMILIES = {
    word: f"={family.strip()}"
    for line in _FAMILIES_TEXT.strip().splitlines()
    for family, _, words in [line.partition(":")]
    for word in words.split()
}
"""Attributes that are said in many words: "I moved to Ghent" must find "I live in Porto"."""
_DULL = _VAGUE | _VERBS | STRUCTURE | FILLERS | PREPOSITIONS | frozenset(MODALS) | frozenset(PERSONS) | NEGATIONS


@lru_cache(maxsize=REMEMBERED)  # a candidate is looked for, then filed
def index_keys(text: str) -> frozenset[str]:
    """The keys by which the ledger finds a record again; cheap, since every record of a namespace is read so."""
    found = set()
    for match in _WORD.finditer(text[:_MOST_INDEXED]):
        word = match.group().lower()
        key = lemma(word)
        key = SYNONYMS.get(word) or SYNONYMS.get(key) or key
        if family := _FAMILIES.get(key):
            found.add(family)
        if key not in _DULL and word not in _DULL:
            found.add(root(key))
            if kind := kind_of_tool(key):
                found.add(f"tool {kind}")
    return frozenset(found)


_MOST_INDEXED = 600
"""Characters, as many as the rules of replacement read."""
