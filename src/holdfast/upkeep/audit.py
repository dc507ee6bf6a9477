"""Text audits of the doctor: duplicates, junk, expired plans, secrets, feedback loops and broken links.

`audit_texts` needs only the texts of memories, so it also works on files of other systems. Duplicates are found without
comparing every pair: two texts that the value guard accepts as equal have the same deciding words, or one of them has
one or two additional words that only describe. Each text is therefore indexed under the sum of the hashes of its words,
with and without those. No pair is missed, and a text that differs in a number from a thousand others is compared with
none of them.
"""

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
from holdfast.admit.values import ParsedStatement, Word
from holdfast.model import Provenance, Record, Role
from holdfast.settings import Settings, tuned
from holdfast.store.rows import role_number
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space
from holdfast.text.time import Span, before, read_spans
from holdfast.text.words import FUNCTION_WORDS, fold, sentences, terms
from holdfast.upkeep.findings import AuditItem, AuditResult, Check, CheckResult, DoctorSizes, Example, make_finding
from holdfast.upkeep.indexes import pages

Vectors = NDArray[np.float32]

_MAX_CHARS = 4000  # a memory is a sentence or two; only the beginning of a longer text is audited
_MIN_SHARED = 0.6  # share of common words from which two equal texts are duplicates when their vectors do not show it
_MIN_SHARED_EXTENDED = 0.8  # the same for a text that adds something to the other, when there are no vectors
_MAX_ADDITIONS = 64
"""Describing words of one text that are left out in pairs: 2,080 sums. Texts of 4,000 characters rarely have more."""
_SEPARATORS = re.compile(r"[\W_]+")
_FRAME = re.compile(r"\[\[memory [a-z2-7]{12} (?:begins|ends)\]\]")
"""The first and last line of what `context()` gives to a model (context/render.py)."""
_ECHO_WINDOW = 6  # turns before a statement that it may repeat; admission looks as far back (admit.turns_shown)

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_RECURS = re.compile(
    rf"\b(?:every|each|always|usually|often|normally|generally|daily|nightly|weekly|fortnightly|monthly|quarterly"
    rf"|yearly|annual(?:ly)?|weekdays|weekends|{_WEEKDAY}s|anniversary|name ?day"
    r"|birthday(?! (?:party|dinner|lunch|brunch|trip|celebrations?)\b))\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    r"\b(?:from|starting|beginning|as of|effective|since|after|once)(?: (?:from|on|in|with|the))?\s*+$", re.IGNORECASE
)
_CONTINUES = re.compile(r"(?:from|since)\b", re.IGNORECASE)  # "from June": the time parser includes the word
_ENDS = re.compile(r"\s*+(?:to|until|till|through|thru|[-–—])(?!\w)", re.IGNORECASE)
"""Something that begins at a time continues after it, unless its end is named too."""
_NAME_BEFORE = re.compile(
    r"(?:[\w/\\_-]|\b(?:versions?|releases?|editions?|revisions?|builds?|tags?|api|spec|drafts?|protocol)"
    r"(?: is| was|:)? *+)$",
    re.IGNORECASE,
)
_NAME_AFTER = re.compile(r"[\w/\\_-]|\.\w")
"""A date that is joined to other characters, or follows such a word, is part of a name."""
_AMBIGUOUS = re.compile(r"\w+ (?:sun|sat|wed|mar)$")  # "this sun" is a word unless it is capitalised
_UNTIL = re.compile(r"\b(?:until|till|by|before)\s*+$", re.IGNORECASE)
_WEEKDAY_ONLY = re.compile(rf"(?:on )?{_WEEKDAY}", re.IGNORECASE)
_SCHEDULES = re.compile(
    r"\b(?:will|going to|gonna|plan(?:s|ned|ning)?|upcoming|due|ha(?:ve|s) to|needs? to|must"
    r"|(?:am|is|are|['’](?:m|s|re)) (?:\w+ing|(?:on |this |next )?" + _WEEKDAY + r"))\b|['’]ll\b",
    re.IGNORECASE,
)
"""A weekday alone ("closed on Sunday") is a single day only in a sentence that schedules something for it."""


