"""The quality floor: would this help a future conversation that does not include this turn? (ADMIT-3, -4)

Only obvious junk is refused, each time with a name for the reason; what is doubtful passes, and ranking deals with it.
What the user says of themselves, of their people, their rules, names, numbers and dates is substance, and no rule takes
it for less. The patterns (admit/junk.py) are English; a sentence in another language meets only the rule for fragments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.admit import junk
from holdfast.admit.sentences import MAX_SENTENCE, sentences
from holdfast.gate.claims import tool_limitation_claim
from holdfast.words import FUNCTION_WORDS

__all__ = ["Judged", "Reason", "Refusal", "judge", "judge_turn"]


class Reason(StrEnum):
    """Why a candidate would help nobody later."""

    QUESTION = "question"
    COMMAND = "command"
    WORKFLOW_EVENT = "workflow_event"
    EPHEMERAL = "ephemeral"
    REACTION = "reaction"
    TAUTOLOGY = "tautology"
    HYPOTHETICAL = "hypothetical"
    REPORTED = "reported"
    TOOL_LIMITATION = "tool_limitation"
    FRAGMENT = "fragment"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A named reason, and a sentence for the person who reads the receipt."""

    reason: Reason
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """One sentence of a turn, and why it was refused, if it was."""

    text: str
    refusal: Refusal | None


def judge(text: str, *, answers_question: bool = False) -> Refusal | None:
    """None if the sentence may become a record, else why not.

    `answers_question`: it replies to a question, so that even "Thyroid." may be a full statement.
    """
    said = junk.QUOTE.sub(" ", text[:MAX_SENTENCE].replace("’", "'").strip())
    for reason, (why, refuses) in _TESTS.items():
        if refuses(said, answers_question):
            return Refusal(reason, why)
    return None


def judge_turn(text: str, *, answers_question: bool = False) -> tuple[Judged, ...]:
    """Each sentence of a turn with its verdict; only the first one answers the question that came before."""
    found = sentences(text)
    quoted = _inside_quotes(found)
    return tuple(
        Judged(sentence, _QUOTED if inside else judge(sentence, answers_question=answers_question and number == 0))
        for number, (sentence, inside) in enumerate(zip(found, quoted, strict=True))
    )


def _inside_quotes(found: Sequence[str]) -> list[bool]:
    """Which sentences belong to a quotation that begins or ends in another one, beside a few words of the user's."""
    marks = [len(_MARK.findall(sentence)) for sentence in found]
    if sum(marks) % 2:  # a quotation that is not closed: nothing can be said
        return [False] * len(found)
    inside, is_open = [], False
    for sentence, count in zip(found, marks, strict=True):
        opens, closes = count % 2 == 1 and not is_open, count % 2 == 1 and is_open
        own = _MARK.split(sentence)[0] if opens else _MARK.split(sentence)[-1] if closes else ""
        whole = is_open and count == 0
        inside.append(whole or ((opens or closes) and (not own.strip() or judge(own) is not None)))
        is_open = is_open != (count % 2 == 1)
    return inside


# How a sentence is read ----------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['’.,:-][^\W_]+)*")
_MARK = re.compile(r"(?<!\d)[\"“”«»]")  # 30" is a length
_SPACELESS = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def _specific(text: str) -> bool:
    """Whether it speaks of what is the user's, lays down a rule, or names a number, day or person."""
    return any(pattern.search(text) for pattern in (junk.MINE, junk.RULE, junk.NUMBER, junk.NAME))


def _substance(text: str) -> bool:
    """The same, or whether it speaks of the user at all."""
    return junk.OWN.search(text) is not None or _specific(text)


# The reasons ---------------------------------------------------------------------------------------------------------

_MARKED_QUESTION = re.compile(r"\?\W*$")
_TOLD_BEFORE = re.compile(r"[,;:.] |\b(?:because|since|as) ")
_PRAISE_ITSELF = 12
"""Characters in which praise may speak of the user ("I love that …") without stating anything."""
_FEW = 3  # the same three words as SAL-3
_VERBLESS = 5
"""A longer sentence without a verb we know has a verb we do not know."""


