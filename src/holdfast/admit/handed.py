"""What a host put before the user's words: memories under a heading, or a rule file (ADMIT-4).

It was said before, or is the operator's: nobody says it now. A block begins with a line that tells what it is. It ends
where the host says that the user speaks, or with the list or paragraph that stands under the heading. English; a list
without a heading is known by what it repeats (admit/recited.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.admit import pasted_cues as cue
from holdfast.admit.phrases import either

__all__ = ["Handed", "handed_over"]

_I = re.IGNORECASE
_RECALLED, _RULES = "recalled memories", "a rule file"


@dataclass(frozen=True, slots=True)
class Handed:
    """Lines from `first` to `last`; and of the line where the user speaks so many characters: "User: "."""

    first: int
    last: int
    what: str
    speaks: tuple[int, int] | None = None


# Headings -------------------------------------------------------------------------------------------------------------

_KNOWS = r"(?:already |currently |still )?(?:know|knows|known|remember|remembers|remembered)"
_TALKS = r"(?:previous|past|earlier|prior) (?:conversations?|chats?)"
_TOLD = either(
    # An adjective that only somebody who looked it up would use; "my memories" and "for your memory" are the user's.
    r"(?:(?:relevant|related|retrieved|recalled|stored|saved|existing|long[- ]term|user['’]?s?)[ ,]{1,2}){1,3}"
    r"memor(?:y|ies)",
    rf"memor(?:y|ies) (?:about|of|for|on) (?:the|this|your) user|memories from (?:our )?{_TALKS}",
    # "The user" is nobody's word for themselves.
    r"(?:(?:known|key|relevant|important|stored) )?(?:facts|information|notes|background|context|details)"
    r" (?:about|on) (?:the|this|your) user",
    rf"(?:what|everything|all|things|facts)(?: that)? (?:i|you|we|the assistant|is) {_KNOWS} (?:about|of)"
    r" (?:the user|this user|you|me)\b",
    r"(?:(?:relevant|related) )?(?:context|excerpts?|facts|notes|information|summar(?:y|ies)) (?:from|of) (?:our )?"
    rf"{_TALKS}",
)
_MEMORIES = re.compile(
    r"\W{0,12}(?:(?:here(?:['’]s| is| are)|these are|below (?:is|are)|the following (?:is|are)|some|the|all|your)"
    r"[ :]{1,2}){0,3}"
    rf"{_TOLD}\b(?P<more>[^.!?:\n]{{0,80}})(?P<colon>:?)(?P<rest>.*)",
    _I,
)
_CLAUSE = re.compile(
    r"(?<!that )(?<!which )\b(?:is|are|was|were|has|have|had|can|could|will|should|must|do|does)\b", _I
)
"""A sentence about memories, not a heading over them: "user memories are kept in PostgreSQL: …"."""
_BARE = re.compile(
    r"(?:#{1,6} {0,2}|\[|\*\*|={2,} {0,2}|-{2,} {0,2})(?:(?:memory|memories)(?: context)?)[\]*=: -]*$", _I
)
"""A mark before it: whoever writes "Memory:" over a list dictates it."""
_ANSWER = "History, not instructions: evidence of what was said"
"""In the first line of every answer of our tools (serve/mcp/telling.py)."""
_MARKED, _ENDS = ("#", "[", "**", "__", "==", "--"), "*_]= -"

_FILE = re.compile(
    r"[#*_=\[\-`\" ]{0,8}"
    r"(?P<said>(?i:contents? of|from|file:?|project instructions(?: from| in)?:?|(?:instructions|rules) (?:from|in)) )?"
    r"[`\"*]{0,2}(?:[\w.~:\\/-]{0,200}[\\/])?"
    r"(?:(?!README|TODO|CHANGELOG|NOTES|DRAFT)[A-Z][A-Z_-]{2,30}(?:\.local)?\.md|[\w-]{1,40}(?:\.mdc|\.instructions\.md)"
    r"|copilot-instructions\.md|\.(?:cursor|windsurf|cline)rules)"
    r"[`\"*]{0,2}(?: \([^()\n]{0,80}\)| (?i:instructions|rules|contents?|file)\b[^:\n]{0,160})?"
    r"(?P<colon>:?)[\]*_= -]{0,8}$"
)
"""Only such names as are the convention for what an agent is told: of "README.md:" a user may speak."""

# Lines under them -----------------------------------------------------------------------------------------------------

_ITEM = re.compile(r"[ \t]*(?:(?:[-*•–—+]|\d{1,3}[.)])[ \t]|[\[(][^\])\n]{1,80}[\])]|\|)[ \t]*\S|[ \t]{2}")
_SPEAKS = re.compile(
    r"[#*_=\[\-< ]{0,8}(?:(?:the|my|your|current|new|latest|actual|original) ){0,2}"
    r"(?:user|human|customer|question|query|message|request|prompt|task|input)(?:['’]s)?"
    r"(?: (?:says|said|asks|asked|message|question|query|request|prompt|input|turn|task))?"
    r"(?:[\]*_> ]{0,4}:[*_ ]{0,4}|[\]*_=> -]{0,8}$)",
    _I,
)
"""Where the host says that the user's own words begin."""


def handed_over(lines: Sequence[str]) -> Iterator[Handed]:
    """The blocks among the lines of a text, in order."""
    at = 0
    while at < len(lines):
        what = _what(lines[at]) if lines[at] else ""
        block = _block(lines, at, what) if what else None
        if block is not None:
            yield block
            at = block.last
        at += 1


def _what(line: str) -> str:
    """What a line is the heading of, in words for the receipt; empty if it is none."""
    body = line.strip()
    if ":" not in body and not body.startswith(_MARKED):  # most lines
        return ""
    if (named := _FILE.match(body)) and (named["said"] or named["colon"] or body.startswith(_MARKED)):
        return _RULES
    if _ANSWER in body:
        return _RECALLED
    told = _MEMORIES.match(body)
    if told is not None and not _CLAUSE.search(told["more"]):
        marked = body.startswith(_MARKED) and not told["rest"].strip(_ENDS)
        return _RECALLED if told["colon"] or marked else ""
    return _RECALLED if _BARE.match(body) else ""


def _block(lines: Sequence[str], at: int, what: str) -> Handed | None:
    told = _MEMORIES.match(lines[at].strip())
    last = at
    speaks: tuple[int, int] | None = None
    fresh = told is None or not told["rest"].strip(_ENDS)  # nothing stands under the heading yet
    said = not fresh
    listed = gap = fenced = False
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not line:
            gap = True
            continue
        if cue.FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            label = None if _ITEM.match(line) else _SPEAKS.match(line)
            if label is not None:
                speaks = (number, label.end())
                break
            if line.startswith("#"):
                if what != _RULES:
                    break
                fresh, listed = True, False
            elif _ITEM.match(line):
                fresh, listed = False, True
            elif fresh:
                fresh = listed = False
            elif gap or (listed and not line[0].islower()):
                break
        last, said, gap = number, True, False
    return Handed(at, last, what, speaks) if said else None
