"""What can be said of memories by their texts alone, whosever they are: copies, junk, what has passed, secrets."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.echo import is_echo
from holdfast.admit.floor import Reason, Refusal, judge
from holdfast.admit.merge import MOST_EXTRA, Likeness, additions, compare, is_loose_one
from holdfast.admit.secrets import mask
from holdfast.admit.topics import reading_of
from holdfast.admit.values import Reading, Word
from holdfast.model import Provenance, Record, Role
from holdfast.settings import DoctorSettings, Settings
from holdfast.store.rows import role_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space
from holdfast.text.sentences import sentences
from holdfast.text.time import Span, read_spans
from holdfast.text.words import FUNCTION_WORDS, fold, terms
from holdfast.upkeep.findings import Check, Example, Finding, Memo, finding
from holdfast.upkeep.indexes import Looked, pages

# --- Which texts say the same as another, without comparing each with each.
#
# Two texts that the value guard lets stand for one another have the same deciding words, or one of them has a word
# or two more that only describe. So each text is filed under the sum of its words, with and without those, and
# compared with what lies there: no pair is missed, and a text that differs in a number from a thousand others is
# compared with none.


Pair = tuple[int, int]
Vectors = NDArray[np.float32]

_SHARED = 0.6
"""Share of their words, of all that either has, from which two texts may be one, where their vectors do not say so."""
_NEARLY_ALL = 0.8
"""… and from which one may add something to the other and still be a copy, where there are no vectors to ask."""
_MOST_ADDITIONS = 64
"""Describing words of one text that are taken away by twos: 2,080 sums. Four thousand characters rarely have more."""
_BETWEEN = re.compile(r"[\W_]+")


@dataclass
class Near:
    """What was found, and what it took."""

    pairs: list[Pair]
    """(a text, an earlier one that says the same in other words)"""
    compared: int = 0
    cut: list[int] | tuple[int, ...] = ()
    """Texts that were not compared with all that they might be a copy of."""


@dataclass(frozen=True, slots=True)
class _Sums:
    whole: tuple[int, ...]
    lesser: tuple[int, ...]
    """… without words that another text may lack."""
    cut: bool


def copies(texts: Sequence[str]) -> list[Pair]:
    """(a text, the first one of the same words), case and punctuation aside."""
    first: dict[str, int] = {}
    found = []
    for number, text in enumerate(texts):
        key = _BETWEEN.sub(" ", fold(text)).strip() or text
        if first.setdefault(key, number) != number:
            found.append((number, first[key]))
    return found


def near_copies(texts: Sequence[str], vectors: Vectors | None, same: float, most: int) -> Near:
    """Each text once, with the first it is a copy of; copies by the letter left out.

    `most`: how many others a text is compared with; where there are more that might be it, the answer says so.
    """
    exact = {number for number, _ in copies(texts)}
    sums = {number: _sums(reading_of(text)) for number, text in enumerate(texts) if number not in exact}
    known = {one for held in sums.values() for one in held.whole}
    wholes: defaultdict[int, list[int]] = defaultdict(list)
    lessers: defaultdict[int, list[int]] = defaultdict(list)
    made, cut = Near([]), []
    for number, held in sums.items():
        lesser = [one for one in held.lesser if one in known]
        lists = [*(wholes[one] for one in (*held.whole, *lesser)), *(lessers[one] for one in held.whole)]
        earlier = sorted({place for places in lists for place in places[: most + 1]})
        for place in earlier[:most]:
            made.compared += 1
            if _says_the_same(texts, vectors, number, place, same):
                made.pairs.append((number, place))
                break
        else:
            if held.cut or len(earlier) > most:
                cut.append(number)
        for one in held.whole:
            wholes[one].append(number)
        for one in lesser:
            lessers[one].append(number)
    made.cut = cut
    return made


def _says_the_same(texts: Sequence[str], vectors: Vectors | None, later: int, earlier: int, same: float) -> bool:
    likeness = compare(texts[later], texts[earlier]).likeness
    if likeness is Likeness.DIFFERENT:
        return False
    if vectors is not None and float(vectors[later] @ vectors[earlier]) >= same:
        return True
    ours, theirs = _words(texts[later]), _words(texts[earlier])
    shared = len(ours & theirs)
    if likeness is Likeness.SAME:
        return shared > 0 and shared >= _SHARED * len(ours | theirs)
    return vectors is None and shared >= _NEARLY_ALL * len(ours | theirs)


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if term not in FUNCTION_WORDS)


def _sums(reading: Reading) -> _Sums:
    """Where to file a text. A word's number is its hash: a sum that two share by accident costs one comparison."""
    loose = [word for word in reading.words if is_loose_one(word)]
    total = sum(hash(key) for key in reading.keys)
    wholes = [total - sum(hash(word.key) for word in loose[:gone]) for gone in range(len(loose) + 1)]
    extra = _additions(reading, loose)
    missing = {
        sum(hash(word.key) for word in some)
        for count in range(1, MOST_EXTRA + 1)
        for some in combinations(extra[:_MOST_ADDITIONS], count)
    }
    lesser = {whole - gone for whole in wholes for gone in missing}
    return _Sums(tuple(wholes) if reading.words else (), tuple(lesser), len(extra) > _MOST_ADDITIONS)


