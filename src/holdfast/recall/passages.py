"""Where a long text is cut into passages: at the ends of sentences or lines, each about as long as asked for.

One line of a page-long answer is drowned by the rest of it; its passage is not.
"""

from __future__ import annotations

import re

__all__ = ["cut"]

# A word, or two characters of a script without spaces: what a reader takes in at once.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,2}|\S[^\s\u3040-\u9fff]*")
_END = re.compile(r"[.!?…][\"'”’)\]]*$|[。！？]$")
_SLACK = 3  # a passage ends at the first end of a sentence after its length, or here (a third of it) at the latest


def cut(text: str, words: int, at_least: int) -> list[tuple[int, int]]:
    """(start, stop) of each passage, none when the text has at most `at_least` words. Together they cover its words."""
    if len(text) <= 2 * at_least:  # even words of one letter would not be enough
        return []
    spans = [found.span() for found in _WORD.finditer(text)]
    if len(spans) <= at_least:
        return []
    passages: list[tuple[int, int]] = []
    first = 0
    while first < len(spans):
        last = min(first + words, len(spans)) - 1
        if len(spans) - last - 1 <= words // _SLACK:  # a short rest belongs to the last passage
            last = len(spans) - 1
        else:
            for candidate in range(last, min(last + words // _SLACK, len(spans) - 1)):
                start, stop = spans[candidate]
                if _END.search(text, start, stop) or "\n" in text[stop : spans[candidate + 1][0]]:
                    last = candidate
                    break
        passages.append((spans[first][0], spans[last][1]))
        first = last + 1
    return passages
