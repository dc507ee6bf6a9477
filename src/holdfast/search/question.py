"""A question as recall asks it: its words, its meaning, who and when it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.index.candidates import CandidateTable
from holdfast.models.embedder import Embedder
from holdfast.search.calendar import NUMBER, WEEKDAY, TimeQuery, TimeReading, count_of
from holdfast.search.when import (
    BEGINNING,
    END,
    Anchor,
    Order,
    ParsedQuestion,
    Recency,
    Relation,
    Window,
    opened,
    read_windows,
)
from holdfast.settings import RecallSettings
from holdfast.text.time import MONTH
from holdfast.text.words import FUNCTION_WORDS, compile_late, query_terms, script_of, terms


@dataclass(frozen=True)
class Ranking(RecallSettings):
    """The settings of recall and its fixed weights (docs/evidence/retrieval.md)."""

    identifier_preference: float = 2.0  # a document with an identifier, path or error code of the question (RECALL-9)
    speaker_preference: float = 2.5  # the turns of the one speaker whom the question names
    wish_preference: float = 1.5  # a standing wish of the user, when the question asks for help or advice
    answer_words: int = 120  # an answer inherits less of its question's score the longer it is, none from this length
    echo: float = 0.3  # pseudo-relevance feedback: weight of the likeness to the first hits
    echo_hits: int = 3  # hits that are averaged for it
    echo_among: int = 200  # candidates that it may raise: the rest are too far behind the first fifty
    echo_from: int = 10  # turns below which there is no feedback: three of them would be no small part
    floor_share: float = 0.15  # share of the question's words that a hit without a cosine must have, by rarity
    floor_meaning: float = 0.45  # a step from the profile's `related` to its `relevant` counts as this share of words
    floor_against: float = 0.5  # steps below `related` that count against a hit, at most: pages have vague vectors
    floor_even: float = 6.0  # documents among which a share of 0 at `related` is just enough
    floor_rise: float = 0.025
    """Rise of the floor each time the documents are e times as many. `floor_meaning`, `floor_even` and this were fitted
    to 201 labelled questions of our own; at most 2 % of the answerable ones are lost (training/floor.py)."""
    outstanding: float = 1.0  # once a hit passes, results this many standard deviations above the mean follow
    compared: int = 5  # first hits that are compared, so that a replaced statement does not come first
    rescore: int = 64  # nearest int8 codes scored again in full precision; 30 lost nothing on any model (DESIGN)
    question_chars: int = 8000  # what follows is a document, not a question
    question_terms: int = 64  # distinct words of a question that are looked up


_REPLIES = compile_late(
    r"\byou (?:\w+ ){0,2}(?:suggest|recommend|told|said|mention|provid|gave|advis|propos|list|explain|describ|creat"
    r"|wrote|shar|answer)\w*\b"
    r"|\b(?:did|do|can|could|would) you (?:\w+ )?(?:suggest|recommend|say|tell|advise|mention|propose|explain|describe"
    r"|list|give|provide)\b"
    r"|\byour (?:answer|suggestion|recommendation|advice|list|response|reply|explanation)s?\b"
    r"|\bremind me\b|\bour (?:previous|last|earlier|past) (?:conversation|chat|discussion)\b",
    re.IGNORECASE,
)


_NAMED_CHARS = 2000
_JOINT, _DIGIT, _LETTER = compile_late(r"\w[._/\\:@#+\-]\w|\w_\w"), compile_late(r"\d"), compile_late(r"[^\W\d_]")


@dataclass(frozen=True)
class EmbeddedQuery:
    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    """None if the query cannot be embedded."""
    degraded: str | None = None


@dataclass(frozen=True)
class Speaker:
    """The one speaker whom a question names, and that speaker's turns."""

    terms: frozenset[str]
    turns: NDArray[np.int64]


def embed_query(text: str, speaker: Speaker | None, embedder: Embedder | None, settings: Ranking) -> EmbeddedQuery:
    """Embed the query without the speaker's name, which says whose turns are meant, not what is in them."""
    text = text[: settings.question_chars]
    found = query_terms(text, settings.question_terms)
    if speaker is not None:
        text = " ".join(word for word in text.split() if not speaker.terms.intersection(terms(word)))
        found = [term for term in found if term not in speaker.terms] or found
    vector, degraded = embed_text(text.rstrip(" ?"), embedder)  # the mark pulls towards other questions
    return EmbeddedQuery(found, vector, degraded)


