"""The profile: who the user is by the records that hold now, grouped as a person would group them (BEL-7).

Records are put into sections by the reader's judgement of their subject, where admission kept it, and by words. The
order follows evidence and the time of the statement, never retrieval counts: while no
record changes and no planned day passes, the text is the same bytes.
"""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import lru_cache
from pathlib import Path

from holdfast.admit.secrets import masked_text
from holdfast.context.render import Item, encode
from holdfast.context.tiers import (
    READ_CHARS,
    Conversation,
    TierCandidate,
    is_own_word,
    plain,
    repeated_rules,
    why_gone,
)
from holdfast.errors import InputError
from holdfast.model import Hit, Kind, Provenance, Record
from holdfast.models.tokens import TokenCounter
from holdfast.store.snapshot import Snapshot
from holdfast.text.words import query_terms


class Section(Enum):
    """Sections in their order; the value is the heading."""

    WHO = "Who they are"
    PEOPLE = "People"
    HOME = "Home"
    WORK = "Work"
    HEALTH = "Health (sensitive)"
    PROJECTS = "Projects and tools"
    TASTES = "Tastes and habits"
    PLANS = "Plans"
    CONFIDED = "Told in confidence (sensitive)"
    RULES = "Rules for the assistant"


SENSITIVE = frozenset({Section.HEALTH, Section.CONFIDED})
_FACTS = tuple(section for section in Section if section is not Section.RULES)
_KINDS = (Kind.FACT, Kind.PREFERENCE, Kind.DECISION, Kind.GUIDANCE)
_STATED = (Provenance.AUTHORED, Provenance.USER_STATED, Provenance.IMPORTED)
_READ = 1000
"""Records read, the newest first: a profile of 700 tokens holds about 40."""
_SURE, _HEDGED = 0.7, 0.6
"""Confidence from which a fact describes a person, and up to which a rule is none: "Porto perhaps"."""
_RULES_SHARE = 0.6
_LONGEST_CHARS = 300
_LEFT_TO_RECALL = 10
_SHORT_WORD = 4
_YEAR = timedelta(days=365)

# --- the section of a text

_SUBJECTS = {
    "relationship": Section.PEOPLE, "health": Section.HEALTH, "preference": Section.TASTES,
    "technical": Section.PROJECTS,
}  # fmt: skip
"""Kinds of the reader (gate/reader.py), where admission kept them with a record."""


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{text})", re.IGNORECASE | re.VERBOSE)


_CONFIDED = re.compile(
    r"\b(?:in confidence|confidential|between (?:us|you and me)|keep (?:it|this|that) (?:to yourself|between|quiet)"
    r"|(?:nobody|no ?one|none of them|only \w{1,20}(?: \w{1,20}){0,3}) (?:else )?knows?\b|secret"
    r"|not a word (?:to|of|about)|(?:do not|don['’]t|never) (?:tell|mention (?:it|this|that) to) (?!me\b|us\b)"
    r"|(?:has|have|had)(?:n['’]t| not) told|doesn['’]t know (?:yet|about|that i))",
    re.IGNORECASE,
)
_HEALTH = _words(r"""
    allerg | asthma | ana?emi | anxiet | arthriti | antibiotic | biops | blood\s(?:pressure|test|sugar|thinner|type)
    | cancer | cardiolog | c(?:o?e)liac | cholesterol | chemo | clinic\b | depress(?:ed|ion) | diabet | diagnos
    | dialys | disease | dos(?:e|age)\b | epilep | fibrillat | gp\b | gyna?ec | hospital | hip\s(?:repl|oper)
    | ibuprofen | infect | inhaler | injur | insulin | intoleran | medic(?:al|ation|ine) | migraine | miscarr | mg\b
    | neurolog | operation\b | ovar | panic | penicillin | physio | pills?\b | pregnan | prescri
    | psych(?:iat|olog|other) | pulse\b | rehab | seizure | stroke\b | surg(?:ery|eon|ical) | symptom | tablets\b
    | therap | thyroid | tumou?r | ulcer | vaccin | my\s(?:heart|hip|knee|back|blood|doctor|dentist)\b""")
