"""Terms of the word index, for text in any script.

Latin and Cyrillic words are stemmed; accents and case are folded; scripts without spaces become overlapping pairs of
characters, so that any part of a sentence can be found; identifiers, paths and versions are kept whole in addition to
their parts, so that they can be found exactly. Documents and questions are read by the same function.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import cast

import Stemmer


class LatePattern:
    """A pattern that is compiled when it is first used.

    A process that answers one question, such as a hook, uses a third of the 400 patterns that it loads; compiling the
    others would take 60 ms.
    """

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.__dict__[name] = getattr(self.compiled, name)  # looked up once
        return found


def compile_late(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern for module level: nothing is compiled before its first use."""
    return cast("re.Pattern[str]", LatePattern(text, flags))


MAX_TERM = 64
"""Characters; longer words are cut. Two hashes that share 64 characters are the same."""

# Marks that Python's \w leaves out, in the scripts whose words hold them (Indic, Thai, Hebrew, Arabic, …).
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711\u0730-\u074a"
    "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a03\u0a3c-\u0a51"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7\u0c00-\u0c04\u0c3e-\u0c56"
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc"
    "\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u1056-\u1059\u17b4-\u17d3\u200c\u200d"
)
_WORD = compile_late(rf"[^\W_](?:[^\W_]|[{_MARKS}])*(?:['’][^\W_]+)*")
# No script uses more than 30 marks in a row (Unicode's stream-safe form); normalising more takes quadratic time.
_PILE = rf"[{_MARKS}\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f\U0001d165-\U0001d244]"
_TOO_MANY_MARKS = compile_late(rf"({_PILE}{{30}}){_PILE}+")
_ASCII_WORD = compile_late(r"[a-z0-9]+(?:'[a-z]+)*")
# Paths, versions, e-mails, snake_case, error-codes, dates. A match starts where a word starts and never backtracks:
# linear on any text (SAFE-4).
_COMPOUND = compile_late(
    r"(?<![A-Za-z0-9_])(?:[A-Za-z0-9_]++(?>(?:[._/\\:@#+\-][A-Za-z0-9_]++)+)|_*+[A-Za-z0-9]++(?>(?:_++[A-Za-z0-9]++)+))"
)
_JOINT = compile_late(r"[A-Za-z0-9_][._/\\:@#+\-][A-Za-z0-9_]|_")
_CAMEL = compile_late(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}(?![a-z])")
_HUMP = compile_late(r"[a-z][A-Z]")
_MIXED_CASE = compile_late(r"\b(?=[A-Za-z]*[a-z][A-Z])[A-Za-z][A-Za-z0-9]{3,63}\b")

