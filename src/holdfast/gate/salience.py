"""The cheap refusal before any model is asked: could this turn hold anything worth keeping (SAL-1, -2, -3, -7)?

It is generous: a turn that passes for nothing costs one look by the extractor, a turn that is refused is never looked
at. Whatever it says, the turn itself stays in the log.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.gate.patterns import Family, PatternReading, Telltale, any_of, one_of, spoken

# --- How many words of a text say anything, in any script (SAL-3).


# Greetings, acknowledgements and bare commands: the words, then the phrases.
_TRIVIAL_TEXT = """
    ? h hi hey hello hiya howdy yo sup greetings bye goodbye cheers ciao
    yes no ok okay k kk yeah yea yep yup nope nah sure right alright fine agreed exactly absolutely definitely
    thanks thank thx ty tysm ta please pls plz sorry pardon oops
    cool nice great good perfect awesome amazing excellent lovely wonderful brilliant wow lol lmao haha hah
    hmm hm uh um ah oh ooh ugh meh phew yay
    help commands command done quit exit q wq x continue go next stop wait again undo redo retry cancel clear skip
    what why how when who where which
    hola gracias sí si vale buenos buenas días noches adiós bonjour salut merci oui non danke hallo ja nein bitte
    tschüss grazie prego sì olá oi obrigado obrigada sim não hej tack tak
    привет здравствуйте спасибо да нет ок хорошо пока 안녕 안녕하세요 네 예 아니요 감사합니다 고마워 고마워요
    مرحبا شكرا نعم لا שלום תודה כן नमस्ते धन्यवाद हाँ नहीं
"""
_TRIVIAL = frozenset(_TRIVIAL_TEXT.split())
_TRIVIAL_PHRASES_TEXT = """
    good morning, good afternoon, good evening, good night, good day, good one, good job, good point, good idea,
    thank you so much, thank you very much, thank you for that, thank you, thanks a lot, you're welcome, no problem,
    see you later, see you soon, see you tomorrow, see you, how are you doing, how are you, what's up,
    never mind, got it, go ahead, go on, keep going, carry on, try again, do it, do that, show me, tell me more,
    sounds good, makes sense, of course, well done, will do, all good, me too, i see, let me see, one moment, hold on,
    not yet, that's it, that's all, that's right, that's fine, that's good, that's great
