"""What a summariser reads of a turn: its sentences, without filler, and a word or two in place of bulk.

Code, logs, tables, base64 and pasted texts stay in the log and can be had back; nobody reads them in a digest. One pass
over the text, linear time.
"""

from __future__ import annotations

import re

from holdfast.admit.floor import Reason, Refusal, judge
from holdfast.admit.pasted import Pasted, pasted_parts
from holdfast.admit.sentences import sentences
from holdfast.gate.informative import informative_words

__all__ = ["is_filler", "is_placeholder", "prepare", "readable", "with_placeholders"]

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
