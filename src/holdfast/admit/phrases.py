"""Lists of words and phrases as one pattern that shares their beginnings: fast on any text, however long the list.

Tried one by one, a hundred alternatives cost a hundred tries at every word (SAFE-4). Sorted by their letters they cost
a few: "moved|moves|moving|may" is read as "m(ov(ed|es|ing)|ay)". Which of two phrases is found, where one begins with
the other, is not kept; who needs that puts them into patterns of their own. The patterns are for any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["alternatives", "either"]

_LETTERS = re.compile(r"[^\W\d_]|[ '-]")
_REPEATS = frozenset("?*+{")


def either(*texts: str) -> str:
    """One group for all alternatives of these patterns, each separated from the next by a bar."""
    return _grouped([part for text in texts for part in alternatives(text)])


def alternatives(pattern: str) -> list[str]:
    """What stands between the bars of a pattern that are not inside a group or a set of its own."""
    found, depth, escaped, in_set = [""], 0, False, False
    for char in pattern:
        if char == "|" and not (depth or escaped or in_set):
            found.append("")
            continue
        found[-1] += char
        if not escaped:
            in_set = (in_set or char == "[") and char != "]"
            depth += 0 if in_set else (char == "(") - (char == ")")
        escaped = char == "\\" and not escaped
    return found


def _grouped(parts: Iterable[str]) -> str:
    """The alternatives by their first letter, and each letter's rests in the same way."""
    rests: dict[str, list[str]] = {}
    others: list[str] = []
    for part in dict.fromkeys(parts):
        if _begins_with_letter(part):
            rests.setdefault(part[0], []).append(part[1:])
        else:
            others.append(part)
    many = len(rests) > 1
    found = [_letter(first, many) + (rest[0] if len(rest) == 1 else _grouped(rest)) for first, rest in rests.items()]
    # The end of a phrase comes last: "any" must not hide "any more" from a pattern that goes on.
    found.extend(sorted(others, key=lambda other: other == ""))
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


def _letter(char: str, many: bool) -> str:
    """The letter in either case; written as a set it is one look among many, where re would try each branch."""
    return f"(?-i:[{char.lower()}{char.upper()}])" if many and char.isalpha() else char


def _begins_with_letter(part: str) -> bool:
    return _LETTERS.match(part) is not None and part[1:2] not in _REPEATS