def named_speaker(table: CandidateTable, text: str, settings: Ranking) -> Speaker | None:
    """Return the one speaker of the namespace whom the text names; None if it names none or two."""
    names = query_terms(text[: settings.question_chars], settings.question_terms)
    found = table.holders.of([f"@{name}" for name in names])
    spoken = [(name, nums) for name, (nums, _) in zip(names, found, strict=True) if len(nums)]
    if not spoken or any(not np.array_equal(nums, spoken[0][1]) for _, nums in spoken):
        return None
    return Speaker(frozenset(name for name, _ in spoken), spoken[0][1])


def named_terms(text: str) -> frozenset[str]:
    """The terms of the question's names, numbers and identifiers: words with a capital or a digit."""
    words = [word for word in text[:_NAMED_CHARS].split() if any(char.isupper() or char.isdigit() for char in word)]
    return frozenset(query_terms(" ".join(words), len(words) * 8)) if words else frozenset()


def identifiers(found: Sequence[str]) -> list[str]:
    """Those terms that name one thing exactly: paths, versions, snake_case, error codes."""
    return [term for term in found if _JOINT.search(term) or (_DIGIT.search(term) and _LETTER.search(term))]


def asks_for_replies(text: str) -> bool:
    """Return True if it asks for what the assistant said: then the user's own words are not preferred (RECALL-2)."""
    return bool(_REPLIES.search(text[:2000]))


def embed_text(
    text: str, embedder: Embedder | None, otherwise: str = "words only"
) -> tuple[NDArray[np.float32] | None, str | None]:
    """Return the vector of a text, or None, and what is missing if the model failed."""
    if embedder is None or not text.strip():
        return None, None
    scripts = embedder.profile.scripts
    if scripts and script_of(text) not in scripts:
        return None, None
    try:
        vector = embedder.embed([text])[0]
    except ModelError as error:
        return None, f"{otherwise}: {error}"
    return (vector, None) if vector.any() else (None, None)


# --- Events that a question tells its time by: "before the move", "the week after the wedding", "when I was in
# Lisbon".


AUXILIARY = r"(?:did|do|does|have|has|had|was|were|is|are|am|will|would|can|could|should)"
_MOST_CHARS = 160  # an event is a clause, not a page
_MOST = 6
_FARTHEST = timedelta(days=36500)  # events a century off are not used as anchors

_DAYS = {"day": 1, "night": 1, "morning": 1, "evening": 1, "weekend": 7, "week": 7, "fortnight": 14, "month": 30,
         "year": 365, "decade": 3650, "monday": 7, "tuesday": 7, "wednesday": 7, "thursday": 7, "friday": 7,
         "saturday": 7, "sunday": 7}  # fmt: skip
_UNIT = "|".join(_DAYS)
_WAY = compile_late(
    rf"\b(?:(?:(?P<count>{NUMBER}|the|that) (?P<unit>{_UNIT})s?|right|just|shortly|soon|immediately|long) )?"
    r"(?P<way>before|prior to|after|following (?=the |my |our )|ever since|since|until|till|during|while|when"
    r"|as soon as|once (?=I |we |my |the )) ?\b",
    re.IGNORECASE,
)
_RELATION = {"before": Relation.BEFORE, "prior to": Relation.BEFORE, "after": Relation.AFTER,
             "following": Relation.AFTER, "as soon as": Relation.AFTER, "once": Relation.AFTER,
             "ever since": Relation.SINCE, "since": Relation.SINCE, "until": Relation.UNTIL, "till": Relation.UNTIL,
             "during": Relation.DURING, "while": Relation.DURING, "when": Relation.DURING}  # fmt: skip
