"""The five signals that are read from a turn's own words: T, Dnl, P, A and Dtech.

Each is a sum over named families with the weights of `GateSettings`, capped at 1. The same text and settings give the
same numbers, always: nothing here looks anything up.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from holdfast.gate.actions import ACTIONS
from holdfast.gate.conversation import CONVERSATION
from holdfast.gate.family import Family, Reading
from holdfast.gate.prose import prose_of
from holdfast.gate.specifics import SPECIFICS
from holdfast.gate.structure import STRUCTURE
from holdfast.gate.technical import TECHNICAL
from holdfast.settings import GateSettings

__all__ = ["actionability", "families", "nl_structure", "specificity", "tech_structure", "technical_density"]

_DEFAULT = GateSettings()
_CODE_POINTS_A_TOKEN = 4  # GATE-6: cheap, and the same for code and prose
_TOKENS_A_UNIT = 100  # GATE-6: what a text names is counted per hundred tokens


def technical_density(text: str, settings: GateSettings = _DEFAULT) -> float:
    """T: how technical the turn is, and so which branch judges it (GATE-2)."""
    total = _sum(_fired(TECHNICAL, _read(text, settings)), settings.technical_families)
    return min(total / settings.technical_norm, 1.0)


def nl_structure(text: str, settings: GateSettings = _DEFAULT) -> float:
    """Dnl: how much a person tells of themselves, in the sentences around any code (GATE-5)."""
    prose = prose_of(_read(text, settings).text)
    total = _sum(_fired(CONVERSATION, Reading(prose.text)), settings.conversation_families)
    return min(total, settings.code_structure if prose.mostly_code else 1.0)


def specificity(text: str, settings: GateSettings = _DEFAULT) -> float:
    """P: how densely it names concrete things (GATE-6)."""
    read = _read(text, settings)
    total = sum(
        _weight(settings.specificity_families, family.name) * family.patterns[0].count(read) for family in SPECIFICS
    )
    tokens = max(len(read.text) // _CODE_POINTS_A_TOKEN, 1)
    return min(total / max(tokens / _TOKENS_A_UNIT, 1.0), 1.0)


def actionability(text: str, settings: GateSettings = _DEFAULT) -> float:
    """A: whether something was decided, fixed, configured or shipped (GATE-7)."""
    return min(_sum(_fired(ACTIONS, _read(text, settings)), settings.action_families), 1.0)


def tech_structure(text: str, settings: GateSettings = _DEFAULT) -> float:
    """Dtech: the parts of code that it shows (GATE-8)."""
    return min(_sum(_fired(STRUCTURE, _read(text, settings)), settings.structure_families), 1.0)


def families(text: str, settings: GateSettings = _DEFAULT) -> dict[str, tuple[str, ...]]:
    """Which families fired, by signal: what a receipt shows."""
    read = _read(text, settings)
    return {
        "t": _fired(TECHNICAL, read),
        "d": _fired(CONVERSATION, Reading(prose_of(read.text).text)),
        "p": _fired(SPECIFICS, read),
        "a": _fired(ACTIONS, read),
        "dtech": _fired(STRUCTURE, read),
    }


def _read(text: str, settings: GateSettings) -> Reading:
    return _reading(text[: settings.max_chars])


_reading = lru_cache(maxsize=2)(Reading.of)  # five signals read the same text


def _fired(group: Iterable[Family], reading: Reading) -> tuple[str, ...]:
    return tuple(family.name for family in group if family.fires(reading))


def _sum(fired: Iterable[str], weights: object) -> float:
    return sum(_weight(weights, name) for name in fired)


def _weight(weights: object, name: str) -> float:
    """A family and its weight have one name; a test holds them together."""
    return float(getattr(weights, name))
