"""Answers as JSON on stdout: one document, made from the typed nouns."""

from __future__ import annotations

import json
import re
import sys

from holdfast.wire import plain

__all__ = ["as_text", "print_json"]

# A terminal obeys some characters that JSON lets stand as they are: C1 controls and those that turn the direction.
_OBEYED = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def as_text(answer: object) -> str:
    text = json.dumps(plain(answer), ensure_ascii=False, indent=2, allow_nan=False)
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(answer: object) -> None:
    text = as_text(answer)
    if (sys.stdout.encoding or "").lower().replace("-", "") != "utf8":
        text = json.dumps(json.loads(text), indent=2)
    print(text)
