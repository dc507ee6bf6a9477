"""What the gate decides about a turn, with the sentence its receipt keeps (GATE-12, -14)."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.gate.salience import Salience
from holdfast.gate.scalar import Signals
from holdfast.settings import GateSettings

__all__ = ["Verdict", "decide"]


@dataclass(frozen=True, slots=True)
class Verdict:
    promoted: bool
    """Salient, and G reaches the threshold."""
    yields: bool
    """Whether records may be made of it: of every salient turn (rank) or of the promoted ones alone (filter)."""
    reason: str


def decide(salience: Salience, signals: Signals, settings: GateSettings) -> Verdict:
    """Salience first: what is not salient is never promoted, whatever G says."""
    if not salience.salient:
        return Verdict(promoted=False, yields=False, reason=f"not salient: {salience.reason}")
    promoted = signals.g >= settings.threshold
    compared = f"G {signals.g:.2f} {'reaches' if promoted else 'is below'} {settings.threshold:g}"
    if settings.conversation == "filter":
        return Verdict(promoted, yields=promoted, reason=f"{compared} ({salience.reason})")
    return Verdict(promoted, yields=True, reason=f"{salience.reason}; {compared} (mode rank: noted, not refused)")
