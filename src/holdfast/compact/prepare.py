"""Reading a cluster of turns for a summary: bulk becomes placeholders, sentences get scores and vectors.

Code, logs, tables, base64 and pasted texts stay in the log and can be expanded; in a summary a placeholder such as
"[code, 42 lines of python]" replaces them. Reading is one pass over the text, in linear time.

Sentence vectors come from the packaged static model, or from the words themselves in a script it does not know. So the
same log gives the same summaries whichever embedder is configured, and a rebuild asks no model (INV-3).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.floor import Reason, Refusal, judge
from holdfast.gate.durability import Weighed, weigh_apart
from holdfast.gate.own_words import Pasted, pasted_parts
from holdfast.gate.salience import informative_words
from holdfast.model import Role, Turn
from holdfast.models.embedder import shipped_embedder, unit
from holdfast.settings import CompactSettings
from holdfast.text.words import query_terms, script_of, sentences


@dataclass(frozen=True)
class CompactSizes(CompactSettings):
    """The settings of compaction and its fixed sizes (docs/evidence/compaction.md)."""

    size: int = 20  # maximum number of turns in a cluster (COMP-1)
    tail: int = 4  # last turns, which are never compacted: CTX-2 shows them anyway
    share: float = 0.25  # length of a summary as a share of its source: active tokens drop by 70 % with the dates
    most_chars: int = 1200  # maximum length of a summary, about 300 tokens
    alignment: float = 0.45
    """Cosine with its cluster that a model's summary must have, on the packaged static model. COMP-5's .65 in its
    scale: summaries written by hand for the demo's month reach .52 to .77, those of other clusters .52 at most."""
    alignment_words: float = 0.30  # the same by words, where the packaged model does not know the script
    mean_g: float = 0.60  # mean G of a cluster's user turns from which it deserves a model (COMP-5)
    deadline_s: float = 20.0  # for one summary of the chat model: small local models take 5 to 20 s
    shard_chars: int = 600  # a turn with guidance is kept whole up to here, with its reasons; of a longer one its rules
    step: int = 1000  # turns per transaction: a backlog of any length in flat memory
    compared: int = 200  # earlier summaries among which the best fifth is found
    turn_chars: int = 40_000  # a turn is read up to here for its summary: what is longer is a document
    page_sentences: int = 8  # sentences read of a turn that is not the user's: a digest takes one or two
    page_chars: int = 1500  # characters read for them
    shown_chars: int = 2000  # characters shown to the chat model: twenty turns must fit into a small window


Vectors = NDArray[np.float32]

_SPEAKER_CHARS = 40
_ROLE_WEIGHT = {Role.USER: 1.0, Role.ASSISTANT: 0.6, Role.TOOL: 0.25, Role.SYSTEM: 0.2}
"""The user's words count more than an assistant's, as in recall (RECALL-2)."""
_CENTRALITY = 0.6  # weight of nearness to the centroid, relative to durability, which is the better predictor in chat
_GATE = 0.2  # weight of G, where the gate has read the turn
_UNKNOWN_DURABILITY = 0.5  # of a sentence in a script that the packaged model does not know
_UNRELATED = 0.20  # the static model's `related`: below it two sentences have nothing in common
_MIN_TURN_WEIGHT = 0.1
"""Weight of a turn for the centroid in addition to its durability: thanks should not pull the centroid away."""
_HASH_DIMS = 512  # dimensions for words: of a sentence's ten, two collide in one of twelve sentences
_MAX_TERMS = 400

_ENCODED = re.compile(
    r"data:[\w.+-]++/[\w.+-]++;base64,[A-Za-z0-9+/=]*+"
    r"|(?<![\w+/=-])(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?=[\w+/-]*\d)[\w+/-]{80,}+={0,2}(?>(?:\s[\w+/-]{60,}+={0,2})*)"
    r"|(?<!\w)[0-9a-fA-F]{64,}+(?!\w)"
)
_ROW = re.compile(r"[ \t]*\||[^|\n]{0,200}(?:\|[^|\n]{0,200}){2,}|[^\t\n]{0,200}(?:\t[^\t\n]{0,200}){2,}$")
_COMMAS = re.compile(r"[^,;\n]{0,60}(?:[,;][^,;\n]{0,60}){3,}$")
_ROW_CHARS = 400  # characters of a line that show whether it is a row
_TABLE_ROWS = 4  # lines that make a table: its head, its rule and two rows
_LIST_ROWS = 5  # lines of values between commas: fewer may be sentences that list things
_OBJECT, _ARRAY = re.compile(r"\s*\{\s*\"\w"), re.compile(r"\s*\[\s*[\[{\"\d]")
_JSON_CHARS = 60
_RUN_ON = 1200  # characters of a line without sentence ends; people do not write such lines
_LANGUAGE = re.compile(r"[ \t]*(?:```|~~~)[ \t]*([A-Za-z][\w+#-]{0,19})")
_NAMES = {
    "fenced text": "code", "lines of a log": "log", "code": "code", "a patch": "patch", "markup": "markup",
    "a stack trace": "stack trace", "a letter": "letter", "a forwarded message": "forwarded message",
    "a message with its headers": "message", "a long quotation": "quotation", "quoted lines": "quotation",
    "a web page": "web page", "a comment in a page": "comment",
}  # fmt: skip
_COUNTED_IN_LINES = frozenset({"code", "log", "patch", "markup", "stack trace"})
_PLACEHOLDER = re.compile(
    r"\[(?:code|log|table|json|encoded data|patch|markup|stack trace|letter|forwarded message|message|quotation"
    r"|web page|comment|pasted text|text), [\d,]+ [a-z]+(?: of [\w+#-]+)?\]"
)
_LETTERS = re.compile(r"[^\W\d_][^\W\d_]|[\u3040-\u9fff]")
_MARKDOWN = re.compile(r"(\*\*|__|`)(?=\S)(.{1,300}?)(?<=\S)\1|^#{1,6}[ \t]+|^[ \t]*(?:[-*•][ \t]+)?\[[ x]\][ \t]+")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A turn and the part of its text to summarise: without guidance that is kept verbatim (COMP-2)."""

    turn: Turn
    text: str


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """One sentence of a cluster."""

    excerpt: int
    number: int
    """Its number within the excerpt."""
    text: str
    value: float
    """Value for a reader, before the closer look in compact/summarize.py."""
    weight: float
    """Share of the cluster's content."""
    role_weight: float
    """Factor for the closer look: less for what the user did not say."""
    question: int | None
    """Index of another speaker's question that it may answer."""


