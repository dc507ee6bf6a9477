"""What a summariser reads of a turn: its sentences, without filler, and a word or two in place of bulk.

Code, logs, tables, base64 and pasted texts stay in the log and can be had back; nobody reads them in a digest. One pass
over the text, linear time.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.floor import Reason, Refusal, judge
from holdfast.gate.durability import Weighed, weigh_apart
from holdfast.gate.own_words import Pasted, pasted_parts
from holdfast.gate.salience import informative_words
from holdfast.model import Role, Turn
from holdfast.models.embedder import unit
from holdfast.models.static import shipped_embedder
from holdfast.settings import CompactSettings
from holdfast.text.sentences import sentences
from holdfast.text.words import query_terms, script_of

_ENCODED = re.compile(
    r"data:[\w.+-]++/[\w.+-]++;base64,[A-Za-z0-9+/=]*+"
    r"|(?<![\w+/=-])(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?=[\w+/-]*\d)[\w+/-]{80,}+={0,2}(?>(?:\s[\w+/-]{60,}+={0,2})*)"
    r"|(?<!\w)[0-9a-fA-F]{64,}+(?!\w)"
)
_ROW = re.compile(r"[ \t]*\||[^|\n]{0,200}(?:\|[^|\n]{0,200}){2,}|[^\t\n]{0,200}(?:\t[^\t\n]{0,200}){2,}$")
_COMMAS = re.compile(r"[^,;\n]{0,60}(?:[,;][^,;\n]{0,60}){3,}$")
_LINE = 400  # characters of a line that show whether it is a row
_TABLE_ROWS = 4  # lines that make a table: its head, its rule and two rows
_LIST_ROWS = 5  # lines of values between commas: fewer may be sentences that list things
_OBJECT, _ARRAY = re.compile(r"\s*\{\s*\"\w"), re.compile(r"\s*\[\s*[\[{\"\d]")
_JSON_CHARS = 60
_RUN_ON = 1200
"""Characters of a line without an end of a sentence that no person wrote."""
_LANGUAGE = re.compile(r"[ \t]*(?:```|~~~)[ \t]*([A-Za-z][\w+#-]{0,19})")
_NAMES = {
    "fenced text": "code",
    "lines of a log": "log",
    "code": "code",
    "a patch": "patch",
    "markup": "markup",
    "a stack trace": "stack trace",
    "a letter": "letter",
    "a forwarded message": "forwarded message",
    "a message with its headers": "message",
    "a long quotation": "quotation",
    "quoted lines": "quotation",
    "a web page": "web page",
    "a comment in a page": "comment",
}
_BY_LINES = frozenset({"code", "log", "patch", "markup", "stack trace"})
_PLACEHOLDER = re.compile(
    r"\[(?:code|log|table|json|encoded data|patch|markup|stack trace|letter|forwarded message|message|quotation"
    r"|web page|comment|pasted text|text), [\d,]+ [a-z]+(?: of [\w+#-]+)?\]"
)
_LETTERS = re.compile(r"[^\W\d_][^\W\d_]|[\u3040-\u9fff]")
_MARKS = re.compile(r"(\*\*|__|`)(?=\S)(.{1,300}?)(?<=\S)\1|^#{1,6}[ \t]+|^[ \t]*(?:[-*•][ \t]+)?\[[ x]\][ \t]+")


def prepare(text: str, most: int | None = None) -> list[str]:
    """The sentences that say something, in order, and a placeholder for each piece of bulk among them."""
    found = filter(None, map(_unmarked, sentences(with_placeholders(text, most))))
    return [sentence for sentence in found if is_placeholder(sentence) or not is_filler(sentence, judge(sentence))]


def readable(text: str, most: int | None = None) -> list[str]:
    """The sentences without the bulk."""
    found = map(_unmarked, sentences(with_placeholders(text, most)))
    return [sentence for sentence in found if sentence and not is_placeholder(sentence)]


def with_placeholders(text: str, most: int | None = None) -> str:
    """The text with its bulk replaced: "[code, 42 lines of python]"."""
    rest = ""
    if most is not None and len(text) > most:
        text, rest = text[:most], f"\n[text, {len(text) - most:,} characters]"
    if len(text) > _JSON_CHARS and (_OBJECT.match(text) or (_ARRAY.match(text) and text.rstrip().endswith("]"))):
        return f"[json, {len(text):,} characters]{rest}"
    text = _without_tables(text)
    shown, at = [], 0
    for part in pasted_parts(text):
        shown += [text[at : part.start].rstrip(" "), f"\n{_named(text, part)}\n"]
        at = part.end
    text = "".join([*shown, text[at:]]) + rest
    text = _ENCODED.sub(lambda found: f"\n[encoded data, {len(found[0]):,} characters]\n", text)
    return "\n".join(_run_on(line) for line in text.split("\n"))


def is_placeholder(sentence: str) -> bool:
    return sentence.startswith("[") and _PLACEHOLDER.fullmatch(sentence) is not None


def is_filler(sentence: str, refusal: Refusal | None) -> bool:
    """Greetings, thanks, praise and the like: what a digest does not miss. `refusal` is the floor's of it."""
    if _LETTERS.search(sentence) is None or informative_words(sentence, 1).count == 0:
        return True
    return refusal is not None and refusal.reason in (Reason.REACTION, Reason.EPHEMERAL)


