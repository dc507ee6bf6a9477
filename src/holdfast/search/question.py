"""A question as recall asks it: its words, its meaning, who and when it is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import ModelError
from holdfast.index.candidates import CandidateTable
from holdfast.models.embedder import Embedder, shipped_embedder
from holdfast.search.calendar import NUMBER, TimeQuery, count_of
from holdfast.search.when import (
    BEGINNING,
    END,
    Anchor,
    Intent,
    ParsedQuestion,
    Relation,
    Window,
    opened,
    read_windows,
)
from holdfast.settings import RecallSettings
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
    spread: float = 0.3  # for questions about many things, subtracted for each better hit of the same session
    exchange: float = 0.5  # for the same questions, share of the way up to the score of its question or reply
    compared: int = 5  # first hits that are compared, so that a replaced statement does not come first
    rescore: int = 64  # nearest int8 codes scored again in full precision; 30 lost nothing on any model (DESIGN)
    question_chars: int = 8000  # what follows is a document, not a question
    question_terms: int = 64  # distinct words of a question that are looked up


GATHER_WEIGHTS = {"words": 0.8, "statement": 0.3, "window": 0.1}
"""Weights for questions about many things, where the ask model does not read along: what speaks of the topic counts for
more next to who said it. With those of other questions BEAM's recall@10 for event ordering is .17 and not .28; with the
ask model they cost 4 points on the lives."""


_REPLIES = compile_late(
    r"\byou (?:\w+ ){0,2}(?:suggest|recommend|told|said|mention|provid|gave|advis|propos|list|explain|describ|creat"
    r"|wrote|shar|answer)\w*\b"
    r"|\b(?:did|do|can|could|would) you (?:\w+ )?(?:suggest|recommend|say|tell|advise|mention|propose|explain|describe"
    r"|list|give|provide)\b"
    r"|\byour (?:answer|suggestion|recommendation|advice|list|response|reply|explanation)s?\b"
    r"|\bremind me\b|\bour (?:previous|last|earlier|past) (?:conversation|chat|discussion)\b",
    re.IGNORECASE,
)


_OWN_WORDS = compile_late(
    r"\bI(?:['’]ve| have| had)? (?:\w+ ){0,2}(?:br(?:ing|ought) up|mention|said|say|told|tell|ask|rais|talk|report"
    r"|wr[io]t)\w*",
    re.IGNORECASE,
)
_NAMED_CHARS = 2000
_SHORT_NAME, _LONG_NAME = 3, 5  # letters from which a word may be short for a name, or misspelt
_JOINT, _DIGIT, _LETTER = compile_late(r"\w[._/\\:@#+\-]\w|\w_\w"), compile_late(r"\d"), compile_late(r"[^\W\d_]")


@dataclass(frozen=True)
class EmbeddedQuery:
    terms: Sequence[str]
    vector: NDArray[np.float32] | None
    """None if the query cannot be embedded."""
    degraded: str | None = None


@dataclass(frozen=True)
class Speaker:
    """The speakers whom a question names, and the turns of the one if it is one."""

    terms: frozenset[str]
    """The question's words for them."""
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
    """Return the speakers of the namespace whom the text names; None if it names none.

    The turns are those of one speaker. Of two neither is preferred: who asks about both wants what either said.
    """
    known = table.holders.speakers
    if not known:
        return None
    capitals = named_terms(text[: settings.question_chars])
    named = {
        term: name
        for term in query_terms(text[: settings.question_chars], settings.question_terms)
        if (name := term if term in known else _like_a_name(term, known) if term in capitals else "")
    }
    spoken = [nums for nums, _ in table.holders.of([f"@{name}" for name in named.values()])]
    if not spoken:
        return None
    one = all(np.array_equal(nums, spoken[0]) for nums in spoken)
    return Speaker(frozenset(named), spoken[0] if one else np.empty(0, np.int64))