"""
_TRIVIAL_PHRASES = re.compile(rf"\b(?:{'|'.join(phrase.strip() for phrase in _TRIVIAL_PHRASES_TEXT.split(','))})\b")
_SPACELESS_TRIVIAL = re.compile(
    "你好|您好|谢谢|謝謝|多谢|好的|好吧|是的|不是|没问题|沒問題|再见|再見|早上好|晚安|继续|繼續|帮助|幫助|哈哈+"
    "|ありがとうございます|ありがとう|こんにちは|こんばんは|おはようございます|おはよう|はい|いいえ|すみません|了解です|了解|お願いします|なるほど"
    "|สวัสดี|ขอบคุณ|ครับ|ค่ะ|คะ|ใช่|ไม่|โอเค"
)

# Scripts without spaces: a Chinese or Japanese word has about two characters, a Thai, Lao, Burmese or Khmer one about
# three letters next to its marks.
_HAN_OR_KANA = "\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SPACELESS = re.compile(f"[{_HAN_OR_KANA}{_SOUTH_EAST_ASIAN}]")
_TWO_A_WORD = re.compile(f"[{_HAN_OR_KANA}]")

_PART = re.compile(r"[\s\S]{1,4000}(?:\s|$)|[\s\S]{4000}")  # read one by one, so that a long text ends early
_CHUNK = re.compile(r"[^\s!-&(-/:-@\[-`{-~]+")  # between white space and ASCII punctuation, but apostrophes stay
_DRAWN_OUT = re.compile(r"(\w)\1{2,}")  # hiiii, thanksss
_LAUGHTER = re.compile(r"(?:ha|he|hi|ja|ka|xa|ха){2,}h?|l(?:ol)+")


@dataclass(frozen=True, slots=True)
class Informative:
    count: int
    telling: str
    """The parts of the text in which they are, for a closer look: short, however long the text is."""


def informative_words(text: str, at_most: int) -> Informative:
    """The words that say something, counted no further than `at_most`."""
    counted = 0
    telling: list[str] = []
    for part in (found[0] for found in _PART.finditer(text)):
        before = counted
        for word in _words(part):
            if word not in _TRIVIAL:
                counted += _weigh(word)
            if counted >= at_most:
                break
        if counted > before:
            telling.append(part)
        if counted >= at_most:
            return Informative(at_most, "".join(telling))
    return Informative(counted, "".join(telling))


def _words(text: str) -> Iterator[str]:
    """Runs of letters, digits, marks and apostrophes, in any script, in lower case, without trivial phrases."""
    lowered = PatternReading.of(text).lowered
    if not lowered.isascii():
        lowered = unicodedata.normalize("NFC", lowered)
    for chunk in _CHUNK.findall(_TRIVIAL_PHRASES.sub(" ", lowered)):
        if chunk.isascii():
            yield chunk
        else:
            yield from _letters_only(chunk).split()


def _letters_only(chunk: str) -> str:
    """Other punctuation and emoji become blanks; joiners and variation selectors vanish."""
    kept = []
    for char in chunk:
        kind = unicodedata.category(char)
        if kind[0] in "LN" or char == "'" or (kind[0] == "M" and not "\ufe00" <= char <= "\ufe0f"):
            kept.append(char)
        elif kind != "Cf" and kind[0] != "M":
            kept.append(" ")
    return "".join(kept)


def _weigh(word: str) -> int:
    """0 for a trivial word, 1 for another, and as many as it is likely to hold for a run without spaces."""
    word = word.strip("'")
    if not word or word in _TRIVIAL or _LAUGHTER.fullmatch(word) or _DRAWN_OUT.sub(r"\1", word) in _TRIVIAL:
        return 0
    if word.isascii() or not _SPACELESS.search(word):
        return 1
    letters = [char for char in _SPACELESS_TRIVIAL.sub("", word) if unicodedata.category(char)[0] in "LN"]
    twos = sum(1 for char in letters if _TWO_A_WORD.match(char))
    threes = sum(1 for char in letters if _SPACELESS.match(char)) - twos
    others = len(letters) - twos - threes  # "iPhone" in the middle of a Chinese sentence
    return -(-twos // 2) + -(-threes // 3) + (1 if others else 0)


@dataclass(frozen=True, slots=True)
class Salience:
    salient: bool
    reason: str
    """For the receipt, in words."""
    signal: str | None = None
    """The family of SIGNALS that fired, if one did."""


_SALIENT_WORDS = 3  # SAL-3: "help" and "what now" are below, "Rex died yesterday" is not


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
    reading = PatternReading.of(text)
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


# --- Claims that a tool cannot do something, which are never kept (SAL-6).
#
# After one failed call a model likes to conclude "the edit tool can't edit non-ASCII files". That is mostly wrong
# by the next day, and remembered it makes every later agent refuse. The seed's rule asked for a word like "editor"
# or "reading" and a "don't" somewhere behind it, and so refused facts of the user as well. Here
#
# - the tool itself must fail: it stands right before the verb, or is what something cannot be done with;
# - it is the agent's: "my editor" and "our CLI" are the user's own, and their limits are facts;
# - where its name may be a person or a thing ("the editor", "the model", "the tools"), the sentence must also speak of
#   what tools work on: files, paths, encodings, the network.


def tool_limitation_claim(text: str) -> bool:
    """Return True if a candidate says that the agent's tools or environment fail at something."""
    return any(_claims(" ".join(sentence.split())) for sentence in _SENTENCE_END.split(PatternReading.of(text).lowered))


def _claims(sentence: str) -> bool:
    if _AGENT_TOOL_FAILS.search(sentence) or _TOOL_FAILS.search(sentence):
        return True
    if not _MATERIAL.search(sentence):
        return False
    return any(pattern.search(sentence) for pattern in (_PERHAPS_TOOL_FAILS, _NOT_WITH_THE_TOOL, _DOING_IT_FAILS))


_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")

