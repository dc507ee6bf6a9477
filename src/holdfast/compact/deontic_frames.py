"""Which English phrase makes a sentence a rule: one of the table (deontic_phrases), or "no X without Y"."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import islice

from holdfast.compact.deontic_norm import Finding, Modality, Said
from holdfast.compact.deontic_phrases import FRAMES
from holdfast.compact.deontic_words import EVERYBODY, IDLE_NOS

__all__ = ["framed"]

_BY_WORD: dict[str, list[int]] = defaultdict(list)
for _number, _one in enumerate(FRAMES):
    for _word in _one.needs:
        _BY_WORD[_word].append(_number)
_WORDS = frozenset(_BY_WORD)

_NO = re.compile(
    rf"^(?>(?:(?:absolutely|strictly|please|and|also|so|ok|okay|rule \w+:|positively)[,:]* )*)"
    rf"no (?!(?:{'|'.join(sorted(IDLE_NOS))})\b)(?P<what>[\w'/-]+(?: [\w'/-]+){{0,30}})"
)
_NO_STANDING = re.compile(
    r"\b(?:without|unless|after|before|in|on|at|near|per|for|during|until|allowed|please|here|with|from"
    r"|outside|inside|under)\b"
)
_NO_STORY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|did|does|do|can|could|will|would|so far|yet|left|found|named|today|came|knows"
    r"|happened|i|he|she|they|it)\b"
)
_MOST_CLAUSES = 4
_BRIEF_NO = 4
"""Words of "no wildcard imports": more of them need a word that says where or when."""


def framed(said: Said) -> Finding | None:
    """The first frame that fits."""
    for number in sorted({number for word in said.words & _WORDS for number in _BY_WORD[word]}):
        frame = FRAMES[number]
        if found := frame.pattern.search(said.lower):
            cue = found["cue"] if "cue" in frame.pattern.groupindex else found[0]
            return Finding(frame.modality, (cue or found[0]).strip(" ,;:.–—") or found[0])
    return _no_such_thing(said) if "no" in said.words else None


_CLAUSE = re.compile(r"(?:, so|[:;–—]) (?=(?:absolutely |please )?no )")


def _no_such_thing(said: Said) -> Finding | None:
    """A thing that there is not to be: "no deploys without a review", "no swearing"."""
    for clause in islice(_CLAUSE.split(said.lower), _MOST_CLAUSES):
        found = _NO.match(clause)
        if found is None or _NO_STORY.search(found["what"]):
            continue
        words = found["what"].split()
        things = any(word.endswith(("s", "ing")) for word in words[:3])
        if _NO_STANDING.search(found["what"]) or (len(words) <= _BRIEF_NO and things and words[0] not in EVERYBODY):
            return Finding(Modality.PROHIBITION, f"no {words[0]}")
    return None
