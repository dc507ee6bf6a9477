"""An explicit word of change: what was moved, renamed, sold, cancelled, replaced or healed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from holdfast.admit.attributes import Change, changes, clauses, expanded
from holdfast.admit.frames import ValueType, kind_of_tool, measure, same_key, value_type, without_moment
from holdfast.admit.topics import (
    CONTENT,
    IS,
    MOST_DETAIL,
    NOW,
    REMEMBERED,
    TIES,
    Replacement,
    changed,
    keys_of,
    other_person,
    reading_of,
    root,
    said,
    topics,
    topics_of,
)
from holdfast.admit.values import ParsedStatement, Word, WordKind
from holdfast.text.vocabulary import either, word_set

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
    told = {change.former for part in clauses(statement) for change in changes(part) if change.former} if found else ()
    for change in found:
        if change.former and any(
            keys_of(reading_of(change.former).words) == keys_of(reading_of(f).words) for f in told
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
    """Who used Vim and switched to Emacs uses another editor, and the sentence tells of the change."""
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
    """Whether the old statement says little more than what was given up, of the same subject."""
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
    """Whether what ended is at least half of what the speaker's own statement is about, and named whole in it."""
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
    """Whether the statement is about the thing: it stands at the start, at most a describing word before it."""
    return thing <= {word.key for word in old.words[: len(thing) + 1]}


# --- The same matter with another amount or date, told as a change: "the doctor doubled my pills to 40 mg".


_MOST_NEW_TOPICS = 3
"""Matters a change may bring in besides: who made it, and why. With more it is another sentence."""
_WHEN = (WordKind.DATE, WordKind.TIME)
_DOUBT = (WordKind.NEGATION, WordKind.HEDGE)
_MOVES = frozenset({"moved to", "changed to", "reached"})
_SHIFTED = re.compile(
    r"^(?:the|my|our|this) (?P<thing>[\w'’ -]{2,60}?) (?:has |have |is |was |been |got |had |to |be ){0,4}"
    r"(?:moved|moves|moving|postponed|rescheduled|pushed|shifted|delayed|put off|brought forward|changed)\b",
    re.IGNORECASE,
)
_ORDINAL = "th"


def by_revision(old: str, new: str) -> Replacement | None:
    """Why the new text revises an amount or a date of the old one; None when it does not."""
    if not changed(new):
        return None
    about, now_about = topics(old), topics(new)
    shared = about & now_about
    if not shared or other_person(about, now_about):
        return None
    for part in clauses(old):
        was = None if _told(part) else _values(reading_of(part), reading_of(new))
        for clause in clauses(new) if was else ():
            now = None if _doubted(clause) else _values(reading_of(clause), reading_of(part))
            if now is None or was is None or now[0] != was[0] or not _comparable(was[1], now[1]):
                continue
            if _repeated(was[1], reading_of(new)) or _repeated(now[1], reading_of(old)):
                continue  # both texts have it: nothing changed
            told = f"the same matter with another value: {said(was[1])!r} became {said(now[1])!r}"
            here = topics_of(reading_of(part))
            if here and here <= now_about and len(now_about - here) <= _MOST_NEW_TOPICS:
                return Replacement(True, told)
            if _moved_thing(clause, about) or (len(shared) > 1 and 2 * len(shared) >= len(about)):
                return Replacement(False, told, alone=True)
    return None


def _moved_thing(clause: str, about: frozenset[str]) -> bool:
    """Whether the clause says of one of these things that it moved: "the review has moved again"."""
    if shifted := _SHIFTED.match(clause):
        thing = topics_of(reading_of(f"x {shifted['thing']}")) - {"x"}
        return bool(thing) and thing <= about
    for change in changes(clause):
        thing = topics_of(reading_of(f"x {change.thing}")) if change.thing and change.how in _MOVES else frozenset()
        if thing and thing <= about:
            return True
    return False


def _told(part: str) -> bool:
    """What happened may happen twice, but for a change to a value; a denial has no value to revise."""
    if _doubted(part):
        return True
    return any(word.past for word in reading_of(part).words) and not any(
        change.to and change.thing for change in changes(part)
    )