def _named(text: str, part: Pasted) -> str:
    body = text[part.start : part.end]
    what = _NAMES.get(part.what, "pasted text")
    language = _LANGUAGE.match(body) if part.what == "fenced text" else None
    if what not in _BY_LINES:
        return f"[{what}, {len(body.split()):,} words]"
    lines = sum(bool(line.strip()) for line in body.split("\n")) - (2 if part.what == "fenced text" else 0)
    return f"[{what}, {max(lines, 1):,} {'line' if lines <= 1 else 'lines'}{f' of {language[1]}' if language else ''}]"


def _without_tables(text: str) -> str:
    """Runs of rows become one line. Before anything else: a row that begins with a bar looks like a quotation."""
    if "|" not in text and "\t" not in text and text.count(",") + text.count(";") < 3 * _LIST_ROWS:
        return text
    shown: list[str] = []
    run: list[str] = []
    kind: re.Pattern[str] | None = None
    for line in [*text.split("\n"), ""]:
        now = _row_kind(line[:_LINE])
        if run and now is not kind:
            needed = _TABLE_ROWS if kind is _ROW else _LIST_ROWS
            shown += [f"[table, {len(run):,} rows]"] if len(run) >= needed else run
            run = []
        kind = now
        (run if now else shown).append(line)
    return "\n".join(shown[:-1])


def _row_kind(line: str) -> re.Pattern[str] | None:
    if ("|" in line or "\t" in line) and _ROW.match(line):
        return _ROW
    return _COMMAS if line.count(",") + line.count(";") >= 3 and _COMMAS.match(line) else None


def _run_on(line: str) -> str:
    return f"[text, {len(line):,} characters]" if len(line) > _RUN_ON and len(sentences(line)) < 2 else line


def _unmarked(sentence: str) -> str:
    """Without the marks of Markdown: they are no words of anybody's."""
    return _MARKS.sub(lambda found: found[2] or "", sentence).strip()


# --- What texts are about, as vectors that a summary is chosen and checked by: the same under any configured
# embedder.
#
# The packaged static model, where it knows the script; elsewhere a text's own words, each in a place of its own. So the
# same log gives the same summaries whichever embedder is there or down, and a rebuild asks no model (INV-3).


Vectors = NDArray[np.float32]

_PLACES = 512  # for words: of a sentence's ten, two meet by chance in one of twelve sentences
_MOST_TERMS = 400


def is_known(text: str) -> bool:
    """Whether the packaged model knows the script that most of the text is in."""
    return script_of(text) in shipped_embedder().profile.scripts


def meanings(texts: Sequence[str]) -> Vectors:
    """Unit vectors; of a text without words the zero vector."""
    return beside_words(texts, shipped_embedder().embed([text.replace("’", "'") for text in texts]))


