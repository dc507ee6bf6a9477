"""Stored text made harmless: it can be read as it was, and can neither end its frame, speak as another nor hide.

The escape is the one every model and most people know: `&lt;`, `&amp;` and `&#x200B;`. It is lossless: `decode` gives
back every character that `encode` was given. What is escaped is what could be taken for structure by a chat template, a
tokenizer or a reader, and what cannot be seen (context/hidden.py); prose, code and every script stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from holdfast.context.hidden import hidden_places
from holdfast.context.lookalikes import skeleton

__all__ = ["decode", "encode", "encode_field"]

_SPEAKERS = (
    "system assistant user human ai developer tool function model bot agent "
    "instruction instructions response observation role"
)
"""Whoever a chat template, a completion prompt or an agent's transcript lets speak, and the key that names them."""
_BRACKETED = (
    "inst sys system system_prompt user assistant available_tools tool_calls tool_results tool_content tool_call args "
    "call_id model_settings think img img_break img_end prefix suffix middle gmask smask mask cls sep pad unk bos eos "
    "control_1 begin_of_text end_of_text"
)
"""Special tokens that stand in square brackets (Llama 2, Mistral, GLM, BERT)."""

_MARKED = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
# Each pattern begins with the sign it is about, so that a text without that sign costs next to nothing.
_OPENER = re.compile(r"<(?<!<<)<*+(?=[^\s\d=-]|\d\w{0,16}>)")
"""A tag, a comment, <|im_start|>, <<SYS>>, <0x0A>; not: a < b, x << 2, <=, <- and <3."""
_FENCE = re.compile(r"```+|~~~+")
_OWN = re.compile(r"&(?=lt;|amp;|#x[0-9A-Fa-f]{1,6};)")
"""What decode would read as ours."""


_UNSEEN = "\ufffd"
"""Stands in the skeleton for a character that is shown by its number: no letter, no blank. Behind it or before it a
word is as bare as at the edge of a line, even where Unicode counts the character as a letter (a Hangul filler)."""
_SIGN = re.compile(r"[&<\[#:`~]")
"""What every pattern begins with, in a text without look-alikes."""


class _Spoken:
    """The patterns that know words. With `marked` a letter may carry marks, as in s\u0332ystem: these take
    100 ms to compile, the others 5, and few texts need them.
    """

    def __init__(self, marked: bool) -> None:
        marks = _MARKED.pattern + "{0,5}+" if marked else ""

        def spelled(words: str) -> str:
            return "|".join("".join(letter + marks for letter in word) for word in words.split())

        speakers = spelled(_SPEAKERS)
        backwards = "|".join("".join(marks + letter for letter in word[::-1]) for word in _SPEAKERS.split())
        self.opener_alike = re.compile(
            rf"‹(?<!‹‹)‹*+(?={_UNSEEN}*+(?:[/|!?]|(?:{speakers}|{spelled('sys')})(?!\w)))", re.IGNORECASE
        )
        """An opener in brackets that look like it; «bonjour» and 《水滸傳》 stay."""
        self.bracket = re.compile(
            rf"\[(?={_UNSEEN}*+/?+{_UNSEEN}*+(?:{spelled(_BRACKETED)})\b|\[[ \t{_UNSEEN}]*+memory\b)", re.IGNORECASE
        )
        """A special token in brackets, or the beginning of a line like the frame's own."""
        self.heading = re.compile(rf"#(?=[ \t{_UNSEEN}]*+(?:{speakers})(?!\w))", re.IGNORECASE)
        """### Instruction"""
        self.speaking = re.compile(rf":(?=[ \t\"'*_`\])}}>{_UNSEEN}]*+(?:{backwards})(?!_*+[^\W_]))", re.IGNORECASE)
        """`assistant:`, `__User__:`, `"role": "system"`, read backwards from the colon; not: `last_user:`."""


_spoken = cache(_Spoken)
_ENTITY = re.compile(r"&(?:lt|amp|#x([0-9A-Fa-f]{1,6}));")
_NAMED = {"<": "&lt;", "&": "&amp;"}
_FIELD_SIGNS = frozenset("\n\t,[]")
"""What separates the fields of a heading: kept apart from their values."""


def encode(text: str, mark: str = "") -> str:
    """`text` so that it can stand behind a frame's quotation sign; lines stay lines. `mark` is the frame's own id."""
    return text if _is_plain(text, mark) else _shown(text, _places(text, mark))


def _is_plain(text: str, mark: str) -> bool:
    """Whether there is nothing to look for: no character but plain ones, and none that a pattern begins with."""
    return (
        text.isascii()
        and text.replace("\n", "").replace("\t", "").isprintable()
        and _SIGN.search(text) is None
        and not (mark and mark.lower() in text.lower())
    )


@lru_cache(maxsize=4096)  # origins, kinds and speakers come again with every item
def encode_field(text: str, mark: str = "") -> str:
    """`text` as one field of a heading: on one line, and without the signs that separate fields."""
    places = set() if _is_plain(text, mark) else _places(text, mark)
    places.update(i for i, character in enumerate(text) if character in _FIELD_SIGNS)
    return _shown(text, places)


def decode(text: str) -> str:
    """What `encode` or `encode_field` was given."""
    return _ENTITY.sub(_character, text)


def _character(entity: re.Match[str]) -> str:
    if entity[1] is None:
        return "<" if entity[0] == "&lt;" else "&"
    code = int(entity[1], 16)
    return chr(code) if code <= 0x10FFFF else entity[0]


def _places(text: str, mark: str) -> set[int]:
    places = set(hidden_places(text))
    plain = _as_seen(skeleton(text), places)
    spoken = _spoken(not plain.isascii() and _MARKED.search(plain) is not None)
    for pattern in (_OWN, spoken.bracket, spoken.heading):
        places.update(found.start() for found in pattern.finditer(plain))
    places.update(len(plain) - found.end() for found in spoken.speaking.finditer(plain[::-1]))
    for pattern in (_OPENER, spoken.opener_alike):
        for opener in pattern.finditer(plain):
            places.update(range(*opener.span()))
    for fence in _FENCE.finditer(plain):
        places.update(range(*fence.span(), 3))  # two in a row are no fence
    if mark:
        places.update(found.start() for found in re.finditer(re.escape(mark), plain, re.IGNORECASE))
    return places


def _as_seen(plain: str, hidden: set[int]) -> str:
    """The skeleton with a sign of its own for whatever cannot be seen."""
    if not hidden:
        return plain
    return "".join(_UNSEEN if place in hidden else character for place, character in enumerate(plain))


def _shown(text: str, places: Iterable[int]) -> str:
    pieces = []
    done = 0
    for place in sorted(places):
        pieces.append(text[done:place])
        pieces.append(_entity(text[place]))
        done = place + 1
    pieces.append(text[done:])
    return "".join(pieces)


@lru_cache(maxsize=1024)
def _entity(character: str) -> str:
    return _NAMED.get(character) or f"&#x{ord(character):X};"
