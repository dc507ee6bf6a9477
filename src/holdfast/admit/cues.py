"""What a sentence takes back: "switched from X to Y", "X instead of Y", "not X", "no longer", "sold the X"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from holdfast.admit.attributes import expanded
from holdfast.admit.replacement import REMEMBERED

__all__ = ["Change", "adds_beside", "changes", "clauses"]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that the sentence says has changed, in its own words."""

    subject: str = ""
    """Who or what changed something; empty when the clause does not say."""
    thing: str = ""
    """What moved, rose or was renamed; empty when only a former value is named."""
    former: str = ""
    """The value that holds no longer."""
    to: str = ""
    """The value that holds now."""
    how: str = ""
    """The cue, for the receipt."""


_BREAK = re.compile(
    r"[,;:!?()]\s++|(?<!\s)\s++[–—-]\s++|(?<=[a-z]{2})\.\s++|(?<!\s)\s++(?:but|and now|because|so)\s++", re.IGNORECASE
)
_MOST_CLAUSES = 8
_MOST_CHARS = 300


def _any(text: str) -> str:
    """One of the phrases of a list, parted by commas; the longest that fits."""
    phrases = sorted((phrase.strip() for phrase in text.split(",")), key=len, reverse=True)
    return f"(?:{'|'.join(phrases)})"


# Spans are bounded in words and words in letters, so that no pattern can run away on a long text (SAFE-4).
_WORD = r"[\w'’./:@#+`-]{1,60}"
_W = rf"(?:{_WORD} ){{0,6}}{_WORD}"
_L = rf"(?:{_WORD} ){{0,6}}?{_WORD}"  # the same, as short as it can be
_WHO = rf"^(?:and )?(?P<s>{_L}) (?:have |has |had |ve )?(?:all |finally |recently )?"
_WAS = r"(?:(?:have|has|had|been|be|is|are|was|were|got|gets|get|s|being|will|going|gone) ){0,4}"
_MOVED = _any(
    """moved, migrated, switched, upgraded, downgraded, changed, raised, lowered, increased, reduced, bumped, pushed,
    pushed back, postponed, rescheduled, shifted, extended, cut, brought forward, put off, delayed, transferred,
    updated, set, ported"""
)
_ROSE = _any(
    """moved, changed, went up, gone up, goes up, went down, dropped, rose, risen, grew, grown, increased, decreased,
    fell, slipped, migrated, switched"""
)
_ENDED = _any(
    """cancelled, canceled, called off, scrapped, sold, got rid of, gave away, given away, gave up, given up, stopped,
    quit, dropped out of, dropped, ditched, withdrew, withdrawn, abandoned, lost, threw out, returned, deleted, removed,
    left, retired from, finished with, gone off the idea of, gone off, decided against, decided not to,
    changed my mind about, lost interest in, gave up on, given up on, done with, finished, rehomed, stop, quit using,
    stopped using, stop using, had to cancel, have to cancel, changed our minds about, going off, giving up,
    stepped down as, dropping, phasing out"""
)
_OVER = _any(
    """died, passed away, is over, is gone, are gone, was stolen, got stolen, ran away, was put down, broke down,
    did not work out, fell apart, fell through, no longer exists"""
)
_OFF = _any("cancelled, canceled, called off, scrapped, not happening, postponed$, put off$, delayed$, (?<=is )off$")
_PARTED = _any("broke up, broken up, split up, split, separated, divorced, got divorced, parted")
_WELL = _any("fine, better, healed, ok, okay, recovered, fixed, repaired, mended, working, works, cured")
_FOLLOWED = _any("replaced, replaces, succeeded, took over from, takes over from, taken over from")


