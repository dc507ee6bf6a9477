"""How an English sentence is put, as marks: the kinds of its words, and which kinds follow each other.

"Trainees shadow a nurse" and "make the subject line descriptive" have no word that makes them rules; how they are put
does: a plural, a bare verb, a thing; a verb first, then "the". Kinds and neighbours are what the learned reader weighs
(deontic_learned). Linear in the sentence; a word's kind is looked up once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from holdfast.admit.inflection import is_past, lemma
from holdfast.admit.vocabulary import word_set
from holdfast.compact.deontic_verbs import SOCIABLE, VERBS
from holdfast.compact.deontic_words import ONCE, ORDERED, PARTIES, PEOPLE

__all__ = ["MOST_WORDS", "kinds", "kinds_of", "marks", "tokens"]

MOST_WORDS = 40
"""Words and marks of a sentence that are read: what comes later changes nothing about how it is put."""

_KINDS: dict[str, frozenset[str]] = {
    "i": word_set("i i'm i've i'll i'd me myself"),
    "my": word_set("my mine"),
    "we": word_set("we we're we've we'll we'd us our ours let's"),
    "you": word_set("you you're you've you'll you'd your yours yourself"),
    "he": word_set("he she he's she's he'll she'll he'd she'd him her his hers himself herself"),
    "they": word_set("they they're they've they'll they'd them their theirs themselves"),
    "it": word_set("it it's its itself"),
    "this": word_set("this that these those that's"),
    "there": word_set("there there's here here's"),
    "the": word_set("the"),
    "a": word_set("a an some another"),
    "every": word_set("every each all any anyone anybody everyone everybody whoever both whatever everything anything"),
    "no": word_set("no nobody nothing none neither nowhere"),
    "not": word_set("not never don't doesn't isn't aren't cannot can't won't"),
    "only": word_set("only always"),
    "told": word_set("was were had did didn't wasn't weren't been hadn't couldn't wouldn't"),
    "is": word_set("is are am be being"),
    "has": word_set("has have having do does doing"),
    "must": word_set("must shall should ought need needs"),
    "may": word_set("may can allowed"),
    "will": word_set("will would could might gonna"),
    "once": ONCE | word_set("last next ago week moment just already almost still"),
    "if": word_set("if when whenever unless before after until while as because since though although"),
    "wh": word_set("what why who whom which how where whether than so such too"),
    "and": word_set("and or but nor then"),
    "of": word_set(
        """of in on at to for from with by about into over under without between through within near during per behind
        below above out up down off back away against towards upon"""
    ),
    "please": word_set("please kindly"),
    "hi": word_set(
        "hi hey hello oh well yes yeah okay ok thanks thank sorry sure ah wow haha great good nice maybe perhaps"
    ),
    "feel": word_set(
        """think guess hope love hate like want wish prefer know mean feel feels seems seem looks look sounds believe
        remember forgot find wonder"""
    ),
    "num": word_set("one two three four five six seven eight nine ten eleven twelve half twice hundred thousand"),
    "day": word_set(
        """monday tuesday wednesday thursday friday saturday sunday january february march april june july august
        september october november december morning evening night noon midnight summer winter spring autumn weekend
        year month"""
    ),
    "days": word_set(
        "mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends mornings evenings nights daily weekly"
    ),
    "very": word_set("very really quite pretty much more most better best worse worst enough rather"),
}
_KIND_OF = {word: kind for kind, words in reversed(_KINDS.items()) for word in words}
_SIGNS = {",": "comma", "!": "bang", "?": "ask", ".": "stop"}
_TOKEN = re.compile(r"[^\W_][\w'-]*+|[,;:–—!?.()]")
_CONTENT = word_set("word plural verbs verb kin order")
"""Kinds of words that may be a name when they are written with a capital."""
_THINGS = word_set("word plural verbs party kinsman name num ing no every")
_AFTER_VERB = word_set("the a my we you they it i every of num if ly he this days")
"""What stands behind a verb rather than behind a noun."""
_SCALES = ((4, "brief"), (6, "short"), (9, "middling"), (13, "full"), (19, "long"))


def marks(found: Sequence[str]) -> list[str]:
    """What the learned reader weighs of the kinds of a sentence's words: themselves, neighbours, beginning, length."""
    seen = dict.fromkeys(found)
    seen |= dict.fromkeys([f"{one}>{other}" for one, other in pairwise([*found, "$"])])
    beginning = [f"{place}:{kind}" for place, kind in enumerate(found[:3], 1)]
    scale = next((name for most, name in _SCALES if len(found) < most), "endless")
    return [*seen, *beginning, "^" + "-".join(found[:2]), scale]


def tokens(text: str) -> list[str]:
    """The words and marks of a sentence as they are written; the full stop at its end is left out."""
    found = _TOKEN.findall(text.replace("’", "'"))[:MOST_WORDS]
    while found and found[-1] == ".":
        found.pop()
    return found


def kinds(text: str) -> list[str]:
    """The kind of each word and mark of a sentence, in order."""
    written = tokens(text)
    return kinds_of(written, [token.lower() for token in written])


def kinds_of(tokens: Sequence[str], words: Sequence[str]) -> list[str]:
    """The same, of its words and marks as they are written and in lower case."""
    found = [_kind(word) for word in words]
    for place, token in enumerate(tokens):
        kind = found[place]
        if kind not in _CONTENT:
            continue
        after = found[place + 1] if place + 1 < len(found) else "$"
        if place == 0:
            if kind == "word" and (after in ("the", "my", "every", "it") or after == "if"):
                found[0] = "verb"  # a verb we do not know: "air the room"
            elif kind == "verbs":
                found[0] = "plural"
        elif token[0].isupper() and found[place - 1] not in ("stop", "colon", "bang", "ask"):
            found[place] = "name"
        elif found[place - 1] in _THINGS and after in _AFTER_VERB:
            if kind == "plural":
                found[place] = "verbs"
            elif kind == "word" and found[place - 1] in ("plural", "party"):
                found[place] = "verb"
    return found


@lru_cache(maxsize=20_000)
def _kind(word: str) -> str:
    """The kind of a lower-case word by itself."""
    if (known := _KIND_OF.get(word)) is not None:
        return known
    if not word[0].isalnum():
        return _SIGNS.get(word, "colon")
    if word[0].isdigit():
        return "num"
    if is_past(word):
        return "past"
    if word.endswith("ing") and len(word) > 5:
        return "ing"
    if word in PARTIES:
        return "party"
    if word in ORDERED:
        return "order"
    if word in VERBS:
        return "kin" if word in SOCIABLE else "verb"
    if word.endswith("ly"):
        return "ly"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return "verbs" if lemma(word) in VERBS else "plural"
    return "kinsman" if word in PEOPLE else "word"
