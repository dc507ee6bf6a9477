"""The part of a text that a person wrote as sentences, without its code."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Prose", "prose_of"]

# Fences go in pairs; one that is never closed runs to the end, as in Markdown.
_FENCE = re.compile(r"```|^ {0,3}~~~", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]++`")

_CODE_START = re.compile(
    r"(?>(?:(?:async|export|public|private|protected|static) )*)(?:"
    r"(?:def|func|fn|fun|function)\*? [\w$.]++ ?[(<]"
    r"|(?:class|struct|enum|interface|impl|trait) [A-Z_]\w*+[^\n]{0,120}[{:(]$"
    r"|(?:from [\w.]++ )?import (?:[\w.]++(?: as \w++)?(?:, |$)|[{*\"'(])|from [\w.]++ import "
    r"|(?:const|let|var|auto|int|float|double|char|bool|void|string|String) [\w$*]++ ?[=;(]"
    r"|(?:return|raise|throw|yield|await|elif)\b[^\n]{0,200}?[;(=_\[]"
    r"|(?:else|try|finally|do) ?[:{]$"
    r"|[\w.$\[\]\"'>*-]++ ?(?::=|[-+*/|&%]?=)(?!=) ?\S"  # an assignment
    r"|[})\]]|@\w[\w.]*+(?:\(|$)|</?\w[^\n<>]{0,200}>|//|/\*|\*/|#(?:include|define|!|\[)|\$ |\"[\w-]++\" ?:"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE|JOIN) \S)"
)
_CALL_START = re.compile(r"(?!\w++\(e?s\))[\w.$>:-]++\(")
_BLOCK_START = re.compile(r"(?:if|elif|for|while|with|except|case|switch|catch)\b")
_SYMBOL = re.compile(r"[()=\[\]{}<>_]")
_COMMENT_START = ("#", "//", "--", " *")


@dataclass(frozen=True, slots=True)
class Prose:
    text: str
    mostly_code: bool
    """Of the lines outside fences that say anything, at least half are code."""


def prose_of(text: str) -> Prose:
    """Without fenced and inline code, and without lines that read like code, their comments and what they indent."""
    code = 0
    kept: list[str] = []
    for line in "\n".join(_FENCE.split(text)[0::2]).split("\n"):
        if not line or line.isspace():
            continue
        indented = line.startswith(("    ", "\t", *_COMMENT_START))
        if _reads_like_code(line.strip()) or (code and indented):
            code += 1
        else:
            kept.append(line)
    return Prose(_INLINE.sub(" ", "\n".join(kept)), mostly_code=code > 0 and code >= len(kept))


def _reads_like_code(line: str) -> bool:
    if line.endswith(("{", "}", "=>", "->")) or _CODE_START.match(line):
        return True
    if line.endswith(";"):  # poets end lines with it too
        return _SYMBOL.search(line) is not None
    if line.endswith(":") and _BLOCK_START.match(line):
        return _SYMBOL.search(line) is not None
    return line.endswith((")", "(", ",")) and _CALL_START.match(line) is not None
