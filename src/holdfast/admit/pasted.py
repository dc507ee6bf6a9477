"""Which parts of a user's turn are the user's own words, and which were pasted: letters, pages, logs, code, quotations.

What somebody else wrote is kept and found with the turn; it is no statement of the user's, and an instruction in it is
nobody's. In doubt a part counts as pasted: that costs a record, never the turn. One pass over the lines, linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from holdfast.admit import pasted_cues as cue
from holdfast.admit.handed import handed_over

__all__ = ["OwnWords", "Pasted", "own_words", "pasted_parts"]


@dataclass(frozen=True, slots=True)
class Pasted:
    """A part that is not the user's own: text[start:end]."""

    start: int
    end: int
    what: str
    """In words, for the receipt: "a letter"."""


@dataclass(frozen=True, slots=True)
class OwnWords:
    """What the user said themselves, and what was set aside."""

    text: str
    parts: tuple[Pasted, ...] = ()

    @property
    def told(self) -> str:
        """The sentence of the receipt."""
        kinds = ", ".join(dict.fromkeys(part.what for part in self.parts))
        count = sum(part.end - part.start for part in self.parts)
        return f"its pasted part is not the user's own words: {kinds} ({count:,} characters)"


_LINE = 400
"""Characters of a line that are looked at: what a line is shows at its beginning."""
_INDENT = 8
_REPORTED_WORDS = 25
"""After "she wrote:" fewer words are a report in passing ("he said: no salt"), more are a text."""
_SAME_LINE_WORDS = 8
_QUOTED_WORDS = 30
"""Words between quotation marks that nobody says of themselves."""
_QUOTATION_CHARS = 8000
_SIGNATURE_LINES = 4
_TEXTS_KEPT = 2048
"""Texts whose parts are remembered: admission, the detector of rules and a digest ask for the same turn …"""
_MOST_CHARS_KEPT = 2000
"""… if it is no document."""
_GAP = 2  # lines of text between two of markup or code, which belong to it


def own_words(text: str, most: int | None = None) -> OwnWords:
    """The text without its pasted parts; with `most`, what follows so many characters is a document."""
    read = text if most is None else text[:most]
    parts = list(pasted_parts(read))
    if len(read) < len(text):
        parts.append(Pasted(len(read), len(text), "the rest of a very long text"))
    if not parts:
        return OwnWords(text)
    kept, at = [], 0
    for part in parts:
        kept.append(text[at : part.start])
        at = part.end
    kept.append(text[at:])
    return OwnWords("\n".join(piece.strip("\n") for piece in kept if piece.strip()), tuple(parts))


def pasted_parts(text: str) -> tuple[Pasted, ...]:
    """In order, none overlapping."""
    return _remembered(text) if len(text) <= _MOST_CHARS_KEPT else _found_in(text)


def _found_in(text: str) -> tuple[Pasted, ...]:
    lines = _Lines(text)
    found = [*_comments(text), *_contexts(text), *lines.handed(), *lines.parts()]
    found += _quotations(text, found)
    return tuple(_merged(found))


_remembered = lru_cache(maxsize=_TEXTS_KEPT)(_found_in)


def _merged(parts: Sequence[Pasted]) -> Iterator[Pasted]:
    last: Pasted | None = None
    for part in sorted(parts, key=lambda one: (one.start, -one.end)):
        if last is None or part.start >= last.end:
            if last is not None:
                yield last
            last = part
        elif part.end > last.end:
            last = Pasted(last.start, part.end, last.what)
    if last is not None:
        yield last


def _comments(text: str) -> Iterator[Pasted]:
    at = text.find("<!--")
    while at >= 0:
        end = text.find("-->", at)
        end = len(text) if end < 0 else end + 3
        yield Pasted(at, end, "a comment in a page")
        at = text.find("<!--", end)


def _contexts(text: str) -> Iterator[Pasted]:
    """What a model was shown of a memory (context/frame.py), true or forged, up to its last line: nobody's word.

    Without a line that ends it, all that follows is: whoever forges one leaves that line out.
    """
    if (at := text.find(cue.FRAME)) >= 0:
        closed = cue.FRAME_ENDS.match(text, text.rfind(cue.FRAME))
        yield Pasted(at, closed.end() if closed else len(text), "a context of a memory")


# Quotations inside a line ---------------------------------------------------------------------------------------------

_MARK = re.compile(r"[\"“”„«»]")
_CLOSES = {'"': '"', "“": "”", "„": "“”", "«": "»", "»": "«"}


