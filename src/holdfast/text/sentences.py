"""Sentence and passage boundaries of a turn's text, found in linear time.

Chat is not edited prose: a line break ends a sentence, a bullet is a sentence, and three dots may end one. Long turns
are also split into passages: one line of a page-long answer would be lost in the rest of it, its passage is not.
"""

from __future__ import annotations

import re

MAX_SENTENCE = 600
"""Characters; a longer "sentence" is a dump and is cut."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*•–—]|\d{1,3}[.)])[ \t]+")
_BULLET_MARK = re.compile(r"[ \t]*[-*•–—\d]")
# Abbreviations by length, because a look-behind needs a fixed length.
_ABBREVIATIONS = (
    "[a-z]",
    "mr|ms|dr|st|sr|jr|vs|no|nr",
    r"mrs|etc|e\.g|i\.e|fig|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|a\.m|p\.m|u\.s|u\.k",
    "prof|sept",
    "approx",
)
_FULL_STOP = r"\.(?=\s|$)" + "".join(rf"(?<![\s(。！？](?i:{words})\.)" for words in _ABBREVIATIONS)
_CLOSING = r"[\"'”’)\]]"
# The end of a sentence: a closing mark, possibly a closing quote or bracket, then white space.
_END = re.compile(
    rf"({_FULL_STOP}|(?:\.(?={_CLOSING})|[.!?…]{{2,}}+|[!?…]|[。！？]){_CLOSING}*+(?=\s|$)|(?<=[。！？])(?![。！？]))"
)
_MARKS = frozenset(".!?…。！？")
# A word, or two characters of a script without spaces.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,2}|\S[^\s\u3040-\u9fff]*")
_ENDS_SENTENCE = re.compile(r"[.!?…][\"'”’)\]]*$|[。！？]$")
_SLACK = 3  # a passage ends at the first sentence end after its length, or a third of its length later


def prose(text: str) -> str:
    """Return the text without fenced code and quoted lines, which are not the user's own words."""
    if "```" in text or "~~~" in text:
        text = "".join(_FENCE.split(text)[::2])
    return _QUOTED_LINE.sub("", text) if ">" in text else text


def sentences(text: str) -> list[str]:
    """Return the sentences of a turn's prose, in order, trimmed, none empty."""
    found: list[str] = []
    for line in prose(text).splitlines():
        if _BULLET_MARK.match(line):  # a cheap test first: most lines are not bullets
            line = _BULLET.sub("", line)
        if not (line := line.strip()):
            continue
        if _MARKS.isdisjoint(line[:-1]):
            found.append(line[:MAX_SENTENCE])
        else:
            found += _split(f" {line}")  # a blank before its first word, as before any other
    return found


def sentence_ends(line: str) -> list[int]:
    """Return where the sentences of a line end; what follows the last has no closing mark."""
    return [match.end() - 1 for match in _END.finditer(f" {line}")]  # a blank before its first word, as in _split


def split_passages(text: str, words: int, at_least: int) -> list[tuple[int, int]]:
    """Return (start, stop) of passages of about `words` words, none if the text has at most `at_least` words.

    Passages end at the end of a sentence or line if there is one near, and cover all words.
    """
    if len(text) <= 2 * at_least:  # too short even if all words had one letter
        return []
    spans = [found.span() for found in _WORD.finditer(text)]
    if len(spans) <= at_least:
        return []
    passages: list[tuple[int, int]] = []
    first = 0
    while first < len(spans):
        last = min(first + words, len(spans)) - 1
        if len(spans) - last - 1 <= words // _SLACK:  # a short remainder belongs to the last passage
            last = len(spans) - 1
        else:
            for candidate in range(last, min(last + words // _SLACK, len(spans) - 1)):
                start, stop = spans[candidate]
                if _ENDS_SENTENCE.search(text, start, stop) or "\n" in text[stop : spans[candidate + 1][0]]:
                    last = candidate
                    break
        passages.append((spans[first][0], spans[last][1]))
        first = last + 1
    return passages


def _split(line: str) -> list[str]:
    parts = _END.split(line)  # a text, its end, a text, …
    parts.append("")
    return [
        here[:MAX_SENTENCE] for text, end in zip(parts[::2], parts[1::2], strict=True) if (here := (text + end).strip())
    ]
