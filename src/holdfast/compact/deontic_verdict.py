"""Whether an English sentence lays something down: the learned score decides, with what the patterns found."""

from __future__ import annotations

from holdfast.compact.deontic_english import read, voice
from holdfast.compact.deontic_learned import chance, is_hopeless, score
from holdfast.compact.deontic_manner import kinds
from holdfast.compact.deontic_norm import Finding, Modality, Said

__all__ = ["laid_down", "reading_of"]


def laid_down(sentence: str, in_doubt: bool = False) -> Finding | None:
    """What a sentence lays down, or, in doubt, may lay down, and by which words; or None."""
    alone = score(sentence)
    if is_hopeless(alone):
        return None
    said = Said(sentence)
    heard, found = voice(said), read(said)
    if found is None and sentence.endswith(":"):
        return None  # it announces what comes
    likely = chance(alone, heard, found.reader if found else "", in_doubt)
    if likely is None:
        return None
    return found or _reads_like(sentence, likely)


def reading_of(sentence: str) -> tuple[str, str]:
    """Which voice the patterns hear in a sentence, and which of their readers finds a rule in it ("" for none)."""
    said = Said(sentence)
    found = read(said)
    return voice(said), found.reader if found else ""


def _reads_like(sentence: str, chance: float) -> Finding:
    put = kinds(sentence)
    modality = Modality.PRESCRIPTION
    if "not" in put or "no" in put:
        modality = Modality.PROHIBITION
    elif "may" in put:
        modality = Modality.PERMISSION
    return Finding(modality, f"reads like a rule (p {chance:.2f})".replace("0.", "."))