def _like_a_name(term: str, known: frozenset[str]) -> str:
    """Return the one name that a word is short for, or that it differs from by one letter or two that are swapped."""
    like = [
        name
        for name in known
        if (len(term) >= _SHORT_NAME and name.startswith(term)) or (len(term) >= _LONG_NAME and _one_off(term, name))
    ]
    return like[0] if len(like) == 1 else ""


def _one_off(one: str, two: str) -> bool:
    """Return whether one letter is added, left out, another, or swapped with the next."""
    short, long = sorted((one, two), key=len)
    start = next((at for at, pair in enumerate(zip(short, long, strict=False)) if pair[0] != pair[1]), len(short))
    if len(short) < len(long):
        return short[start:] == long[start + 1 :]
    swapped = short[start : start + 2][::-1] == long[start : start + 2] and short[start + 2 :] == long[start + 2 :]
    return swapped or short[start + 1 :] == long[start + 1 :]


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


def asks_for_own_words(text: str) -> bool:
    """Return True if it asks for what the user said: "in what order did I mention …"."""
    return bool(_OWN_WORDS.search(text[:2000]))


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


# --- Does a question look ahead? What is planned was said before its time.


def _pattern(text: str) -> re.Pattern[str]:
    return compile_late(text, re.IGNORECASE)


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


def looks_ahead(text: str) -> bool:
    """Return True if the question is about the future."""
    return bool(_AHEAD.search(text)) and (not _PAST.search(text) or bool(_SURELY_AHEAD.search(text)))


# --- Intent: a question about the themes of the talk, recent talk, many things over time, or one thing.
#
# A convolution over three tokens of the static table, the maximum of each filter, and the mean of all tokens, trained
# on our own questions (training/intent).


INTENTS = (Intent.ORDINARY, Intent.THEMES, Intent.RECENT, Intent.GATHER)
"""In the order of the network's classes."""
SPAN, FILTERS = 3, 48
_INTENT_CHARS = 500  # a longer text tells something, whatever it asks for
_NAME_INSIDE = compile_late(r"(?<=[a-z,] )[A-Z][a-z]+")
"""Who names somebody asks about them, not about the talk as such: 7 of LoCoMo's 999 questions were routed wrong."""
_INTENT_WORDS = 2  # one word alone is looked for: "message" is no question
_INTENT_TOKENS = 64
_INTENT = files("holdfast.search") / "intent.npz"
_MEAN = 2.0  # weight of the mean next to the filters

Array = NDArray[np.float32]


def read_intent(text: str, times: Sequence[tuple[int, int]]) -> Intent:
    """Return what a question asks for; `times` are the places of the times that it names."""
    if len(text) > _INTENT_CHARS or len(text.split()) < _INTENT_WORDS:
        return Intent.ORDINARY
    weights = _intent_weights()
    _, features = intent_features(intent_tokens(text, times), weights)
    intent = INTENTS[int((features @ weights["classes"] + weights["bias"]).argmax())]
    named = intent is not Intent.GATHER and _NAME_INSIDE.search(_blanked(text, list(times)))
    return Intent.ORDINARY if named else intent


def topic_of(text: str) -> str:
    """Return a question without the words that only ask ("summarize", "in what order"); all of it if none is left."""
    asking = _asking_words()
    kept = [word for word in text.split() if (found := terms(word)) and not asking.issuperset(found)]
    return " ".join(kept) if query_terms(" ".join(kept), 1) else text


def intent_tokens(text: str, times: Sequence[tuple[int, int]]) -> Array:
    """Return a row for each token: its vector, and a column each for a time and for the ends of the text."""
    read = shipped_embedder().token_vectors
    rows, at = [], 0
    for start, end in [*sorted(times), (len(text), len(text))]:
        rows += [np.pad(read(text[at:start], _INTENT_TOKENS), ((0, 0), (0, 2)))]
        rows += [_sign(rows[0].shape[1], -2, 1.0)] if end > start else []
        at = end
    width = rows[0].shape[1]
    return np.vstack([_sign(width, -1, 1.0), *rows, _sign(width, -1, -1.0), _sign(width, -1, 0.0)])


