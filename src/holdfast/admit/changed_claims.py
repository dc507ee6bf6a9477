"""One attribute of one subject, with another value: who moved to Leeds lives no longer in Porto."""

from __future__ import annotations

from functools import lru_cache

from holdfast.admit.attributes import Claim, claims, same_level
from holdfast.admit.cues import clauses
from holdfast.admit.replacement import REMEMBERED, Replacement, said
from holdfast.admit.vocabulary import word_set

__all__ = ["by_attribute", "claims_of"]

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
            told = f"{now.attribute} of {_person(now.subject)}: {said(was.value)!r} became {said(now.value)!r}"
            if not same_level(was, now):
                return Replacement(False, f"perhaps another {told}")
            if now.attribute in _NEEDS_CHANGE and not now.change:
                return Replacement(False, f"perhaps another {told}")
            of_many = now.attribute in ("name", "age") and set(now.subject) & _KIN_WITH_MANY
            if of_many and not now.change and not _misspelt(was, now):
                return Replacement(False, f"perhaps another {told}")
            if was.attribute == "diet" and not _diet_differs(was, now):
                return None
            if was.attribute == "status" and not _status_differs(was, now):
                return None
            return Replacement(True, told)
    return None


@lru_cache(maxsize=REMEMBERED)
def claims_of(clause: str) -> tuple[Claim, ...]:
    """What a clause states, remembered."""
    return tuple(claims(clause))


def _same_subject(first: Claim, second: Claim) -> bool:
    """Whether two subjects are one: my sister is my sister Anna, but not my sister's friend."""
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