def beside_words(texts: Sequence[str], embedded: Vectors) -> Vectors:
    """The packaged model's vectors with those of unknown script replaced by places for their words."""
    vectors = np.zeros((len(texts), embedded.shape[1] + _PLACES), np.float32)
    vectors[:, : embedded.shape[1]] = embedded
    for row, text in enumerate(texts):
        if is_known(text):
            continue
        vectors[row] = 0
        for term in query_terms(text, _MOST_TERMS):
            vectors[row, embedded.shape[1] + zlib.crc32(term.encode()) % _PLACES] += 1
    return unit(vectors)


def centroid(vectors: Vectors) -> NDArray[np.float32]:
    """The middle of unit vectors, of length one."""
    middle: NDArray[np.float32] = unit(np.sum(vectors, axis=0, keepdims=True, dtype=np.float32))[0]
    return middle


# --- What a summary looks like: a date for each day, and below it who said what, in the order of time.
#
# The date stands by every line, so that "yesterday" and "next week" in it mean what they meant when it was said.


Method = Literal["extractive", "abstractive"]
_SPEAKER_CHARS = 40
_ENDS = (".", "!", "?", "…", ":", ";", ",", "。", "！", "？", '"', "”", ")")


@dataclass(frozen=True, slots=True)
class Part:
    """A turn, and what of its text is to be summarised: without the guidance that survives word for word (COMP-2)."""

    turn: Turn
    text: str

    @classmethod
    def whole(cls, turn: Turn) -> Part:
        return cls(turn, turn.text)


@dataclass(frozen=True, slots=True)
class Line:
    """Something that was said, and in which turn."""

    turn: Turn
    text: str
    own: bool = True
    """In the speaker's own words; else it is told of the turn."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A digest of a cluster, how far it can be trusted, and where it comes from (COMP-6, COMP-7)."""

    text: str
    method: Method
    alignment: float
    """Cosine of the summary and its cluster."""
    coverage: float
    """Share of what the cluster tells that the summary tells too."""
    turn_ids: tuple[str, ...]
    """Of every turn of the cluster, in order of time: what `expand` gives back."""
    since: datetime
    until: datetime

    @property
    def confidence(self) -> float:
        """In [0, 1]; the weaker side decides more: well aligned with half of a cluster is not well."""
        return max(0.0, min(1.0, self.alignment * self.coverage)) ** 0.5 if self.alignment > 0 else 0.0

    @property
    def decay_rate(self) -> float:
        return 1.0 - self.confidence


def speaker_of(turn: Turn) -> str:
    """The name that the caller gave the speaker, or the role. On one line: it stands at the beginning of one."""
    name = turn.metadata.get("speaker")
    given = " ".join(name.split())[:_SPEAKER_CHARS] if isinstance(name, str) else ""
    return given or turn.role.value


def day_of(turn: Turn) -> str:
    return turn.at.astimezone(UTC).date().isoformat()


def render(lines: Iterable[Line]) -> str:
    """The lines under their days, what was said in one turn on one line."""
    shown: list[str] = []
    day = turn = ""
    for line in lines:
        if (today := day_of(line.turn)) != day:
            day = today
            shown.append(day)
        if not line.own:
            shown.append(f"- {line.text}")
        elif line.turn.id == turn:
            shown[-1] += f"{' ' if shown[-1].endswith(_ENDS) else '; '}{line.text}"
        else:
            turn = line.turn.id
            shown.append(f"{speaker_of(line.turn)}: {line.text}")
    return "\n".join(shown)


# --- A cluster read sentence by sentence: what each tells, how durable it is and how near to the middle of the
# cluster.


