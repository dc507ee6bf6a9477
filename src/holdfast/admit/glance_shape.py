"""Whether a sentence has the shape of a plain statement: who or what it is about, a verb, and a value that lasts.

"I have two horses", "our standup is at nine", "the Danube flows into the Black Sea" beside "I have a minute", "our bus
is coming", "the map is upside down". English; words are looked up once each, so reading is linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set

from holdfast.admit import glance_lasting as known
from holdfast.admit.glance_words import LEADS
from holdfast.words import FUNCTION_WORDS

__all__ = ["SHAPES", "shape"]

SHAPES = (
    "own_value", "own_lasting", "own_brief", "own_points", "own_moment", "third_value", "third_named", "third_of",
    "third_name_value", "third_number_value", "third_brief", "third_moment", "third_judged", "third_plain_the",
    "third_does", "third_passive",
)  # fmt: skip
_NONE = (0.0,) * len(SHAPES)

_TOKEN = re.compile(r"\d[\d.,:]*|[^\W\d_]+(?:['-][^\W\d_]+)*|[,;:]")
_MOST_TOKENS = 40
_FARTHEST_VERB = 9
"""A subject has at most so many words ("the head of the department for foreign trade is")."""
_BRIEF = 7
_LONGEST = 12
"""Words of a sentence that is no more than its statement; a longer one is weighed by the rest of the glance."""
_BE = frozenset(("am", "is", "are", "was", "were"))
_CHOOSING = frozenset(("have", "need", "like", "love", "hate", "prefer", "use", "take", "wear"))
_OF_THE_TALK = frozenset(("the", "my", "to", "some"))
"""After a verb of having or choosing: "I like the tea", "I have my bike", "I have to go"; but "I play the cello"."""
_PASSIVE = frozenset(("by", "in", "after", "from", "at", "on", "to", "for", "until", "since"))
_PLACED = frozenset(("at", "in", "on", "by", "under", "behind", "near"))
_BREAKS = frozenset((",", ";", ":", "i", "i'm", "i've", "we", "we're", "we've"))
"""In front of the verb they begin another sentence: "Harbour office, this is Ruud"."""
_CONTRACTED = {"i'm": "am", "we're": "are", "i've": "have", "we've": "have"}


def shape(plain: str, uncommon: Set[str], question: bool, asks: bool) -> tuple[float, ...]:
    """The features of SHAPES; all 0 for what is no plain statement.

    `uncommon`: its words that are not common ones; `asks`: the turn holds a question, so this may only lead up to it.
    """
    if question:
        return _NONE
    tokens = _TOKEN.findall(plain)[:_MOST_TOKENS]
    while tokens and (tokens[0] in ",;:" or tokens[0].lower() in LEADS):
        tokens = tokens[1:]
    if len(tokens) < 2:
        return _NONE
    lower = [token.lower() for token in tokens]
    if sum(word not in ",;:" for word in lower) > _LONGEST:
        return _NONE
    if lower[0] in ("i", "we") or lower[0] in _CONTRACTED:
        return _own(lower, asks)
    return _third(tokens, lower, uncommon)


def _own(lower: Sequence[str], asks: bool) -> tuple[float, ...]:
    """Of oneself: "I have asthma", "we don't eat pork", "I'm a midwife"."""
    at, verb = 0, _CONTRACTED.get(lower[0])
    if verb is None:
        at = next((place for place, word in enumerate(lower[1:5], 1) if word not in known.WITHOUT_WEIGHT), 1)
        verb = lower[at]
    value = _value(lower[at + 1 :])
    if verb not in known.OWN_VERBS or not value:
        return _NONE
    points = value[0] in known.POINTING or (value[0] in _OF_THE_TALK and verb in _CHOOSING)
    passes = any(word in known.NOW or word in known.ERRAND for word in value)
    tells = any(map(_tells, value)) and not points
    lasting = tells and not known.LASTING.isdisjoint(value)
    if asks and not lasting and verb in _CHOOSING:  # "We have three kinds. Which one would you like?"
        return _NONE
    moment = passes or (verb in _BE and value[0].endswith("ing"))
    brief = lasting and not moment and len(lower) <= _BRIEF
    return (float(tells), float(lasting), float(brief), float(points), float(moment), *_NONE[5:])


def _third(tokens: Sequence[str], lower: Sequence[str], uncommon: Set[str]) -> tuple[float, ...]:
    """Of another: "the office closes at six", "Ada wrote notes", "my shoe size is 44"."""
    if lower[0] in known.PRONOUNS:
        return _NONE
    places = range(1, min(_FARTHEST_VERB, len(lower)))
    verb = next((place for place in places if _is_verb(tokens[place])), 0) or next(
        (place for place in places if _may_be_verb(tokens[place])), 0
    )
    if not verb:
        return _NONE
    subject, value = lower[:verb], _value(lower[verb + 1 :])
    if not value or any(word in _BREAKS or word in known.PRONOUNS for word in subject[1:]):
        return _NONE
    said = tokens[verb + 1 : verb + 1 + len(value)]
    named = any(token[:1].isupper() for token in tokens[1:verb]) or lower[0] in uncommon
    name = any(token[:1].isupper() and token not in ("I", "I'm") for token in said)
    number = any(word[:1].isdigit() or word in known.NUMBERS for word in value)
    be = lower[verb] in _BE
    placed = value[0] in _PLACED and not name and not number  # "is in the kitchen", but "is in Dublin", "is at nine"
    moment = not known.NOW.isdisjoint(value) or (be and (placed or value[0].endswith("ing")))
    judged = not known.JUDGED.isdisjoint(value)
    tells = any(map(_tells, value)) and not judged and not moment
    of = "of" in subject[1:] or any(word.endswith("'s") for word in subject)
    mine = subject[0] in ("my", "our")
    specific = name or number or named or of or mine
    return (
        *_NONE[:5],
        float(tells),
        float(named and tells),
        float(of and tells),
        float(name and tells),
        float(number and tells),
        float(tells and specific and len(lower) <= _BRIEF),
        float(moment),
        float(judged),
        float(tells and not specific),
        float(tells and not be),
        float(tells and be and (name or number) and not _PASSIVE.isdisjoint(value[1:3])),  # "was founded in 1911"
    )


def _is_verb(token: str) -> bool:
    return token in known.THIRD_VERBS or (len(token) > 4 and token.endswith("ed") and token.islower())


def _may_be_verb(token: str) -> bool:
    """Such as "faces" or "covers": the verbs that no list holds, in the third person."""
    return len(token) > 4 and token.endswith("s") and not token.endswith(("ss", "us", "'s")) and token.islower()


def _value(words: Sequence[str]) -> list[str]:
    """What follows the verb, up to the next clause."""
    found: list[str] = []
    for word in words:
        if word in known.CLAUSE and found:
            break
        if word not in ",;:":
            found.append(word)
    return found


def _tells(word: str) -> bool:
    return (
        word not in FUNCTION_WORDS and word not in known.JUDGED and word not in known.NOW and word not in known.POINTING
    )