# Tools that only an agent has. A web server, a search function or a user interface is somebody's product.
_KIND = one_of(
    """file, files, edit, editing, read, reading, write, writing, search, grep, glob, shell, bash, terminal, command,
    browser, browsing, fetch, web, patch, apply_patch, str_replace, code, python, mcp, function, diff, notebook,
    image, view, replace, execution, multiedit"""
)
_AGENT_TOOL = (
    rf"(?:(?:{_KIND}[ -]){{1,3}}(?:tool|tools|tooling|toolset)|tool ?(?:calls?|use|usage)|mcp server"
    r"|(?:shell|bash|edit|read|write|terminal) (?:commands?|calls?)"
    r"|file[ -](?:editing|reading|writing|editor|access)|filesystem|file system|code interpreter|sandbox)"
)
# Names that a person, a fashion show or a shed may have too.
_PERHAPS_TOOL = one_of(
    """tools?, tooling, assistant, agent, model, ai, llm, bot, chatbot, editor, reader, writer, shell, terminal,
    environment, system, command, browser, interpreter, runtime, harness"""
)
_MATERIAL_WORDS = one_of(
    r"""files?, non-ascii, ascii, utf-?8, unicode, emojis?, encodings?, paths?, directory, directories, folders?,
    binary, binaries, symlinks?, images?, pdfs?, notebooks?, internet, network, urls?, line endings?, white ?space,
    json, csv, stdin, stdout, sub-?process(?:es)?, repo, repository, code, scripts?, commands?, tool calls?, tools?,
    packages?, large inputs?, large outputs?, time ?outs?, permissions?, web pages?"""
)
_MATERIAL = re.compile(rf"\b{_MATERIAL_WORDS}\b")

# What may stand between the tool and the verb: "currently", "in this environment".
_MEANWHILE_WORDS = one_of(
    "currently, sometimes, often, always, also, just, still, usually, here, repeatedly, simply, apparently, generally"
)
_MEANWHILE = rf"(?: {_MEANWHILE_WORDS}| (?:in|on|for|of|from) (?:this|the|that) [\w-]{{1,30}}){{0,3}}"
_FAILS = one_of(
    r"""fail(?:s|ed)?, error(?:s|ed)(?: out)?, crash(?:es|ed)?, breaks?, broke, (?:is|are|was|were|seems?) broken,
    times? out, (?:does|do|did)(?:n'?t| not) work"""
)
_CANNOT = one_of(
    r"""can'?t, cannot, can not, could(?:n'?t| not), won'?t, will not, (?:does|do|did)(?:n'?t| not),
    (?:is|are|was|were)(?: not|n'?t)? (?:un)?able to, (?:is|are|was|were)(?: not |n'?t |
    un)(?:able|supported|available|capable|working), (?:has|have|had) (?:no|trouble|problems|issues|difficulty),
    lacks?, struggles?, chokes?, refuses?, hangs?"""
)

# What stands right before the tool: nothing, an article or a conjunction; never "my", "our" or another adjective.
_LEADING = one_of("the, this, that, your, any, and, or, but, because, when, since, as")
_HEAD = rf"(?:^|\b{_LEADING} (?:(?:the|current|built-in|agent's|assistant's) )?)"

_AGENT_TOOL_FAILS = re.compile(rf"{_HEAD}{_AGENT_TOOL}{_MEANWHILE} (?:{_FAILS}|{_CANNOT})\b")
_TOOL_FAILS = re.compile(rf"{_HEAD}(?:tools?|tooling){_MEANWHILE} {_FAILS}\b")
_PERHAPS_TOOL_FAILS = re.compile(rf"{_HEAD}(?:ai |coding )?{_PERHAPS_TOOL}{_MEANWHILE} (?:{_FAILS}|{_CANNOT})\b")
_NOT_WITH_THE_TOOL = re.compile(
    rf"\b(?:{_FAILS}|{_CANNOT}|impossible|unable)\b[^\n]{{0,120}}?"
    rf" (?:by|with|using|via|through|from) (?:the|this|that|your) (?:{_AGENT_TOOL}|tools?|tooling)\b"
)
_DOING_IT_FAILS = re.compile(
    rf"^(?:editing|reading|writing|opening|searching|patching|creating|deleting|renaming)(?: [\w-]{{1,30}}){{1,4}}?"
    rf"{_MEANWHILE} (?:{_FAILS}|(?:is|are) (?:not |un)(?:supported|possible|available))\b"
)