_ROLE = {Role.USER: 1.0, Role.ASSISTANT: 0.6, Role.TOOL: 0.25, Role.SYSTEM: 0.2}
"""The user's words before an assistant's, as in recall (RECALL-2)."""
_CENTRAL = 0.6
"""What nearness to the middle counts beside durability, which says more about chat."""
_GATED = 0.2  # what G counts, where the gate has read the turn
_UNSURE = 0.5  # durability of a sentence that the packaged model cannot read
_UNRELATED = 0.20  # the static model's `related`: below it two sentences have nothing in common
_IDLE = 0.1
"""What a turn counts for the middle beside its durability: thanks should not pull it away from what is told."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence of a cluster."""

    part: int
    number: int
    text: str
    worth: float
    """How much a reader gains from it, before a closer look (compact/summarize.py)."""
    weight: float
    """How much of what the cluster tells it is."""
    share: float
    """What a closer look at it counts: less for what was not the user's."""
    asked: int | None
    """The question of another that it may answer."""


@dataclass(frozen=True)
class Telling:
    """A cluster's sentences with their vectors, and its middle."""

    said: tuple[Said, ...]
    vectors: Vectors
    middle: NDArray[np.float32]
    known: bool
    """Whether most of it is in a script that the packaged model knows."""

    def alignment(self, lines: Vectors) -> float:
        """Cosine of a text, given by its lines' vectors, and the cluster's middle."""
        if not len(lines) or not self.said:
            return 0.0
        return max(-1.0, min(1.0, float(np.einsum("i,i->", centroid(lines), self.middle))))

    def coverage(self, lines: Vectors) -> float:
        """Share of what the cluster tells that a text tells too: of each sentence, how near the nearest line is."""
        if not len(lines) or not self.said:
            return 0.0
        weights = np.array([one.weight for one in self.said])
        nearest = np.max(np.einsum("id,jd->ij", self.vectors, lines), axis=1)
        told = np.clip((nearest - _UNRELATED) / (1 - _UNRELATED), 0.0, 1.0)
        return float(np.sum(weights * told) / np.sum(weights))


def read_cluster(parts: Sequence[Part], settings: CompactSettings) -> Telling:
    """The sentences of the parts' texts, without bulk, scored."""
    weighed = weigh_apart([_shortened(part, settings) for part in parts])
    texts = [sentence for one in weighed for sentence in one.sentences]
    if not texts:
        return Telling((), np.zeros((0, 1), np.float32), np.zeros(1, np.float32), True)
    vectors = beside_words(texts, np.concatenate([one.vectors for one in weighed]))
    middle = _middle(vectors, weighed)
    near = np.einsum("ij,j->i", vectors, middle).tolist()
    said: list[Said] = []
    for place, (part, one) in enumerate(zip(parts, weighed, strict=True)):
        share, gated = _ROLE[part.turn.role], _GATED * part.turn.signals.get("g", 0.0)
        question = _open_question(said, parts, place)
        for number, (sentence, durable) in enumerate(zip(one.sentences, one.each, strict=True)):
            durable = durable if is_known(sentence) else _UNSURE
            worth = share * (durable + _CENTRAL * near[len(said)] + gated)
            said.append(Said(place, number, sentence, worth, share * durable, share, question if number == 0 else None))
    return Telling(tuple(said), vectors, middle, is_known(" ".join(texts)[:2000]))


def _shortened(part: Part, settings: CompactSettings) -> str:
    """A line for each sentence. Of a page that is not the user's the beginning is read: it says what it is about."""
    if part.turn.role is Role.USER:
        return "\n".join(readable(part.text, settings.turn_chars))
    return "\n".join(readable(part.text[: settings.page_chars])[: settings.page_sentences])


def _middle(vectors: Vectors, weighed: Sequence[Weighed]) -> NDArray[np.float32]:
    """Every turn counts once, however long it is, and more if it tells something."""
    turns, at = [], 0
    for one in weighed:
        count = len(one.sentences)
        if count:
            turns.append(centroid(vectors[at : at + count]) * np.float32(one.whole + _IDLE))
        at += count
    return centroid(np.array(turns, np.float32))


def _open_question(said: Sequence[Said], parts: Sequence[Part], place: int) -> int | None:
    """The question that the turn before ended with, another's."""
    if not said or said[-1].part != place - 1 or not said[-1].text.endswith("?"):
        return None
    asker, answerer = parts[place - 1].turn, parts[place].turn
    same = speaker_of(asker) == speaker_of(answerer) or asker.session != answerer.session
    return None if same else len(said) - 1