# "look after", "named after", "day after day", "before or after" and "since when" tell no time by an event.
_IDIOM = compile_late(r"\b(?:look\w*|named|ask\w*|day|one|takes?|chas\w+|or|before|after|the|and) $", re.IGNORECASE)
_INVERTED = compile_late(rf"{AUXILIARY}\b|or\b|['’]", re.IGNORECASE)
_ASKED = compile_late(r"(?:how|what|which|who|where|why)\b", re.IGNORECASE)
_SUBJECT = compile_late(r"(?:I|we|you|he|she|they|it|someone|my|our|his|her|their|your|the|an?|[A-Z\0][^ ]*) ")
_STOP = compile_late(r"[?!;:,\n]|\. |\.$| and $| or $")
_AUXILIARY = compile_late(rf"\b{AUXILIARY}\b", re.IGNORECASE)
_TURN = compile_late(
    rf" (?:(?:what|where|who|which|how|why)\b|{AUXILIARY} (?:I|we|you|he|she|they|it|my|our|the|[A-Z]))"
)
_WORD = compile_late(r"[^\W_]+(?:['’][^\W_]+)?")
_EMPTY = FUNCTION_WORDS | {"long", "day", "then", "yesterday", "today", "conversation", "last"}


def read_anchors(text: str, masked: str) -> tuple[Anchor, ...]:
    """The events, in order; `masked` is the text with its quotations and its windows blanked."""
    ways = list(_WAY.finditer(masked))[: 2 * _MOST]
    anchors: list[Anchor] = []
    for at, way in enumerate(ways):
        if _INVERTED.match(masked, way.end()) or _ASKED.match(masked, way.end()):
            continue
        if _IDIOM.search(masked[max(0, way.start() - 12) : way.start()]):
            continue
        end = ways[at + 1].start() if at + 1 < len(ways) else len(masked)
        end = _clause_end(masked, way, min(end, way.end() + _MOST_CHARS))
        words = text[way.end() : end].strip(" .,'’\"")
        name = way["way"].strip().lower()
        leading = not masked[: way.start()].strip()
        if name == "when" and (not _SUBJECT.match(masked, way.end()) or (leading and masked[end : end + 1] != ",")):
            continue  # "when cooking rice" is no event, and "When Ana has moved?" asks for the time
        if all(
            word.isdigit() or word.lower() in _EMPTY for word in _WORD.findall(masked[way.end() : end])
        ) and not _quoted(words):
            continue
        distance, reach = _distance(way)
        place = (way.start(), end)
        anchors.append(Anchor(_RELATION[name], words, text[slice(*place)].strip(), place, distance, reach))
    return tuple(anchors[:_MOST])


def _quoted(words: str) -> bool:
    return any(mark in words for mark in "\"'“‘")


def _clause_end(masked: str, way: re.Match[str], end: int) -> int:
    """Return the end of the event's clause: a stop, or the place where the question itself begins or goes on."""
    stop = _STOP.search(masked, way.end(), end)
    end = stop.start() if stop else end
    if not _AUXILIARY.search(masked, 0, way.start()):  # the question's own verb is still to come
        turn = _TURN.search(masked, way.end(), end)
        end = turn.start() if turn else end
    return end


def _distance(way: re.Match[str]) -> tuple[timedelta | None, timedelta | None]:
    if not way["unit"]:
        return None, None
    days, count = timedelta(days=_DAYS[way["unit"].lower()]), way["count"].lower()
    if count in ("the", "that"):
        return None, days
    least, most = count_of(count)
    distance = days * (least + most) / 2
    return (distance, None) if distance < _FARTHEST else (None, None)


# --- Questions with several parts, split into the questions they hold; where a split is not sure, there is none.


_PARTS_MOST = 4
_SENTENCE = compile_late(r"[^?]+\?")
_ASKS = rf"(?:what|where|who|whom|whose|when|how|which|why|{AUXILIARY})"
_STARTS = compile_late(rf"(?:(?:and|also|so|or|then|plus),? )?{_ASKS}\b", re.IGNORECASE)
_AND_WH = compile_late(r",? and (?:also )?(?=(?:what|where|who|whom|whose|when|how|which|why)\b)", re.IGNORECASE)
_AND_AUX = compile_late(rf",? and (?={AUXILIARY} (?:I|we|you|he|she|they|it|my|our|the|[A-Z]))")
_AND_FIRST = compile_late(r"^(?:and|also|so|or|then|plus),? ", re.IGNORECASE)
_NAME = r"[A-Z][\w'’-]+"
_NAMES = compile_late(rf"\b({AUXILIARY}) (?:both )?({_NAME}) and ({_NAME})\b (?:each |both |respectively )?")
_BETWEEN = compile_late(r"\bbetween\b", re.IGNORECASE)
_PARTS_WORD = compile_late(r"[^\W_]+")
_TOGETHER = compile_late(r"\b(?:together|each other|one another|between|married|couple)\b", re.IGNORECASE)
_BOTH = compile_late(r"\bboth ((?:[\w'’-]+ ){1,6}?)and ((?:[\w'’-]+[ ]?){1,6})(?=[?,.]|$)")
_PERSON = compile_late(rf"\b(?:my|our) [a-z]+(?:-[a-z]+)*\b|(?<=[a-z] ){_NAME}")
_PRONOUN = compile_late(r"\b(?:she|he|they)\b")


