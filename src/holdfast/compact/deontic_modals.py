"""English modals: who must, shall, should, may, can or has to do what, and when that is no rule.

The same modal binds ("all commits must be signed"), concludes ("he must be tired"), advises ("you must try the cake")
and expects ("the tests should pass"). Who is spoken of and which verb follows tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from holdfast.admit.vocabulary import word_set
from holdfast.compact.deontic_norm import Finding, Modality, Said
from holdfast.compact.deontic_words import (
    ADVERBS,
    BEFORE_VERBS,
    DETERMINERS,
    EPISTEMIC,
    EVERYBODY,
    MENTAL,
    PARTIES,
    PEOPLE,
    PRACTICES,
    PREDICTED,
    RECOMMENDED,
    STANDING,
    STATES,
    STRONG,
    TECHNICAL,
    THIRD_PERSONS,
)

__all__ = ["modal"]

_MOST_MODALS = 8
"""Modals of a sentence that are looked at: the ninth says nothing new."""
_MUST, _NOT, _MAY, _HOW = Modality.OBLIGATION, Modality.PROHIBITION, Modality.PERMISSION, Modality.PRESCRIPTION
_MODALS = word_set(
    """must mustn't shall shan't should shouldn't may can can't cannot have has need needs needn't ought will won't"""
)
_NEGATIVE = {"mustn't": "must", "shan't": "shall", "shouldn't": "should", "can't": "can", "cannot": "can",
             "needn't": "need", "won't": "will"}  # fmt: skip
_WITH_TO = word_set("have has need needs ought")
_BREAKS = word_set(", ; : ( ) – — and but so or then that")
_SUPPOSING = word_set("""if when whenever unless whether because while until once since where how why what as than""")
_PREPOSED = word_set("not never")
_HELPING = word_set(
    """will would might could did didn't won't i'll we'll you'll i'd we'd you'd they'll he'll she'll it'll"""
)
_SOMEBODY = word_set("i i'm i've me we he she they his her my mum mom dad")


class _Who(Enum):
    SELF = auto()
    YOU = auto()
    WE = auto()
    THIRD = auto()
    OWN = auto()
    """My sister, her landlord: people one tells of."""
    GENERIC = auto()
    """All commits, functions, nobody: no one in particular."""
    PARTY = auto()
    THING = auto()
    NOBODY = auto()
    """No subject at all: "must be signed"."""


@dataclass(frozen=True, slots=True)
class _Use:
    """One modal in its sentence."""

    modal: str
    negative: bool
    who: _Who
    verb: str
    next: str
    standing: bool
    """The sentence has a word that makes it hold beyond the moment …"""
    strong: bool
    """… or one that hardly leaves a doubt."""
    anybody: bool
    """Anyone, only admins: whom a "can" allows and does not only enable."""
    guests: bool
    """Guests, pupils, tenants: people whom a house allows, where users are only enabled."""
    spared: bool
    """Without asking, without review: what a permission spares."""
    capital: bool
    """The subject is written like a defined term: "the Borrower"."""

    @property
    def cue(self) -> str:
        return f"{self.modal}{' not' if self.negative else ''}{' to' if self.modal in _WITH_TO else ''}"


def modal(said: Said) -> Finding | None:
    """The first modal of the sentence that binds somebody."""
    if _MODALS.isdisjoint(said.words):
        return None
    tokens, looked = said.tokens, 0
    for place, token in enumerate(tokens):
        if token not in _MODALS or looked >= _MOST_MODALS:
            continue
        looked += 1
        use = _use(said, tokens, place)
        if use is not None and (found := _JUDGES[use.modal](use)) is not None:
            return Finding(found, use.cue)
    return None


def _use(said: Said, tokens: list[str], place: int) -> _Use | None:
    token = tokens[place]
    name, negative = _NEGATIVE.get(token, token), token in _NEGATIVE
    after = tokens[place + 1 : place + 12]
    if name in _WITH_TO and token != "needn't":
        while after and after[0] in ADVERBS:
            del after[0]
        if after[:1] != ["to"] or _helped(tokens, place):
            return None
        negative = place > 0 and tokens[place - 1] in ("not", "don't", "doesn't")
        del after[0]
    elif after[:1] and after[0] in _PREPOSED:
        negative = True
    start = place
    while start and place - start < 40 and tokens[start - 1] not in _BREAKS and tokens[start - 1] not in _SUPPOSING:
        start -= 1
    if (start and tokens[start - 1] in _SUPPOSING) or (token == "may" and after[:1] and after[0][0].isdigit()):
        return None  # a condition, a date
    subject = tokens[start:place]
    if not subject and start and tokens[start - 1] in (",", ")", "and", "or", "that", "—", "–"):
        subject = _carried(tokens, start)
    if (
        after[:1]
        and after[0] in ("i", "you", "we", "he", "she", "they", "the", "my", "it")
        and name not in _WITH_TO
        and (not subject or negative)
    ):
        return None  # "should I …", "may the best win", "shouldn't I"
    rest = [word for word in after if word not in ADVERBS]
    verb, following = [*rest, "", ""][:2]
    return _Use(
        modal=name,
        negative=negative,
        who=_who(subject),
        verb=verb,
        next=following,
        standing=not STANDING.isdisjoint(said.words),
        strong=not STRONG.isdisjoint(said.words),
        anybody=subject[:1] in (["anyone"], ["anybody"], ["everyone"], ["everybody"], ["only"]),
        guests=not _GUESTS.isdisjoint(subject),
        spared="without" in said.words and not _SPARING.isdisjoint(said.words),
        capital=_is_term(said.text, subject),
    )


def _helped(tokens: list[str], place: int) -> bool:
    """Will have to, might need to, no need to: what comes, not what is laid down."""
    before = [word for word in tokens[max(0, place - 3) : place] if word not in ADVERBS]
    return bool(before) and (before[-1] in _HELPING or before[-1] in ("no", "the", "a", "any", "your"))


def _carried(tokens: list[str], start: int) -> list[str]:
    """The subject of a clause that goes on with another's: "Tenant, at its cost, shall …"."""
    if tokens[start - 1] == "that" and start == 1:
        return ["it"]
    first = next((number for number, token in enumerate(tokens[:start]) if token in _BREAKS), start)
    return tokens[:first]


