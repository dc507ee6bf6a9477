"""How a line shows that somebody else wrote it: a fence, a header, a salutation, a log's time, or the user's own word.

Every pattern is matched against one line of bounded length and has no nested repetition: linear on any text.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from holdfast.admit.phrases import either

__all__ = [
    "AGAIN",
    "BEGIN",
    "CODE",
    "DELIMITER",
    "DIFF",
    "END",
    "FENCE",
    "FORWARDED",
    "FRAME",
    "FRAME_ENDS",
    "FURNITURE",
    "HEADER",
    "HTML",
    "LOG",
    "MARKUP",
    "OWN",
    "PATCH",
    "QUOTED",
    "REMEMBERED",
    "SALUTATION",
    "SIGN_OFF",
    "TAG",
    "TRACEBACK",
    "announces",
    "reports",
]

_I = re.IGNORECASE

FRAME = "[[memory "
FRAME_ENDS = re.compile(r"\[\[memory \w{1,64} ends\]\]")
REMEMBERED = re.compile(r"[ \t]*[-*•][ \t]+\[[rt]-[0-9a-z]{8,40}, ")
"""A line of our tools' answers (serve/mcp/telling.py)."""
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
_TOLD = re.compile(
    rf"\b(?:{_SAYS}(?: (?:this|that|back|to me|us|as follows|and i quote))?[ \t]*,?$|{_THING}$)",
    _I,
)
_SHOWN = re.compile(rf"\b{_SHOWS}\b", _I)
_POINTED = re.compile(r"\b(?:this|these|following|below)\b", _I)
_NAMED = re.compile(rf"\b{_THING}\b", _I)
_SHOWN_WITHIN, _POINTED_WITHIN = 60, 30
"""Characters between the word that points and the thing it points at."""


def announces(text: str) -> bool:
    """Whether the user says that what follows is pasted: "here is the letter", "pasted", "this is what he wrote"."""
    return _PASTED.search(text) is not None or _names_a_thing(text, _SHOWN, _SHOWN_WITHIN)


def reports(text: str) -> bool:
    """Whether somebody wrote it, or it is to be worked on: what follows is theirs if it is long."""
    return _TOLD.search(text) is not None or _names_a_thing(text, _POINTED, _POINTED_WITHIN)


def _names_a_thing(text: str, pointer: re.Pattern[str], within: int) -> bool:
    """Whether a thing that can be pasted is named soon after a word that points, with no colon between them.

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