_WORDS: tuple[tuple[Section, re.Pattern[str]], ...] = (
    (Section.PROJECTS, _words(r"""
        i(?:['’]m|\sam)\s(?:writing|building|learning|developing|restoring|studying|training|preparing|making|coding
        |renovating|translating|researching) | (?:my|the)\s(?:book|novel|thesis|project|app|blog|manuscript|server|repo
        |website|codebase|database|backend|frontend|pipeline)\b
        | my\s(?:laptop|computer|phone|bike|car|van|course|exam)\b | (?:i|we)\suse\b
        | python\b | postgres | kubernetes | docker | linux\b | typescript\b | publisher""")),
    (Section.PEOPLE, _words(r"""
        (?:my|our)\s(?:\w{1,20}\s){0,2}(?:mother|mum|mom|father|dad|parents|sister|brother|son|daughter|child|kids?\b
        |husband|wife|partner|girlfriend|boyfriend|fianc|grand|aunt|uncle|cousin|niece|nephew|friend|neighbou?r|boss
        |manager|colleague|teacher|landlord|landlady|ex\b|twins?\b|baby|dog\b|cat\b|flatmate|roommate|in-law)
        | (?:is|are)\smy\s
        | \w{2,30}['’]s\s(?:birthday|children|kids|husband|wife|partner|son|daughter|mother|father)""")),
    (Section.WORK, _words(r"""
        i\s(?:work|teach|manage)\b | i['’]m\sworking\s(?:at|for|as) | i\sused\sto\swork | employ | retire(?:d|ment)
        | promot | at\swork\b | freelanc | self-employ | i\s(?:run|own)\sa\b | (?:my|our)\s(?:job|company|team|office
        |salary|shift|clients?|customers?|students?|contract)\b""")),
    (Section.HOME, _words(r"""
        (?:i|we)\slive\b | i['’]m\sfrom | i\scome\sfrom | moved\s(?:to|into) | born\sin | grew\sup | mortgage\b
        | flights?\sof\sstairs | (?:two|three|four)\srooms | (?:first|second|third|fourth|fifth|top)\sfloor
        | (?:my|our)\s(?:flat|house|apartment|home|garden|kitchen|address|street|rent|village|town)\b""")),
    (Section.TASTES, _words(r"""
        i\s(?:really\s|just\s|still\s)?(?:like|love|hate|prefer|enjoy|dislike|can['’]?t\sstand|cannot\sstand|adore
        |collect|drink|eat|cook|sing|play|swim|run|read|watch|listen)\b | favou?rite | vegetarian | vegan\b
        | i\s(?:do\snot|don['’]t|never|always)\s(?:eat|drink|fly|like|watch|read)""")),
)  # fmt: skip
"""By the words that name them, in the order in which they decide."""
_BASIC = re.compile(r"\W*(?:(?:i|we) (?:live|work)\b|my name is\b)", re.IGNORECASE)
_SELF = re.compile(r"\W*(?:i|i['’]m|i['’]ve|my|we|our|me)\b", re.IGNORECASE)
_STATES = re.compile(
    r"\W*(?:(?:i|we) (?:am|are|was|have|live|work|speak|play|sing|use|own|run|teach|prefer|love|like|hate|enjoy|collect"
    r"|do not|don['’]t|can(?:not|['’]t)?|never|always|usually|used to|learnt|learned|studied|grew|come|take)"
    r"|i['’](?:m|ve)|we['’]re|(?:my|our) [\w'’ ]{2,40}? (?:is|are|was)\b|my \w+ [A-Z])",
    re.IGNORECASE,
)
_DANGLING = re.compile(
    r"\W*(?:(?:and|but|so|also|well|yes|no|ok|okay|then),? ){0,4}(?:he|she|it|they|that|this|those|these|his|her|their"
    r"|its|same|there|not|one|both|them)\b",
    re.IGNORECASE,
)
_EVENT = re.compile(
    r"\b(?:rang|came|went|asked|told|said|says|called|visited|laughed|sent|wrote|brought|met up|had a|has written)\b",
    re.I,
)
"""Words of what happened once, which describes nobody."""
_AHEAD = re.compile(
    r"\b(?:will|going to|plan(?:ning)? to|want to|hope to|next (?:week|month|year|spring|summer)|i['’]ll)\b", re.I
)


@lru_cache(maxsize=8192)
def section_of(text: str, subject: str = "") -> Section | None:
    """Return the section that a statement belongs to by its words, or None for what describes nobody."""
    if _CONFIDED.search(text):
        return Section.CONFIDED
    if _HEALTH.search(text) and not _BASIC.match(text):  # about others too: rather one too many among the sensitive
        return Section.HEALTH
    if (by_reader := _SUBJECTS.get(subject)) is not None:
        return by_reader
    by_words = next((section for section, words in _WORDS if words.search(text)), None)
    if by_words is not None or subject in ("event", "decision"):
        return by_words
    return Section.WHO if _SELF.match(text) else None


# --- records that describe the user, best first


@dataclass(frozen=True)
class ProfileEntry:
    record: Record
    section: Section
    worth: float
    text: str
    """As it is shown, on one line."""

    @property
    def sensitive(self) -> bool:
        return self.section in SENSITIVE or (self.section is Section.RULES and section_of(self.text) in SENSITIVE)