@dataclass(frozen=True)
class ClusterText:
    """The sentences of a cluster with their vectors and centroid."""

    sentences: tuple[ScoredSentence, ...]
    vectors: Vectors
    centroid: NDArray[np.float32]
    known_script: bool
    """True if most of it is in a script that the packaged model knows."""

    def alignment(self, lines: Vectors) -> float:
        """Return the cosine of a text, given by the vectors of its lines, with the cluster."""
        if not len(lines) or not self.sentences:
            return 0.0
        return max(-1.0, min(1.0, float(np.einsum("i,i->", _centroid(lines), self.centroid))))

    def coverage(self, lines: Vectors) -> float:
        """Return the share of the cluster's content that a text covers, by the nearest line to each sentence."""
        if not len(lines) or not self.sentences:
            return 0.0
        weights = np.array([one.weight for one in self.sentences])
        nearest = np.max(np.einsum("id,jd->ij", self.vectors, lines), axis=1)
        covered = np.clip((nearest - _UNRELATED) / (1 - _UNRELATED), 0.0, 1.0)
        return float(np.sum(weights * covered) / np.sum(weights))


def read_cluster(excerpts: Sequence[Excerpt], settings: CompactSizes) -> ClusterText:
    """Split the excerpts into sentences, without bulk, and score each."""
    weighed = weigh_apart([_readable_text(excerpt, settings) for excerpt in excerpts])
    texts = [sentence for one in weighed for sentence in one.sentences]
    if not texts:
        return ClusterText((), np.zeros((0, 1), np.float32), np.zeros(1, np.float32), True)
    vectors = _with_hashed_words(texts, np.concatenate([one.vectors for one in weighed]))
    centroid = _cluster_centroid(vectors, weighed)
    near = np.einsum("ij,j->i", vectors, centroid).tolist()
    scored: list[ScoredSentence] = []
    for place, (excerpt, one) in enumerate(zip(excerpts, weighed, strict=True)):
        role, gate = _ROLE_WEIGHT[excerpt.turn.role], _GATE * excerpt.turn.signals.get("g", 0.0)
        question = _open_question(scored, excerpts, place)
        for number, (sentence, durable) in enumerate(zip(one.sentences, one.each, strict=True)):
            durable = durable if _is_known_script(sentence) else _UNKNOWN_DURABILITY
            value = role * (durable + _CENTRALITY * near[len(scored)] + gate)
            answers = question if number == 0 else None
            scored.append(ScoredSentence(place, number, sentence, value, role * durable, role, answers))
    return ClusterText(tuple(scored), vectors, centroid, _is_known_script(" ".join(texts)[:2000]))


def sentence_vectors(texts: Sequence[str]) -> Vectors:
    """Return unit vectors; zero for a text without words."""
    return _with_hashed_words(texts, shipped_embedder().embed([text.replace("’", "'") for text in texts]))


def sentences_with_placeholders(text: str, most: int | None = None) -> list[str]:
    """Return the informative sentences in order, and a placeholder for each piece of bulk."""
    return [one for one in _sentences(text, most) if _is_placeholder(one) or not is_filler(one, judge(one))]


def readable_sentences(text: str, most: int | None = None) -> list[str]:
    """Return the sentences without bulk."""
    return [one for one in _sentences(text, most) if not _is_placeholder(one)]


