"""Which words an English sentence has and which follow each other, alone and beside the kinds of their neighbours.

"One question at a time", "hands off", "from here on": many rules are turns of phrase, and the learned reader
(deontic_learned) weighs them, next to how the sentence is put (deontic_manner). Linear in the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["blend", "wording"]

_FIRST = 3
"""Words that begin a sentence: in which place they stand counts, and that they stand there at all."""


def wording(words: Sequence[str]) -> list[str]:
    """Its words, neighbours, words with one between them, and how it begins; each once."""
    first = words[:_FIRST]
    return [
        *dict.fromkeys(words),
        *dict.fromkeys([f"{one} {other}" for one, other in pairwise(["^", *words, "$"])]),
        *dict.fromkeys([f"{one} _ {other}" for one, other in zip(words, words[2:], strict=False)]),
        *[f"{place}:{word}" for place, word in enumerate(first, 1)],
        *dict.fromkeys([f"^{word}" for word in first]),
    ]


def blend(words: Sequence[str], kinds: Sequence[str]) -> list[str]:
    """A word beside the kind of its neighbour, three kinds in a row, two with one between them; each once."""
    said, kind = ["^", *words, "$"], ["^", *kinds, "$"]
    found = [f"{one}>{other}" for one, other in zip(said, kind[1:], strict=False)]
    found += [f"{one}<{other}" for one, other in zip(kind, said[1:], strict=False)]
    found += [f"{one}-{two}-{three}" for one, two, three in zip(kind, kind[1:], kind[2:], strict=False)]
    found += [f"{one}_{other}" for one, other in zip(kinds, kinds[2:], strict=False)]
    return list(dict.fromkeys(found))
