"""A text as the sentences that could be rules: where each lies, and what stands over it ("Rules:", "You must:").

Code, quotations and pasted parts are nobody's orders to the reader and are left out; bullets lose their mark; a line
that was only wrapped goes on. One pass, linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.admit.pasted import pasted_parts
from holdfast.admit.sentences import sentence_ends

__all__ = ["Sentence", "masked", "sentences_of"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """text[start:stop]; `over` is the line that announces the list it stands in, or empty."""

    start: int
    stop: int
    over: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    stop: int
    body: int
    """Where its words begin, behind a bullet."""
    item: bool
    heading: bool


_FRONT = re.compile(
    r"[ \t]*+(?:>[ \t]?)?(?:(?P<item>[-*+•–—]|\d{1,3}(?:\.\d{1,3})*[.)]|\([a-z\d]{1,3}\))[ \t]++(?:\[[ xX]\][ \t]++)?)?"
)
_HEADING = re.compile(r"[ \t]*+(?:#{1,6}[ \t]|\*\*[^*]{1,80}\*\*:?[ \t]*$|__[^_]{1,80}__:?[ \t]*$)")
_WRAPPED = 50
"""A line of so many characters that ends in no mark was wrapped, if the next goes on in lower case."""
_ENDS = tuple(".!?:;…。！？")
_CLOSERS = "\"'”’)*_` \t"
_QUOTE = re.compile(
    r"(?<!\w)\"[^\"\n]{1,400}+\"(?!\w)|“[^“”\n]{1,400}+”|«[^«»\n]{1,400}+»|„[^„“”\n]{1,400}+[“”]|(?<!\w)‘[^‘’\n]{1,200}+’(?!\w)"
)
_CODE = re.compile(r"`[^`\n]{1,200}+`")


def masked(text: str) -> str:
    """The text with what it quotes or writes as code made unreadable, each character for one."""
    if "`" in text:
        text = _CODE.sub(lambda code: "x" * len(code[0]), text)
    if text.isascii() and '"' not in text:
        return text
    return _QUOTE.sub(lambda quote: "x" * len(quote[0]), text)


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a text's own words, in order."""
    pasted = [(part.start, part.end) for part in pasted_parts(text)]
    over, under_heading, place = "", "", 0
    for line in _paragraphs(_lines(text), text):
        while place < len(pasted) and pasted[place][1] <= line.body:
            place += 1
        if place < len(pasted) and pasted[place][0] <= line.body:
            continue
        stop = min(line.stop, pasted[place][0]) if place < len(pasted) else line.stop
        if line.heading:
            over, under_heading = "", text[line.body : stop]
            continue
        if not line.item and over and text[line.start - 2 : line.start] == "\n\n":
            over = ""  # a list ends with the paragraph after it
        lead = over or (under_heading if line.item else "")
        last = ""
        for start, end in _split(text, line.body, stop):
            yield Sentence(start, end, lead)
            last = text[start:end]
        if last.rstrip(_CLOSERS).endswith(":"):
            over = last
        elif not line.item and not lead:
            over = ""


def _lines(text: str) -> Iterator[_Line]:
    at = 0
    for whole in text.splitlines(keepends=True):
        stop = at + len(whole.rstrip())
        if stop > at:
            heading = _HEADING.match(text, at, stop)
            front = _FRONT.match(text, at, stop)
            body = at + len(whole) - len(whole.lstrip("# \t*_")) if heading else front.end() if front else at
            yield _Line(at, stop, min(body, stop), bool(front and front["item"]), heading is not None)
        at += len(whole)


def _paragraphs(lines: Iterator[_Line], text: str) -> Iterator[_Line]:
    """Lines that were only wrapped are one."""
    held: _Line | None = None
    for line in lines:
        if held is not None and _goes_on(held, line, text):
            held = _Line(held.start, line.stop, held.body, held.item, held.heading)
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _goes_on(before: _Line, line: _Line, text: str) -> bool:
    if line.item or line.heading or before.heading or not text[line.body : line.body + 1].islower():
        return False
    last = text.rfind("\n", before.start, before.stop) + 1
    wrapped = before.stop - max(last, before.start) >= _WRAPPED
    gap = text[before.stop : line.start]
    return wrapped and gap.count("\n") <= 1 and text[before.stop - 1] not in _ENDS


def _split(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    line = text[start:stop]
    at = 0
    for end in [*sentence_ends(line), len(line)]:
        said = line[at:end]
        kept = said.strip()
        if kept:
            begin = start + at + len(said) - len(said.lstrip())
            yield begin, begin + len(kept)
        at = end
