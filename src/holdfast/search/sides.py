"""Comparisons: the events that a question sets side by side, each to be fetched on its own.

Read with what is quoted blanked, so that an "or" inside a title parts nothing. Shapes that are not known give no sides.
"""

from __future__ import annotations

import re

from holdfast.search.question import AUXILIARY
from holdfast.text.words import FUNCTION_WORDS, compile_late

_MOST = 6
_WORD = compile_late(r"[^\W_]+(?:['’][^\W_]+)?")


def _pattern(text: str) -> re.Pattern[str]:
    return compile_late(text, re.IGNORECASE)


_SIDES_UNITS = r"(?:days?|weeks?|months?|years?|hours?|minutes?|weekends?)"
_HOW_FAR = rf"how (?:many (?:more )?{_SIDES_UNITS}|long|much time|much (?:later|earlier)|soon)"
_RANK = (
    r"(?:first|earlier|earliest|sooner|last|later|latest|(?:more|most) recently|(?:more|most) recent|newer|newest|older"
    r"|oldest)"
)


_SIDES_SUBJECT = r"(?=(?-i:I|we|you|he|she|they|it|my|our|his|her|their|the|a|an|[A-Z\0][^ ]*) )"


# "Which did I buy first, the bike or the car?"
_RANKED = _pattern(rf"\b{_RANK}\b[^?:,]{{0,60}}[,:] ?(?P<any>[^?]{{2,400}}? or [^?]{{2,200}})")
# "The bike or the car: which came first?"
_RANKED_AFTER = _pattern(
    rf"^(?P<any>[^?:]{{2,200}}? or [^?:]{{2,200}}?) ?[,:;–-]+ ?(?:which|what|who)\b[^?]*\b{_RANK}\b"
)
# "Did I get the cat or the dog first?"
_RANKED_LAST = _pattern(rf"^{AUXILIARY} (?P<any>[^?,]{{2,200}}? or [^?,]{{2,200}}?) {_RANK}\b")
# "Who finished first among Ada, Ben and Cleo?", "Which of the bike and the car is older?", "Between A and B, which …"
_AMONG = _pattern(rf"\b{_RANK}\b[^?]{{0,60}} among (?P<all>[^?]{{3,200}})")
_WHICH_OF = _pattern(
    r"\b(?:which|who|what) of (?P<all>[^?]{3,200}? and [^?]{2,200}?)"
    rf"(?: (?:happened|came|was|is|were|did)\b[^?]*)? {_RANK}\b"
)
_OF_TWO = _pattern(r"^between (?P<all>[^?]{2,200}? and [^?]{2,200}?), (?:which|what|who)\b")
# "Was the move before or after the wedding?"
_EITHER = _pattern(
    r"^(?P<first>[^?]{2,300}?) (?:happen |come |take place |occur )?"
    r"(?:before or after|after or before|earlier or later than) (?P<second>[^?]{2,300})"
)
# "How many days between A and B?"
_SIDES_BETWEEN = _pattern(
    rf"\b(?:{_HOW_FAR}|time|gap|interval|{_SIDES_UNITS})\b[^?]{{0,100}}? between (?P<all>[^?]{{3,400}})"
)
# "How long after A did B?", "How long did B take after A?", "How long had I been doing A when B?"
_FAR_AFTER = _pattern(
    rf"\b{_HOW_FAR} (?:after|before) (?P<first>[^?]{{2,250}}?) (?P<second>{AUXILIARY} {_SIDES_SUBJECT}[^?]{{2,250}})"
)
_TOOK = _pattern(
    rf"\b{_HOW_FAR} (?:ago )?{AUXILIARY}\b(?: it take(?: (?:for|me|us) ?)?)?(?P<first>[^?]{{2,250}}?)"
    r" (?:after|before|when) (?P<second>[^?]{2,250})"
)
_SINCE = _pattern(rf"\b{_HOW_FAR} [^?]{{0,30}}?since (?P<first>[^?]{{2,250}}?) when (?P<second>[^?]{{2,250}})")
# "Did I buy the bike before the trip?"
_YES_NO = _pattern(r"^(?P<first>(?:did|was|were|had|has|have) [^?]{2,250}?) (?:before|after) (?P<second>[^?]{2,250})")
# "What is the order of these: 'A', 'B' and 'C'?"
_ORDER_OF = _pattern(r"\b(?:order|sequence)\b[^?:]{0,80}: ?(?P<all>[^?]{3,600})")

