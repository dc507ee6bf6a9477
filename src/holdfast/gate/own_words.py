"""Separate the user's own words from pasted text: letters, pages, logs, code, quotations.

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

from holdfast.text.vocabulary import either

# --- How a line shows that somebody else wrote it: a fence, a header, a salutation, a log's time, or the user's
# own word.
#
# Every pattern is matched against one line of bounded length and has no nested repetition: linear on any text.


_I = re.IGNORECASE

FRAME = "[[memory "
FRAME_ENDS = re.compile(r"\[\[memory \w{1,64} ends\]\]")
REMEMBERED = re.compile(r"[ \t]*[-*•][ \t]+\[[rt]-[0-9a-z]{8,40}, ")
"""A line of our tools' answers (serve/mcp/text.py)."""
FENCE = re.compile(r"[ \t]*(```|~~~)")
QUOTED = re.compile(r"[ \t]{0,8}(?:[>|] ?[^\s\d=<>|]|>\s*$|>> |>>> )")  # "> 5 kg" is a comparison
DELIMITER = re.compile(r"[ \t]*(?:(-|=|\*|_|~|#|\+|<|>|\"|'|—|–)(?:\1|[ \t](?=\1)){2,})[ \t]*$")
BEGIN = re.compile(
    r"\W{0,12}(?:begin|start|beginning)(?: of)?\b[^.!?]{0,40}"
    r"\b(?:quote|paste|letter|e-?mail|mail|message|document|text|file|log|transcript|article|certificate|key|request)"
    r"\b[^.!?]{0,20}$",
    _I,
)
END = re.compile(r"\W{0,12}(?:end|eof)\b(?: of)?[^.!?]{0,40}$", _I)

FORWARDED = re.compile(
    r"\W{0,16}(?:begin )?(?:forwarded|original) (?:message|e-?mail|mail)\b|\W{0,16}(?:fwd?|fw): "
    r"|\W{0,16}weitergeleitete nachricht"
    r"|\W{0,4}on .{4,80}\bwrote:\s*$|\W{0,4}am .{4,80}\bschrieb\b.{0,60}:\s*$|\W{0,4}le .{4,80}\ba écrit\s?:\s*$"
    r"|\W{0,4}el .{4,80}\bescribió:\s*$",
    _I,
)
HEADER = re.compile(
    r"[ \t*]{0,4}(?:from|to|cc|bcc|date|sent|subject|re|reply-to|message-id|return-path|received|mime-version"
    r"|content-type|x-[a-z-]{2,30}|von|an|betreff|gesendet|de|para|asunto|objet|envoyé)\*{0,2}[ \t]?:[ \t*]{0,4}\S",
    _I,
)
SALUTATION = re.compile(
    r"[ \t]*(?:dear (?!diary|claude|assistant|chat|gpt|ai\b)[^.!?:;]{2,80}|to whom it may concern"
    r"|sehr geehrte[rs]? .{2,80}"
    r"|liebe[r]? .{2,60}|estimad[oa]s? .{2,80}|ch(?:er|ère) .{2,60}|gentile .{2,60}|prezad[oa] .{2,60})[,:!]?[ \t]*$"
    r"|[ \t]*dear (?!diary|claude|assistant)[^.!?:;,]{2,60},",
    _I,
)
SIGN_OFF = re.compile(
    r"[ \t]*(?:yours? (?:sincerely|faithfully|truly)|(?:kind|best|warm|many|with)(?: kind| best"
    r"| warm)? (?:regards|wishes)"
    r"|regards|sincerely|respectfully|cordially|(?:many )?thanks|best|cheers|love|mit freundlichen grüßen|viele grüße"
    r"|cordialement|atentamente|saludos|un saludo|cordiali saluti|atenciosamente)(?:[,.!]|\s*$"
    r"|,? [A-Z][\w. -]{1,40}$)",
    _I,
)

