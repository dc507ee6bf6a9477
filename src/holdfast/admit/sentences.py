"""A turn's text as sentences, in linear time: prose is split, code and quotes are set apart.

Chat is not edited prose: a line break ends a sentence, a bullet is a sentence, and three dots or an emoji may end one.
"""

from __future__ import annotations

import re

__all__ = ["MAX_SENTENCE", "prose", "sentences"]

MAX_SENTENCE = 600
"""A longer "sentence" is a dump; it is cut, and the turn keeps the whole."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*•–—]|\d{1,3}[.)])[ \t]+")
# The end of a sentence: a closing mark, perhaps a closing quote or bracket, then white space and a new beginning.
_END = re.compile(r"(?:[.!?…]+|[。！？])[\"'”’)\]]*(?=\s|$)|(?<=[。！？])")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|etc|e\.g|i\.e|approx|no|nr|fig|jan|feb|mar|apr|jun|jul|aug|sep|sept"
    r"|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|a\.m|p\.m|u\.s|u\.k|[a-z])\.$",
    re.IGNORECASE,
)


def prose(text: str) -> str:
    """The text without fenced code and quoted lines, which are not the user's own words."""
    if "```" in text or "~~~" in text:
        text = "".join(_FENCE.split(text)[::2])
    return _QUOTED_LINE.sub("", text) if ">" in text else text


def sentences(text: str) -> list[str]:
    """The sentences of a turn's prose, in order, trimmed, none empty."""
    found: list[str] = []
    for line in prose(text).splitlines():
        line = _BULLET.sub("", line).strip()
        if line:
            found.extend(_split(line))
    return found


def _split(line: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for end in _END.finditer(line):
        here = line[start : end.end()]
        if here.endswith(".") and _ABBREVIATION.search(here[-12:]) and end.end() < len(line):
            continue
        if here.strip():
            parts.append(here.strip()[:MAX_SENTENCE])
        start = end.end()
    rest = line[start:].strip()
    if rest:
        parts.append(rest[:MAX_SENTENCE])
    return parts