def _doubted(part: str) -> bool:
    return any(word.kind in _DOUBT and word.key != "plan" for word in reading_of(part).words)


def _repeated(value: tuple[Word, ...], reading: ParsedStatement) -> bool:
    return {word.key for word in value} <= {word.key for word in reading.words}


def _values(reading: ParsedStatement, other: ParsedStatement) -> tuple[str, tuple[Word, ...]] | None:
    """The one amount of a clause, or else its time; where only the other has an amount, the time alone."""
    amounts = _amounts(reading)
    if amounts and _amounts(other):
        return ("amount", amounts) if len(amounts) == 1 else None
    times = tuple(word for place, word in enumerate(reading.words) if _is_time(reading.words, place))
    return ("time", times) if times else None


def _amounts(reading: ParsedStatement) -> tuple[Word, ...]:
    words = reading.words
    return tuple(
        word
        for place, word in enumerate(words)
        if word.kind is WordKind.NUMBER
        and not _is_time(words, place)
        and not (word.said.isdecimal() and _FIRST_YEAR <= int(word.said) <= _LAST_YEAR)
        and not word.key.endswith(_ORDINAL)
        and not (place and not word.lead and words[place - 1].kind is WordKind.NAME)  # QK 482, iOS 9
        and not (place and words[place - 1].key in _SPANS)
    )


_FIRST_YEAR, _LAST_YEAR = 1900, 2099  # a bare number between them is a year, no amount
_RELATIVE = frozenset({"today", "tomorrow", "yesterday", "tonight"})
_SPANS = word_set("last past next for ago every another")


def _is_time(words: tuple[Word, ...], place: int) -> bool:
    """A date or time, or the number that is the day of one: the 8th of "Tuesday the 8th"."""
    word = words[place]
    if word.kind in _WHEN:
        return word.key not in _RELATIVE
    if word.kind is WordKind.NUMBER and word.key.endswith(_ORDINAL) and "the" in word.lead:
        return place + 1 == len(words) or bool(words[place + 1].lead)  # "to the 23rd", but not "the second floor"
    beside = words[max(0, place - 1) : place] + words[place + 1 : place + 2]
    day = word.kind is WordKind.NUMBER and word.key.removesuffix(_ORDINAL).isdigit()
    return day and any(other.kind in _WHEN for other in beside)


def _comparable(was: tuple[Word, ...], now: tuple[Word, ...]) -> bool:
    """Amounts in one measure; a bare number may stand for any."""
    measures = {measure(word) for word in (*was, *now) if word.kind is WordKind.NUMBER} - {"", _ORDINAL}
    return len(measures) <= 1


# --- The same things with another amount or date, whatever words tie them: my rent is 800, I pay 900 in rent.


def by_amount(old: ParsedStatement, new: ParsedStatement, clause: str) -> Replacement | None:
    """The same things with another amount or date, in whatever words tie them: my rent is 800, I pay 900 in rent."""
    new = ParsedStatement(without_moment(new, old))
    if any(word.past or word.kind in _UNSURE_KINDS for word in (*old.words, *new.words)):
        return None
    fresh = bool(NOW.search(clause))
    was, now = _split(old, fresh), _split(new, fresh)
    if was is None or now is None or was[0] != now[0] or was[1] == now[1] or not was[0]:
        return None
    return Replacement(True, f"the same with another value: {' '.join(was[2])!r} became {' '.join(now[2])!r}")


_UNSURE_KINDS = (
    WordKind.NEGATION,
    WordKind.MODAL,
    WordKind.HEDGE,
    WordKind.CONDITION,
    WordKind.QUANTIFIER,
    WordKind.PLACE,
)