def _additions(reading: Reading, loose: Sequence[Word]) -> list[Word]:
    """With each "one" and without any: what stands before a noun may describe it only then."""
    found = {word.start: word for word in additions(reading)}
    if loose:
        places = {word.start for word in loose}
        rest = Reading(tuple(word for word in reading.words if word.start not in places), reading.tail)
        found |= {word.start: word for word in additions(rest)}
    return [found[place] for place in sorted(found)]


# --- What lay ahead when it was said and has passed since, without a word of what came of it.
#
# A date alone does not make a plan: a birthday comes again, a rent "from 1 July" begins then and goes on, "closed on
# Sunday" is so each week, and 2026-07-28 may be the name of a version. Each sentence is read by itself, and in doubt it
# is left alone: the doctor's advice is to forget, and a fact that is forgotten costs more than a plan that is kept.


_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_AGAIN = re.compile(
    rf"\b(?:every|each|always|usually|often|normally|generally|daily|nightly|weekly|fortnightly|monthly|quarterly"
    rf"|yearly|annual(?:ly)?|weekdays|weekends|{_WEEKDAY}s|anniversary|name ?day"
    r"|birthday(?! (?:party|dinner|lunch|brunch|trip|celebrations?)\b))\b",
    re.IGNORECASE,
)
"""What comes again does not pass with one of its days."""
_BEGINS = re.compile(
    r"\b(?:from|starting|beginning|as of|effective|since|after|once)(?: (?:from|on|in|with|the))?\s*+$", re.IGNORECASE
)
_GOES_ON = re.compile(r"(?:from|since)\b", re.IGNORECASE)  # "from June": the reader of times takes the word along
_ENDS = re.compile(r"\s*+(?:to|until|till|through|thru|[-–—])(?!\w)", re.IGNORECASE)
"""What begins at a time goes on after it, unless its end is named too."""
_NAMES = re.compile(
    r"(?:[\w/\\_-]|\b(?:versions?|releases?|editions?|revisions?|builds?|tags?|api|spec|drafts?|protocol)"
    r"(?: is| was|:)? *+)$",
    re.IGNORECASE,
)
_NAMED = re.compile(r"[\w/\\_-]|\.\w")
"""A date that is glued to other signs, or that such a word introduces, is part of a name."""
_SHORT = re.compile(r"\w+ (?:sun|sat|wed|mar)$")  # "this sun": a word, unless it is written as a name
_UNTIL = re.compile(r"\b(?:until|till|by|before)\s*+$", re.IGNORECASE)
_BARE = re.compile(rf"(?:on )?{_WEEKDAY}", re.IGNORECASE)
_SET = re.compile(
    r"\b(?:will|going to|gonna|plan(?:s|ned|ning)?|upcoming|due|ha(?:ve|s) to|needs? to|must"
    r"|(?:am|is|are|['’](?:m|s|re)) (?:\w+ing|(?:on |this |next )?" + _WEEKDAY + r"))\b|['’]ll\b",
    re.IGNORECASE,
)
"""A weekday without more ("closed on Sunday") is one day only in a sentence that sets something for it."""