def _who(subject: list[str]) -> _Who:
    words = [word.partition("'")[0] for word in subject if word not in ADVERBS or word == "each"]
    if not words:
        return _Who.NOBODY
    first, last = words[0], words[-1]
    if last == "i":
        return _Who.SELF
    if last == "you":
        return _Who.YOU if len(words) == 1 or words[-2] in BEFORE_VERBS else _Who.THIRD  # "the service you need to use"
    if last in ("we", "us"):
        return _Who.WE
    if first in EVERYBODY:
        return _Who.GENERIC
    if last in THIRD_PERSONS:
        return _Who.THIRD
    if not PARTIES.isdisjoint(words) and first not in _SOMEBODY:
        return _Who.PARTY
    if first in _SOMEBODY and (first != "my" or not PEOPLE.isdisjoint(words)):
        return _Who.OWN
    if first not in DETERMINERS and (last.endswith("s") and not last.endswith("ss")):
        return _Who.GENERIC
    return _Who.THING


def _is_term(text: str, subject: list[str]) -> bool:
    if not subject or len(subject) > 4:
        return False
    term = subject[-1].capitalize()
    return f"he {term} " in text or (subject[-1] in PARTIES and not term.endswith("s") and f"{term} " in text)


# --- what each modal says --------------------------------------------------------------------------------------------


def _looks_back(use: _Use) -> bool:
    """Must have been, should have called: what was, or what was not done."""
    return use.verb == "have" and (use.next.endswith(("ed", "en", "n't")) or use.next in _PAST)


_PAST = word_set(
    """been had done gone known seen lost made taken said told come left got found thought brought bought run put cut
    hit heard felt met slept won become"""
)


def _concludes(use: _Use) -> bool:
    if use.verb in _FELT or (use.verb == "have" and use.next in ("a", "so", "lots", "such", "quite")):
        return not use.negative
    return use.verb == "be" and (use.next in STATES or use.next == "" or use.next.endswith("ing"))


_FELT = word_set("""feel love miss mean seem like hate look sound mind enjoy hurt bring suck know think hope wonder""")


_APPROVAL = word_set("approval permission consent sign-off authorisation authorization")


def _told(use: _Use) -> bool:
    """Whether "you should" or "you have to" tells how to work, and is no advice about life."""
    if use.verb in ("be", "have") or use.next in ("this", "it"):
        return False
    if use.next in _APPROVAL or (use.next == "my" and use.verb in ("get", "ask")):
        return True
    return (
        use.verb in TECHNICAL
        or (use.verb in PRACTICES and use.standing)
        or (use.strong and (use.verb not in RECOMMENDED or use.verb in PRACTICES))
    )


def _team(use: _Use) -> bool:
    """Whether "we should" or "we must" lays down how a team works, and is no plan."""
    return use.verb in TECHNICAL or (use.verb in PRACTICES and (use.strong or use.modal == "must"))


_INFORMED = word_set("informed told asked consulted notified copied called warned")


def _must(use: _Use) -> Modality | None:
    if use.who is _Who.NOBODY and not (
        use.verb in PRACTICES or (use.verb == "be" and use.next.endswith("ed")) or use.negative
    ):
        return None
    if _looks_back(use) or _concludes(use):
        return None
    if use.who is _Who.SELF and not (use.verb == "be" and use.next in _INFORMED):
        return None
    if use.who is _Who.THIRD and (use.verb == "be" or not use.standing):
        return None
    if use.who is _Who.YOU and (use.verb in RECOMMENDED and not (use.standing or use.negative)):
        return None
    if use.who is _Who.WE and not _team(use):
        return None
    if use.who is _Who.OWN and not (use.verb == "be" and use.next.endswith("ed")):
        return None
    return _NOT if use.negative else _MUST