def _quotations(text: str, known: Sequence[Pasted]) -> Iterator[Pasted]:
    """Long quotations: thirty words, or eight after "it says"."""
    inside = sorted((part.start, part.end) for part in known)
    starts = [start for start, _ in inside]
    opened: tuple[int, str] | None = None
    for mark in _MARK.finditer(text):
        at = mark.start()
        place = bisect_right(starts, at) - 1
        if place >= 0 and at < inside[place][1]:
            opened = None
        elif opened is not None and mark[0] in _CLOSES[opened[1]] and _is_closing(text, at, mark[0]):
            start = opened[0]
            if at - start <= _QUOTATION_CHARS and _is_foreign(text, start, at):
                yield Pasted(start, at + 1, "a long quotation")
            opened = None
        elif opened is None and mark[0] in _CLOSES and (at == 0 or not text[at - 1].isalnum()):
            opened = (at, mark[0])


def _is_closing(text: str, at: int, mark: str) -> bool:
    return mark != '"' or at + 1 == len(text) or not text[at + 1].isalnum()


def _is_foreign(text: str, start: int, end: int) -> bool:
    quoted = text[start + 1 : end]
    words = len(quoted.split())
    if words >= _QUOTED_WORDS:
        return True
    before = text[max(0, start - 80) : start].rstrip(" \t\n").removesuffix(":").rstrip()
    before = before[before.rfind("\n") + 1 :]
    told = cue.reports(before) or cue.announces(before)
    return words >= _SAME_LINE_WORDS and told and not cue.OWN.search(before)


# Lines ----------------------------------------------------------------------------------------------------------------


def _shown(line: str) -> str:
    """What is looked at of a line; a long indentation says no more than a short one."""
    text = line[:_LINE].rstrip()
    body = text.lstrip(" \t")
    return text[: len(text) - len(body)][:_INDENT] + body


