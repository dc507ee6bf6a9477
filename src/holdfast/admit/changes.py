"""An explicit word of change: what was moved, renamed, sold, cancelled, replaced or healed."""

from __future__ import annotations

import re
from functools import lru_cache

from holdfast.admit.attributes import Change, changes, clauses
from holdfast.admit.frames import ValueType, kind_of_tool, measure, same_key, value_type
from holdfast.admit.topics import (
    CONTENT,
    IS,
    MOST_DETAIL,
    REMEMBERED,
    TIES,
    Replacement,
    keys_of,
    reading_of,
    said,
    topics,
    topics_of,
)
from holdfast.admit.values import ParsedStatement, Word, WordKind
from holdfast.text.vocabulary import word_set

_COMPANY = word_set("boyfriend girlfriend partner husband wife fiance fiancee marry date engage see relationship")
_AILING = word_set("hurt break sore sprain injure ill bad ache swell infect fracture strain pull sick")
_SIDES = word_set("left right have me us still")
_LABELS = word_set(
    "dose dosage amount address name price date time version number status location limit deadline day place"
)
_PLACES = word_set(
    "month week year day hour person member write build take phone mobile run plan schedule due listen "
    "sit start happen live host base deploy set expect cost be"
)
_VAGUE = word_set("thing one it that job work time day way idea place lot name")


def by_change(statement: str, clause: str, new: ParsedStatement) -> Replacement | None:
    """Why the change that a clause of the new text tells of ends an older statement."""
    old = reading_of(statement)
    found = changes(clause)
    ended = {change.former for part in clauses(statement) for change in changes(part) if change.former} if found else ()
    for change in found:
        if change.former and any(
            keys_of(reading_of(change.former).words) == keys_of(reading_of(f).words) for f in ended
        ):
            continue  # the older statement told of the same end
        if change.how == "healed":
            if _healed(old, change):
                return Replacement(True, f"{change.thing!r} is {change.to} again")
        elif change.how == "parted" and not set(keys_of(old.words)) & _COMPANY:
            continue
        elif change.how == "renamed" and _renamed(old, change):
            return Replacement(True, f"{change.former!r} was renamed {change.to!r}")
        elif change.former and _gives_up(old, change, new):
            return Replacement(True, f"{change.how}: {change.former!r} holds no longer")
        elif change.former and _mostly_given_up(statement, change):
            return Replacement(False, f"{change.how}: {change.former!r} holds no longer", alone=True)
        elif change.to and (was := _moved(old, change)):
            return Replacement(True, f"{change.thing!r} {change.how} {change.to!r}, it was {was!r}")
    if was := _tool_left(old, clause):
        return Replacement(True, f"another tool for the same: it was {was!r}")
    if was := _counted_again(old, clause):
        return Replacement(True, f"the count goes on: it was {was!r}")
    return None


def _renamed(old: ParsedStatement, change: Change) -> bool:
    """The main branch is called master; the main branch was renamed to main."""
    thing = {word.key for word in reading_of(f"x {change.former}").words[1:]}
    keys = keys_of(old.words)
    return "call" in keys and bool(thing) and set(keys[: keys.index("call")]) == thing


def _healed(old: ParsedStatement, change: Change) -> bool:
    """My left knee hurts; the knee is fine again."""
    thing = {word.key for word in reading_of(f"x {change.thing}").words[1:]}
    keys = set(keys_of(old.words))
    hurt = keys & _AILING
    return bool(thing and hurt and thing <= keys and keys - thing - hurt <= _SIDES)