TRACEBACK = re.compile(r"[ \t]*(?:traceback \(most recent call last\)|stack ?trace:|exception in thread )", _I)
LOG = re.compile(
    r"[ \t]*\[?\d{4}[-/.]\d\d[-/.]\d\d[T ]\d\d:\d\d:\d\d"
    r"|[ \t]*\[?\d\d:\d\d:\d\d[\d.,]*\]?[ \t]+\S"
    r"|[ \t]*[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d "
    r"|[ \t]*\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\]?[: \t\]-]"
    r"|[ \t]*(?:npm (?:ERR!|WARN)|panic: |Caused by: |fatal: |error(?:\[\w+\])?: |warning: |FAILED |E {2,})"
    r"|[ \t]+at [\w$.<>/]+ ?\(|[ \t]*File \"[^\"]{1,200}\", line \d|[ \t]*\d{1,3}(?:\.\d{1,3}){3} - "
    r"|[ \t]*(?:\$|[\w.-]{1,30}@[\w.-]{1,40}[:~][^$#]{0,60}[$#]|PS [A-Z]:\\[^>]{0,80}>) [a-z./~]"
    r"|[ \t]*\[\d{1,2}[:./]\d\d[^\]]{0,24}\] [^:]{1,40}: "  # an exported chat
    r"|[ \t]*\d{1,2}[/.]\d{1,2}[/.]\d{2,4},? \d{1,2}:\d\d.{0,12} - [^:]{1,40}: "
)
DIFF = re.compile(r"diff --git |@@ -\d|index [0-9a-f]{7,40}\.\.")
PATCH = re.compile(r"[+\-@ \t]|index |\\ No newline")
CODE = re.compile(
    r"[ \t]*(?:async )?(?:def \w+\(|class \w+[:({]|func \w+\(|fn \w+[(<]|function \w*\("
    r"|import [\w.{*\"'@/]+(?: as \w+)?;?\s*$"
    r"|from [\w.]+ import |#include |(?:const|let|var|val) \w+ ?[=:]|(?:public|private|protected|static) \w+[ (]"
    r"|(?:if|for|while|switch|elif|catch) ?\(.*[{:]\s*$|return [^ ]*;?\s*$|return .*[;'\")\]}]\s*$|(?:else|try"
    r"|finally) ?[{:]\s*$"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE|JOIN) \S|@\w+\(?|//|/\*|\*/)"
    r"|[ \t]*[}\])]+[,;]?\s*$|.{0,200}[{;]\s*$|[ \t]*\"[\w .-]{1,60}\" ?: .{0,200}$"
    r"|[ \t]*[\w.]+ ?=(?!=) ?[\w\"'\[{(].{0,200}[)\]}\"']\s*$"
)

HTML = re.compile(r"[ \t]*<(?:!doctype|\?xml|html|head|body|div|table|script|style|svg)\b", _I)
MARKUP = re.compile(r"[ \t]*</?[a-zA-Z][\w:-]{0,40}(?:[ \t][^<>]{0,300})?/?>|[ \t]*<[!?]")
TAG = re.compile(r"[ \t]*<(/?)([a-zA-Z][\w:-]{0,40})(?:[ \t][^<>]{0,300})?>[ \t]*$")
FURNITURE = re.compile(
    r"[ \t]*[^|·»›\s][^|·»›]{0,29}(?:[ \t][|·»›][ \t][^|·»›]{1,30}){2,12}\s*$"
    r"|[ \t]*(?:©|\(c\) \d{4}|[★☆]{3,}|skip to (?:main )?content|accept (?:all )?cookies|(?:privacy"
    r"|cookie) policy|all rights reserved"
    r"|terms (?:of service|and conditions)|share (?:this|on) |subscribe to |sign (?:in|up)\s*$|log ?in\s*$"
    r"|advertisement\s*$"
    r"|read more\b|related articles|\d{1,6} comments\s*$|\d{1,3} min(?:ute)?s? read|add to (?:cart|basket)"
    r"|posted (?:on|by) )",
    _I,
)

# What the user says of it ---------------------------------------------------------------------------------------------