class _Lines:
    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: list[int] = []
        self._lines: list[str] = []
        at = 0
        for line in text.split("\n"):
            self._starts.append(at)
            self._lines.append(_shown(line))
            at += len(line) + 1
        self._count = len(self._lines)

    def parts(self) -> Iterator[Pasted]:
        yield from self._runs()
        at = 0
        while at < self._count:
            found = self._opens(at) if self._lines[at] else None
            if found is None:
                at += 1
                continue
            start, last, what = found
            yield Pasted(start, self._end(last), what)
            at = last + 1

    def handed(self) -> Iterator[Pasted]:
        """What the host put before the user's words, and its word that they begin: "User question:"."""
        for block in handed_over(self._lines):
            yield Pasted(self._starts[block.first], self._end(block.last), block.what)
            if block.speaks is not None:
                line, label = block.speaks
                yield Pasted(self._starts[line], self._starts[line] + label, block.what)

    def _end(self, line: int) -> int:
        return self._starts[line + 1] - 1 if line + 1 < self._count else len(self._text)

    def _opens(self, at: int) -> tuple[int, int, str] | None:
        """What begins at this line, if anything does: where, its last line, and what it is."""
        line, here = self._lines[at], self._starts[at]
        if fence := cue.FENCE.match(line):
            closed = self._next(at, self._fences[fence[1]])
            return here, self._count - 1 if closed is None else closed, "fenced text"
        if cue.BEGIN.match(line) and (closed := self._next(at, self._ends)) is not None:
            return here, closed, "a marked text"
        if cue.QUOTED.match(line):
            return here, at, "quoted lines"
        if cue.FORWARDED.match(line):
            return here, self._until_again(at), "a forwarded message"
        if cue.HEADER.match(line) and any(map(cue.HEADER.match, self._lines[at + 1 : at + 3])):
            return here, self._until_again(at), "a message with its headers"
        if cue.SALUTATION.match(line) and (last := self._letter(at)) is not None:
            return here, last, "a letter"
        if (tag := cue.TAG.match(line)) and not tag[1]:
            closed = self._next(at, self._closing_tags[tag[2].lower()])
            if closed is not None:
                return here, closed, "markup"
        if cue.TRACEBACK.match(line):
            return here, self._traceback(at), "a stack trace"
        return self._announced(at)

    def _next(self, at: int, places: Sequence[int]) -> int | None:
        place = bisect_right(places, at)
        return places[place] if place < len(places) else None

    def _where(self, pattern: re.Pattern[str]) -> list[int]:
        return [number for number, line in enumerate(self._lines) if line and pattern.match(line)]

    @cached_property
    def _fences(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number in self._where(cue.FENCE):
            found[self._lines[number].lstrip()[:3]].append(number)
        return found

    @cached_property
    def _ends(self) -> list[int]:
        return self._where(cue.END)

    @cached_property
    def _sign_offs(self) -> list[int]:
        return self._where(cue.SIGN_OFF)

    @cached_property
    def _agains(self) -> list[int]:
        return [number for number in self._where(cue.AGAIN) if number and not self._lines[number - 1]]

    @cached_property
    def _delimiters(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number in self._where(cue.DELIMITER):
            found[self._lines[number].lstrip()[0]].append(number)
        return found

    @cached_property
    def _closing_tags(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number in self._where(cue.TAG):
            if (tag := cue.TAG.match(self._lines[number])) and tag[1]:
                found[tag[2].lower()].append(number)
        return found

    def _until_again(self, at: int) -> int:
        """The last line before the user speaks again, or of the turn."""
        again = self._next(at, self._agains)
        return self._count - 1 if again is None else again - 1

    def _letter(self, at: int) -> int | None:
        """From its salutation to the signature; without one it needs a body to be a letter."""
        sign_off = self._next(at, self._sign_offs)
        if sign_off is not None:
            last = sign_off
            for number in range(sign_off + 1, min(sign_off + 1 + _SIGNATURE_LINES, self._count)):
                if not self._lines[number] or cue.AGAIN.match(self._lines[number]):
                    break
                last = number
            return last
        last = self._until_again(at)
        words = sum(len(line.split()) for line in self._lines[at + 1 : min(last + 1, at + 12)])
        return last if words >= _REPORTED_WORDS else None

    def _traceback(self, at: int) -> int:
        for number in range(at + 1, self._count):
            if self._lines[number] and not self._lines[number][0].isspace():
                return number
        return self._count - 1

    def _announced(self, at: int) -> tuple[int, int, str] | None:
        """What the user says they paste, or what somebody wrote: "here is the letter:" and all that follows."""
        line = self._lines[at]
        colon = line.find(":")
        while 0 <= colon < len(line) - 1 and not line[colon + 1].isspace():  # 09:30, http://
            colon = line.find(":", colon + 1)
        if colon < 0:
            return None
        said, rest = line[:colon], line[colon + 1 :].strip()
        strong = cue.announces(said)
        if cue.OWN.search(said) or not (strong or cue.reports(said)):
            return None
        if rest:
            if not strong or rest[0] in _CLOSES or len(rest.split()) < _SAME_LINE_WORDS:
                return None  # quotation marks say where they end, and a few words are a report in passing
            return self._starts[at] + colon + 1, self._until_again(at), "an announced text"
        body = next((number for number in range(at + 1, min(at + 4, self._count)) if self._lines[number]), None)
        if body is None:
            return None
        if cue.FENCE.match(self._lines[body]) or cue.QUOTED.match(self._lines[body]):
            return None  # their own marks say where they end
        if cue.DELIMITER.match(self._lines[body]):
            closed = self._next(body, self._delimiters[self._lines[body].lstrip()[0]])
            return self._starts[body], self._count - 1 if closed is None else closed, "an announced text"
        last = self._end_of_quotation(body) or self._until_again(at)
        if (
            not strong
            and sum(len(one.split()) for one in self._lines[body : min(last + 1, body + 12)]) < _REPORTED_WORDS
        ):
            return None
        return self._starts[body], last, "an announced text"

    def _end_of_quotation(self, body: int) -> int | None:
        """The line that closes the quotation which begins with this one."""
        opening = self._lines[body].lstrip()[0]
        if opening not in _CLOSES:
            return None
        start = self._text.index(opening, self._starts[body])
        ends = (self._text.find(mark, start + 1, start + _QUOTATION_CHARS) for mark in _CLOSES[opening])
        end = min((end for end in ends if end >= 0), default=-1)
        return None if end < 0 else bisect_right(self._starts, end) - 1

    def _runs(self) -> Iterator[Pasted]:
        """Lines that show by their form what they are, together with the few between them."""
        for pattern, least, what in _RUNS:
            run: list[int] = []
            for number in [*self._where(pattern), self._count + _GAP + 2]:
                if run and number - run[-1] > _GAP + 1:
                    if len(run) >= least:
                        yield Pasted(self._starts[run[0]], self._end(run[-1]), what)
                    run = []
                run.append(number)
        patched = -1
        for number in self._where(cue.DIFF):
            last = number
            while number > patched and last + 1 < self._count and cue.PATCH.match(self._lines[last + 1]):
                last += 1
            if number > patched:
                yield Pasted(self._starts[number], self._end(last), "a patch")
                patched = last
        furniture = self._where(cue.FURNITURE)
        if len(furniture) > 1:
            first, last = furniture[0], furniture[-1]
            while first and self._lines[first - 1]:
                first -= 1
            while last + 1 < self._count and self._lines[last + 1]:
                last += 1
            yield Pasted(self._starts[first], self._end(last), "a web page")


_RUNS = (
    (cue.LOG, 1, "lines of a log"),
    (cue.CODE, 2, "code"),
    (cue.MARKUP, 1, "markup"),
    (cue.REMEMBERED, 1, "recalled memories"),
)
"""(form, lines that are needed, what it is)"""
