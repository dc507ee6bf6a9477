"""Attributes of which a person has one at a time, and the ways people state them: home, work, age, name, diet, company.

"I live in Porto", "We moved to Leeds" and "Our new flat is in Ghent" speak of one attribute of one subject.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from holdfast.admit.topics import REMEMBERED, Replacement, said
from holdfast.admit.values import Word, WordKind, read
from holdfast.text.vocabulary import COUNTRIES, word_set
from holdfast.text.words import compile_late


@dataclass(frozen=True, slots=True)
class Claim:
    """Subject, attribute, value, as one clause states them."""

    subject: tuple[str, ...]
    """Its deciding words; the speaker is ("me",)."""
    attribute: str
    value: tuple[Word, ...]
    change: bool = False
    """It tells of a change ("moved to"), not only of a state."""
    names: frozenset[str] = frozenset()
    """Those words of the subject that are names: "my sister Anna" may be called "my sister" elsewhere."""

    @property
    def keys(self) -> frozenset[str]:
        return frozenset(word.key for word in self.value)


@dataclass(frozen=True, slots=True)
class _Pattern:
    attribute: str
    regex: re.Pattern[str]
    change: bool = False
    only_now: bool = False
    """It states the attribute only together with a word for the present: "we are in Leeds now"."""


_WORD = r"[\w'’.-]{1,60}"
# A subject of at most six words at the start of the clause; bounded, so that no pattern can run away (SAFE-4).
_S = rf"^(?:and |so |but )?(?P<s>(?:{_WORD} ){{0,5}}?{_WORD}) "
_HAVE = r"(?:have |has |had |ve )?(?:been )?"
_BE = r"(?:am|is|are|be|s) "
# Of these a person has one at a time, and it has a name; in the frames they are ATTRIBUTE_NOUNS.
_ONE_EACH = (
    "manager|boss|landlord|landlady|dentist|doctor|gp|therapist|coach|supervisor|mentor|editor|publisher|accountant"
    "|team lead|project manager|principal|headteacher|employer|bank|vet|trainer|tutor"
)
_NOW = r"(?:recently |finally |just |now |currently |actually |officially )?"


def _p(attribute: str, pattern: str, change: bool = False, only_now: bool = False) -> _Pattern:
    return _Pattern(attribute, compile_late(pattern, re.IGNORECASE), change, only_now)


_PATTERNS = (
    _p("residence", _S + _NOW + r"(?:live|lives|living|reside|resides) (?:in|near|at|on) (?P<v>.+)$"),
    _p("residence", _S + _BE + _NOW + r"(?:living|based|residing|settled) (?:in|near|at) (?P<v>.+)$"),
    _p(
        "residence",
        _S + _HAVE + _NOW + r"(?:moved|relocated|settled|emigrated|moved back|moved over|settled down) (?:house )?"
        r"(?:to|in|into|back to) (?P<v>.+)$",
        change=True,
    ),
    _p(
        "residence",
        r"^(?P<s>my|our) (?P<new>new |current )?(?:home|house|flat|apartment|place) is (?:in|near|at) (?P<v>.+)$",
    ),
    _p("residence", rf"^(?P<v>(?:{_WORD} ){{0,3}}{_WORD}) is where (?P<s>(?:{_WORD} ){{0,2}}{_WORD}) lives?$"),
    _p("residence", _S + _BE + r"(?:back )?in (?P<v>[A-Z].+)$", change=True, only_now=True),
    _p("residence", _S + _HAVE + r"left (?:[\w'’.-]{1,60} ){1,3}for (?P<v>[A-Z].+)$", change=True),
    _p("residence", r"^(?P<s>my|our) (?:new |current )?(?:home|house|flat|apartment|place) (?:in|at) (?P<v>.+)$"),
    _p("residence", r"^home is (?:now )?(?P<v>.+)$"),
    _p("employer", _S + _NOW + r"(?:work|works|working) (?:at|for) (?P<v>.+)$"),
    _p("employer", _S + _BE + _NOW + r"(?:working (?:at|for)|employed (?:at|by)) (?P<v>.+)$"),
    _p(
        "new employer",
        _S + _HAVE + _NOW + r"(?:joined|(?:started|begun|began) (?:work |working |a new job |a job )?(?:at|for|with)"
        r"|got a (?:new )?job (?:at|with)) (?P<v>.+)$",
        change=True,
    ),
    _p("employer", _S + _BE + r"(?:with|at) (?P<v>[A-Z].+)$", change=True, only_now=True),
    _p("employer", _S + _HAVE + r"(?:taken|took|accepted|started|begun|got|landed) (?:a |an |my )?(?:new )?"
       r"(?:job|position|post|role) (?:at|with) (?P<v>.+)$", change=True),
    _p("employer", _S + _HAVE + r"(?:been |was |got |were )?(?P<v>laid off|let go|made redundant|retired|resigned|fired"
       r"|quit my job|lost my job|left my job|handed in my notice|stopped working)(?: \w+){0,5}$", change=True),
    _p("employer", _S + _BE + r"(?P<v>unemployed|between jobs|out of work|retired|self-employed|freelance|freelancing)"
       r"(?: \w+){0,4}$", change=True),
    _p("occupation", _S + _NOW + r"(?:work|works) as (?:a |an |the )?(?P<v>.+)$"),
    _p("trade", _S + _BE + _NOW + r"(?:working as )?(?:a|an) (?P<v>(?:[\w'’-]{1,60} ){0,3}?[\w'’-]{1,60})"
       r"(?: (?:at|for|with|in|by) .+)?$"),
    _p("trade", _S + _HAVE + _NOW + r"(?:become|became) (?:a |an |the )(?P<v>.+)$", change=True),
    _p("occupation", r"^(?P<s>my) (?:current |new )?(?:job title|title|job|position|role|profession) is (?:now )?"
       r"(?:a |an |the |that of a )?(?P<v>.+)$"),
    _p("occupation", _S + _HAVE + _NOW + r"(?:accepted|got|received|landed|earned|took) (?:a |an |my )?(?:new )?"
       r"promotion to (?:a |an |the )?(?P<v>.+)$", change=True),
    _p(
        "occupation",
        _S + _HAVE + r"(?:got |was |were |been |am |is )?" + _NOW + r"promoted to "
        r"(?:a |an |the )?(?P<v>.+)$",
        change=True,
    ),
    _p("occupation", _S + _HAVE + r"(?:got |found |took |taken |started |landed )?(?:a |an |my )?(?:new )?"
       r"(?:job|position|role|post) as (?:a |an )?(?P<v>.+)$", change=True),
    _p("age", _S + _BE + _NOW + r"(?P<v>[\w-]{1,60})(?: years? old)?$"),
    _p("age", _S + _HAVE + _NOW + r"(?:turned|turns|turning) (?P<v>[\w-]{1,60})(?: \w+){0,3}$", change=True),
    _p("name", r"^(?P<s>my|our) name is (?P<v>.+)$"),
    _p("nickname", r"^(?:please |you can |just )*call (?P<s>me) (?P<v>.+)$"),
    _p("name", _S + _BE + r"(?:called|named) (?P<v>.+)$"),
    _p("favourite", rf"^(?P<s>my) favou?rite (?P<a>(?:{_WORD} ){{0,2}}{_WORD}) is (?:now )?(?P<v>.+)$"),
    _p(
        "favourite",
        rf"^(?:i would say )?(?P<v>(?:{_WORD} ){{0,4}}{_WORD}) is (?:now )?(?P<s>my) (?:new |now )?favou?rite "
        rf"(?P<a>(?:{_WORD} ){{0,2}}{_WORD})$",
    ),
    _p("diet", _S + _HAVE + r"(?:am |is |are |become |became |turned |gone |went )?" + _NOW + r"(?:a |an )?"
       r"(?P<v>vegan|vegetarian|pescatarian|pescetarian|omnivore|carnivore|keto|kosher|halal|macrobiotic)$"),
    _p("diet", _S + _NOW + r"(?:eat|eats) (?P<v>anything|everything|meat|fish)$"),
    _p("diet", _S + _HAVE + r"(?:started |start |begun )?(?:eating|eat|eats|drink|drinking) "
       r"(?P<v>meat|fish|eggs|dairy|cheese|milk|honey) again$", change=True),
    _p("status", _S + r"(?>(?:am |is |are |have |has |been |got |get |getting |be |became |recently |now |just )+)"
       r"(?P<v>single|married|engaged|divorced|separated|widowed)(?: \w+){0,4}$"),
    _p("status", _S + r"(?>(?:am |is |are |have |has |been )+)(?P<v>seeing|dating) .+$"),
    _p("status", _S + r"(?>(?:am |is |are |be )+)(?P<v>in a relationship|back together)(?: .+)?$"),
    _p("status", _S + r"(?>(?:have |has |got )+)(?:a |an )(?:new )?(?P<v>girlfriend|boyfriend|partner)(?: .+)?$"),
    _p("status", r"^(?:[\w'’.-]{1,60} ){1,2}and (?P<s>i|me) (?:have |are |got |are getting |ve )?(?:now )?"
       r"(?P<v>separated|divorced|split up|broke up|broken up|married|engaged)(?: .+)?$"),
    _p("household", rf"^(?P<v>(?:{_WORD} ){{0,3}}{_WORD}) (?:has |have )?moved in with (?P<s>me|us)\b", change=True),
    _p("attribute", rf"^(?P<s>my|our) (?:new |current )?(?P<a>{_ONE_EACH}) is (?:now )?(?P<v>[A-Z].+)$"),
    _p("attribute", rf"^(?P<v>(?:{_WORD} ){{0,3}}{_WORD}) (?:is|are) (?:now )?(?P<s>my|our) (?:new |current )?"
       rf"(?P<a>{_ONE_EACH})$"),
    _p("household", _S + r"(?:live|lives|living|am living|is living) (?P<v>alone|with .+)$"),
    _p("employer", _S + _HAVE + r"found (?:a |an )?(?:new )?(?:job|position) (?:at|with|in) (?P<v>.+)$", change=True),
    _p("state", _S + r"(?:is|are) (?:turned |switched )?(?P<v>on|off|enabled|disabled)(?: (?:for|in|on) .+)?$"),
)  # fmt: skip

# One of these must stand in the clause, or none of the attribute's patterns can match: most clauses state nothing.
_HINTS = {
    "residence": (" liv", " resid", " based ", " settl", " moved ", " relocat", " emigrat", " home ", " house ",
                  " flat ", " apartment ", " place ", " is in ", " am in ", " are in ", " back in ", " left "),
    "employer": (" work", " employed ", " job ", " position ", " post ", " role ", " laid off", " let go", " redundant",
                 " retired", " resigned", " fired", " notice", " unemployed", " between jobs", "freelanc",
                 " self-employed", " am with ", " am at ", " is with ", " is at ", " are with ", " are at "),
    "new employer": (" joined ", " started ", " begun ", " began ", " job "),
    "occupation": (" work", " promot", " job ", " title ", " position ", " role ", " profession ", " post "),
    "trade": (" a ", " an ", " the "),
    "age": (" am ", " is ", " are ", " be ", " s ", " turned ", " turns ", " turning "),
    "name": (" name is ", " called ", " named "),
    "nickname": (" call ",),
    "favourite": (" favourite ", " favorite "),
    "diet": (" vegan", " vegetarian", " pesc", " omnivore", " carnivore", " keto", " kosher", " halal", " macrobiotic",
             " eat", " drink"),
    "status": (" single", " married", " engaged", " divorced", " separated", " widowed", " seeing ", " dating ",
               " relationship", " back together", " girlfriend", " boyfriend", " partner", " split up", " broke up",
               " broken up"),
    "household": (" live ", " lives ", " living ", " moved in with "),
    "attribute": (" is ", " are "),
    "state": (" on ", " off ", " enabled ", " disabled "),
}  # fmt: skip
_HINTED = tuple((hint, attribute) for attribute, hints in _HINTS.items() for hint in hints)

_LEAVES = compile_late(
    r"^(?:now|today|yesterday|recently|currently|since|last|this|for|because|with|after|before|until|from|next|who|which"
    r"|where|instead|again|too|also|and|but|so|when|while|if|together|these|not)$",
    re.IGNORECASE,
)
# Endings of words for what somebody is by trade; "I'm a morning person" is no job.
_TRADES = tuple(
    word_set(
        """er or ist ian ant eer smith wright man woman nurse chef cook coach clerk pilot judge vet maid monk nun priest
        senior junior lead principal head intern trainee student apprentice midwife ceo cto cfo manager"""
    )
)
_NO_TRADE = word_set(
    """lover believer beginner owner member player number vegetarian person runner smoker reader fan father mother
    brother sister customer user supporter sleeper driver drinker eater keeper learner giver hater listener
    thinker dreamer water mentor minor visitor neighbor christian sufferer survivor donor elder"""
)
_MOST_VALUE_WORDS = 5


@lru_cache(maxsize=REMEMBERED)
def expanded(clause: str) -> str:
    """The clause with its contractions written out and its small talk left out, case kept."""
    text = clause.replace("’", "'").replace("`", "")
    for short, full in _SHORT if "'" in text else _SPOKEN:
        text = short.sub(full, text)
    return " ".join(text.strip(" .!?;:\"'").split())


def _rewritten(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((compile_late(short, re.IGNORECASE), full) for short, full in pairs)


_SPOKEN = _rewritten(
    (r"\bcannot\b", "can not"),
    (r"^(?:yes|no|correction|update|sorry)\b[,:] ", ""),
    (r"\b(?:actually|well|ok|okay|oh|btw|now|currently|just|really)\b,? ?", ""),
)
_SHORT = (
    *_rewritten(
        (r"\bI'm\b", "I am"),
        (r"'re\b", " are"),
        (r"'ve\b", " have"),
        (r"'ll\b", " will"),
        (r"\bwon't\b", "will not"),
        (r"\bcan't\b", "can not"),
        (r"n't\b", " not"),
        (r"\b(he|she|it|that|there|who|what|name)'s\b", r"\1 is"),
    ),
    *_SPOKEN,
)


def claims(clause: str) -> list[Claim]:
    """Return the attributes that the clause states; none for a question or a condition."""
    text = expanded(clause)
    found: list[Claim] = []
    if not text or len(text) > _MOST_CHARS:
        return found
    lower, now = f" {text.lower()} ", _NOW_WORD.search(clause) is not None
    hinted = {attribute for hint, attribute in _HINTED if hint in lower}
    for pattern in _PATTERNS:
        if pattern.attribute not in hinted or (pattern.only_now and not now):
            continue
        match = pattern.regex.search(text)
        if match is None:
            continue
        groups = match.groupdict()
        value = _value(groups["v"] or "")
        subject = _subject(groups.get("s") or "me")
        if not value or not subject or not _fits(pattern.attribute, value, subject):
            continue
        attribute = _ALIASES.get(pattern.attribute, pattern.attribute)
        if aspect := groups.get("a"):
            attribute = f"{attribute} {' '.join(read(aspect).keys)}"
        keys = tuple("me" if word.key == "us" else word.key for word in subject)
        names = frozenset(word.key for word in subject if word.kind is WordKind.NAME)
        change = pattern.change or bool(groups.get("new")) or now
        found.append(Claim(keys, attribute, value, change, names))
    return found


_MOST_CHARS = 300


_NOW_WORD = compile_late(
    r"\b(?:now|nowadays|these days|currently|by now|no longer|any ?more|actually|since)\b", re.IGNORECASE
)


def _subject(text: str) -> tuple[Word, ...]:
    """The subject as its deciding words; none where it is more than a subject (another clause, a negation)."""
    if text.lower() in ("my", "our"):
        text = "I"
    words = read(f"x {text}").words[1:]  # not the first word, so that a name counts as one
    if any(word.kind not in (WordKind.PERSON, WordKind.NAME, WordKind.PLAIN) for word in words):
        return ()
    if len(words) > 1 and any(word.kind is WordKind.PERSON for word in words):
        return ()
    return words


def _value(text: str) -> tuple[Word, ...]:
    """The value up to the first word that starts something else ("in Leeds since March")."""
    kept: list[str] = []
    for word in text.split():
        if kept and (_LEAVES.match(word.strip(",")) or (word.lower() in ("in", "on", "at", "as") and len(kept) >= 1)):
            break
        kept.append(word.strip(",;"))
        if word.endswith((",", ";")) or len(kept) >= _MOST_VALUE_WORDS:
            break
    if kept[0].lower() in ("on", "off"):  # small words elsewhere, the whole value here
        return (Word(kept[0].lower(), WordKind.PLAIN, kept[0]),)
    words = read("x " + " ".join(kept)).words[1:]
    return words if all(word.kind is not WordKind.NEGATION for word in words) else ()


def _fits(attribute: str, value: tuple[Word, ...], subject: tuple[Word, ...]) -> bool:
    if attribute == "age":
        person = subject[0].kind is not WordKind.PLAIN or subject[0].key in _PEOPLE
        age = value[-1].key
        person = person and subject[0].key != "us"  # "we are three now"
        return person and len(subject) == len(value) == 1 and age.isdecimal() and int(age) < _OLDEST
    if attribute == "trade":
        trade = value[-1].said.lower()
        return trade.endswith(_TRADES) and trade not in _NO_TRADE
    if attribute == "attribute":
        return value[0].kind is WordKind.NAME  # "my boss is Henrik", not "my boss is strict"
    if attribute == "residence":
        return value[0].kind in (WordKind.NAME, WordKind.PLAIN)
    if attribute == "employer":
        return value[0].key not in ("home", "night", "weekend", "moment")
    if attribute == "new employer":
        return value[0].kind is WordKind.NAME  # "joined Bosch", not "joined a choir"
    return True


_ALIASES = {"trade": "occupation", "new employer": "employer"}
_OLDEST = 130
_PEOPLE = word_set(
    "mother father sister brother son daughter child husband wife partner grandmother grandfather aunt uncle cousin "
    "niece nephew friend boyfriend girlfriend baby boy girl dog cat horse"
)


def same_level(first: Claim, second: Claim) -> bool:
    """A country and a city may both be true: they are no two values of one home."""
    if first.attribute != "residence":
        return True
    named = [word.kind is WordKind.NAME for word in (first.value[0], second.value[0])]
    if named[0] != named[1]:
        return False
    return bool(first.keys & COUNTRIES) == bool(second.keys & COUNTRIES)


# --- The clauses of a sentence.


_BREAK = compile_late(
    r"[,;:!?()]\s++|(?<!\s)\s++[–—-]\s++|(?<=[a-z]{2})\.\s++|(?<!\s)\s++(?:but|and now|because|so)\s++", re.IGNORECASE
)
_MOST_CLAUSES = 8


_BESIDE = compile_late(
    r"\b(?:too|also|as well|either|another(?! (?:\w+ )?(?:minute|hour|day|week|month|year|term)s?\b)"
    r"|additionally|besides|in addition|furthermore|at weekends|on weekends"
    r"|sometimes|on the side|part.time|occasionally|a second|other)\b",
    re.IGNORECASE,
)
_HYPOTHETICAL = compile_late(
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
_SPEAKER = compile_late(r"(?:I|We|My \w{2,20})\b(?!['’]s| and )", re.IGNORECASE)
_AND = compile_late(r",? and (?:now |then )?", re.IGNORECASE)
_OWN_SUBJECT = compile_late(r"(?:i|we|he|she|it|they|you|my|our|his|her|the|a|an|this|that|there)\b", re.IGNORECASE)


@lru_cache(maxsize=REMEMBERED)
def adds_beside(text: str) -> bool:
    """Return True if the sentence adds to an earlier statement ("too", "another") or only supposes something."""
    return bool(_BESIDE.search(text) or _HYPOTHETICAL.search(text))


# --- One attribute of one subject, with another value: who moved to Leeds lives no longer in Porto.


# Two of these may be true at once unless the sentence tells of a change: people have two jobs, two employers.
_NEEDS_CHANGE = frozenset({"occupation", "employer", "household"})
_KIN_WITH_MANY = word_set("sister brother friend cousin son daughter child dog cat colleague neighbour")


def by_attribute(old: str, clause: str) -> Replacement | None:
    stated = claims_of(clause)
    ours = [claim for part in clauses(old) for claim in claims_of(part)] if stated else []
    for now in stated:
        for was in ours:
            if was.attribute != now.attribute or not _same_subject(was, now):
                continue
            if was.keys <= now.keys or now.keys <= was.keys:
                return None
            change = f"{now.attribute} of {_person(now.subject)}: {said(was.value)!r} became {said(now.value)!r}"
            if not same_level(was, now):
                return Replacement(False, f"perhaps another {change}")
            if now.attribute in _NEEDS_CHANGE and not now.change:
                return Replacement(False, f"perhaps another {change}")
            of_many = now.attribute in ("name", "age") and set(now.subject) & _KIN_WITH_MANY
            if of_many and not now.change and not _misspelt(was, now):
                return Replacement(False, f"perhaps another {change}")
            if was.attribute == "diet" and not _diet_differs(was, now):
                return None
            if was.attribute == "status" and not _status_differs(was, now):
                return None
            return Replacement(True, change)
    return None


@lru_cache(maxsize=REMEMBERED)
def claims_of(clause: str) -> tuple[Claim, ...]:
    """Return the claims of a clause, cached."""
    return tuple(claims(clause))


def _same_subject(first: Claim, second: Claim) -> bool:
    """Return True if two subjects are the same: my sister is my sister Anna, but not my sister's friend."""
    if first.subject == second.subject:
        return True
    shorter, longer = sorted((first, second), key=lambda claim: len(claim.subject))
    extra = set(longer.subject) - set(shorter.subject)
    if not set(shorter.subject) <= set(longer.subject) or "me" in longer.subject:
        return False
    return extra <= longer.names or any(not key.isalpha() for key in shorter.subject)  # an identifier is nobody else's


