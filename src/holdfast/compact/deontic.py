"""Which sentences of a text are rules: they oblige, forbid, permit or prescribe, for longer than this moment.

The user tells the assistant or the team how things are to be done; a contract binds its parties. An errand, a
question, a quotation, a report and a story are no rules. In doubt a sentence is one: a missed rule costs more than a
protected remark (COMP-9). Linear in the text.

A language is a reader of one sentence and one of headings (`deontic_verdict.laid_down`, `deontic_english.announced`);
another language is another module with its own two, and one more line in `_LANGUAGES`.
"""

from __future__ import annotations

from collections.abc import Callable

from holdfast.compact import deontic_english, deontic_verdict
from holdfast.compact.deontic_norm import Finding, Modality, Norm
from holdfast.compact.deontic_text import masked, sentences_of

__all__ = ["Modality", "Norm", "norms"]

_LANGUAGES: tuple[tuple[Callable[[str, bool], Finding | None], Callable[[str], Modality | None]], ...] = (
    (deontic_verdict.laid_down, deontic_english.announced),
)


def norms(text: str, in_doubt: bool = False) -> list[Norm]:
    """The rules of a text, sentence by sentence: `text[norm.start:norm.stop] == norm.text`.

    In doubt: what may be one, too. Compaction asks so, for what it takes for talk leaves the active view.
    """
    found, readable = [], masked(text)
    for sentence in sentences_of(text):
        start, stop = sentence.start, sentence.stop
        finding = _finding(readable[start:stop], in_doubt)
        if sentence.over and (finding is None or not finding.reader):
            finding = _listed(text[start:stop], sentence.over) or finding  # what stands over it says which kind it is
        if finding is not None:
            found.append(Norm(text[start:stop], start, stop, finding.modality, finding.cue))
    return found


def _finding(sentence: str, in_doubt: bool) -> Finding | None:
    """What a sentence lays down, in the first language in which it does; one word is no rule."""
    if " " not in sentence:
        return None
    for laid_down, _ in _LANGUAGES:
        if (finding := laid_down(sentence, in_doubt)) is not None:
            return finding
    return None


def _listed(sentence: str, over: str) -> Finding | None:
    """An item of a list that its heading calls rules is one, whatever its words; a question is none."""
    if sentence.endswith(("?", ":")):
        return None
    for _, announced in _LANGUAGES:
        if (modality := announced(over)) is not None:
            return Finding(modality, over.strip(" :#*"))
    return None