def passed(text: str, said: datetime, before: datetime) -> Span | None:
    """The latest time of the text that lay ahead of when it was said and has ended before a moment; None if there is
    none, or if a time of it has not ended yet.
    """
    ahead = [span for sentence in sentences(text) for span in _ahead(sentence, said)]
    last = max(ahead, key=lambda span: span.end, default=None)
    return last if last is not None and last.end < before else None


def _ahead(sentence: str, said: datetime) -> Iterator[Span]:
    if _AGAIN.search(sentence):
        return
    done = 0
    for span in read_spans(sentence, said):
        start = sentence.index(span.phrase, done)
        done = start + len(span.phrase)
        if span.start > said and _is_plan(span.phrase.rstrip("."), sentence[:start], sentence[done:]):
            yield span


def _is_plan(phrase: str, before: str, after: str) -> bool:
    if _NAMES.search(before) or _NAMED.match(after) or _SHORT.match(phrase):
        return False
    if (_BEGINS.search(before) or _GOES_ON.match(phrase)) and not _ENDS.match(after):
        return False
    if not _BARE.fullmatch(phrase) or _UNTIL.search(before):
        return True
    return _SET.search(before + phrase + after) is not None


_DAY = timedelta(days=1)


def last_day(span: Span) -> str:
    """As people say it: a span's end is exclusive."""
    return str((span.end - _DAY).date())


_MANY_ALIKE = "too many others have the same deciding words"
_READ_CHARS = 4000
"""A memory is a sentence or two; a page is read so far."""


def audit_texts(
    memos: Sequence[Memo],
    vectors: NDArray[np.float32] | None,
    same: float,
    now: datetime,
    settings: DoctorSettings,
    harmless: frozenset[Reason] = frozenset(),
) -> list[Finding]:
    """`vectors`: a row a memo, if there is a model; `same`: the cosine from which it calls two texts one.

    `harmless`: reasons of the floor that are none in these memories.
    """
    texts = [memo.text[:_READ_CHARS] for memo in memos]
    near = near_copies(texts, vectors, same, settings.alike)
    return [
        finding(
            Check("duplicates", settings.max_duplicates, "forget all but one of each"),
            len(memos),
            _examples(memos, copies(texts), "the same words as"),
        ),
        finding(
            Check("near-duplicates", settings.max_near_duplicates, "forget the poorer one of each"),
            len(memos),
            _examples(memos, near.pairs, "says the same as"),
        ),
        finding(
            Check("not compared with all", 1.0, "near-duplicates may be more; doctor.alike sets how many are compared"),
            len(memos),
            [Example(memos[one].id, memos[one].text, _MANY_ALIKE) for one in near.cut],
        ),
        finding(
            Check("junk", settings.max_junk, "forget them; they would be refused at the door"),
            len(memos),
            _junk(memos, harmless),
        ),
        finding(
            Check("stale", settings.max_stale, "forget what has passed, or say what came of it"),
            len(memos),
            _stale(memos, now, timedelta(days=settings.stale_days)),
        ),
        finding(
            Check("secrets", settings.max_secrets, "change the secret, then erase what holds it"),
            len(memos),
            _secrets(memos),
        ),
    ]


def _examples(memos: Sequence[Memo], pairs: Sequence[tuple[int, int]], how: str) -> Iterator[Example]:
    for later, earlier in pairs:
        told = f"{how} {memos[earlier].id}"
        if memos[earlier].text != memos[later].text:
            told += f": {mask(memos[earlier].text).text[:100]!r}"
        yield Example(memos[later].id, memos[later].text, told)


def _junk(memos: Sequence[Memo], harmless: frozenset[Reason]) -> Iterator[Example]:
    for memo in memos:
        if memo.judged and (refusal := _refused(memo.text[:_READ_CHARS], harmless)) is not None:
            yield Example(memo.id, memo.text, f"{refusal.reason.value}: {refusal.why}")


