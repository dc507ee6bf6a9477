"""A sentence as the words that decide what it says, in one notation.

What two sentences must share to say the same (MERGE-3) is exactly what `read` leaves: numbers and dates in one form,
names, negations, modal words, quantifiers and every other content word, each with the small words that led to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from holdfast.text.vocabulary import (
    CONDITIONS,
    FILLERS,
    HEDGES,
    MODALS,
    NEGATIONS,
    PERSONS,
    PHRASES,
    POSSESSIVES,
    PREPOSITIONS,
    QUANTIFIERS,
    STRUCTURE,
    SYNONYMS,
    WEAK_PREPOSITIONS,
    is_past,
    lemma,
    word_set,
)
from holdfast.text.words import fold

# --- Numbers, amounts, times and dates in one notation: two = 2, 15k = 15,000, 9:30 pm = 21:30, 1.80 m = 180 cm.


_ONES = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], 2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
            "thirteenth",
            "fourteenth",
            "fifteenth",
            "sixteenth",
            "seventeenth",
            "eighteenth",
            "nineteenth",
            "twentieth",
        ],
        1,
    )
} | {"thirtieth": 30}
_SUFFIXES = {"k": 1000, "m": 10**6, "bn": 10**9}

_MONTH_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
MONTHS = {name: name for name in _MONTH_NAMES} | {
    name[:3]: name for name in _MONTH_NAMES if name not in ("may", "march")
} | {"sept": "september"}  # fmt: skip
_DAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS = (
    {name: name for name in _DAY_NAMES}
    | {name + "s": name for name in _DAY_NAMES}
    | {"mon": "monday", "tue": "tuesday", "tues": "tuesday", "wed": "wednesday", "thu": "thursday", "thurs": "thursday",
       "fri": "friday"}
)  # fmt: skip
SEASONS = frozenset({"spring", "summer", "autumn", "winter", "christmas", "easter"})

_UNIT_TEXT = """
    mm=length*.001 cm=length*.01 m=length*1 metre=length*1 meter=length*1 km=length*1000 kilometre=length*1000
    kilometer=length*1000 kms=length*1000 mile=length*1609.344 mi=length*1609.344 foot=length*.3048 ft=length*.3048
    inch=length*.0254 mg=weight*.000001 g=weight*.001 gram=weight*.001 kg=weight*1 kilo=weight*1 kilogram=weight*1
    lb=weight*.45359237 pound-weight=weight*.45359237 ms=time*.001 millisecond=time*.001 s=time*1 sec=time*1
    second=time*1 min=time*60 minute=time*60 h=time*3600 hr=time*3600 hour=time*3600 day=time*86400 week=time*604800
    month=months*1 year=months*12 kb=bytes*1000 mb=bytes*1000000 gb=bytes*1000000000 tb=bytes*1000000000000
    %=percent*1 percent=percent*1 pct=percent*1 euro=eur*1 eur=eur*1 €=eur*1 dollar=usd*1 usd=usd*1 $=usd*1 buck=usd*1
    pound=gbp*1 gbp=gbp*1 £=gbp*1 quid=gbp*1 litre=volume*1 liter=volume*1 l=volume*1 ml=volume*.001