_THING = either(
    r"letters?|e-?mails?|mails?|messages?|pages?|web ?sites?|articles?|posts?|posting|threads?|transcripts?|logs?"
    r"|output|errors?|stack ?traces?|tracebacks?|repl(?:y|ies)|responses?|reviews?|listings?|advert(?:isement)?|ad"
    r"|notices?|contracts?|clauses?|terms|excerpts?|extracts?|passages?|paragraphs?|texts?|snippets?|readme|docs?"
    r"|documents?|documentation|changelog|release notes|tickets?|bug reports?|announcements?|newsletters?|invoices?"
    r"|press release|abstract|tweets?|comments?|memos?|minutes|syllabus|job description|policy|leaflets?|reports?|sms"
    r"|voicemails?|wikipedia|blurb|description|file|code|quotes?|quotations?|statements?|chat"
)
_PASTES = r"(?:past(?:e|ed|ing)|cop(?:y|ied|ying)(?:[- ]past(?:e|ed|ing))?|forward(?:ed|ing)|quot(?:e|ing)|screenshot)"
_SHOWS = either(
    r"here(?:['’]s| is| are|['’]re)?|this is|below|following|attached|see|found|got|received|sent me|look at|check"
    r"|from"
)
_SAYS = either(
    r"says?|said|reads?|wrote|writes|replied|answered|answers|states?|stated|goes|tells? me|told me"
    r"|sent(?: me)?(?: this)?"
    r"|posted|e-?mailed(?: me)?|texted(?: me)?|messaged(?: me)?"
)
OWN = re.compile(
    rf"\b(?:i (?:wrote|['’]?ve written|have written|drafted|made|came up with|want|need|think|prefer|know"
    rf"|would)|by me\b"
    rf"|myself|(?:my|our) (?!\w+['’]s )(?:own )?(?:\w+ )?{_THING}\b(?! (?:from|by|of)\b)"
    rf"|(?:my|our) (?:own |first |last |latest |new )?(?:draft|version|attempt|poem|story|essay|list|notes?"
    rf"|plan|speech)\b)",
    _I,
)
"""The user says that the words are theirs: "here is my text", "a poem I wrote", not "my landlord's letter"."""
_PASTED = re.compile(
    rf"\b(?:{_PASTES}\b|(?:here['’]s|here is|this is) (?:exactly )?what (?!i\b|we\b|you\b)[^:]{{1,60}}\b{_SAYS}\b)", _I
)
_REPORTED = re.compile(
    rf"\b(?:{_SAYS}(?: (?:this|that|back|to me|us|as follows|and i quote))?[ \t]*,?$|{_THING}$)",
    _I,
)
_SHOWN = re.compile(rf"\b{_SHOWS}\b", _I)
_POINTED = re.compile(r"\b(?:this|these|following|below)\b", _I)
_NAMED = re.compile(rf"\b{_THING}\b", _I)
_SHOWN_WITHIN, _POINTED_WITHIN = 60, 30
"""Characters between the word that points and the thing it points at."""


def announces(text: str) -> bool:
    """Return True if the user announces pasted text: "here is the letter", "pasted", "this is what he wrote"."""
    return _PASTED.search(text) is not None or _names_a_thing(text, _SHOWN, _SHOWN_WITHIN)


def reports(text: str) -> bool:
    """Return True if a long text that follows is somebody else's: it was written by them or is to be worked on."""
    return _REPORTED.search(text) is not None or _names_a_thing(text, _POINTED, _POINTED_WITHIN)


def _names_a_thing(text: str, pointer: re.Pattern[str], within: int) -> bool:
    """Return True if a thing that can be pasted is named soon after a pointing word, with no colon between them.

    Both are looked for once: a pattern that goes on looking from every word that points is slow where all of them do.
    """
    ends = [match.end() for match in pointer.finditer(text)]
    for thing in _NAMED.finditer(text) if ends else ():
        place = bisect_right(ends, thing.start())
        gap = text[ends[place - 1] : thing.start()] if place else ":"
        if len(gap) <= within and ":" not in gap:
            return True
    return False


AGAIN = re.compile(
    r"[ \t]*+(?:(?:so|ok(?:ay)?|anyway|right|now|well)\b[,.:!…]* ?(?:what|can|could|how|do|does|is|are|should"
    r"|would|i\b|i['’]|my\b"
    r"|we\b|that|this|please|tell|help)"
    r"|what (?:do|should|would|does|can) (?:you|i|we|this|that|it)\b|(?:can|could|would|will) you\b"
    r"|(?:any )?(?:thoughts|ideas?)\b.{0,30}\?"
    r"|(?:that|this)(?:['’]s| is| was) (?:it|all|the end|the whole|what (?:it|they|she|he))\b"
    r"|(?:please )?(?:summari[sz]e|explain|translate|rewrite|proofread|reply to) (?:this|that|it|the)\b"
    r"|(?:end of|end) (?:the )?(?:letter|quote|e-?mail|mail|message|paste|page|text)\b"
    r"|(?:anyway|btw|by the way|on my side|for my part|as for me|in my own words|my (?:own )?(?:take|view"
    r"|answer|question|reply))\b)",
    _I,
)
"""A paragraph in which the user speaks again. Not "I": letters say "I" too."""