def _question(text: str, answers: bool) -> bool:
    marked = _MARKED_QUESTION.search(text) is not None
    asks = junk.ASKS.match(text) is not None
    if not marked and not asks:
        return False
    if not asks and junk.TAG.search(text) and _substance(text):
        return False
    told = junk.STATEMENT.search(text)
    if told is None or (asks and marked and "," not in text):
        return True
    # "I moved here in May, how do people make friends" tells before it asks; "how did it go when I called" does not
    return asks and not _TOLD_BEFORE.search(text[: told.start()])


def _command(text: str, answers: bool) -> bool:
    if not junk.COMMAND.match(text):
        return False
    return not any(pattern.search(text) for pattern in (junk.RULE, junk.STANDING, junk.STATEMENT, junk.MINE))


def _workflow(text: str, answers: bool) -> bool:
    return junk.WORKFLOW.match(text) is not None and not junk.RULE.search(text)


def _ephemeral(text: str, answers: bool) -> bool:
    return junk.EPHEMERAL.match(text) is not None and not junk.RULE.search(text)


def _reaction(text: str, answers: bool) -> bool:
    if junk.WARM.match(text):
        return not junk.NUMBER.search(text) and not junk.RULE.search(text)
    if _specific(text):
        return False
    if junk.PRAISE.match(text):
        return junk.STATEMENT.search(text, _PRAISE_ITSELF) is None
    return junk.YOU.match(text) is not None and not _substance(text)


def _tautology(text: str, answers: bool) -> bool:
    if junk.TAUTOLOGY.match(text):
        return True
    opinion = junk.OPINION.match(text)
    rest = text[opinion.end() :].lstrip() if opinion else text
    return junk.GENERAL.match(rest) is not None and not _substance(rest) and not answers


def _hypothetical(text: str, answers: bool) -> bool:
    return junk.UNREAL.match(text) is not None and not junk.RULE.search(text)


def _reported(text: str, answers: bool) -> bool:
    return junk.SAYS.match(text) is not None and not junk.OWN.search(text) and not junk.RULE.search(text)


def _tool_limitation(text: str, answers: bool) -> bool:
    return tool_limitation_claim(text)


def _fragment(text: str, answers: bool) -> bool:
    if len(_SPACELESS.findall(text)) >= 2 * _FEW:  # a word is about two characters there
        return False
    words = [word for word in map(str.lower, _WORD.findall(text)) if word not in junk.EMPTY]
    content = [word for word in words if word not in FUNCTION_WORDS and word not in junk.LIGHT]
    if not content and not _specific(text):
        return True  # "I will.", "They did.": even as an answer it says nothing alone
    if answers:
        return False
    if len(words) < _FEW:
        short = len(content) > 1 and junk.VERB.search(text)  # "Fern died.", "dropped chem"
        stated = any(pattern.search(text) for pattern in (junk.STATEMENT, junk.NUMBER))
        return not (short or stated or junk.FORBIDS.match(text))
    verbless = len(words) <= _VERBLESS and not junk.VERB.search(text) and text.isascii()
    return verbless and not junk.FORBIDS.match(text) and not _substance(text)


_TESTS: dict[Reason, tuple[str, Callable[[str, bool], bool]]] = {
    Reason.TOOL_LIMITATION: ("it says what a tool cannot do, which the next version may", _tool_limitation),
    Reason.QUESTION: ("it asks and states nothing", _question),
    Reason.HYPOTHETICAL: ("it is about a case that is not so", _hypothetical),
    Reason.TAUTOLOGY: ("it is as true of everybody", _tautology),
    Reason.WORKFLOW_EVENT: ("it is a step of work that is over, and the tools have its record", _workflow),
    Reason.EPHEMERAL: ("it will have passed by then", _ephemeral),
    Reason.REPORTED: ("it is the opinion of somebody who is nobody in particular", _reported),
    Reason.COMMAND: ("it tells the assistant what to do now", _command),
    Reason.REACTION: ("it is a reaction to what was just said", _reaction),
    Reason.FRAGMENT: ("too little is left of it without the turn", _fragment),
}
_QUOTED = Refusal(Reason.REPORTED, "it is quoted from somebody else")