@dataclass
class NearDuplicates:
    """Near-duplicate pairs and the cost of finding them."""

    pairs: list[tuple[int, int]]
    """(text, earlier text that says the same in other words)"""
    compared: int
    incomplete: list[int]
    """Texts that were not compared with every possible duplicate."""


@dataclass(frozen=True, slots=True)
class _WordSums:
    full: tuple[int, ...]
    reduced: tuple[int, ...]
    """Sums without words that another text may lack."""
    truncated: bool


def audit_texts(
    items: Sequence[AuditItem],
    vectors: Vectors | None,
    same: float,
    now: datetime,
    settings: DoctorSizes,
    harmless: frozenset[Reason] = frozenset(),
) -> list[CheckResult]:
    """Return one finding per text check.

    `vectors` has one row per item; `same` is the cosine from which their model calls two texts equal. `harmless` are
    reasons of the quality floor that do not make junk of these memories.
    """
    texts = [item.text[:_MAX_CHARS] for item in items]
    near = near_duplicates(texts, vectors, same, settings.alike)
    incomplete = [
        Example(items[at].id, items[at].text, "too many others have the same deciding words") for at in near.incomplete
    ]
    checks = (
        ("duplicates", settings.max_duplicates, "forget all but one of each",
         _pair_examples(items, exact_duplicates(texts), "the same words as")),
        ("near-duplicates", settings.max_near_duplicates, "forget the less precise one of each",
         _pair_examples(items, near.pairs, "says the same as")),
        ("not compared with all", 1.0, "there may be more near-duplicates; raise doctor.alike to compare more",
         incomplete),
        ("junk", settings.max_junk, "forget them; admission would refuse them", _junk(items, harmless)),
        ("stale", settings.max_stale, "forget what is over, or ingest what became of it",
         _stale(items, now, timedelta(days=settings.stale_days))),
        ("secrets", settings.max_secrets, "change the secret, then erase what contains it", _secrets(items)),
    )  # fmt: skip
    return [make_finding(Check(name, limit, advice), len(items), examples) for name, limit, advice, examples in checks]