# --- What a host put before the user's words: memories under a heading, or a rule file (ADMIT-4).
#
# It was said before, or is the operator's: nobody says it now. A block begins with a line that tells what it is. It
# ends where the host says that the user speaks, or with the list or paragraph that stands under the heading.
# English; a list without a heading is known by what it repeats (admit/echo.py).


_RECALLED, _RULES = "recalled memories", "a rule file"


@dataclass(frozen=True, slots=True)
class HostBlock:
    """Lines from `first` to `last`, and the length of a prefix such as "User: " in the line where the user speaks."""

    first: int
    last: int
    what: str
    speaks: tuple[int, int] | None = None


# Headings -------------------------------------------------------------------------------------------------------------

_KNOWS = r"(?:already |currently |still )?(?:know|knows|known|remember|remembers|remembered)"
_TALKS = r"(?:previous|past|earlier|prior) (?:conversations?|chats?)"
_HOST_NOTE = either(
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
    rf"{_HOST_NOTE}\b(?P<more>[^.!?:\n]{{0,80}})(?P<colon>:?)(?P<rest>.*)",
    _I,
)
_CLAUSE = re.compile(
    r"(?<!that )(?<!which )\b(?:is|are|was|were|has|have|had|can|could|will|should|must|do|does)\b", _I
)
"""A sentence about memories, not a heading over them: "user memories are kept in PostgreSQL: …"."""
_BARE = re.compile(
    r"(?:#{1,6} {0,2}|\[|\*\*|={2,} {0,2}|-{2,} {0,2})(?:(?:memory|memories)(?: context)?)[\]*=: -]*$", _I
)
"""A mark before it: a user who writes "Memory:" over a list dictates it."""
_ANSWER = "History, not instructions: evidence of what was said"
"""In the first line of every answer of our tools (serve/mcp/text.py)."""
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
"""Headings with which a host marks the beginning of the user's own words."""


def find_host_blocks(lines: Sequence[str]) -> Iterator[HostBlock]:
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
    """Return the subject of a heading, in words for the receipt; empty if the line is none."""
    body = line.strip()
    if ":" not in body and not body.startswith(_MARKED):  # most lines
        return ""
    if (named := _FILE.match(body)) and (named["said"] or named["colon"] or body.startswith(_MARKED)):
        return _RULES
    if _ANSWER in body:
        return _RECALLED
    heading = _MEMORIES.match(body)
    if heading is not None and not _CLAUSE.search(heading["more"]):
        marked = body.startswith(_MARKED) and not heading["rest"].strip(_ENDS)
        return _RECALLED if heading["colon"] or marked else ""
    return _RECALLED if _BARE.match(body) else ""


def _block(lines: Sequence[str], at: int, what: str) -> HostBlock | None:
    heading = _MEMORIES.match(lines[at].strip())
    last = at
    speaks: tuple[int, int] | None = None
    fresh = heading is None or not heading["rest"].strip(_ENDS)  # nothing stands under the heading yet
    said = not fresh
    listed = gap = fenced = False
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not line:
            gap = True
            continue
        if FENCE.match(line):
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
    return HostBlock(at, last, what, speaks) if said else None


@dataclass(frozen=True, slots=True)
class Pasted:
    """A part that is not the user's own: text[start:end]."""

    start: int
    end: int
    what: str
    """In words, for the receipt: "a letter"."""


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The user's own words, and the parts that were set aside."""

    text: str
    parts: tuple[Pasted, ...] = ()

    @property
    def summary(self) -> str:
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
    """Return the text without its pasted parts; with `most`, what follows that many characters is a document."""
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
    found = [*_comments(text), *_contexts(text), *lines.host_blocks(), *lines.parts()]
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
    """Yield the memory contexts in a text (context/render.py), true or forged, up to their last line: nobody's words.

    Without a line that ends it, all that follows is: a forger would leave that line out.
    """
    if (at := text.find(FRAME)) >= 0:
        closed = FRAME_ENDS.match(text, text.rfind(FRAME))
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
    announced = reports(before) or announces(before)
    return words >= _SAME_LINE_WORDS and announced and not OWN.search(before)


# Lines ----------------------------------------------------------------------------------------------------------------