def _person(subject: tuple[str, ...]) -> str:
    return "the user" if subject == ("me",) else " ".join(subject)


def _misspelt(was: Claim, now: Claim) -> bool:
    """Marta, Mirta: one name, written again."""
    first, second = (said(claim.value).lower() for claim in (was, now))
    return len(first) == len(second) > 3 and sum(a != b for a, b in zip(first, second, strict=True)) == 1


_STATUSES_TEXT = """
    single: single | pair: seeing date dating relationship girlfriend boyfriend partner together back
    engaged: engage engaged | married: marry married
    apart: divorce divorced separate separated split break widow widowed
"""
_STATUSES = {
    key: status.strip()
    for part in _STATUSES_TEXT.replace("\n", "|").split("|")
    if ":" in part
    for status, _, keys in [part.partition(":")]
    for key in keys.split()
}
_COMPATIBLE = frozenset({("pair", "engaged"), ("pair", "married"), ("apart", "single"), ("single", "apart")})


def _status_differs(was: Claim, now: Claim) -> bool:
    """A wedding ends an engagement and a single life; a divorced person may well be single."""
    before, after = ({_STATUSES[key] for key in claim.keys if key in _STATUSES} for claim in (was, now))
    if not before or not after or before == after:
        return False
    return not any((old, new) in _COMPATIBLE for old in before for new in after)


_ATE_MEAT = frozenset({"anything", "everything", "omnivore", "carnivore", "meat"})


def _diet_differs(was: Claim, now: Claim) -> bool:
    if now.keys & {"fish"}:
        return bool(was.keys & {"vegan", "vegetarian"})
    if now.keys & {"egg", "dairy", "cheese", "milk", "honey"}:
        return bool(was.keys & {"vegan"})
    if now.keys & _ATE_MEAT:
        return not was.keys & _ATE_MEAT
    return True