_SWITCHES = re.compile(
    r"\b(?:switch(?:ed)? (?:over )?to|mov(?:ed|ing) (?:over )?to|migrated? (?:\w{1,40} ){0,3}to|now (?:use|using|on)"
    r"|instead|changed to|went (?:back )?to|these days|any ?more|replaced|gone over to|converted to"
    r"|(?:use|using|on) [\w.+#-]{1,40} now)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=REMEMBERED)
def _switches(clause: str) -> bool:
    return _SWITCHES.search(clause) is not None


def _tool_left(old: ParsedStatement, clause: str) -> str | None:
    """Return the tool that the clause says was given up: "I switched from Vim to Emacs"."""
    if not _switches(clause):
        return None
    new = reading_of(clause)
    if not new.words or not (new.words[0].key in ("me", "us") or new.words[0].key in keys_of(old.words)):
        return None  # somebody else's switch
    kinds = {kind for word in new.words if (kind := kind_of_tool(word.key))}
    mine = {word.key for word in new.words}
    for word in old.words:
        if kind_of_tool(word.key) in kinds and word.key not in mine:
            rest = [other for other in old.words if other is not word]
            return word.said if all(other.key in TIES or other.key in mine for other in rest) else None
    return None


def _counted_again(old: ParsedStatement, clause: str) -> str | None:
    """Five km, and "I'm up to 10 km now": nothing but an amount in the same measure, and a word that it is new."""
    if len(old.words) > MOST_DETAIL or (now := _new_count(clause)) is None:
        return None
    counted = [word for word in old.words if word.kind is WordKind.NUMBER]
    speaker = old.words[0].key in ("me", "us", "weight") and reading_of(clause).words[0].key in ("me", "us")
    unit = now.said.split()[-1]
    if len(counted) == 1 and speaker and counted[0].said.split()[-1] == unit and counted[0].key != now.key:
        return counted[0].said
    return None


@lru_cache(maxsize=REMEMBERED)
def _new_count(clause: str) -> Word | None:
    text = f" {clause.lower()} "
    if not any(cue in text for cue in (" now ", " now.", " up to ", " down to ")):
        return None
    words = [word for word in reading_of(clause).words if word.key not in ("me", "us", "up", "down", "past")]
    return words[0] if len(words) == 1 and words[0].kind is WordKind.NUMBER and measure(words[0]) else None


def _gives_up(old: ParsedStatement, change: Change, new: ParsedStatement) -> bool:
    """Return True if the old statement is about the same subject and little more than the thing given up."""
    has = set(keys_of(old.words))
    named = reading_of(f"x {change.former.split(' and ')[0]}").words[1:]
    gone = {word.key for word in named if word.kind is not WordKind.PERSON}
    gone -= {word.key for word in named if word.kind is WordKind.DATE or word.key in _MOMENT_WORDS} - has
    if not gone or not gone <= has or any(word.key == "not" for word in old.words):
        return False
    if gone <= _VAGUE | TIES and not has <= gone | {"me", "us", "enjoy", "love", "want", "plan"}:
        return False
    subject = {word.key for word in reading_of(f"x {change.subject}").words[1:]} if change.subject else set()
    speaker = not subject or subject <= {"me", "us"}
    if not speaker and not subject <= has:
        return False
    owners = {word.key for word in new.words if word.kind is not WordKind.PERSON}
    left = [word for word in old.words if word.key not in gone]
    if change.how == "prefers" and "prefer" not in has:
        return False
    left = [word for word in left if word.key not in _MOMENT_WORDS]
    if change.how in ("cancelled", "ended", "instead of"):
        left = [word for word in left if word.kind not in (WordKind.DATE, WordKind.TIME, WordKind.NUMBER)]
    if change.how in ("renamed", "is over", "parted"):
        left = _without_label(old, gone, change.how == "parted")
    return all(word.key in TIES or word.key in owners or _beside(word, old, gone) for word in left)


def _mostly_given_up(statement: str, change: Change) -> bool:
    """Return True if the thing that ended is at least half of the speaker's own statement, which names all of it."""
    gone = topics_of(ParsedStatement(reading_of(f"x {change.former}").words[1:]))
    if not gone or any(word.key not in ("me", "us") for word in reading_of(change.subject).words):
        return False
    mine = reading_of(statement).words[0].key in ("me", "us")
    for part in clauses(statement):
        words, about = reading_of(part).words, topics(part)
        speaker = mine or (bool(words) and words[0].key in ("me", "us"))
        ended = any(word.past or word.kind is WordKind.NEGATION for word in words)
        if speaker and not ended and gone <= about and 2 * len(gone) >= len(about):
            return True
    return False


def _without_label(old: ParsedStatement, gone: set[str], parted: bool) -> list[Word]:
    """The words that say more than "a dog called Pepper", "my boyfriend is Karim" of the name that is gone."""
    words = old.words
    place = next(i for i, word in enumerate(words) if word.key in gone)
    if parted and all(word.key in _COMPANY or word.key in gone or word.kind is WordKind.PERSON for word in words):
        return []
    introduces = place and (words[place - 1].key == "call" or (parted and IS & set(words[place].lead)))
    if introduces and len(words) <= place + len(gone) and place <= _MOST_LABEL:
        return []
    return [word for word in words if word.key not in gone]


_MOST_LABEL = 4
_MOMENT_WORDS = word_set("last this next week month year ago since recently earlier")


def _beside(word: Word, reading: ParsedStatement, gone: set[str]) -> bool:
    """Part of the same name or noun as what was given up: the Skoda of "Skoda Octavia"."""
    words = reading.words
    place = words.index(word)
    after = words[place + 1] if place + 1 < len(words) else None
    if after is not None and after.key in gone and not after.lead:
        return True
    return bool(place and words[place - 1].key in gone and not word.lead)


def _moved(old: ParsedStatement, change: Change) -> str | None:
    """The value the thing had, if the old statement is about it and about a value of the same kind."""
    thing = {word.key for word in reading_of(f"x {change.thing}").words[1:]}
    target = reading_of(f"x {change.to}").words[1:]
    has = set(keys_of(old.words))
    target = _leading_value(target)
    if _new_version(old, target):
        return said(old.words[-2:])
    thing = thing - (_LABELS - has) or thing
    if not target or not thing or thing <= {"me", "us", "he", "she", "they"} or not thing <= has:
        return None
    kind = value_type(target)
    named = {word.key for word in target}
    rest = [word for word in old.words if word.key not in thing and word.key not in _PLACES]
    value = [word for word in rest if word.key not in named]
    if kind is ValueType.WHEN and value:
        value = rest  # the fourth of May became the eleventh of May
    labels = {word.key for word in target if word.kind is not WordKind.NUMBER}
    counts = len(labels) < len(named) and labels <= has  # "the fourth floor" where it was the second
    if not value or any(word.kind is WordKind.NEGATION for word in old.words):
        return None
    if kind is ValueType.WHEN or kind is ValueType.NUMBER or counts:
        wanted = (WordKind.DATE, WordKind.TIME) if kind is ValueType.WHEN else (WordKind.NUMBER,)
        typed = [word for word in value if word.kind in (*wanted, WordKind.NUMBER)]
        others = [word for word in value if word not in typed and word.kind is not WordKind.PERSON]
        measures = {measure(word) for word in (*typed, *target) if word.kind is WordKind.NUMBER} - {""}
        if len(measures) > 1:
            return None
        return said(tuple(typed)) if typed and any(word.kind in wanted for word in typed) and not others else None
    if kind in (ValueType.NAME, ValueType.PLAIN) and value_type(tuple(value)) is kind and _is_subject(old, thing):
        return said(tuple(value))
    return None


def _new_version(old: ParsedStatement, target: tuple[Word, ...]) -> bool:
    """We're on Postgres 13; it was upgraded to Postgres 16."""
    if len(target) != 2 or len(old.words) < 2 or len(old.words) > _MOST_LABEL:
        return False
    name, number = old.words[-2:]
    return (
        name.key == target[0].key
        and name.kind is WordKind.NAME
        and number.kind is WordKind.NUMBER is target[1].kind
        and number.key != target[1].key
        and all(word.key in TIES for word in old.words[:-2])
    )


def _leading_value(target: tuple[Word, ...]) -> tuple[Word, ...]:
    """The value without its reason: "Thursday because Ana is away" is Thursday."""
    for place, word in enumerate(target[1:], 1):
        if word.kind is WordKind.CONDITION or word.key == "since":
            return target[:place]
    return target


def _is_subject(old: ParsedStatement, thing: set[str]) -> bool:
    """Return True if the statement is about the thing: it comes first, after at most one describing word."""
    return thing <= {word.key for word in old.words[: len(thing) + 1]}


# --- What was said, denied later: not allergic after all, no longer in Porto, stopped smoking.


_POLARITY = frozenset({"not", "stop", "used-to", "may", "always", "will", "can", "start", "actually"})
_FLIPS = {"not": "not", "stop": "not", "used-to": "used to", "may": "may"}
_ENDS = re.compile(r"\b(?:no longer|any ?more|any longer|stopped|stop|quit|gave up|given up)\b", re.IGNORECASE)


def denial(old: ParsedStatement, new: ParsedStatement, clause: str) -> Replacement | None:
    """Cats, to which one is allergic, and then not; Porto, where one lives, and then used to live."""
    was, now = _flips(old), _flips(new)
    if was == now:
        return None
    said = next((i for i, word in enumerate(old.words) if word.key == "because"), len(old.words))
    ours = [word for word in old.words[:said] if word.key not in _POLARITY]
    theirs = [word for word in new.words if word.key not in _POLARITY]
    if len(theirs) < 2 or not any(word.kind in CONTENT for word in theirs):
        return None
    same = len(ours) == len(theirs) and all(map(same_key, ours, theirs))
    if not same and len(ours) == len(theirs) <= MOST_DETAIL and any(IS & set(word.lead) for word in ours):
        same = set(keys_of(tuple(ours))) == set(keys_of(tuple(theirs)))  # my boss is Henrik, Henrik is my boss
    if not same and not (now == {"not"} and not was and _ENDS.search(clause) and _part_of(theirs, ours)):
        return None
    return Replacement(True, f"it says the opposite: {_shown(now - was or was - now)}")


def _part_of(ended: list[Word], said: list[Word]) -> bool:
    """Return True if the statement says no more than what ended but for some detail: tennis, and tennis on Mondays."""
    if not ended or not said or not same_key(ended[0], said[0]) or len(said) > len(ended) + MOST_DETAIL:
        return False
    keys = {"me" if word.key == "us" else word.key for word in said}
    telling = [word for word in ended if word.kind in CONTENT and word.key not in TIES]
    return bool(telling) and all(word.key in keys or word.key in TIES for word in ended)


@lru_cache(maxsize=REMEMBERED)
def turned(text: str) -> frozenset[str]:
    """The words by which a sentence denies, ends or doubts what it says."""
    return _flips(reading_of(text))


def _flips(reading: ParsedStatement) -> frozenset[str]:
    """The words that turn a statement round; two negations turn it back ("never give up")."""
    found = [_FLIPS[word.key] for word in reading.words if word.key in _FLIPS]
    return frozenset(found) - ({"not"} if found.count("not") % 2 == 0 else set())


def _shown(keys: frozenset[str]) -> str:
    return ", ".join(repr(key) for key in sorted(keys))