_SHAPES = (_ORDER_OF, _RANKED, _RANKED_AFTER, _RANKED_LAST, _AMONG, _WHICH_OF, _OF_TWO, _EITHER, _SIDES_BETWEEN,
           _FAR_AFTER, _SINCE, _TOOK, _YES_NO)  # fmt: skip

_LEAD = compile_late(
    rf"(?:{AUXILIARY} |when |if |whether |that |(?:(?:I|we|he|she|they) )?been |on "
    r"|the (?:day|time|date|moment)(?: (?:when|that|on which))? "
    r"(?=I |we |my |he |she |it |they |[A-Z]))+",
    re.IGNORECASE,
)  # fmt: skip
_ITEM = compile_late(r"(?:[Tt]he|[Mm]y|[Oo]ur|an?|his|her|their|when)\b|[A-Z\0]")
_OR = (compile_late(r", or "), compile_late(r" or "))
_AND = (  # the surest joint first: "and when I", "and the day", "and the", "and"
    compile_late(r",? and (?=when |the (?:day|time|date|moment)\b)"),
    compile_late(r", and "),
    compile_late(r" and (?=the |my |our |his |her |their |an? )"),
    compile_late(r" and "),
)


def read_sides(text: str, masked: str) -> tuple[tuple[int, int], ...]:
    """Return the places of the sides in the text: two or more, or none."""
    for shape in _SHAPES:
        match = shape.search(masked)
        if match is None:
            continue
        named = match.groupdict()
        if "any" in named:
            places = _split(masked, match.span("any"), _OR)
        elif "all" in named:
            places = _split(masked, match.span("all"), _AND)
        else:
            places = [match.span("first"), match.span("second")]
        sides = tuple(_trimmed(text, masked, place) for place in places)
        if len(sides) >= 2 and all(_sides_says_something(text[start:end]) for start, end in sides):
            return sides[:_MOST]
    return ()


def _split(masked: str, place: tuple[int, int], joints: tuple[re.Pattern[str], ...]) -> list[tuple[int, int]]:
    """The members of "A or B", "A, B and C"; of several joints of a kind the one nearest to the middle parts."""
    start, end = place
    for joint in joints:
        found = list(joint.finditer(masked, start, end))
        if found:
            middle = (start + end) / 2
            one = min(found, key=lambda match: abs((match.start() + match.end()) / 2 - middle))
            if joint.pattern.startswith(", "):
                one = found[-1]
            return [*_listed(masked, start, one.start()), (one.end(), end)]
    return []


def _listed(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    """The members before the last joint, where commas part things that begin like things."""
    cuts = [match.start() for match in re.finditer(", ", masked[start:end])]
    starts = [start, *(start + cut + 2 for cut in cuts)]
    ends = [*(start + cut for cut in cuts), end]
    if all(_ITEM.match(masked, one) for one in starts):
        return list(zip(starts, ends, strict=True))
    return [(start, end)]


def _trimmed(text: str, masked: str, place: tuple[int, int]) -> tuple[int, int]:
    start, end = place
    while start < end and text[start] in " ,.:;":
        start += 1
    lead = _LEAD.match(masked, start, end)
    if lead and lead.end() < end:
        start = lead.end()
    while end > start and text[end - 1] in " ,.:;?!":
        end -= 1
    return start, end


def _sides_says_something(side: str) -> bool:
    return any(word.lower() not in FUNCTION_WORDS for word in _WORD.findall(side))