def read_parts(text: str, masked: str) -> tuple[str, ...]:
    """The questions inside, or nothing when it is one."""
    sentences = [(match.start(), match.end()) for match in _SENTENCE.finditer(masked)][: _PARTS_MOST + 1]
    asked = [(start, end) for start, end in sentences if _STARTS.match(masked[start:end].lstrip())]
    if len(asked) > 1:
        return tuple(_clean(text[start:end]) for start, end in asked[:_PARTS_MOST])
    if not _STARTS.match(masked):
        return ()
    for joint in (_AND_WH, _AND_AUX):
        match = joint.search(masked)
        if match and not _BETWEEN.search(masked, 0, match.start()):
            first, second = _clean(text[: match.start()]), _clean(text[match.end() :])
            return (first, _with_person(first, second)) if _says_something(first) and _says_something(second) else ()
    if (match := _NAMES.search(masked)) and not _TOGETHER.search(masked):
        before, after = f"{text[: match.end(1)]} ", text[match.end() :]
        owner = "'s" if match[3].endswith(("'s", "’s")) else ""  # "Ada and Ben's car" is the car of both
        return (_clean(f"{before}{match[2]}{owner} {after}"), _clean(f"{before}{match[3]} {after}"))
    if match := _BOTH.search(masked):
        before, after = text[: match.start()], text[match.end() :]
        first, second = text[slice(*match.span(1))], text[slice(*match.span(2))]
        return (_clean(f"{before}{first}{after}"), _clean(f"{before}{second}{after}"))
    return ()


def _clean(part: str) -> str:
    part = re.sub(r"\s+", " ", part).strip(" ,.;?")
    return _AND_FIRST.sub("", part) + "?"


def _says_something(part: str) -> bool:
    return len(_PARTS_WORD.findall(part)) > 1  # "and why?" is no question of its own


def _with_person(first: str, second: str) -> str:
    """The second question with whom it is about, if the first names one person."""
    people = set(_PERSON.findall(first))
    return _PRONOUN.sub(people.pop(), second, count=1) if len(people) == 1 else second


# --- What a question wants besides a topic: the recent, the first or the latest, several things, a time, in
# English.


def _pattern(text: str) -> re.Pattern[str]:
    return compile_late(text, re.IGNORECASE)


_UNITS = r"(?:days?|weeks?|months?|years?|hours?|minutes?)"

_AHEAD = _pattern(
    r"\b(?:next|tomorrow|upcoming|will|going to|gonna|plan(?:s|ned|ning)?|scheduled|due(?! to)|from now"
    r"|tonight|recommend|suggest(?:ions?)?|should (?:I|we)|later (?:today|this)"
    r"|coming (?:up|week|month|year|weekend|days))\b|['’]ll\b"
    r"|\b(?:am I|are we|is (?:he|she|it)|are they) (?!being)[a-z]+ing\b"
    r"|\bwhat do (?:I|we) have (?:on|this|in)\b|\bdo (?:I|we) have (?:anything|something|plans|time)\b"
    r"|\bwhat(?:['’]s| is) (?:happening|on|coming up)\b"
)
_PAST = _pattern(r"\b(?:did|was|were|had|ago|yesterday|last|past|have (?:I|we|you))\b")
_SURELY_AHEAD = _pattern(
    r"\b(?:next|tomorrow|upcoming|plan(?:s|ned|ning)?|scheduled|will|due(?! to)|should (?:I|we))\b|['’]ll\b"
)