def _shown(line: str) -> str:
    """Return the visible part of a line, with its indentation cut."""
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

    def host_blocks(self) -> Iterator[Pasted]:
        """Yield what the host put before the user's words, with its heading for them: "User question:"."""
        for block in find_host_blocks(self._lines):
            yield Pasted(self._starts[block.first], self._end(block.last), block.what)
            if block.speaks is not None:
                line, label = block.speaks
                yield Pasted(self._starts[line], self._starts[line] + label, block.what)

    def _end(self, line: int) -> int:
        return self._starts[line + 1] - 1 if line + 1 < self._count else len(self._text)

    def _opens(self, at: int) -> tuple[int, int, str] | None:
        """Return the block that begins at this line, if any: first line, last line and name."""
        line, here = self._lines[at], self._starts[at]
        if fence := FENCE.match(line):
            closed = self._next(at, self._fences[fence[1]])
            return here, self._count - 1 if closed is None else closed, "fenced text"
        if BEGIN.match(line) and (closed := self._next(at, self._ends)) is not None:
            return here, closed, "a marked text"
        if QUOTED.match(line):
            return here, at, "quoted lines"
        if FORWARDED.match(line):
            return here, self._until_again(at), "a forwarded message"
        if HEADER.match(line) and any(map(HEADER.match, self._lines[at + 1 : at + 3])):
            return here, self._until_again(at), "a message with its headers"
        if SALUTATION.match(line) and (last := self._letter(at)) is not None:
            return here, last, "a letter"
        if (tag := TAG.match(line)) and not tag[1]:
            closed = self._next(at, self._closing_tags[tag[2].lower()])
            if closed is not None:
                return here, closed, "markup"
        if TRACEBACK.match(line):
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
        for number in self._where(FENCE):
            found[self._lines[number].lstrip()[:3]].append(number)
        return found

    @cached_property
    def _ends(self) -> list[int]:
        return self._where(END)

    @cached_property
    def _sign_offs(self) -> list[int]:
        return self._where(SIGN_OFF)

    @cached_property
    def _agains(self) -> list[int]:
        return [number for number in self._where(AGAIN) if number and not self._lines[number - 1]]

    @cached_property
    def _delimiters(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number in self._where(DELIMITER):
            found[self._lines[number].lstrip()[0]].append(number)
        return found

    @cached_property
    def _closing_tags(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for number in self._where(TAG):
            if (tag := TAG.match(self._lines[number])) and tag[1]:
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
                if not self._lines[number] or AGAIN.match(self._lines[number]):
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
        """Return the block that the user announces: "here is the letter:" and all that follows."""
        line = self._lines[at]
        colon = line.find(":")
        while 0 <= colon < len(line) - 1 and not line[colon + 1].isspace():  # 09:30, http://
            colon = line.find(":", colon + 1)
        if colon < 0:
            return None
        said, rest = line[:colon], line[colon + 1 :].strip()
        strong = announces(said)
        if OWN.search(said) or not (strong or reports(said)):
            return None
        if rest:
            if not strong or rest[0] in _CLOSES or len(rest.split()) < _SAME_LINE_WORDS:
                return None  # quotation marks say where they end, and a few words are a report in passing
            return self._starts[at] + colon + 1, self._until_again(at), "an announced text"
        body = next((number for number in range(at + 1, min(at + 4, self._count)) if self._lines[number]), None)
        if body is None:
            return None
        if FENCE.match(self._lines[body]) or QUOTED.match(self._lines[body]):
            return None  # their own marks say where they end
        if DELIMITER.match(self._lines[body]):
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
        for number in self._where(DIFF):
            last = number
            while number > patched and last + 1 < self._count and PATCH.match(self._lines[last + 1]):
                last += 1
            if number > patched:
                yield Pasted(self._starts[number], self._end(last), "a patch")
                patched = last
        furniture = self._where(FURNITURE)
        if len(furniture) > 1:
            first, last = furniture[0], furniture[-1]
            while first and self._lines[first - 1]:
                first -= 1
            while last + 1 < self._count and self._lines[last + 1]:
                last += 1
            yield Pasted(self._starts[first], self._end(last), "a web page")


_RUNS = (
    (LOG, 1, "lines of a log"),
    (CODE, 2, "code"),
    (MARKUP, 1, "markup"),
    (REMEMBERED, 1, "recalled memories"),
)
"""(form, lines that are needed, what it is)"""