"""
_UNITS: dict[str, tuple[str, float]] = {}
for _pair in _UNIT_TEXT.split():
    _name, _, _meaning = _pair.partition("=")
    _kind, _, _factor = _meaning.partition("*")
    _UNITS[_name] = (_kind, float(_factor))

_NUMBER = re.compile(r"([+-]?\d{1,3}(?>(?:,\d{3})+)(?>(?:\.\d++)?)|[+-]?\d++(?>(?:[.,]\d++)?))([a-z%]*+)")
_CLOCK = re.compile(r"(\d{1,2})[:.h](\d{2})(am|pm)?")
_HOUR = re.compile(r"(\d{1,2})(am|pm)")


def number_of(word: str) -> tuple[float, str] | None:
    """The number a lower-case word writes in digits, and the letters glued to it ("10km": 10, "km")."""
    match = _NUMBER.fullmatch(word)
    if match is None:
        return None
    digits, glued = match.groups()
    if re.fullmatch(r"[+-]?\d{1,3}(?>(?:,\d{3})+)(?>(?:\.\d++)?)", digits):
        digits = digits.replace(",", "")
    value = float(digits.replace(",", "."))
    if glued in _SUFFIXES and glued != "m":
        return value * _SUFFIXES[glued], ""
    return value, glued


def read_number_words(words: Sequence[str], at: int) -> tuple[float, int, bool] | None:
    """The number spelt out from `at` on: its value, how many words it takes, and whether it is an ordinal."""
    total, current, taken, ordinal = 0.0, 0.0, 0, False
    place = at
    while place < len(words):
        word = words[place]
        if word in _ONES and (
            taken == 0
            or current == 0
            or (current % 10 == 0 and current >= 20 and _ONES[word] < 10)
            or current % 100 == 0
        ):
            current += _ONES[word]
        elif word in _TENS and (taken == 0 or current % 100 == 0):
            current += _TENS[word]
        elif word in _ORDINALS and (taken == 0 or (current % 10 == 0 and current >= 20)):
            current, ordinal, place = current + _ORDINALS[word], True, place + 1
            taken = place - at
            break
        elif word == "hundred" and 0 < current < 100:
            current *= 100
        elif word in _SCALES and taken and current:
            total, current = total + current * _SCALES[word], 0
        elif word == "and" and taken and current and current % 100 == 0 and place + 1 < len(words) and (
            words[place + 1] in _ONES or words[place + 1] in _TENS
        ):  # fmt: skip
            pass
        else:
            break
        place += 1
        taken = place - at
    return (total + current, taken, ordinal) if taken else None


def scale_of(word: str) -> float | None:
    """Return the factor of "thousand" or "million" after digits."""
    value = _SCALES.get(word)
    return float(value) if value else None


def clock_time(word: str, after: str = "") -> str | None:
    """A time of day as 24-hour HH:MM; `after` is the next word, which may be am or pm."""
    half = after.replace(".", "") if after.replace(".", "") in ("am", "pm") else ""
    if match := _CLOCK.fullmatch(word):
        hour, minute, glued = int(match[1]), int(match[2]), match[3] or half
    elif match := _HOUR.fullmatch(word):
        hour, minute, glued = int(match[1]), 0, match[2]
    elif half and word.isdigit() and len(word) <= 2:
        hour, minute, glued = int(word), 0, half
    else:
        return None
    if hour > 24 or minute > 59 or (not glued and "." in word):
        return None
    if glued:
        hour = hour % 12 + (12 if glued == "pm" else 0)
    return f"{hour:02d}:{minute:02d}"


def quantity(value: float, unit: str) -> str | None:
    """The amount in its dimension's base unit, as one key; None when the word is no unit."""
    known = _UNITS.get(unit)
    if known is None:
        return None
    kind, factor = known
    return f"{plain_number(value * factor)}{kind}"