_RECENT = _pattern(
    r"\b(?:lately|recently|of late|recent|what(?:['’]s| is) new|any (?:news|updates)|catch me up|fill me in"
    r"|(?:leave|left) off|(?:last|latest|previous|earlier) (?:few |couple of |\d+ )?(?:conversations?|chats?|sessions?"
    r"|talks?|discussions?|exchanges?|messages?)|last time|(?:last|latest) things?|just now|so far today)\b"
)
_EMPTY_TEXT = """
    ago anything ask asked brief briefly bring brought can catch chat chats chatted chatting conversation
    conversations couple cover covered discuss discussed discussing discussion discussions do doing done earlier
    everything exchange exchanges far few fill go going happen happened happening happens lately last latest leave left
    list mention mentioned message messages new news off okay overview previous previously question questions quick
    recap recent recently remember remind said saying session sessions show so something speak spoke stuff subjects
    summaries summarise summarize summary sum talk talked talking talks thing things time today told topic topics up
    update updates went what's whats
"""
EMPTY_OF_TOPIC = FUNCTION_WORDS | set(_EMPTY_TEXT.split())

_FIRST = _pattern(
    r"\b(?:first(?! (?:name|aid|class|half|person|language))|earliest|oldest|initially|originally|to begin with)\b"
)
_LATEST = _pattern(r"\b(?:latest|(?:most|more) recent(?:ly)?|newest|(?<!at )last(?! (?:name|long|names|resort)))\b")
_CURRENT = _pattern(
    r"\b(?:currently|current|now|right now|at the moment|at present|nowadays|these days|still|up to date|any ?more)\b"
)
_SEVERAL = _pattern(
    rf"\b(?:how many(?! (?:more )?{_UNITS} (?:ago|passed|before|after|later|between|until|since|had|have|were there))"
    r"|how much .{0,40}\b(?:total|altogether)|how often|in total|total|altogether|every(?:thing)?|each|both"
    r"|all (?:the|my|of|our|your|those|these)|list (?:of|all|the|my|every)|number of|summar\w+|overview|recap"
    r"|in (?:what|which) order|the order|in order|sequence)\b|^(?:please )?list\b"
)
_WHEN = _pattern(
    rf"^\W*(?:and |so |ok |okay )?(?:since |until )?when\b"
    r"(?:(?![^?]*,)| (?:did|do|does|is|are|was|were|will|ha[sd]|have)\b)"
    rf"|\bhow long\b|\bhow many {_UNITS} (?:ago|passed|had passed"
    r"|have passed|before|after|between|until|since|later|were there|are there|did it take)\b"
    r"|\b(?:what|which) (?:day|date|month|year|week|time|season|weekday|decade)\b"
    r"|\bwhat was the (?:date|day)\b|\b(?:tell me|remember|know|remind me|say) when\b"
)


def looks_ahead(text: str) -> bool:
    """Return True if the question is about the future."""
    return bool(_AHEAD.search(text)) and (not _PAST.search(text) or bool(_SURELY_AHEAD.search(text)))


def read_recency(masked: str, topic: str, timed: bool, ahead: bool) -> Recency:
    """The recent as such, or with a topic; `timed` says that the question names a window."""
    recent = _RECENT.search(masked) is not None
    if ahead or not (recent or timed):
        return Recency.NONE  # what is planned was said long before it
    if all(word.lower().replace("’", "'") in EMPTY_OF_TOPIC for word in _WORD.findall(topic)):
        return Recency.ALONE
    return Recency.TIES if recent else Recency.NONE


def read_order(masked: str) -> Order | None:
    for pattern, order in ((_CURRENT, Order.CURRENT), (_LATEST, Order.LATEST), (_FIRST, Order.FIRST)):
        if pattern.search(masked):
            return order
    return None


def wants_several(masked: str) -> bool:
    return _SEVERAL.search(masked) is not None


def asks_when(masked: str) -> bool:
    return _WHEN.search(masked) is not None


# --- Comparisons: the events that a question sets side by side, each to be fetched on its own.
#
# Read with what is quoted blanked, so that an "or" inside a title parts nothing. Shapes that are not known give no
# sides.


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


# --- Time in questions, read without a model: windows, events to anchor on, sides of a comparison, the recent,
# the order.
#
# `read_question` is a function of the text and the moment of asking. It reads in linear time, never raises, and leaves
# alone what it does not know. The result is evidence for recall, not a filter.


_READ_CHARS = 1000
"""Characters that are read as a question; the rest goes into the topic as it is. A longer text is a document."""