def read_entries(view: Snapshot, now: datetime) -> list[ProfileEntry]:
    """Return the facts and rules that hold now, the best of each section first."""
    records = [record for kind in _KINDS for record in view.recent_records(_READ, kind) if record.provenance in _STATED]
    newest = max((record.at for record in records), default=now)
    rules = [record for record in records if record.kind is Kind.GUIDANCE]
    repeated = repeated_rules(rules)
    found = [entry for record in records if (entry := _entry(record, newest, now)) is not None]
    kept = [entry for entry in found if entry.record.id not in repeated and _holds(entry, view)]
    return sorted(kept, key=lambda one: (-one.worth, -one.record.at.timestamp(), one.text))


def _entry(record: Record, newest: datetime, now: datetime) -> ProfileEntry | None:
    text = masked_text(" ".join(record.display.split()))
    if record.kind is Kind.GUIDANCE:
        worth = record.confidence + _evidence(record) - 0.01 * max(len(text.split()) - 12, 0)
        return None if record.confidence <= _HEDGED else ProfileEntry(record, Section.RULES, worth, text)
    when = _when(record)
    ahead = when is not None and when[1] > now and when[0].date() >= record.at.date()
    lapsed = when is not None and when[1] <= now and when[0].date() >= record.at.date()
    if lapsed or record.confidence < _SURE or len(text) > _LONGEST_CHARS:
        return None  # the day that it speaks of has passed, or it is no description
    section = section_of(record.text, str(record.metadata.get("subject") or ""))
    soon = section is None and record.at + _YEAR / 4 > newest and _AHEAD.search(record.text) is not None
    if soon or (ahead and section not in SENSITIVE):
        section = Section.PLANS
    if section is None:
        return None
    worth = record.confidence + _evidence(record) + 0.2 * 0.5 ** ((newest - record.at) / _YEAR)
    worth += 0.4 * bool(_STATES.match(record.text)) - 0.6 * bool(_DANGLING.match(record.text))
    if section is not Section.PLANS and (record.metadata.get("subject") == "event" or _EVENT.search(text)):
        worth -= 0.3
    words = len(text.split())
    worth -= 0.01 * max(words - 20, 0) + 0.1 * max(5 - words, 0)
    if ahead and when is not None and not any(letter.isdigit() for letter in when[2]):
        text = f"{text} ({when[0].day} {when[0]:%b %Y})"
    return ProfileEntry(record, section, round(worth, 4), text)


def _evidence(record: Record) -> float:
    return 0.15 * math.log2(record.evidence_count) if record.evidence_count > 1 else 0.0


def _when(record: Record) -> tuple[datetime, datetime, str] | None:
    when = record.metadata.get("when")
    if not isinstance(when, Mapping):
        return None
    return datetime.fromisoformat(str(when["start"])), datetime.fromisoformat(str(when["end"])), str(when["phrase"])


def _holds(entry: ProfileEntry, view: Snapshot) -> bool:
    """Return whether a rule is the user's own and still holds, as for contexts; a live fact always does."""
    if entry.section is not Section.RULES:
        return True
    read = view.turns_by_id(entry.record.turn_ids, READ_CHARS)
    turns = [read[turn_id] for turn_id in entry.record.turn_ids if turn_id in read]
    return is_own_word(entry.record, turns) and not why_gone(entry.record, turns, view)


# --- the page


@dataclass(frozen=True)
class ProfileSection:
    """One section of a profile."""

    title: str
    sensitive: bool
    """Health, and what was told in confidence."""
    record_ids: tuple[str, ...]


@dataclass(frozen=True)
class ProfilePage:
    """The owner of a memory as its current records describe them."""

    namespace: str
    text: str
    """Markdown; empty if there is nothing to tell."""
    tokens: int
    sections: tuple[ProfileSection, ...]
    records: tuple[Record, ...]
    """The records behind the lines, in their order; their turns are the sources."""


