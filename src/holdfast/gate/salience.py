"""The cheap refusal before any model is asked: could this turn hold anything worth keeping (SAL-1, -2, -3, -7)?

It is generous: a turn that passes for nothing costs one look by the extractor, a turn that is refused is never looked
at. Whatever it says, the turn itself stays in the log.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.gate.family import Family, Reading, Telltale, any_of, one_of, spoken
from holdfast.gate.informative import informative_words
from holdfast.settings import GateSettings

__all__ = ["SIGNALS", "Salience", "judge"]


@dataclass(frozen=True, slots=True)
class Salience:
    salient: bool
    reason: str
    """For the receipt, in words."""
    signal: str | None = None
    """The family of SIGNALS that fired, if one did."""


_SALIENT_WORDS = GateSettings().salient_words


def judge(text: str, salient_words: int = _SALIENT_WORDS) -> Salience:
    """Judge the user's own words, all lines together; the caller passes nobody else's."""
    if not text or text.isspace():
        return Salience(False, "no user text")
    words = informative_words(text, at_most=salient_words)
    # Every signal holds an informative word, so it is among the parts that have one.
    if signal := _signal(words.telling):
        return Salience(True, f"durable signal: {signal.replace('_', ' ')}", signal)
    if words.count >= salient_words:
        return Salience(True, f"at least {salient_words} informative words")
    return Salience(False, f"{_plural(words.count)}, no durable signal (needs {salient_words})")


def _signal(text: str) -> str | None:
    reading = Reading.of(text)
    return next((family.name for family in SIGNALS if family.fires(reading)), None)


def _plural(count: int) -> str:
    return f"{count or 'no'} informative word{'' if count == 1 else 's'}"


# What marks a turn as durable, however short it is (SAL-2). The first that fires names the reason.

_MOSTLY = one_of("really, also, still, just, only, always, never, usually, now, do, actually, mostly, already")
_I = rf"i(?:'?m|'?ve|'d|'?ll| am| have| will| would)?(?: {_MOSTLY}){{0,2}}"
_WE = rf"we(?:'?re|'?ve|'ll| are| have| will)?(?: {_MOSTLY}){{0,2}}"

_ORDERED = one_of(
    """use, do, run, call, assume, add, answer, ask, commit, deploy, edit, give, include, mention, push, put, reply,
    say, send, show, speak, start, suggest, tell, touch, write"""
)
_PREFERRED = one_of(
    "prefer, preferred, like, liked, love, loved, hate, hated, dislike, enjoy, adore, want, wanted, need, needed"
)
_DONE = one_of(
    """use, used, using, work, worked, working, deploy, deployed, deploying, run, ran, running, live, lived, study,
    speak, own, drive, play, teach, build, maintain, write, moved, switched, changed, started, stopped, bought,
    decided, chose"""
)
_DONE_TOGETHER = one_of(
    """prefer, decide, agree, agreed, chosen, ship, host, store, keep, want, need, like, hate, moving, follow, test,
    avoid, require, settled, dropped, picked, go with, went with, have"""
)
_REFUSED = one_of("don'?t, do not, won'?t, will not, can'?t, cannot, refuse, avoid, no longer, quit, gave up")
_USUALLY = one_of("always, never, usually, often, normally, generally, rarely, mostly, tend to")
_PROJECT_WORDS = (
    "project, repo, repository, codebase, team, convention, standard, company, service, stack, policy, rule"
)
_PROJECT = one_of(_PROJECT_WORDS)
_STATES = one_of("is, are, uses?, prefers?, requires?, needs?, has, have, runs?, doesn't, does not, must, wants?, says")

# Languages that leave out the pronoun, or the space, say in two words what takes English four.
_ROMANCE_GERMANIC_SLAVIC = spoken(
    one_of("me llamo, mi nombre es, soy, prefiero, odio, me gusta, recuerda que, siempre usa, nunca uses"),
    one_of("je m'appelle, je suis, je préfère, je déteste, j'aime, j'habite, j'utilise, souviens-toi"),
    one_of("ich heiße, ich heisse, ich bin, ich mag, ich hasse, ich will, ich brauche, ich nutze, ich wohne"),
    one_of("ich arbeite, nenn mich, merk dir, mi chiamo, sono, preferisco, abito, lavoro"),
    one_of("me chamo, sou, prefiro, odeio, moro, trabalho"),
    one_of("меня зовут, я люблю, я не люблю, я живу, я работаю, я использую, я предпочитаю, я ненавижу, запомни"),
)
_SPACELESS_AND_KOREAN = any_of(
    "我(?:叫|是|住|喜欢|喜歡|讨厌|討厭|用|在|想|要|不|从不|從不|总是|總是)|我的名字|我们(?:用|决定)|我們(?:用|決定)|记住|記住",
    "私は|僕は|俺は|わたしは|と申します|といいます|と呼んで|が好き|が嫌い|覚えて",
    "저는|나는|제 이름은|내 이름은|기억해",
    "(?:ผม|ฉัน)(?:ชื่อ|ชอบ|เป็น)|จำไว้",
    telltale=Telltale.of(),  # never in plain ASCII
)


def _family(name: str, *alternatives: str, telltale: Telltale | None = None) -> Family:
    return Family(name, (spoken(*alternatives, telltale=telltale),))


SIGNALS = (
    _family(
        "remember",
        r"remember (?:that|this)|remember(?=\s?:)|don't forget|keep in mind|for the record|note to self",
        telltale=Telltale.of("", "remember", "forget", "mind", "record", "note"),
    ),
    _family(
        "naming_oneself",
        r"my (?:\w{1,20} )?(?:name|nickname|surname)(?:'s| is)|my pronouns are|call me|i go by|i'm called",
    ),
    _family("preferring", rf"{_I} {_PREFERRED}", r"i(?:'d| would) rather|my favou?rite|i can'?t (?:stand|bear)"),
    _family("refusing", rf"i {_REFUSED}"),
    _family("habit", rf"i {_USUALLY}"),
    _family("doing", rf"{_I} {_DONE}"),
    _family("being", r"i'?m|i am|i'?ve been|i have been|i was"),
    _family(
        "we",
        rf"{_WE} (?:{_DONE}|{_DONE_TOGETHER}|{_REFUSED}|{_USUALLY})",
        r"let'?s (?:use|go with|stick with|stick to|switch to|always|never|not)",
    ),
    _family(
        "standing_order",
        rf"(?:always|never|don't ever|do not ever) {_ORDERED}",
        r"from now on|from here on|going forward|in (?:the )?future,? (?:please|always|never|use|do)",
        telltale=Telltale.of("", "ever", "always", "from", "forward", "future"),
    ),
    _family(
        "project",
        rf"(?:the|our|this|my) (?:[\w-]{{1,30}} )?{_PROJECT}(?:'s|s)? {_STATES}",
        telltale=Telltale.of("", *_PROJECT_WORDS.split(", ")),
    ),
    Family("other_languages", (_ROMANCE_GERMANIC_SLAVIC,)),
    Family("other_scripts", (_SPACELESS_AND_KOREAN,)),
)
