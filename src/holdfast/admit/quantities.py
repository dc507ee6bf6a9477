"""Numbers, amounts, times and dates in one notation: two = 2, 15k = 15,000, 9:30 pm = 21:30, 1.80 m = 180 cm."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "MONTHS",
    "SEASONS",
    "WEEKDAYS",
    "clock_time",
    "number_of",
    "plain_number",
    "quantity",
    "read_number_words",
    "scale_of",
]

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
    """What "thousand" or "million" after digits multiplies by."""
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