_SPACELESS = compile_late(
    "([\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"  # kana, Han
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+)"  # Thai, Lao, Burmese, Khmer
)
_HAN = compile_late("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_HANGUL = compile_late("[\uac00-\ud7a3]")
_CYRILLIC = compile_late("[\u0400-\u04ff]")

# English words without content. They are indexed like all others (a question of such words only must still find them)
# but do not rank if a question has better ones.
_FUNCTION_WORDS_TEXT = """
    a about after again all also am an and any are aren't as at be because been before being between both but by can
    can't could couldn't did didn't do does doesn't doing don't down during each ever few for from get give given go
    had has hasn't have haven't having he he'd he'll he's her here hers him his how i i'd i'll i'm i've if in into is
    isn't it it's its just let let's me more most much my no nor not now of off on once one only or other our out over
    own please same say she she'd she'll she's should so some such tell than that that's the their them then there
    these they they'd they're they've this those through to too under until up us very was wasn't way we we'd we'll
    we're we've were weren't what what's when where where's which while who who's whom whose why will with would you
    you'd you'll you're you've your yours
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_TEXT.split())

_MAX_CACHED = 100_000  # words with a cached term
_COUNTED_CHARS = 20_000  # of a text, at once: about 5 ms
_SPACE = compile_late(r"\s")


class _Stemmers(threading.local):
    """Stemmers and a cache for each thread, because stemmers have state."""

    def __init__(self) -> None:
        self.english = Stemmer.Stemmer("english")
        self.russian = Stemmer.Stemmer("russian")
        self.cache: dict[str, str] = {}


_stemmers = _Stemmers()


def terms(text: str) -> list[str]:
    """Return every term of the text, in order, with repeats."""
    found: list[str] = []
    lowered = text.lower()
    if text.isascii():
        found.extend(map(_stem, _ASCII_WORD.findall(lowered)))
    else:
        for word in _WORD.findall(fold(lowered)):
            _add_word(word, found)
    if _HUMP.search(text):
        for name in _MIXED_CASE.findall(text):
            parts = [part.lower() for part in _CAMEL.findall(name)]
            if len(parts) > 1:
                found.extend(_stem(part) for part in parts)
    if _JOINT.search(text):
        found.extend(whole.lower().strip("_")[:MAX_TERM] for whole in _COMPOUND.findall(text))
    return found


def query_terms(question: str, most: int) -> list[str]:
    """Return the distinct terms of a question that rank, in order, at most `most`."""
    found = list(dict.fromkeys(terms(question)))
    content = [term for term in found if term not in _FUNCTION_TERMS]
    return (content or found)[:most]


def term_counts(text: str, step_aside: Callable[[], None] = lambda: None) -> Counter[str]:
    """Count the terms of a text; `step_aside` is called now and then."""
    counts, start = Counter[str](), 0
    while start < len(text):
        space = _SPACE.search(text, start + _COUNTED_CHARS) if len(text) - start > _COUNTED_CHARS else None
        stop = len(text) if space is None else space.start()  # a text without spaces is not cut: its pairs are terms
        counts.update(terms(text[start:stop]))
        start = stop
        if start < len(text):
            step_aside()
    return counts


def speaker_terms(name: str) -> list[str]:
    """Return the terms for a speaker's name; the sign distinguishes them from terms of texts."""
    return [f"@{term}"[:MAX_TERM] for term in dict.fromkeys(terms(name))]


def fold(text: str) -> str:
    """Lower the case, unify compatibility forms and drop accents."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", _TOO_MANY_MARKS.sub(r"\1", text.replace("’", "'")))
    kept = [char for char in text if not _is_accent(char)]
    return unicodedata.normalize("NFC", "".join(kept)).casefold()


def script_of(text: str) -> str:
    """Return the script of most letters by Unicode name ("Latin", "Cyrillic", "Cjk"); "" without letters."""
    if text.isascii():
        return "Latin" if any(map(str.isalpha, text)) else ""
    seen: Counter[str] = Counter()
    for char in text[:2000]:
        if char.isascii():
            seen["LATIN"] += char.isalpha()
        elif char.isalpha():
            seen[unicodedata.name(char, "").split(" ", 1)[0]] += 1
    best = seen.most_common(1)
    return best[0][0].capitalize() if best and best[0][1] else ""


def _is_accent(char: str) -> bool:
    """Return True for Latin accents, Hebrew points and Arabic vowels, but not for vowel signs of Indic or Thai."""
    combining = unicodedata.combining(char)
    return combining >= 200 or 10 <= combining <= 36


def _add_word(word: str, found: list[str]) -> None:
    if word.isascii():
        found.append(_stem(word))
        return
    for part in _SPACELESS.split(word):
        if not part:
            continue
        if _SPACELESS.fullmatch(part):
            _add_pairs(part, found)
            found.extend(_HAN.findall(part))
        elif _HANGUL.search(part):
            found.append(part[:MAX_TERM])
            if len(part) > 1:  # particles follow the word: the first syllable alone may be the noun
                found.append(part[0])
                _add_pairs(part, found)
        else:
            found.append(_stem(part))


def _add_pairs(run: str, found: list[str]) -> None:
    if len(run) == 1:
        if not _HAN.match(run):  # a single Han character is already a term
            found.append(run)
        return
    found.extend(run[i : i + 2] for i in range(len(run) - 1))


def _stem(word: str) -> str:
    cache = _stemmers.cache
    stem = cache.get(word)
    if stem is None:
        if len(cache) >= _MAX_CACHED:
            cache.clear()
        cache[word] = stem = _make_stem(word)
    return stem


def _make_stem(word: str) -> str:
    if any(char.isdigit() for char in word):
        return word[:MAX_TERM]
    if _CYRILLIC.search(word):
        return str(_stemmers.russian.stemWord(word))[:MAX_TERM]
    return str(_stemmers.english.stemWord(word))[:MAX_TERM]


_FUNCTION_TERMS = frozenset(_make_stem(word) for word in FUNCTION_WORDS) | FUNCTION_WORDS


# --- Sentence and passage boundaries of a turn's text, found in linear time.
#
# Chat is not edited prose: a line break ends a sentence, a bullet is a sentence, and three dots may end one. Long turns
# are also split into passages: one line of a page-long answer would be lost in the rest of it, its passage is not.


MAX_SENTENCE = 600
"""Characters; a longer "sentence" is a dump and is cut."""

_FENCE = compile_late(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_QUOTED_LINE = compile_late(r"^[ \t]*>.*$", re.MULTILINE)
_BULLET = compile_late(r"^[ \t]*(?:[-*•–—]|\d{1,3}[.)])[ \t]+")
_BULLET_MARK = compile_late(r"[ \t]*[-*•–—\d]")
# Abbreviations by length, because a look-behind needs a fixed length.
_ABBREVIATIONS = (
    "[a-z]",
    "mr|ms|dr|st|sr|jr|vs|no|nr",
    r"mrs|etc|e\.g|i\.e|fig|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|a\.m|p\.m|u\.s|u\.k",
    "prof|sept",
    "approx",
)
_FULL_STOP = r"\.(?=\s|$)" + "".join(rf"(?<![\s(。！？](?i:{words})\.)" for words in _ABBREVIATIONS)
_CLOSING = r"[\"'”’)\]]"
# The end of a sentence: a closing mark, possibly a closing quote or bracket, then white space.
_END = compile_late(
    rf"({_FULL_STOP}|(?:\.(?={_CLOSING})|[.!?…]{{2,}}+|[!?…]|[。！？]){_CLOSING}*+(?=\s|$)|(?<=[。！？])(?![。！？]))"
)
_END_MARKS = frozenset(".!?…。！？")
# A word, or two characters of a script without spaces.
_SPACED_WORD = compile_late(
    r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,2}|\S[^\s\u3040-\u9fff]*"
)
_ENDS_SENTENCE = compile_late(r"[.!?…][\"'”’)\]]*$|[。！？]$")
_SLACK = 3  # a passage ends at the first sentence end after its length, or a third of its length later


def prose(text: str) -> str:
    """Return the text without fenced code and quoted lines, which are not the user's own words."""
    if "```" in text or "~~~" in text:
        text = "".join(_FENCE.split(text)[::2])
    return _QUOTED_LINE.sub("", text) if ">" in text else text


def sentences(text: str) -> list[str]:
    """Return the sentences of a turn's prose, in order, trimmed, none empty."""
    found: list[str] = []
    for line in prose(text).splitlines():
        if _BULLET_MARK.match(line):  # a cheap test first: most lines are not bullets
            line = _BULLET.sub("", line)
        if not (line := line.strip()):
            continue
        if _END_MARKS.isdisjoint(line[:-1]):
            found.append(line[:MAX_SENTENCE])
        else:
            found += _split(f" {line}")  # a blank before its first word, as before any other
    return found


def folded(text: str) -> str:
    return " ".join(text.split()).casefold()


_PART_CHARS = 100_000


def parts(text: str) -> Iterator[str]:
    """Yield a long text in parts that begin with white space, so that no word is cut."""
    start = 0
    while len(text) - start > _PART_CHARS:
        space = _SPACE.search(text, start + _PART_CHARS, start + 2 * _PART_CHARS)
        stop = space.start() if space else start + 2 * _PART_CHARS
        yield text[start:stop]
        start = stop
    yield text[start:]


def split_passages(
    text: str, words: int, at_least: int, step_aside: Callable[[], None] = lambda: None
) -> list[tuple[int, int]]:
    """Return (start, stop) of passages of about `words` words, none if the text has at most `at_least` words.

    Passages end at the end of a sentence or line if there is one near, and cover all words. `step_aside` is called
    between the parts of a long text.
    """
    if len(text) > 2 * _PART_CHARS:  # the words of megabytes are not listed at once
        found: list[tuple[int, int]] = []
        start = 0
        for part in parts(text):
            step_aside()
            cuts = split_passages(part, words, 0)
            found += [(start + first, start + last) for first, last in cuts]
            start += len(part)
        return found
    if len(text) <= 2 * at_least:  # too short even if all words had one letter
        return []
    spans = [found.span() for found in _SPACED_WORD.finditer(text)]
    if len(spans) <= at_least:
        return []
    passages: list[tuple[int, int]] = []
    first = 0
    while first < len(spans):
        last = min(first + words, len(spans)) - 1
        if len(spans) - last - 1 <= words // _SLACK:  # a short remainder belongs to the last passage
            last = len(spans) - 1
        else:
            for candidate in range(last, min(last + words // _SLACK, len(spans) - 1)):
                start, stop = spans[candidate]
                if _ENDS_SENTENCE.search(text, start, stop) or "\n" in text[stop : spans[candidate + 1][0]]:
                    last = candidate
                    break
        passages.append((spans[first][0], spans[last][1]))
        first = last + 1
    return passages


def _split(line: str) -> list[str]:
    parts = _END.split(line)  # a text, its end, a text, …
    parts.append("")
    return [
        here[:MAX_SENTENCE] for text, end in zip(parts[::2], parts[1::2], strict=True) if (here := (text + end).strip())
    ]
