"""Characters that pass for others: a text's skeleton in plain letters and signs, one for one.

A forged role header in full-width, mathematical or Cyrillic letters reads like the real one to a model, and becomes it
under a tokenizer that normalises. So what is forbidden is looked for in the skeleton; the text itself is not changed.
"""

from __future__ import annotations

import unicodedata
from functools import cache

__all__ = ["skeleton"]

_COMPATIBLE = (
    (0x02B0, 0x02B8),  # raised letters
    (0x1D2C, 0x1DBF),
    (0x2070, 0x209C),
    (0x2100, 0x214F),  # letter-like symbols
    (0x2460, 0x24FF),  # circled letters
    (0xFE13, 0xFE6B),  # upright and small punctuation
    (0xFF01, 0xFF5E),  # full-width
    (0x1D400, 0x1D7FF),  # mathematical letters
    (0x1F110, 0x1F149),  # bracketed and squared letters
)
"""Blocks whose characters Unicode itself maps to plain ones."""

_ALIKE = {
    "a": "аαɑᴀ",
    "b": "ЬᏏʙ",
    "c": "сϲᴄ",
    "d": "ԁᴅꓒ",
    "e": "еєҽᴇ",
    "f": "ғꜰƒ",
    "h": "һհʜ",
    "i": "іıιɪӏ",
    "k": "κкᴋ",
    "l": "ⅼʟ",
    "m": "мᴍⅿ",
    "n": "ոɴп",
    "o": "оοօᴏ",
    "p": "рρᴘ",
    "r": "ᴦгʀ",
    "s": "ѕꜱ",
    "t": "тτᴛ",
    "u": "υսᴜ",
    "v": "ѵνᴠ",
    "y": "уүγʏ",
    "A": "АΑ",
    "B": "ВΒ",
    "C": "СϹ",
    "E": "ЕΕ",
    "F": "Ϝ",
    "H": "НΗ",
    "I": "ІΙӀ",
    "K": "КΚ",
    "M": "МΜ",
    "N": "Ν",
    "O": "ОΟ",
    "P": "РΡ",
    "R": "Ʀ",
    "S": "Ѕ",
    "T": "ТΤ",
    "U": "Ս",
    "V": "Ѵ",
    "Y": "ҮΥ",
    "‹": "〈⟨˂ᐸ❮❬〈⧼ᚲ≺«⟪《≪",  # brackets and quotation marks of their own right: kept apart from "<"
    "|": "｜│┃∣ǀ❘⏐¦ǁ‖∥￨",
    "[": "［〔【⟦⁅❲〚⦗",
    "]": "］〕】⟧⁆❳〛⦘",
    ":": "：꞉ː∶﹕︓׃⁚",
    "#": "＃﹟⋕♯",
    "`": "｀ˋ‵՝",
    "/": "∕⁄╱⧸",
    "'": "ʹʻʼʽʾʿˈꞌ",  # letters by category, quotation marks to the eye
    '"': "ˮʺ",
    " ": "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
"""What Unicode keeps apart and the eye does not: the letters of the forbidden words and the signs around them. Those of
Cyrillic and Greek stand in for a plain letter here and nowhere else; a Russian text is not changed by it."""


def skeleton(text: str) -> str:
    """`text` with every look-alike as the plain character it passes for; the same length."""
    return text if text.isascii() else text.translate(_table())


@cache
def _table() -> dict[int, int]:
    table = {}
    for first, last in _COMPATIBLE:
        for code in range(first, last + 1):
            plain = unicodedata.normalize("NFKC", chr(code))
            letter = plain.strip("()")  # a bracketed letter folds to three characters
            if len(letter) == 1 and letter.isascii():
                table[code] = ord(letter)
    table.update((ord(alike), ord(plain)) for plain, group in _ALIKE.items() for alike in group)
    return table
