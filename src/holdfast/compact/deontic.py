"""Which sentences of a text are rules: they oblige, forbid, permit or prescribe, for longer than this moment.

The user tells the assistant or the team how things are to be done; a contract binds its parties. An errand, a
question, a quotation, a report and a story are no rules. In doubt a sentence is one: a missed rule costs more than a
protected remark (COMP-9). Linear in the text.

Patterns read each sentence first; a learned reader gives a second opinion (deontic_learned). A language is a reader of
one sentence (`deontic_english`); another language is another module with its own, and one more line in `_LANGUAGES`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from holdfast.compact import deontic_english
from holdfast.compact.deontic_learned import MOST_WORDS_DROPPED, opinions
from holdfast.compact.deontic_manner import kinds
from holdfast.compact.deontic_norm import Finding, Modality, Norm, Said
from holdfast.compact.deontic_text import Sentence, masked, sentences_of

__all__ = ["Modality", "Norm", "is_rule", "norms", "reader_of"]

_LANGUAGES: tuple[tuple[Callable[[Said], bool], Callable[[Said], Finding | None]], ...] = (
    (deontic_english.is_own_word, deontic_english.read),
)
_HEADINGS: tuple[Callable[[str], Modality | None], ...] = (deontic_english.announced,)


def norms(text: str) -> list[Norm]:
    """The rules of a text, sentence by sentence: `text[norm.start:norm.stop] == norm.text`."""
    found, readable = [], masked(text)
    said = list(sentences_of(text))
    for sentence, finding in zip(said, _findings(readable, said), strict=True):
        start, stop = sentence.start, sentence.stop
        if finding is None and sentence.over:
            finding = _listed(text[start:stop], sentence.over)
        if finding is not None:
            found.append(Norm(text[start:stop], start, stop, finding.modality, finding.cue))
    return found


def is_rule(sentence: str) -> Norm | None:
    """The sentence as a rule, or None; what stands around it is not known here."""
    said = sentence.strip()
    start = sentence.index(said)
    (finding,) = _findings(masked(said), [Sentence(0, len(said))])
    return None if finding is None else Norm(said, start, start + len(said), finding.modality, finding.cue)


def reader_of(sentence: str) -> str | None:
    """Which reader of patterns finds a rule in a sentence, "" for none of them; None where nobody is asked."""
    return _read(masked(sentence.strip()))[0]


def _findings(readable: str, said: Sequence[Sentence]) -> list[Finding | None]:
    """What each sentence lays down: what the patterns find unless the learned reader drops it, and what it adds."""
    texts = [readable[one.start : one.stop] for one in said]
    read = [_read(text) for text in texts]
    findings = [finding for _, finding in read]
    asked = [
        place
        for place, (reader, _) in enumerate(read)
        if reader == "" or (reader is not None and len(texts[place].split()) <= MOST_WORDS_DROPPED)
    ]
    for place, opinion in zip(asked, opinions([(texts[place], read[place][0] or "") for place in asked]), strict=True):
        if not opinion.enough:
            findings[place] = None
        elif findings[place] is None:
            findings[place] = _reads_like(texts[place], opinion.chance)
    return findings


def _read(sentence: str) -> tuple[str | None, Finding | None]:
    if " " not in sentence:
        return None, None  # one word is no rule
    said = Said(sentence)
    own = [read for is_own_word, read in _LANGUAGES if is_own_word(said)]
    for read in own:
        if (finding := read(said)) is not None:
            return finding.reader, finding
    return ("" if own and not sentence.endswith(("?", ":")) else None), None


def _reads_like(sentence: str, chance: float) -> Finding:
    put = kinds(sentence)
    modality = Modality.PRESCRIPTION
    if "not" in put or "no" in put:
        modality = Modality.PROHIBITION
    elif "may" in put:
        modality = Modality.PERMISSION
    return Finding(modality, f"reads like a rule (p {chance:.2f})".replace("0.", "."))


def _listed(sentence: str, over: str) -> Finding | None:
    """An item of a list that its heading calls rules is one, whatever its words; a question is none."""
    if sentence.endswith(("?", ":")):
        return None
    for announced in _HEADINGS:
        if (modality := announced(over)) is not None:
            return Finding(modality, over.strip(" :#*"))
    return None