def make_profile(
    entries: Iterable[ProfileEntry], namespace: str, tokens: int, sensitive: bool, counter: TokenCounter
) -> ProfilePage:
    """Fill the page: rules up to their share, then the best fact of each section in turn, then what is left."""
    from holdfast.admit.secrets import mask  # its patterns take long to load, and contexts do without them

    known = [entry for entry in entries if sensitive or not entry.sensitive]
    wanted = [entry for entry in known if mask(entry.text).text == entry.text]  # no secrets
    rules = [entry for entry in wanted if entry.section is Section.RULES]
    taken: dict[Section, list[ProfileEntry]] = defaultdict(list)
    spent = counter.count(_title(namespace))
    said: set[str] = set()

    def take(entry: ProfileEntry, limit: int) -> None:
        nonlocal spent
        heading = counter.count(_heading(entry.section)) if not taken[entry.section] else 0
        cost = counter.count(_line(entry)) + heading
        if spent + cost <= limit and plain(entry.text) not in said:
            taken[entry.section].append(entry)
            said.add(plain(entry.text))
            spent += cost

    for entry in rules:
        take(entry, int(_RULES_SHARE * tokens))
    for entry in (*in_turn(wanted), *rules):
        take(entry, tokens)
    shown = {section: taken[section] for section in Section if taken[section]}
    text = _title(namespace) + "".join(
        _heading(section) + "".join(map(_line, entries)) for section, entries in shown.items()
    )
    records = tuple(entry.record for entries in shown.values() for entry in entries)
    sections = tuple(
        ProfileSection(section.value, section in SENSITIVE, tuple(entry.record.id for entry in entries))
        for section, entries in shown.items()
    )
    return ProfilePage(namespace, text if records else "", counter.count(text) if records else 0, sections, records)


def in_turn(entries: Sequence[ProfileEntry]) -> Iterator[ProfileEntry]:
    """Yield facts, one of each section in turn; people and projects come twice as often as the others."""
    left = {section: [entry for entry in entries if entry.section is section] for section in _FACTS}
    while any(left.values()):
        for section in _FACTS:
            for _ in range(2 if section in (Section.PEOPLE, Section.PROJECTS) else 1):
                if left[section]:
                    yield left[section].pop(0)


def _title(namespace: str) -> str:
    return f"# Profile of {encode(namespace)}\n"


def _heading(section: Section) -> str:
    return f"\n## {section.value}\n"


def _line(entry: ProfileEntry) -> str:
    return f"- {encode(entry.text)}\n"


# --- as a part of contexts


def profile_candidates(
    entries: Sequence[ProfileEntry], question: str, conversation: Conversation, hits: Sequence[Hit]
) -> list[TierCandidate]:
    """Return the facts for a context, in turn by section: no rules, and nothing sensitive unless it is asked about.

    What the question finds among the first is left to recall, which shows it with its day.
    """
    recalled = {turn_id for hit in hits[:_LEFT_TO_RECALL] for turn_id in (hit.id, *hit.turn_ids)}
    asked = section_of(question)
    found = []
    for entry in in_turn(entries):
        if entry.sensitive and entry.section is not asked and not _near(question, entry.text):
            continue
        if not recalled.isdisjoint((entry.record.id, *entry.record.turn_ids)):
            continue
        record, visible = entry.record, conversation.shows(entry.record.text)
        item = Item(record.id, entry.text, record.provenance.value, record.kind.value, record.at)
        reason = "visible in the messages" if visible else f"profile: {entry.section.value}"
        found.append(TierCandidate(item, reason, visible, record.turn_ids, entry.worth, whole=False))
    return found


def _near(question: str, text: str) -> bool:
    """Return whether two texts share a word that says something; short words are in most texts."""
    first, second = (frozenset(query_terms(one, 64)) for one in (question, text))
    return any(len(word) > _SHORT_WORD for word in first & second)


def without_confidences(candidates: Sequence[TierCandidate], question: str) -> list[TierCandidate]:
    """Leave out what was told in confidence where the question is about other things."""
    return [
        replace(one, out=True, reason="told in confidence, and the question is about something else")
        if not (one.out or one.words) and _CONFIDED.search(one.item.text) and not _near(question, one.item.text)
        else one
        for one in candidates
    ]


# --- kept in a file

_BEGINS = "<!-- holdfast profile begins: kept up to date by holdfast profile --keep-in; write outside of it -->"
_ENDS = "<!-- holdfast profile ends -->"


def keep_profile(path: str | os.PathLike[str], text: str) -> bool:
    """Put the profile between two comments of a Markdown file and leave the rest alone; return whether it changed."""
    place = Path(os.path.realpath(path))
    before = place.read_text(encoding="utf-8") if place.exists() else ""
    counts = before.count(_BEGINS), before.count(_ENDS)
    part = f"{_BEGINS}\n{text.rstrip()}\n{_ENDS}"
    if counts == (0, 0):
        after = f"{before.rstrip()}\n\n{part}\n" if before.strip() else f"{part}\n"
    elif counts == (1, 1) and before.index(_BEGINS) < before.index(_ENDS):
        after = before[: before.index(_BEGINS)] + part + before[before.index(_ENDS) + len(_ENDS) :]
    else:
        raise InputError(
            f"{path} has {counts[0]} comments that begin the profile and {counts[1]} that end it; leave one of "
            "each, in this order, or none"
        )
    if after == before:
        return False
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(after)
    os.chmod(name, place.stat().st_mode & 0o777 if place.exists() else 0o600)
    os.replace(name, place)
    return True