def intent_features(tokens: Array, weights: Mapping[str, Array]) -> tuple[NDArray[np.int64], Array]:
    """Return where each filter is at its maximum, and the features: these maxima and the mean of the tokens."""
    spans = np.hstack([tokens[shift : len(tokens) - SPAN + 1 + shift] for shift in range(SPAN)])
    sums = spans @ weights["filters"] + weights["offsets"]
    mean = tokens.sum(axis=0)
    mean *= _MEAN / max(float(np.linalg.norm(mean)), 1e-6)
    return sums.argmax(axis=0), np.concatenate([np.maximum(sums.max(axis=0), 0.0), mean])


def _sign(width: int, column: int, value: float) -> Array:
    row = np.zeros((1, width), np.float32)
    row[0, column] = value
    return row


@cache
def _intent_weights() -> Mapping[str, Array]:
    with _INTENT.open("rb") as file, np.load(file) as arrays:
        return {name: arrays[name].astype(np.float32) for name in arrays.files if name != "asking"}


@cache
def _asking_words() -> frozenset[str]:
    """Terms that questions of these kinds share whatever they are about (training/intent)."""
    with _INTENT.open("rb") as file, np.load(file) as arrays:
        return frozenset(arrays["asking"].tolist())


# --- Time in questions, read without a model: windows, events to anchor on, sides of a comparison, the recent,
# the order.
#
# `read_question` is a function of the text and the moment of asking. It reads in linear time, never raises, and leaves
# alone what it does not know. The result is evidence for recall, not a filter.


_READ_CHARS = 1000
"""Characters that are read as a question. A longer text is a document."""

_QUOTED = compile_late(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|‘[^’\n]{1,200}’|(?<![\w'])'[^'\n]{1,200}'(?!\w)")
_QUESTION_PRONOUN = compile_late(r"\b(?:it|them|one)\b")
_COMPARES = compile_late(r"\b(?:or|among|of|between|after|before|when|since|order|sequence)\b", re.IGNORECASE)
"""A word without which no question sets events side by side."""


def read_question(text: str, now: datetime) -> ParsedQuestion:
    """Parse the times, events and other wishes of a question, relative to the moment of asking."""
    read, rest = text[:_READ_CHARS], text[_READ_CHARS:]
    masked = _QUOTED.sub(lambda match: "\0" * len(match[0]), read.replace("\n", " "))
    if not BEGINNING.year + 20 < now.year < END.year - 20:
        return ParsedQuestion(text)  # the clock is not set, so times cannot be resolved
    moment = now.replace(tzinfo=UTC) if now.tzinfo is None else now.astimezone(UTC)
    asking = TimeQuery(masked, moment, looks_ahead(masked))
    found = read_windows(asking)
    bare = _blanked(masked, [window.place for window, _ in found])
    places: tuple[tuple[int, int], ...] = ()
    if _COMPARES.search(bare):
        from holdfast.search.sides import read_sides  # few questions need its patterns

        places = read_sides(read, bare)
    anchors = tuple(one for one in read_anchors(read, bare) if not _inside((one.place[0],) * 2, places))
    windows = [
        _beside(anchors, window, asking)
        for window, reading in found
        if not (reading.spent or _inside(window.place, places))
    ]
    return ParsedQuestion(
        text=text,
        windows=tuple(windows),
        anchors=anchors,
        sides=_sides([read[start:end] for start, end in places]),
        parts=() if places else read_parts(read, masked),
        intent=Intent.ORDINARY
        if places or rest or asking.ahead
        else read_intent(read, [window.place for window, _ in found]),
        ahead=asking.ahead,
    )


def _blanked(text: str, places: list[tuple[int, int]]) -> str:
    for start, end in places:
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


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
