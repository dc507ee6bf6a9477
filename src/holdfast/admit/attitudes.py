"""Likes that turn into dislikes, and the other way round: "I hate running", "I've grown to like running"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from holdfast.admit.attributes import expanded
from holdfast.admit.phrases import either
from holdfast.admit.replacement import REMEMBERED, Replacement, reading_of
from holdfast.admit.topics import changed, other_person, root, topics_of

__all__ = ["by_attitude"]


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