def _c(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _first(*lists: str) -> frozenset[str]:
    """The first words of the phrases of a list."""
    return frozenset(word for phrases in lists for word in re.findall(r"(?<=[(:|) ])(\w+)[^|]*", phrases))


# Groups: s who changed it, o the thing, f the former value, v the value now. The words are those of which a clause must
# have one for the pattern to fit: most clauses tell of no change, and looking for a word is cheaper.
_PATTERNS: tuple[tuple[str, frozenset[str], re.Pattern[str]], ...] = (
    (
        "switched from",
        _words("from"),
        _c(
            rf"{_WHO}{_WAS}(?:switched|moved|migrated|changed|converted|went|gone) (?:over )?from (?P<f>{_L}) "
            rf"to (?P<v>{_W})"
        ),
    ),
    (
        "change from",
        _words("from"),
        _c(
            rf"\b(?:change|switch|move|shift|transition|transitioned|transitioning|switching) from (?P<f>{_L}) "
            rf"to (?P<v>{_W})"
        ),
    ),
    (
        "moved to",
        _first(_MOVED),
        _c(
            rf"{_WHO}{_MOVED} (?P<o>{_L})(?: over)?(?: (?:from|off|away from) (?P<f>{_L}))? "
            rf"(?:to|until) (?P<v>{_W})"
        ),
    ),
    (
        "changed to",
        _first(_MOVED, _ROSE),
        _c(rf"^(?P<o>{_L}) {_WAS}(?:{_MOVED}|{_ROSE})(?: from (?P<f>{_L}))? (?:to|until|for) (?P<v>{_W})"),
    ),
    (
        "reached",
        _words("past passed reached hit up down"),
        _c(rf"^(?P<o>{_L}) {_WAS}(?:past|passed|reached|hit|up to|down to) (?P<v>{_W})$"),
    ),
    (
        "rewritten in",
        _words("rewrote rewritten rebuilt ported reimplemented"),
        _c(rf"{_WHO}(?:rewrote|rewritten|rebuilt|ported|reimplemented) (?P<o>{_L}) (?:in|on|with|to) (?P<v>{_W})"),
    ),
    ("took over", _words("over"), _c(rf"\b(?:took|takes|taken) over (?P<o>{_L}) from (?P<f>{_W})$")),
    ("replaced", _words("replace replacing"), _c(rf"\b(?:to replace|replacing) (?P<f>{_W})$")),
    (
        "off",
        _words("off over done through finished"),
        _c(rf"^(?P<s>i|we) (?:am|are|have been) (?:off|over|done with|through with|finished with) (?P<f>{_W})$"),
    ),
    (
        "lost",
        _words("fired laid sacked dismissed let"),
        _c(rf"^(?P<s>{_L}) {_WAS}(?:fired|laid off|sacked|dismissed|let go) (?:from|by) (?P<f>{_W})$"),
    ),
    ("prefers", _words("prefer prefers"), _c(rf"\bprefers? (?P<v>{_L}) (?:to|over) (?P<f>{_W})$")),
    ("cancelled", _first(_OFF) | {"off"}, _c(rf"^(?P<f>{_L}) {_WAS}{_OFF}(?: {_W})?$")),
    ("renamed", _words("renamed"), _c(rf"^(?P<f>{_L}) {_WAS}renamed (?:to |as )?(?P<v>{_W})")),
    (
        "replaced",
        _words("replaced swapped traded exchanged"),
        _c(rf"{_WHO}(?:replaced|swapped|traded|exchanged) (?P<f>{_L})(?: in)? (?:with|by|for) (?P<v>{_W})"),
    ),
    (
        "replaced",
        _words("replaced succeeded superseded"),
        _c(rf"^(?P<f>{_L}) {_WAS}(?:replaced|succeeded|superseded) (?:by|with) (?P<v>{_W})"),
    ),
    ("replaced", _first(_FOLLOWED), _c(rf"^(?P<v>{_L}) (?:have |has )?{_FOLLOWED} (?P<f>{_W})")),
    ("instead of", _words("instead rather place"), _c(rf"(?:^| )(?:instead of|rather than|in place of) (?P<f>{_W})")),
    ("not", _words("not"), _c(rf"^(?:and )?not (?P<f>{_W})$")),
    ("given up", _words("no"), _c(rf"^no (?:more )?(?P<f>{_W})$")),
    ("no longer", _words("no"), _c(rf"^(?:and |there is )?no (?:more )?(?P<f>{_L})(?: any ?more| any longer)$")),
    (
        "overtaken",
        _words("overtaken overtook superseded superseding replaces"),
        _c(rf"\b(?:overtaken|overtook|superseded|superseding|replaces) (?P<f>{_W})$"),
    ),
    ("ended", _first(_ENDED), _c(rf"^(?:(?P<s>{_L}) )?(?:have |has |had |ve )?{_ENDED} (?P<f>{_W})$")),
    ("parted", _first(_PARTED), _c(rf"^(?P<f>{_L}) and (?:i|me) (?:have |ve |are )?{_PARTED}\b")),
    (
        "parted",
        _words("longer not"),
        _c(rf"^(?P<f>{_L}) and (?:i|me) (?:are|do) (?:no longer|not) (?:together|talk|speak|see each other)\b"),
    ),
    ("parted", _first(_PARTED), _c(rf"^(?:i|me) (?:have |ve )?{_PARTED} (?:with|from) (?P<f>{_W})")),
    ("healed", _first(_WELL), _c(rf"^(?P<o>{_L}) {_WAS}(?P<v>{_WELL})(?: again)?\b")),
    ("is over", _first(_OVER), _c(rf"^(?P<f>{_L}) {_WAS}{_OVER}(?: {_W})?$")),
)

_TOKEN = re.compile(r"\w+")
_BESIDE = re.compile(
    r"\b(?:too|also|as well|either|another(?! (?:\w+ )?(?:minute|hour|day|week|month|year|term)s?\b)"
    r"|additionally|besides|in addition|furthermore|at weekends|on weekends"
    r"|sometimes|on the side|part.time|occasionally|a second|other)\b",
    re.IGNORECASE,
)
_HYPOTHETICAL = re.compile(
    r"\?\s*$|^(?:if|when|suppose|imagine|what if|maybe|perhaps|could|would|should|let's)\b", re.IGNORECASE
)


@lru_cache(maxsize=REMEMBERED)
def clauses(text: str) -> tuple[str, ...]:
    """The sentence whole, then its parts."""
    whole = text.strip()
    parts = [part for part in _BREAK.split(whole[:_MOST_TEXT]) if part and part.strip()]
    if opened := _SPEAKER.match(whole):  # "I closed the shop and joined IBM": I joined IBM
        first, *rest = [part.strip() for part in _AND.split(whole[:_MOST_TEXT])]
        parts += [first] if rest and first not in parts else []
        parts += [part if _OWN_SUBJECT.match(part) else f"{opened.group()} {part}" for part in rest]
        parts = parts if len(parts) > 1 else []
    return (whole, *parts[:_MOST_CLAUSES]) if len(parts) > 1 else (whole,)


_MOST_TEXT = 600
_SPEAKER = re.compile(r"(?:I|We|My \w{2,20})\b(?!['’]s| and )", re.IGNORECASE)
_AND = re.compile(r",? and (?:now |then )?", re.IGNORECASE)
_OWN_SUBJECT = re.compile(r"(?:i|we|he|she|it|they|you|my|our|his|her|the|a|an|this|that|there)\b", re.IGNORECASE)


@lru_cache(maxsize=REMEMBERED)
def adds_beside(text: str) -> bool:
    """Whether the sentence says of itself that it adds to what was said ("too", "another"), or only supposes."""
    return bool(_BESIDE.search(text) or _HYPOTHETICAL.search(text))


@lru_cache(maxsize=REMEMBERED)
def changes(clause: str) -> tuple[Change, ...]:
    """The changes a clause tells of."""
    text = expanded(clause)
    if not text or len(text) > _MOST_CHARS:
        return ()
    found = []
    words = frozenset(_TOKEN.findall(text.lower()))
    for how, one_of, pattern in _PATTERNS:
        if words.isdisjoint(one_of):
            continue
        if match := pattern.search(text):
            groups = match.groupdict()
            found.append(
                Change(
                    subject=groups.get("s") or "",
                    thing=groups.get("o") or "",
                    former=groups.get("f") or "",
                    to=groups.get("v") or "",
                    how=how,
                )
            )
    return tuple(found)
