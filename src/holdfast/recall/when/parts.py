"""Questions with several parts, split into the questions they hold; where a split is not sure, there is none."""

from __future__ import annotations

import re

from holdfast.recall.when.anchors import AUXILIARY

__all__ = ["read_parts"]

_MOST = 4
_SENTENCE = re.compile(r"[^?]+\?")
_ASKS = rf"(?:what|where|who|whom|whose|when|how|which|why|{AUXILIARY})"
_STARTS = re.compile(rf"(?:(?:and|also|so|or|then|plus),? )?{_ASKS}\b", re.IGNORECASE)
_AND_WH = re.compile(r",? and (?:also )?(?=(?:what|where|who|whom|whose|when|how|which|why)\b)", re.IGNORECASE)
_AND_AUX = re.compile(rf",? and (?={AUXILIARY} (?:I|we|you|he|she|they|it|my|our|the|[A-Z]))")
_AND_FIRST = re.compile(r"^(?:and|also|so|or|then|plus),? ", re.IGNORECASE)
_NAME = r"[A-Z][\w'’-]+"
_NAMES = re.compile(rf"\b({AUXILIARY}) (?:both )?({_NAME}) and ({_NAME})\b (?:each |both |respectively )?")
_BETWEEN = re.compile(r"\bbetween\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_TOGETHER = re.compile(r"\b(?:together|each other|one another|between|married|couple)\b", re.IGNORECASE)
_BOTH = re.compile(r"\bboth ((?:[\w'’-]+ ){1,6}?)and ((?:[\w'’-]+[ ]?){1,6})(?=[?,.]|$)")
_PERSON = re.compile(rf"\b(?:my|our) [a-z]+(?:-[a-z]+)*\b|(?<=[a-z] ){_NAME}")
_PRONOUN = re.compile(r"\b(?:she|he|they)\b")


def read_parts(text: str, masked: str) -> tuple[str, ...]:
    """The questions inside, or nothing when it is one."""
    sentences = [(match.start(), match.end()) for match in _SENTENCE.finditer(masked)][: _MOST + 1]
    asked = [(start, end) for start, end in sentences if _STARTS.match(masked[start:end].lstrip())]
    if len(asked) > 1:
        return tuple(_clean(text[start:end]) for start, end in asked[:_MOST])
    if not _STARTS.match(masked):
        return ()
    for joint in (_AND_WH, _AND_AUX):
        match = joint.search(masked)
        if match and not _BETWEEN.search(masked, 0, match.start()):
            first, second = _clean(text[: match.start()]), _clean(text[match.end() :])
            return (first, _with_person(first, second)) if _says_something(first) and _says_something(second) else ()
    if (match := _NAMES.search(masked)) and not _TOGETHER.search(masked):
        before, after = f"{text[: match.end(1)]} ", text[match.end() :]
        owner = "'s" if match[3].endswith(("'s", "’s")) else ""  # "Ada and Ben's car" is the car of both
        return (_clean(f"{before}{match[2]}{owner} {after}"), _clean(f"{before}{match[3]} {after}"))
    if match := _BOTH.search(masked):
        before, after = text[: match.start()], text[match.end() :]
        first, second = text[slice(*match.span(1))], text[slice(*match.span(2))]
        return (_clean(f"{before}{first}{after}"), _clean(f"{before}{second}{after}"))
    return ()


def _clean(part: str) -> str:
    part = re.sub(r"\s+", " ", part).strip(" ,.;?")
    return _AND_FIRST.sub("", part) + "?"


def _says_something(part: str) -> bool:
    return len(_WORD.findall(part)) > 1  # "and why?" is no question of its own


def _with_person(first: str, second: str) -> str:
    """The second question with whom it is about, if the first names one person."""
    people = set(_PERSON.findall(first))
    return _PRONOUN.sub(people.pop(), second, count=1) if len(people) == 1 else second
