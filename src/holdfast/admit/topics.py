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
    POSSESSIVES,
    PREPOSITIONS,
    STRUCTURE,
    SYNONYMS,
    lemma,
    word_set,
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Result of the comparison; if it is not sure, both are kept, and the receipt says so."""

    sure: bool
    reason: str


CONTENT = (WordKind.PLAIN, WordKind.NAME)
NOW = re.compile(r"\b(?:now|nowadays|these days|by now|meanwhile)\b", re.IGNORECASE)
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


# --- What a sentence is about: its content words without the verbs that tie them.
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
    words = [word for word in reading_of(text).words if word.kind in CONTENT]
    return frozenset(
        root(word.key) for word in words if word.key not in _VERBS and word.key not in _VAGUE and len(word.key) > 1
    ) | frozenset(f"tool {kind}" for word in words if (kind := kind_of_tool(word.key)))


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
_SHORTENED = word_set(
    "im ive id ill re ve ll dont cant wont didnt doesnt isnt its thats whats hes shes theyre youre lets"
)
"""What is left of "I'm" and "we're", and how they are typed in a hurry."""
_DULL = (
    _SHORTENED
    | POSSESSIVES.keys()
    | _VAGUE
    | _VERBS
    | STRUCTURE
    | FILLERS
    | PREPOSITIONS
    | frozenset(MODALS)
    | frozenset(PERSONS)
    | NEGATIONS
)


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
