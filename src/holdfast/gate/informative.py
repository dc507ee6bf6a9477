"""How many words of a text say anything, in any script (SAL-3)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.gate.family import Reading

__all__ = ["Informative", "informative_words"]

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
_TRIVIAL_PHRASES = re.compile(
    rf"\b(?:{'|'.join(phrase.strip() for phrase in _TRIVIAL_PHRASES_TEXT.split(','))})\b",
)
_SPACELESS_TRIVIAL = re.compile(
    "你好|您好|谢谢|謝謝|多谢|好的|好吧|是的|不是|没问题|沒問題|再见|再見|早上好|晚安|继续|繼續|帮助|幫助|哈哈+"
    "|ありがとうございます|ありがとう|こんにちは|こんばんは|おはようございます|おはよう|はい|いいえ|すみません|了解です|了解|お願いします|なるほど"
    "|สวัสดี|ขอบคุณ|ครับ|ค่ะ|คะ|ใช่|ไม่|โอเค"
)

# Scripts without spaces: a Chinese or Japanese word has about two characters, a Thai, Lao, Burmese or Khmer one about
# three letters beside its marks.
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
    lowered = Reading.of(text).lowered
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