def exact_duplicates(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return (text, first text with the same words), ignoring case and punctuation."""
    first: dict[str, int] = {}
    pairs = []
    for number, text in enumerate(texts):
        key = _SEPARATORS.sub(" ", fold(text)).strip() or text
        if first.setdefault(key, number) != number:
            pairs.append((number, first[key]))
    return pairs


def near_duplicates(texts: Sequence[str], vectors: Vectors | None, same: float, most: int) -> NearDuplicates:
    """Pair each text with the first one that it repeats in other words; exact duplicates are left out.

    A text is compared with at most `most` others; if there are more possible ones, it is listed as incomplete.
    """
    exact = {number for number, _ in exact_duplicates(texts)}
    sums = {number: _word_sums(reading_of(text)) for number, text in enumerate(texts) if number not in exact}
    known = {value for own in sums.values() for value in own.full}
    by_full: defaultdict[int, list[int]] = defaultdict(list)
    by_reduced: defaultdict[int, list[int]] = defaultdict(list)
    found = NearDuplicates([], 0, [])
    for number, own in sums.items():
        reduced = [value for value in own.reduced if value in known]
        lists = [*(by_full[value] for value in (*own.full, *reduced)), *(by_reduced[value] for value in own.full)]
        earlier = sorted({place for places in lists for place in places[: most + 1]})
        for place in earlier[:most]:
            found.compared += 1
            if _says_the_same(texts, vectors, number, place, same):
                found.pairs.append((number, place))
                break
        else:
            if own.truncated or len(earlier) > most:
                found.incomplete.append(number)
        for value in own.full:
            by_full[value].append(number)
        for value in reduced:
            by_reduced[value].append(number)
    return found


def expired_plan(text: str, said: datetime, before: datetime) -> Span | None:
    """Return the latest time in the text that was in the future when it was said and ended before `before`.

    None if there is no such time or one of them has not ended yet. A date alone does not make a plan: a birthday comes
    again, a rent "from 1 July" continues, "closed on Sunday" holds every week, and 2026-07-28 may name a version. In
    doubt a sentence is not a plan: the advice is to forget, and a lost fact costs more than an old plan.
    """
    future = [span for sentence in sentences(text) for span in _plans(sentence, said)]
    last = max(future, key=lambda span: span.end, default=None)
    return last if last is not None and last.end < before else None


def last_day(span: Span) -> str:
    """Return the last day of a span, whose end is exclusive, as an ISO date."""
    return str((span.end - timedelta(days=1)).date())


def looped_records(view: Snapshot, records: Sequence[Record], settings: Settings) -> AuditResult:
    """Find `user_stated` records whose turn only repeats what the assistant just said, in a sample."""
    stated = [record for record in records if record.provenance is Provenance.USER_STATED and record.turn_ids]
    sample = stated[:: max(len(stated) // tuned(settings, DoctorSizes).sample, 1)]
    result = AuditResult(len(sample))
    for record in sample:
        turn = view.turn(record.turn_ids[0])
        if turn is None or record.metadata.get("confirmed"):
            continue
        before = view.thread(turn.session, max(turn.index - _ECHO_WINDOW, 0) - 1, min(turn.index, _ECHO_WINDOW))
        replies = [one.text for one in before if one.role is Role.ASSISTANT and one.index < turn.index]
        if is_echo(record.text, replies) or _FRAME.search(record.text):
            result.problems.append(Example(record.id, record.text, "it repeats what the assistant had just said"))
    return result


def framed_turns(view: Snapshot) -> AuditResult:
    """Find user turns that contain a context frame: recalled memory that was ingested again."""
    user, result = role_number(Role.USER), AuditResult()
    for page in pages(view, Space.TURN):
        for turn in page:
            result.checked += turn.sort == user
            if turn.sort == user and _FRAME.search(turn.text):
                result.problems.append(Example(f"turn {turn.num}", turn.text, "it contains recalled memory"))
    return result


def secret_turns(view: Snapshot, settings: Settings) -> AuditResult:
    """Find secrets among the newest turns, for a log that should not contain any."""
    turns = list(view.recent_turns(tuned(settings, DoctorSizes).sample, None, None, None))
    examples = [Example(turn.id, turn.text, "it contains a secret") for turn in turns if mask(turn.text).found]
    return AuditResult(len(turns), examples)


def broken_links(view: Snapshot) -> AuditResult:
    """Find superseded records whose successor is missing, is themselves, or leads back to them."""
    successions = view.successions()
    result = AuditResult(len(successions))
    for old, new in successions.items():
        record = view.record(old)
        text = "" if record is None else record.text
        if view.record(new) is None:
            result.problems.append(Example(old, text, f"it was replaced by {new}, which does not exist"))
        elif record is not None and record.valid_to is None:
            result.problems.append(Example(old, text, f"it was replaced by {new}, but is still valid"))
        elif _is_circular(successions, old):
            result.problems.append(Example(old, text, "the record that replaced it was replaced by it"))
    return result


def _is_circular(successions: dict[str, str], start: str) -> bool:
    seen, at = {start}, successions[start]
    while at in successions and at not in seen:
        seen.add(at)
        at = successions[at]
    return at == start


def _says_the_same(texts: Sequence[str], vectors: Vectors | None, later: int, earlier: int, same: float) -> bool:
    likeness = compare(texts[later], texts[earlier]).likeness
    if likeness is Likeness.DIFFERENT:
        return False
    if vectors is not None and float(vectors[later] @ vectors[earlier]) >= same:
        return True
    ours, theirs = _content_terms(texts[later]), _content_terms(texts[earlier])
    shared = len(ours & theirs)
    if likeness is Likeness.SAME:
        return shared > 0 and shared >= _MIN_SHARED * len(ours | theirs)
    return vectors is None and shared >= _MIN_SHARED_EXTENDED * len(ours | theirs)


def _content_terms(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if term not in FUNCTION_WORDS)


def _word_sums(reading: ParsedStatement) -> _WordSums:
    """Return the sums of word hashes that index a text; a sum shared by accident costs one comparison."""
    loose = [word for word in reading.words if is_loose_one(word)]
    total = sum(hash(key) for key in reading.keys)
    full = [total - sum(hash(word.key) for word in loose[:gone]) for gone in range(len(loose) + 1)]
    extra = _optional_words(reading, loose)
    missing = {
        sum(hash(word.key) for word in some)
        for count in range(1, MOST_EXTRA + 1)
        for some in combinations(extra[:_MAX_ADDITIONS], count)
    }
    reduced = {value - gone for value in full for gone in missing}
    return _WordSums(tuple(full) if reading.words else (), tuple(reduced), len(extra) > _MAX_ADDITIONS)


def _optional_words(reading: ParsedStatement, loose: Sequence[Word]) -> list[Word]:
    """Return the describing words, read with every "one" and without any: only then may they precede a noun."""
    found = {word.start: word for word in additions(reading)}
    if loose:
        places = {word.start for word in loose}
        rest = ParsedStatement(tuple(word for word in reading.words if word.start not in places), reading.tail)
        found |= {word.start: word for word in additions(rest)}
    return [found[place] for place in sorted(found)]


def _plans(sentence: str, said: datetime) -> Iterator[Span]:
    if _RECURS.search(sentence):
        return
    done = 0
    for span in read_spans(sentence, said):
        start = sentence.index(span.phrase, done)
        done = start + len(span.phrase)
        if span.start > said and _is_plan(span.phrase.rstrip("."), sentence[:start], sentence[done:]):
            yield span


def _is_plan(phrase: str, before: str, after: str) -> bool:
    if _NAME_BEFORE.search(before) or _NAME_AFTER.match(after) or _AMBIGUOUS.match(phrase):
        return False
    if (_BEGINS.search(before) or _CONTINUES.match(phrase)) and not _ENDS.match(after):
        return False
    if not _WEEKDAY_ONLY.fullmatch(phrase) or _UNTIL.search(before):
        return True
    return _SCHEDULES.search(before + phrase + after) is not None


def _pair_examples(items: Sequence[AuditItem], pairs: Sequence[tuple[int, int]], relation: str) -> Iterator[Example]:
    for later, earlier in pairs:
        why = f"{relation} {items[earlier].id}"
        if items[earlier].text != items[later].text:
            why += f": {mask(items[earlier].text).text[:100]!r}"
        yield Example(items[later].id, items[later].text, why)


def _junk(items: Sequence[AuditItem], harmless: frozenset[Reason]) -> Iterator[Example]:
    for item in items:
        if item.may_be_junk and (refusal := _refusal(item.text[:_MAX_CHARS], harmless)) is not None:
            yield Example(item.id, item.text, f"{refusal.reason.value}: {refusal.why}")


def _refusal(text: str, harmless: frozenset[Reason]) -> Refusal | None:
    """Return the first refusal if admission would refuse every sentence, else None.

    Each sentence is judged as an answer: without the turn before it, few words may be a whole statement.
    """
    refusals = [judge(sentence, answers_question=True) for sentence in sentences(text)]
    if not refusals or any(one is None or one.reason in harmless for one in refusals):
        return None
    return refusals[0]


def _stale(items: Sequence[AuditItem], now: datetime, grace: timedelta) -> Iterator[Example]:
    for item in items:
        if item.at is None or item.at > now:
            continue
        last = expired_plan(item.text[:_MAX_CHARS], item.at, before(now, grace))
        if last is not None:
            why = f"{last.phrase.rstrip('.')!r} was {last_day(last)}, ahead of when it was said ({item.at.date()})"
            yield Example(item.id, item.text, why)


def _secrets(items: Sequence[AuditItem]) -> Iterator[Example]:
    for item in items:
        if found := mask(item.text).found:
            kinds = ", ".join(sorted({one.kind for one in found}))
            yield Example(item.id, item.text, f"contains a secret: {kinds}")
