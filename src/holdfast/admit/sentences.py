"""A turn's text as sentences, in linear time: prose is split, code and quotes are set apart.

Chat is not edited prose: a line break ends a sentence, a bullet is a sentence, and three dots or an emoji may end one.
"""

from __future__ import annotations

import re

__all__ = ["MAX_SENTENCE", "prose", "sentence_ends", "sentences"]

MAX_SENTENCE = 600
"""A longer "sentence" is a dump; it is cut, and the turn keeps the whole."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*•–—]|\d{1,3}[.)])[ \t]+")
_BULLET_MARK = re.compile(r"[ \t]*[-*•–—\d]")
# Words that are written with a full stop, by their length, for a look behind needs one length.
_ABBREVIATIONS = (
    "[a-z]",
    "mr|ms|dr|st|sr|jr|vs|no|nr",
    r"mrs|etc|e\.g|i\.e|fig|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|a\.m|p\.m|u\.s|u\.k",
    "prof|sept",
    "approx",
)
_FULL_STOP = r"\.(?=\s|$)" + "".join(rf"(?<![\s(。！？](?i:{words})\.)" for words in _ABBREVIATIONS)
_CLOSING = r"[\"'”’)\]]"
# The end of a sentence: a closing mark, perhaps a closing quote or bracket, then white space and a new beginning.
_END = re.compile(
    rf"({_FULL_STOP}|(?:\.(?={_CLOSING})|[.!?…]{{2,}}+|[!?…]|[。！？]){_CLOSING}*+(?=\s|$)|(?<=[。！？])(?![。！？]))"
)
_MARKS = frozenset(".!?…。！？")


def prose(text: str) -> str:
    """The text without fenced code and quoted lines, which are not the user's own words."""
    if "```" in text or "~~~" in text:
        text = "".join(_FENCE.split(text)[::2])
    return _QUOTED_LINE.sub("", text) if ">" in text else text


def sentences(text: str) -> list[str]:
    """The sentences of a turn's prose, in order, trimmed, none empty."""
    found: list[str] = []
    for line in prose(text).splitlines():
        if _BULLET_MARK.match(line):  # asked first: most lines are no bullets, and a text may be all lines
            line = _BULLET.sub("", line)
        if not (line := line.strip()):
            continue
        if _MARKS.isdisjoint(line[:-1]):
            found.append(line[:MAX_SENTENCE])
        else:
            found += _split(f" {line}")  # a blank before its first word, as before any other
    return found


def sentence_ends(line: str) -> list[int]:
    """Where the sentences of a line end; what follows the last has no closing mark."""
    return [match.end() - 1 for match in _END.finditer(f" {line}")]  # a blank before its first word, as in _split


def _split(line: str) -> list[str]:
    parts = _END.split(line)  # a text, its end, a text, …
    parts.append("")
    return [
        here[:MAX_SENTENCE] for said, end in zip(parts[::2], parts[1::2], strict=True) if (here := (said + end).strip())
    ]