def _split(reading: ParsedStatement, fresh: bool) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...]] | None:
    """What a sentence is about (with the measure of its one value), and the value; None where there are several."""
    values = [word for word in reading.words if word.kind in (WordKind.NUMBER, WordKind.DATE, WordKind.TIME)]
    dates = [word for word in values if word.kind is not WordKind.NUMBER]
    if any(_part_of_name(reading, word) for word in values):
        return None
    if (
        not values
        or len(values) > 2
        or (len(values) == 2 and not dates)
        or any(word.key in _MOMENTS for word in values)
    ):
        return None
    if dates and not fresh and any(word.key in ("me", "us") or {"a", "an"} & set(word.lead) for word in reading.words):
        return None  # "I have an appointment on Monday": there may be two
    kind = "when" if dates else f"amount {measure(values[0])}"
    about = frozenset(word.key for word in reading.words if word not in values and word.key not in _AMOUNT_TIES)
    if not any(word.key in about and word.kind in CONTENT for word in reading.words):
        return None
    return about | {kind}, tuple(sorted(word.key for word in values)), tuple(word.said for word in values)


def _part_of_name(reading: ParsedStatement, word: Word) -> bool:
    """The 9 of "iOS 9" and the second of "second baseman" are no amounts."""
    if word.kind is not WordKind.NUMBER:
        return False
    place = reading.words.index(word)
    before = reading.words[place - 1] if place else None
    if word.key.endswith("th") or before is None or word.lead:
        return word.key.endswith("th")
    return before.kind is WordKind.NAME or before.key in _NUMBERED or (place == 1 and before.kind is WordKind.PLAIN)


_NUMBERED = word_set(
    "room port chapter page line version year level step day week unit flat apartment floor gate platform track season "
    "episode part phase grade class team group number"
)
_MOMENTS = frozenset({"yesterday", "today", "tomorrow", "tonight"})
_AMOUNT_TIES = word_set(
    "me us pay cost start amount come be take-place happen occur new current schedule set stand hold have now"
)


# --- Likes that turn into dislikes, and the other way round: "I hate running", "I've grown to like running".


@dataclass(frozen=True, slots=True)
class _Attitude:
    likes: bool
    said: str
    about: frozenset[str]


_LIKES = (
    "love|loves|like|likes|enjoy|enjoys|enjoying|adore|appreciate|appreciates|prefer|fond of"
    "|a (?:real |big |huge )?fan of|keen on|into|get along with|get along well with|happy with|comfortable with"
)
_HATES = (
    "hate|hates|dislike|dislikes|avoid|avoids|despise|scared of|afraid of|tired of|sick of|bored of|bored with"
    "|fed up with|uncomfortable with|get along badly with|steer clear of|can not stand|can not bear|can not take"
    "|find it hard to"
)
_VERB = re.compile(
    rf"\b(?:(?P<hates>{either(_HATES)})|(?P<likes>{either(_LIKES)})) (?P<about>[^,;:.!?]{{1,120}})",
    re.IGNORECASE,
)
# Looked for before the verb only, so that a text of nothing but such words costs no more than any other.
_DENIED = re.compile(
    r"\b(?:not|never|no longer|stopped|hardly) (?:(?:really|much|even|ever|quite|to|be|a) ){0,4}$", re.IGNORECASE
)
_MOST_DENIAL = 40
"""Characters of the longest denial."""
_NOUN = re.compile(
    r"^(?:i find )?(?P<about>[^,;:.!?]{1,60}?) (?:are |is |feel |feels )?(?:too )?(?:so )?"
    r"(?P<word>exhausting|boring|unbearable|annoying|stressful|tiring|disgusting|delicious|wonderful|fantastic)\b",
    re.IGNORECASE,
)
_PLEASANT = frozenset({"delicious", "wonderful", "fantastic"})
_REASON = re.compile(
    r"\b(?:because|since|as|when|if|while|but|and|these days|now|any ?more|for|with my|at the)\b", re.I
)
_SPEAKER = re.compile(r"^(?:and |but |so )?(?:i|we|my)\b", re.IGNORECASE)