_QUOTED = compile_late(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|‘[^’\n]{1,200}’|(?<![\w'])'[^'\n]{1,200}'(?!\w)")
_MEASURE = compile_late(  # asks how far, and is no topic; "how many days did I ski" is one
    r"\bhow (?:many (?:more )?(?:days|weeks|months|years|hours)|long|much time)"
    r" (?:ago|later|(?:(?:had|have|has) )?(?:passed|elapsed|gone by))\b"
    r"|\b(?:lately|recently|of late|these days|nowadays|right now|at the moment|just now)\b",
    re.IGNORECASE,
)
_QUESTION_NAME = compile_late(  # "in March" is said by turns too; "last week" is not what a turn of that week says
    rf"\b(?:{MONTH}|{WEEKDAY}|spring|summer|autumn|fall|winter)\b|\b(?:19|20)\d\d\b", re.IGNORECASE
)
_QUESTION_PRONOUN = compile_late(r"\b(?:it|them|one)\b")
_SPACES = compile_late(r"\s+")


def read_question(text: str, now: datetime) -> ParsedQuestion:
    """Parse the times, events and other wishes of a question, relative to the moment of asking."""
    read, rest = text[:_READ_CHARS], text[_READ_CHARS:]
    masked = _QUOTED.sub(lambda match: "\0" * len(match[0]), read.replace("\n", " "))
    if not BEGINNING.year + 20 < now.year < END.year - 20:
        return ParsedQuestion(text, text.strip())  # the clock is not set, so times cannot be resolved
    moment = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    asking = TimeQuery(masked, moment, looks_ahead(masked))
    found = read_windows(asking)
    bare = _blanked(masked, [window.place for window, _ in found])
    places = read_sides(read, bare)
    anchors = tuple(one for one in read_anchors(read, bare) if not _inside((one.place[0],) * 2, places))
    topic = _topic(read, masked, found, names=True)
    windows = [
        _beside(anchors, window, asking)
        for window, reading in found
        if not (reading.spent or _inside(window.place, places))
    ]
    core = _topic(read, masked, found, names=False)
    timed = any(window.start <= moment for window in windows)
    return ParsedQuestion(
        text=text,
        topic=topic + rest if rest else topic.rstrip(" ,?"),
        windows=tuple(windows),
        anchors=anchors,
        sides=_sides([read[start:end] for start, end in places]),
        parts=() if places else read_parts(read, masked),
        recency=Recency.NONE if places or rest else read_recency(masked, core, timed, asking.ahead),
        order=read_order(bare),
        several=wants_several(bare),
        ahead=asking.ahead,
        asks_when=asks_when(masked),
    )


def _blanked(text: str, places: list[tuple[int, int]]) -> str:
    for start, end in places:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def _topic(read: str, masked: str, found: list[tuple[Window, TimeReading]], names: bool) -> str:
    """The question without its time words; what is quoted and the names of feasts stay, other names if they may."""
    cut: list[tuple[int, int, str]] = []
    for window, reading in found:
        start, end = window.place
        kept = read[slice(*reading.stays)] if reading.stays else ""
        cut.append((start, end, " ".join(_QUESTION_NAME.findall(read[start:end])) if names and not kept else kept))
    bare = _blanked(masked, [window.place for window, _ in found])
    cut += [(*match.span(), "") for match in _MEASURE.finditer(bare)]
    for start, end, kept in sorted(cut, reverse=True):
        read = f"{read[:start]} {kept} {read[end:]}"
    return _SPACES.sub(" ", read).replace(" ?", "?").replace(" ,", ",").lstrip(" ,?")


def _sides(sides: list[str]) -> tuple[str, ...]:
    """Each side as a text that can be fetched alone: "I bought it" takes along what it is."""
    whole = [side for side in sides if not _QUESTION_PRONOUN.search(side)]
    return tuple(side if side in whole or not whole else f"{side} ({whole[0]})" for side in sides)


def _inside(place: tuple[int, int], places: tuple[tuple[int, int], ...]) -> bool:
    return any(start <= place[0] and place[1] <= end for start, end in places)


def _beside(anchors: tuple[Anchor, ...], window: Window, asking: TimeQuery) -> Window:
    """A time inside an event ("before the trip in May") belongs to the event: the asked time is before it."""
    for anchor in anchors:
        if anchor.relation is not Relation.DURING and _inside(window.place, (anchor.place,)):
            start, end = opened(anchor.relation, (window.start, window.end), asking)
            if BEGINNING <= start < end <= END:
                certainty = round(window.certainty * 0.8, 2)
                return Window(start, end, certainty, anchor.phrase, anchor.place)
    return window