def _shall(use: _Use) -> Modality | None:
    if use.who in (_Who.SELF, _Who.WE):
        return None
    return _NOT if use.negative else _MUST


def _should(use: _Use) -> Modality | None:
    if _looks_back(use) or use.who in (_Who.SELF, _Who.THIRD, _Who.OWN):
        return None
    strong = use.standing or (use.negative and use.verb != "be")
    if use.who is _Who.YOU:
        kept = _told(use)
    elif use.who is _Who.WE:
        kept = _team(use)
    elif use.verb == "be":
        kept = use.who is not _Who.THING or use.next.endswith("ed") or strong
        kept = kept and use.next not in STATES
    else:
        kept = use.verb not in PREDICTED or use.standing
    if not kept:
        return None
    return _NOT if use.negative else _HOW


def _has_to(use: _Use) -> Modality | None:
    if use.who in (_Who.SELF, _Who.THIRD, _Who.OWN) or _looks_back(use):
        return None
    if (use.who is _Who.YOU and not _told(use)) or (use.who is _Who.WE and not _team(use)):
        return None
    if use.negative and use.who not in (_Who.PARTY, _Who.GENERIC):
        return None
    if use.who is _Who.NOBODY:
        return None
    return _MAY if use.negative else _MUST


def _may(use: _Use) -> Modality | None:
    if use.who in (_Who.SELF, _Who.THIRD, _Who.OWN, _Who.WE, _Who.NOBODY):
        return None
    if use.negative:
        idle = use.verb in EPISTEMIC and not use.next.endswith("ed")
        return None if idle and not (use.who is _Who.YOU and use.standing) else _NOT
    if use.who is _Who.YOU:
        return None if use.verb in EPISTEMIC | MENTAL else _MAY
    if use.verb == "be" and use.who is _Who.GENERIC and use.next.endswith("ed"):
        return _MAY
    if use.verb in EPISTEMIC or (use.verb in ("contain", "include") and use.who is _Who.THING):
        return None
    return _MAY if use.who in (_Who.GENERIC, _Who.PARTY) or use.capital else None


_GUESTS = word_set(
    """guests visitors residents tenants members students pupils children kids employees staff volunteers interns"""
)
_ENABLED = word_set(
    """see find enjoy choose expect hear log reach wait sleep afford access sing dance swim walk learn maintain"""
)
_SPARING = word_set("asking approval review permission consent me notice checking confirmation")
_SPARED = word_set("skip omit assume ignore abbreviate interrupt")


def _can(use: _Use) -> Modality | None:
    practice = use.verb in PRACTICES and use.verb not in MENTAL
    if use.negative:
        if use.who is _Who.YOU:
            allowed = use.verb in PRACTICES or use.standing
            return (
                _NOT
                if allowed
                and (use.verb not in MENTAL or (use.verb in PRACTICES and use.standing))
                and use.next not in ("this", "it")
                else None
            )
        if use.who in (_Who.GENERIC, _Who.PARTY, _Who.THING):
            limits = use.verb in ("exceed", "leave") or (use.verb == "be" and use.next.endswith("ed") and use.standing)
            house = use.who is _Who.PARTY and use.verb not in MENTAL - {"bring"} | _ENABLED
            return _NOT if limits or house or (practice and use.who is not _Who.THING) else None
        return _NOT if use.who is _Who.WE and use.verb in TECHNICAL and use.next not in ("this", "it") else None
    if use.who is _Who.YOU:
        return (
            _MAY
            if (practice and use.standing)
            or use.verb in _SPARED
            or (use.verb == "be" and use.next not in STATES and use.standing)
            else None
        )
    if use.guests and use.verb not in MENTAL - {"bring"} | _ENABLED:
        return _MAY
    return _MAY if (use.anybody and practice) or (use.who is _Who.GENERIC and use.spared) else None


def _will(use: _Use) -> Modality | None:
    if use.who is _Who.WE and use.negative and use.standing and use.verb in PRACTICES:
        return _NOT
    bound = use.capital or (use.who is _Who.YOU and use.verb in PRACTICES and (use.standing or use.verb in TECHNICAL))
    return (_NOT if use.negative else _MUST) if bound and use.verb != "have" else None


_JUDGES = {
    "must": _must, "shall": _shall, "should": _should, "ought": _should, "may": _may, "can": _can, "will": _will,
    "have": _has_to, "has": _has_to, "need": _has_to, "needs": _has_to,
}  # fmt: skip
