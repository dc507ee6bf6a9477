"""A list that says again what is remembered is a host's, whatever stands over it: nobody recites three of their facts.

Some hosts put what they recalled before the user's words as plain lines. Taken for the user's they would count as
evidence for themselves, bring back what was replaced meanwhile, and leave no room for what the user says under them.
What else such a list holds is kept, for it may be the user's own with something new in it, unless a line bears a time
or an id before it, as no user's does.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from holdfast.admit.echo import is_echo

__all__ = ["holds_list", "recited"]

_ITEM = re.compile(r"[ \t]*(?:(?:[-*•–—+]|\d{1,3}[.)])[ \t]+|(?=\[[^\]\n]{1,80}\][ \t]*\S)|(?=\d{4}-\d\d-\d\d\b))")
_STAMP = re.compile(r"(?:\[[^\]\n]{1,80}\]|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?)[ \t]*[:–—-]?[ \t]*")
_SCORE = re.compile(
    r"[\[(](?:score|similarity|relevance|confidence|source|saved|added|updated|date|\d{4}-\d\d-\d\d)\b"
    r"[^()\[\]\n]{0,60}[\])]\.?$",
    re.IGNORECASE,
)
"""What a host writes behind a line; any other bracket may hold news: "I live in Porto (until June)"."""


def holds_list(text: str, least: int) -> bool:
    """Whether some list of the text is long enough to be one that was recalled."""
    return text.count("\n") >= least - 1 and any(len(lines) >= least for lines in _lists(text))


def recited(
    text: str, statements: Sequence[str], remembered: Callable[[int], Sequence[str]], least: int
) -> frozenset[int]:
    """Which of the statements, by number, a host recalled: of a list of the text that repeats what is remembered.

    At least so many lines of one list must. `remembered` gives the records nearest to a statement, replaced ones too.
    """
    found: set[int] = set()
    for lines in _lists(text) if len(statements) >= least else ():
        held = _held(lines, statements) if len(lines) >= least else {}
        if len(held) < least:
            continue
        again = {
            number
            for many in held.values()
            for number in many
            if is_echo(_bare(statements[number]), remembered(number))
        }
        if sum(not again.isdisjoint(many) for many in held.values()) >= least:
            stamped = (many for line, many in held.items() if _STAMP.match(_behind(_ITEM, lines[line])))
            found.update(again, *stamped)
    return frozenset(found)


def _lists(text: str) -> Iterator[list[str]]:
    """Runs of lines that are items, blank lines aside."""
    run: list[str] = []
    for line in (*text.split("\n"), "."):
        if _ITEM.match(line):
            run.append(line)
        elif line.strip() and not line.startswith(("  ", "\t")):  # what is indented goes on with its item
            if run:
                yield run
            run = []


def _held(lines: Sequence[str], statements: Sequence[str]) -> dict[int, list[int]]:
    """By line, the statements it holds; each stands in one."""
    held: defaultdict[int, list[int]] = defaultdict(list)
    for number, statement in enumerate(statements):
        line = next((at for at, line in enumerate(lines) if statement in line), None)
        if line is not None:
            held[line].append(number)
    return held


def _bare(statement: str) -> str:
    """Without what a host writes before and behind a line."""
    return _SCORE.sub("", _behind(_STAMP, statement)).rstrip()


def _behind(beginning: re.Pattern[str], text: str) -> str:
    found = beginning.match(text)
    return text[found.end() :] if found else text