def plain_number(value: float) -> str:
    """A number as a key: never with an exponent, so that the letters after it are its measure."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


class WordKind(StrEnum):
    """Kind of a deciding word, as the receipt names it when two texts differ in one."""

    NUMBER = "number"
    TIME = "time"
    DATE = "date"
    NAME = "name"
    NEGATION = "negation"
    MODAL = "modality"
    HEDGE = "hedge"
    CONDITION = "condition"
    QUANTIFIER = "quantity"
    PERSON = "person"
    PLACE = "relation"
    """A preposition that decides: before, after, under, from."""
    SYMBOL = "symbol"
    PLAIN = "word"


class Word(NamedTuple):
    """One deciding word."""

    key: str
    kind: WordKind
    said: str
    """As it was written, for the receipt."""
    lead: tuple[str, ...] = ()
    """The small words between it and the deciding word before: articles, forms of be, weak prepositions."""
    past: bool = False
    """A simple past ("lived"), as opposed to "has lived", "was given" and "lives"."""
    start: int = 0
    """Position among the plain words of the sentence."""


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """The deciding words of a sentence."""

    words: tuple[Word, ...]
    tail: tuple[str, ...] = ()
    """Small words after the last deciding one."""
    keys: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The key of each word: asked for in every comparison, so written down once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", tuple(word.key for word in self.words))


class _Piece(NamedTuple):
    """A word as it stands in the text, lower-case, with what its writing tells."""

    text: str
    said: str
    capital: bool


# A word with everything glued to it: don't, C++, 9:30, tide-stg.internal:7443. Possessive, so linear on any text.
_CHUNK = re.compile(r"\w++(?>(?:[._/\\:@#+'&,-]\w++)*)(?>(?:\+\+|#|%)?)|[^\w\s]")
_IGNORED = frozenset(".,;:!()[]{}\"'`-–—…*_|•“”‘’«»")
_KNOWN_WORDS = 20_000  # words remembered; a conversation uses a few thousand
_END = frozenset(".!?:;")
_TITLES = word_set("mr mrs ms dr prof st jr sr vs no")  # a full stop after them ends no sentence
_LETTERS = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?>(?:-[^\W\d_]++)+)")
_CONTRACTED = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would", "s": "s", "em": "them"}
# Common nouns that are written with a capital where they stand for a name ("Mum", "DB").
_NOUNS_IN_CAPITALS = word_set(
    "mum mom dad daddy mummy mommy mama papa gran grandma granny nan nana grandpa grandad granddad postgresql "
    "db k8s js ts tv"
)
_SIDE_LEADS = word_set("my our your his her their the a on to")  # the left knee; but "she left"
_HOUR_ENDS = word_set("o'clock sharp instead every each daily tomorrow today these from after before because")
_MONTH_LEADS = word_set("in of since until till by next last this early late mid during before after from to")
# After these a past form is a participle: "has moved", "is closed", "a seated woman", "of grown men".
_NOT_PAST = word_set(
    "be is am are was were been being have has had having get gets got getting s a an the of in with first second he "
    "she they which"
)


def read(text: str) -> ParsedStatement:
    """The deciding words of a text, in order."""
    return _gather(_phrases(list(_pieces(text))))


def _pieces(text: str) -> Iterator[_Piece]:
    """The words of the text, contractions and hyphened words taken apart; first words of sentences count as small."""
    opening, initial = True, False
    for match in _CHUNK.finditer(text.replace("’", "'").replace("‘", "'")):
        said = match.group()
        if said in _IGNORED:
            glued_to_number = said == "-" and text[match.end() : match.end() + 1].isdigit()
            if glued_to_number and not text[max(0, match.start() - 1) : match.start()].strip():
                yield _Piece("minus", said, False)
            opening = opening or (said in _END and not (said == "." and initial))
            continue
        pieces, initial = _taken_apart(said, opening)
        opening = False
        yield from pieces


@lru_cache(maxsize=_KNOWN_WORDS)
def _taken_apart(said: str, opening: bool) -> tuple[tuple[_Piece, ...], bool]:
    """The pieces of one run of letters, which may open a sentence; and whether a full stop after it is its own."""
    capital = said[0].isupper() and not opening
    pieces = tuple(
        _Piece(fold(part), part, capital and (place == 0 or part[0].isupper()))
        for place, part in enumerate(_parts(said))
    )
    return pieces, len(said) == 1 or said.lower() in _TITLES


def _parts(said: str) -> list[str]:
    """Don't → do not; Karim's → Karim s; gluten-free → gluten free; 3-7 → 3 7; an identifier stays whole."""
    if said.isalnum() and said.lower() != "cannot":  # most words
        return [said]
    if "'" in said:
        head, _, ending = said.rpartition("'")
        ending = ending.lower()
        if ending == "t" and head.lower().endswith("n"):
            return [*_parts(head[:-1]), "not"] if len(head) > 1 else [said]
        if ending in _CONTRACTED:
            return [*_parts(head), _CONTRACTED[ending]]
        return [said]
    if said.lower() == "cannot":
        return ["can", "not"]
    if _LETTERS.fullmatch(said):
        return said.split("-")
    if "-" in said and all(part.isdigit() for part in said.split("-")) and said.count("-") == 1:
        ends = said.split("-")
        short = all(len(end) <= 2 for end in ends) or all(len(end) == 4 for end in ends)
        return ends if short else [said]  # 9-17 and 2019-2021 are ranges, 555-0101 is a telephone number
    if "-" in said and said.split("-", 1)[0].isdigit() and _LETTERS.fullmatch("a-" + said.split("-", 1)[1]):
        return said.split("-")  # 40-year-old
    if "," in said and not number_of(said.lower()):
        return said.split(",")
    return [said]


def _phrases(pieces: list[_Piece]) -> list[_Piece]:
    """The text with our phrases put into one word each."""
    words = [piece.text for piece in pieces]
    found: list[_Piece] = []
    at = 0
    while at < len(pieces):
        for said, meant in PHRASES.get(words[at], ()):
            if tuple(words[at : at + len(said)]) == said:
                shown = " ".join(piece.said for piece in pieces[at : at + len(said)])
                found.extend(_Piece(word, shown, False) for word in meant)
                at += len(said)
                break
        else:
            found.append(pieces[at])
            at += 1
    return found


def _gather(pieces: list[_Piece]) -> ParsedStatement:
    words = [piece.text for piece in pieces]
    found: list[Word] = []
    lead: list[str] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        value, taken = _value(pieces, words, at) if _begins_value(piece.text) else (None, 1)
        if value is not None:
            key, kind = value
            said = " ".join(part.said for part in pieces[at : at + taken])
            found.append(Word(key, kind, said, tuple(lead), start=at))
            lead.clear()
            at += taken
            continue
        kind_key = _plain(piece) if piece.text not in _BY_NEIGHBOUR else _beside(piece, words, at)
        if kind_key is None:
            lead.append(POSSESSIVES.get(piece.text, piece.text))
        else:
            key, kind = kind_key
            past = kind is WordKind.PLAIN and _NOT_PAST.isdisjoint(lead) and is_past(piece.text)
            found.append(Word(key, kind, piece.said, tuple(lead), past, at))
            lead.clear()
        at += 1
    return ParsedStatement(tuple(found), tuple(lead))


def _value(pieces: list[_Piece], words: list[str], at: int) -> tuple[tuple[str, WordKind] | None, int]:
    """A number, amount, time or date that starts here, and how many words it takes."""
    word = words[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    if word in WEEKDAYS and not (word == "wed" and not pieces[at].capital):
        return (WEEKDAYS[word], WordKind.DATE), 1
    if word in MONTHS and _is_month(pieces, words, at):
        return (f"month-{MONTHS[word]}", WordKind.DATE), 1  # its own key: may is a modal word too
    if word in SEASONS:
        return (word, WordKind.DATE), 1
    if word in _NEAR_DAYS:
        return (word, WordKind.DATE), 1
    if word in ("half", "quarter") and after in ("past", "to") and (hour := _hour(words, at + 2)) is not None:
        minutes = (30 if word == "half" else 15) * (1 if after == "past" else -1)
        total = (hour * 60 + minutes) % 1440
        return (f"{total // 60:02d}:{total % 60:02d}", WordKind.TIME), 3
    digits = not word.isalpha()  # else it writes no number and no time of day
    if digits and (clock := clock_time(word, after)) is not None:
        return (clock, WordKind.TIME), 2 if after in ("am", "pm", "a.m", "p.m") else 1
    if word in ("$", "€", "£") and after and (number := number_of(after)) is not None:
        return (quantity(number[0], word) or word, WordKind.NUMBER), 2
    if word == "minus" and (number := number_of(after)) is not None:
        value, taken = _amount(words, at + 2, -number[0], number[1])
        return value, taken + 2
    if at and words[at - 1] == "at" and word.isdecimal() and int(word) <= 24 and _ends_time(after):
        return (f"{int(word):02d}:00", WordKind.TIME), 1
    if digits and (number := number_of(word)) is not None:
        if number[1] in ("st", "nd", "rd", "th"):
            return _ordinal(words, at, number[0], 1)
        value, taken = _amount(words, at + 1, *number)
        return value, taken + 1
    spelt = read_number_words(words, at) if word != "second" or after not in ("hand",) else None
    if spelt is not None:
        amount, taken, ordinal = spelt
        if ordinal:
            return _ordinal(words, at, amount, taken)
        hour = at and words[at - 1] == "at" and amount <= 24 and amount == int(amount)
        if hour and _ends_time(words[at + taken] if at + taken < len(words) else ""):
            return (f"{int(amount):02d}:00", WordKind.TIME), taken
        value, more = _amount(words, at + taken, amount, "")
        return value, taken + more
    return None, 1


@lru_cache(maxsize=_KNOWN_WORDS)
def _begins_value(word: str) -> bool:
    """Return True if `_value` may find something that starts with this word: few words do, and every word is tested."""
    return (
        not word.isalpha()
        or word in WEEKDAYS
        or word in MONTHS
        or word in SEASONS
        or word in _NEAR_DAYS
        or word in ("half", "quarter", "minus")
        or read_number_words([word], 0) is not None
    )


_NEAR_DAYS = frozenset({"today", "tomorrow", "yesterday", "tonight"})


def _ends_time(after: str) -> bool:
    """Return True if the word after a bare number lets it be an hour: "at 10 now", not "at 10 Downing Street"."""
    return not after or after in STRUCTURE or after in FILLERS or after in WEAK_PREPOSITIONS or after in _HOUR_ENDS


def _amount(words: list[str], at: int, value: float, glued: str) -> tuple[tuple[str, WordKind], int]:
    """The number with the unit that follows it, in one notation; and how many further words that takes."""
    taken = 0
    word = words[at] if at < len(words) else ""
    if not glued and (scale := scale_of(word)):
        value, taken = value * scale, 1
        word = words[at + 1] if at + 1 < len(words) else ""
    unit = glued or lemma(word)
    if glued == "m" and at < len(words) and quantity(1, lemma(words[at])):
        value, unit, glued = value * 1e6, lemma(words[at]), ""
    key = quantity(value, unit) or (quantity(value, word) if not glued else None)
    if key is not None:
        return (key, WordKind.NUMBER), taken + (0 if glued else 1)
    return (f"{plain_number(value)}{glued}", WordKind.NUMBER), taken


def _ordinal(words: list[str], at: int, value: float, taken: int) -> tuple[tuple[str, WordKind], int]:
    """The day of a date, or a rank: "the fourth of May" is a 4, "the fourth floor" is not."""
    beside = words[max(0, at - 2) : at] + words[at + taken : at + taken + 2]
    if any(word in MONTHS for word in beside):
        return (plain_number(value), WordKind.NUMBER), taken
    return (f"{plain_number(value)}th", WordKind.NUMBER), taken


def _hour(words: list[str], at: int) -> int | None:
    if at >= len(words):
        return None
    if (number := number_of(words[at])) is not None:
        return int(number[0])
    spelt = read_number_words(words, at)
    return int(spelt[0]) if spelt and spelt[1] == 1 else None


def _is_month(pieces: list[_Piece], words: list[str], at: int) -> bool:
    """Return True if "may" or "march" is the month: with a capital inside a sentence, after "in", next to a day."""
    if words[at] not in ("may", "march", "mar", "jun", "dec", "oct", "jan", "feb", "apr", "jul", "aug", "sep", "nov"):
        return True
    before = words[at - 1] if at else ""
    after = words[at + 1] if at + 1 < len(words) else ""
    near_number = any(number_of(word.removesuffix("th")) for word in (before, after) if word)
    return pieces[at].capital or before in _MONTH_LEADS or near_number


def _beside(piece: _Piece, words: list[str], at: int) -> tuple[str, WordKind] | None:
    """As _plain, of a word that the ones next to it decide."""
    if piece.text == "left":
        side = at and words[at - 1] in _SIDE_LEADS and not piece.capital
        return ("left", WordKind.PLAIN) if side else _plain(piece)
    after = words[at + 1] if at + 1 < len(words) else ""
    near_number = number_of(after) is not None or read_number_words([after], 0) is not None
    return ("about", WordKind.HEDGE) if near_number else (piece.text, WordKind.PLACE)


_BY_NEIGHBOUR = frozenset({"about", "around", "left"})


@lru_cache(maxsize=_KNOWN_WORDS)
def _plain(piece: _Piece) -> tuple[str, WordKind] | None:
    """The key of a word that is no value; None for a small word that decides nothing."""
    word = piece.text
    if word in NEGATIONS:
        return "not", WordKind.NEGATION
    if word in MODALS and not piece.capital:
        return MODALS[word], WordKind.MODAL
    if word in PERSONS and not (piece.capital and word == "us"):
        return PERSONS[word], WordKind.PERSON
    if word in POSSESSIVES or word in WEAK_PREPOSITIONS or word == "any":
        return None
    acronym = piece.said.isupper() and len(piece.said) > 1  # IT, BE
    if (word in STRUCTURE or word in FILLERS) and not acronym:
        return None
    if piece.capital and word not in _NOUNS_IN_CAPITALS:
        return word, WordKind.NAME
    if word in CONDITIONS:
        return word, WordKind.CONDITION
    if word in QUANTIFIERS:
        return word, WordKind.QUANTIFIER
    if word in PREPOSITIONS and word != "like":
        return word, WordKind.PLACE
    base = lemma(word)
    base = SYNONYMS.get(word) or SYNONYMS.get(base) or base
    if base in HEDGES or word in HEDGES:
        return base, WordKind.HEDGE
    if base.endswith("ise") and len(base) > 5:
        base = base[:-3] + "ize"
    if not any(char.isalnum() for char in word):
        return ("and", WordKind.SYMBOL) if word == "&" else (word, WordKind.SYMBOL)
    return base, WordKind.PLAIN