def by_attitude(old: str, new: str) -> Replacement | None:
    """Why the new text turns the attitude of the old one round."""
    for now in _attitudes(new):
        for was in _attitudes(old):
            if was.likes == now.likes or other_person(was.about, now.about):
                continue
            told = f"{was.said!r} became {now.said!r}"
            if was.about == now.about:
                return Replacement(True, told)
            if was.about < now.about and changed(new) and len(now.about) <= len(was.about) + 1:
                return Replacement(False, told, alone=True)
    return None


@lru_cache(maxsize=REMEMBERED)
def _attitudes(text: str) -> tuple[_Attitude, ...]:
    found = []
    for clause in re.split(r"[,;.!?]\s", expanded(text)):
        if match := _VERB.search(clause):
            denied = _DENIED.search(clause, max(0, match.start() - _MOST_DENIAL), match.start())
            likes = (match["likes"] is not None) != (denied is not None)
            verb = match["likes"] or match["hates"]
            speaker = _SPEAKER.match(clause) is not None
        elif match := _NOUN.search(clause):
            likes, verb, speaker = match["word"].lower() in _PLEASANT, match["word"], True
        else:
            continue
        about = topics_of(reading_of("x " + _REASON.split(match["about"])[0])) - {root("x")}
        if speaker and about:
            found.append(_Attitude(likes, f"{'' if likes else 'not '}{verb}" if match else "", about))
    return tuple(found)


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
    """Whether what ended is the whole of what was said but for some detail: tennis, and tennis on Mondays."""
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


# --- A plan that has come true or was given up: who passed the driving test no longer prepares for it.


_AIMS = (
    "want to|want a|need to|need a|need an|like to|plan(?:ning)? |hop(?:e|ing) to|intend(?:ing)? to|going to|will "
    "|thinking (?:about|of)|considering|looking for|looking to|preparing (?:for|to)|studying for|training for"
    "|waiting for|on the waiting list|expecting|dream(?:ing)? of|applying for|saving (?:up )?for|about to"
    "|trying to (?:find|buy|get)"
)
_PLAN = re.compile(
    r"\b(?:(?:i|we)(?:['’]ll\b|(?:['’](?:m|re|d|ll|ve))? "
    r"(?:am |are |have |would |really |just |also |still |been ){0,4}"
    rf"{either(_AIMS)})|my (?:plan|goal|dream|aim) is to\b)",
    re.IGNORECASE,
)
_NOT_YET = (
    "want|need|plan|planning|hope|hoping|going to|will|'ll|would|could|might|should|if|started|starting|thinking"
    "|considering|looking|try|trying"
)
_STILL = re.compile(rf"\b{either(_NOT_YET)}\b", re.IGNORECASE)
_OUTCOMES = (
    "finished|completed|passed|bought|signed|hired|opened|arrived|delivered|born|submitted|sent|accepted"
    "|enrolled|graduated|got|went|told|received|brought|fixed|repaired|renewed|adopted|launched|visited|built|joined"
    "|decided against|done|made it|happened"
)
_DONE = re.compile(rf"\b{either(_OUTCOMES)}\b", re.IGNORECASE)
_MOST_SHORT = 1 / 3
"""Share of what a plan is about that its outcome need not repeat: "the trip" of "a trip to Norway with my sister"."""


def by_outcome(old: str, new: str) -> Replacement | None:
    """Why the new text tells the outcome of a plan; None when it does not, or only speaks of the plan again."""
    done = _outcome(new)
    if done is None or not _planned(old):
        return None
    about, told = topics(old), topics(new)
    if not about or other_person(about, told) or len(about - told) > _MOST_SHORT * len(about):
        return None
    readings = reading_of(old), reading_of(new)
    if any(word.kind is WordKind.NEGATION for reading in readings for word in reading.words):
        return None
    return Replacement(False, f"what was planned has happened: {done!r}", alone=True)


@lru_cache(maxsize=REMEMBERED)
def _outcome(text: str) -> str | None:
    """The word by which it tells of an outcome; None if it still plans."""
    done = _DONE.search(text)
    return None if done is None or _STILL.search(text) else done.group()


@lru_cache(maxsize=REMEMBERED)
def _planned(text: str) -> bool:
    return _PLAN.search(text) is not None