def with_placeholders(text: str, most: int | None = None) -> str:
    """Replace bulk by placeholders, and what follows the first `most` characters."""
    rest = ""
    if most is not None and len(text) > most:
        text, rest = text[:most], f"\n[text, {len(text) - most:,} characters]"
    if len(text) > _JSON_CHARS and (_OBJECT.match(text) or (_ARRAY.match(text) and text.rstrip().endswith("]"))):
        return f"[json, {len(text):,} characters]{rest}"
    text = _without_tables(text)
    shown, at = [], 0
    for part in pasted_parts(text):
        shown += [text[at : part.start].rstrip(" "), f"\n{_placeholder(text, part)}\n"]
        at = part.end
    text = "".join([*shown, text[at:]]) + rest
    text = _ENCODED.sub(lambda found: f"\n[encoded data, {len(found[0]):,} characters]\n", text)
    return "\n".join(
        f"[text, {len(line):,} characters]" if len(line) > _RUN_ON and len(sentences(line)) < 2 else line
        for line in text.split("\n")
    )


def is_filler(sentence: str, refusal: Refusal | None) -> bool:
    """Return True for greetings, thanks, praise and the like; `refusal` is the quality floor's verdict."""
    if _LETTERS.search(sentence) is None or informative_words(sentence, 1).count == 0:
        return True
    return refusal is not None and refusal.reason in (Reason.REACTION, Reason.EPHEMERAL)


def speaker_of(turn: Turn) -> str:
    """Return the speaker's name as given by the caller, on one line, or the role."""
    name = turn.metadata.get("speaker")
    given = " ".join(name.split())[:_SPEAKER_CHARS] if isinstance(name, str) else ""
    return given or turn.role.value


def _is_placeholder(sentence: str) -> bool:
    return sentence.startswith("[") and _PLACEHOLDER.fullmatch(sentence) is not None


def _placeholder(text: str, part: Pasted) -> str:
    body = text[part.start : part.end]
    what = _NAMES.get(part.what, "pasted text")
    language = _LANGUAGE.match(body) if part.what == "fenced text" else None
    if what not in _COUNTED_IN_LINES:
        return f"[{what}, {len(body.split()):,} words]"
    lines = sum(bool(line.strip()) for line in body.split("\n")) - (2 if part.what == "fenced text" else 0)
    return f"[{what}, {max(lines, 1):,} {'line' if lines <= 1 else 'lines'}{f' of {language[1]}' if language else ''}]"


def _without_tables(text: str) -> str:
    """Replace runs of rows. This comes first because a row that begins with a bar looks like a quotation."""
    if "|" not in text and "\t" not in text and text.count(",") + text.count(";") < 3 * _LIST_ROWS:
        return text
    shown: list[str] = []
    run: list[str] = []
    kind: re.Pattern[str] | None = None
    for line in [*text.split("\n"), ""]:
        now = _row_kind(line[:_ROW_CHARS])
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


def _sentences(text: str, most: int | None) -> Iterator[str]:
    for sentence in sentences(with_placeholders(text, most)):
        if plain := _MARKDOWN.sub(lambda found: found[2] or "", sentence).strip():
            yield plain


def _readable_text(excerpt: Excerpt, settings: CompactSizes) -> str:
    """Return one sentence per line; only the beginning of a page that the user did not write."""
    if excerpt.turn.role is Role.USER:
        return "\n".join(readable_sentences(excerpt.text, settings.turn_chars))
    return "\n".join(readable_sentences(excerpt.text[: settings.page_chars])[: settings.page_sentences])


def _is_known_script(text: str) -> bool:
    return script_of(text) in shipped_embedder().profile.scripts


def _with_hashed_words(texts: Sequence[str], embedded: Vectors) -> Vectors:
    """Extend the static model's vectors by hashed words, used for texts in scripts it does not know."""
    vectors = np.zeros((len(texts), embedded.shape[1] + _HASH_DIMS), np.float32)
    vectors[:, : embedded.shape[1]] = embedded
    for row, text in enumerate(texts):
        if _is_known_script(text):
            continue
        vectors[row] = 0
        for term in query_terms(text, _MAX_TERMS):
            vectors[row, embedded.shape[1] + zlib.crc32(term.encode()) % _HASH_DIMS] += 1
    return unit(vectors)


def _centroid(vectors: Vectors) -> NDArray[np.float32]:
    mean: NDArray[np.float32] = unit(np.sum(vectors, axis=0, keepdims=True, dtype=np.float32))[0]
    return mean


def _cluster_centroid(vectors: Vectors, weighed: Sequence[Weighed]) -> NDArray[np.float32]:
    """Return the centroid of the turns; a long turn counts as much as a short one, a durable one more."""
    turns, at = [], 0
    for one in weighed:
        count = len(one.sentences)
        if count:
            turns.append(_centroid(vectors[at : at + count]) * np.float32(one.whole + _MIN_TURN_WEIGHT))
        at += count
    return _centroid(np.array(turns, np.float32))


def _open_question(scored: Sequence[ScoredSentence], excerpts: Sequence[Excerpt], place: int) -> int | None:
    """Return the index of another speaker's question that ended the previous excerpt."""
    if not scored or scored[-1].excerpt != place - 1 or not scored[-1].text.endswith("?"):
        return None
    asker, answerer = excerpts[place - 1].turn, excerpts[place].turn
    same = speaker_of(asker) == speaker_of(answerer) or asker.session != answerer.session
    return None if same else len(scored) - 1