def _refused(text: str, harmless: frozenset[Reason]) -> Refusal | None:
    """Why all of it would be refused; None if a sentence of it would not be.

    Read as an answer: a memory has lost the turn before it, so that few words may be a whole statement.
    """
    refusals = [judge(sentence, answers_question=True) for sentence in sentences(text)]
    if not refusals or any(one is None or one.reason in harmless for one in refusals):
        return None
    return refusals[0]


def _stale(memos: Sequence[Memo], now: datetime, grace: timedelta) -> Iterator[Example]:
    """What lay ahead when it was said, and has passed: nobody said what came of it."""
    for memo in memos:
        if memo.at is None or memo.at > now:
            continue
        last = passed(memo.text[:_READ_CHARS], memo.at, now - grace)
        if last is not None:
            ahead = f"ahead of when it was said ({memo.at.date()})"
            yield Example(memo.id, memo.text, f"{last.phrase.rstrip('.')!r} was {last_day(last)}, {ahead}")


def _secrets(memos: Sequence[Memo]) -> Iterator[Example]:
    for memo in memos:
        if found := mask(memo.text).found:
            yield Example(memo.id, memo.text, f"holds a secret: {', '.join(sorted({one.kind for one in found}))}")


# --- Memory that feeds on itself: records that repeat the assistant, turns that hold what was recalled; broken
# links.


_FRAME = re.compile(r"\[\[memory [a-z2-7]{12} (?:begins|ends)\]\]")
"""The first and last line of what context() hands to a model (context/render.py)."""
_BEFORE = 6
"""Turns before a statement that it may be an echo of; admission looks as far (admit.turns_shown)."""


def looped_records(view: Snapshot, records: Sequence[Record], settings: Settings) -> Looked:
    """Records in the user's name whose turn only repeats what the assistant had just said; of a sample."""
    stated = [record for record in records if record.provenance is Provenance.USER_STATED and record.turn_ids]
    sample = stated[:: max(len(stated) // settings.doctor.sample, 1)]
    looked = Looked(len(sample), [])
    for record in sample:
        turn = view.turn(record.turn_ids[0])
        if turn is None or record.metadata.get("confirmed"):
            continue
        before = view.thread(turn.session, max(turn.index - _BEFORE, 0) - 1, min(turn.index, _BEFORE))
        heard = [one.text for one in before if one.role is Role.ASSISTANT and one.index < turn.index]
        if is_echo(record.text, heard) or _FRAME.search(record.text):
            looked.wrong.append(Example(record.id, record.text, "it repeats what the assistant had just said"))
    return looked


def framed_turns(view: Snapshot) -> Looked:
    """Turns of the user that hold a frame of ours: what was recalled was ingested again."""
    user, looked = role_number(Role.USER), Looked(0, [])
    for part in pages(view, Space.TURN):
        for turn in part:
            looked.of += turn.sort == user
            if turn.sort == user and _FRAME.search(turn.text):
                looked.wrong.append(Example(f"turn {turn.num}", turn.text, "it holds what memory had recalled"))
    return looked


def secret_turns(view: Snapshot, settings: Settings) -> Looked:
    """Turns that hold a secret although the log is to keep none; of a sample, the newest first."""
    turns = list(view.recent_turns(settings.doctor.sample, None, None, None))
    return Looked(
        len(turns), [Example(turn.id, turn.text, "it holds a secret") for turn in turns if mask(turn.text).found]
    )


def broken_links(view: Snapshot) -> Looked:
    """Records that were replaced by one that is not there, by themselves, or in a circle."""
    successions = view.successions()
    looked = Looked(len(successions), [])
    for old, new in successions.items():
        record = view.record(old)
        text = "" if record is None else record.text
        if view.record(new) is None:
            looked.wrong.append(Example(old, text, f"it was replaced by {new}, which is not there"))
        elif record is not None and record.valid_to is None:
            looked.wrong.append(Example(old, text, f"it was replaced by {new}, and still holds"))
        elif _circles(successions, old):
            looked.wrong.append(Example(old, text, "what replaced it was replaced by it"))
    return looked


def _circles(successions: dict[str, str], start: str) -> bool:
    seen, at = {start}, successions[start]
    while at in successions and at not in seen:
        seen.add(at)
        at = successions[at]
    return at == start
