"""The gating scalar: how much a turn deserves durable memory (GATE-1 to -11).

    G = (1 - T)·Gconv + T·Gtech      Gconv = .35·H + .40·R + .25·Dnl      Gtech = .40·P + .35·A + .25·Dtech

Cosines in, signals out. The caller makes the two searches and never passes the turn itself as its own neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from holdfast.gate.patterns import (
    ACTIONS,
    CONVERSATION,
    SPECIFICS,
    STRUCTURE,
    TECHNICAL,
    Family,
    PatternReading,
    prose_of,
)
from holdfast.gate.salience import Salience
from holdfast.models.embedder import Thresholds
from holdfast.settings import GateSettings

KNOWN_RECORDS = 5  # nearest durable records that H and S look at (GATE-3, -4)
_SATURATED = 3  # with this many that know it already, S = 1
_EARLIER_TURNS = 10  # nearest turns that F looks at (GATE-4)
_FREQUENT = 5  # with this many that say it too, F = 1
_CODE_STRUCTURE = 0.3  # Dnl never exceeds this on a text that is mostly code (GATE-5)
_MAX_CHARS = 40_000  # about 10,000 tokens: a 10 MB paste must not hold the worker for seconds

# --- The five signals that are read from a turn's own words: T, Dnl, P, A and Dtech.
#
# Each is a sum over named families with the weights of `GateSettings`, capped at 1. The same text and settings give the
# same numbers, always: nothing here looks anything up.


_DEFAULT = GateSettings()
_CODE_POINTS_A_TOKEN = 4  # GATE-6: cheap, and the same for code and prose
_TOKENS_A_UNIT = 100  # GATE-6: what a text names is counted per hundred tokens


def technical_density(text: str, settings: GateSettings = _DEFAULT) -> float:
    """T: how technical the turn is, and so which branch judges it (GATE-2)."""
    total = _sum(_fired(TECHNICAL, _read(text, settings)), settings.weights.technical_families)
    return min(total / settings.weights.technical_norm, 1.0)


def nl_structure(text: str, settings: GateSettings = _DEFAULT) -> float:
    """Dnl: how much a person tells of themselves, in the sentences around any code (GATE-5)."""
    prose = prose_of(_read(text, settings).text)
    total = _sum(_fired(CONVERSATION, PatternReading(prose.text)), settings.weights.conversation_families)
    return min(total, _CODE_STRUCTURE if prose.mostly_code else 1.0)


def specificity(text: str, settings: GateSettings = _DEFAULT) -> float:
    """P: how densely it names concrete things (GATE-6)."""
    read = _read(text, settings)
    total = sum(
        _weight(settings.weights.specificity_families, family.name) * family.patterns[0].count(read)
        for family in SPECIFICS
    )
    tokens = max(len(read.text) // _CODE_POINTS_A_TOKEN, 1)
    return min(total / max(tokens / _TOKENS_A_UNIT, 1.0), 1.0)


def actionability(text: str, settings: GateSettings = _DEFAULT) -> float:
    """A: whether something was decided, fixed, configured or shipped (GATE-7)."""
    return min(_sum(_fired(ACTIONS, _read(text, settings)), settings.weights.action_families), 1.0)


def tech_structure(text: str, settings: GateSettings = _DEFAULT) -> float:
    """Dtech: the parts of code that it shows (GATE-8)."""
    return min(_sum(_fired(STRUCTURE, _read(text, settings)), settings.weights.structure_families), 1.0)


def families(text: str, settings: GateSettings = _DEFAULT) -> dict[str, tuple[str, ...]]:
    """Return the families that matched, by signal, for the receipt."""
    read = _read(text, settings)
    return {
        "t": _fired(TECHNICAL, read),
        "d": _fired(CONVERSATION, PatternReading(prose_of(read.text).text)),
        "p": _fired(SPECIFICS, read),
        "a": _fired(ACTIONS, read),
        "dtech": _fired(STRUCTURE, read),
    }


def _read(text: str, settings: GateSettings) -> PatternReading:
    return _reading(text[:_MAX_CHARS])


_reading = lru_cache(maxsize=2)(PatternReading.of)  # five signals read the same text


def _fired(group: Iterable[Family], reading: PatternReading) -> tuple[str, ...]:
    return tuple(family.name for family in group if family.fires(reading))


def _sum(fired: Iterable[str], weights: object) -> float:
    return sum(_weight(weights, name) for name in fired)


def _weight(weights: object, name: str) -> float:
    """A family and its weight have one name; a test holds them together."""
    return float(getattr(weights, name))


@dataclass(frozen=True, slots=True)
class Signals:
    """Every part of the judgement, each in [0, 1]; 0 where nothing was computed."""

    g: float = 0.0
    """The score."""
    t: float = 0.0
    """Technical density: the weight of the technical branch."""
    h: float = 0.0
    """Novelty against durable memory."""
    r: float = 0.0
    """Said again and again, and not known yet."""
    d: float = 0.0
    """Conversational structure (Dnl)."""
    p: float = 0.0
    """Specificity."""
    a: float = 0.0
    """Actionability."""
    dtech: float = 0.0
    gconv: float = 0.0
    gtech: float = 0.0
    input_freq: float = 0.0
    """F, how often the namespace's turns said it."""
    mem_saturation: float = 0.0
    """S, how many durable records know it."""

    def as_dict(self) -> dict[str, float]:
        """Under their own names: what is stored on a turn, and what `gating_scalar` answers with."""
        return {name: float(getattr(self, name)) for name in _NAMES}

    def to_metadata(self) -> dict[str, float]:
        """Under their names on the wire (GATE-11)."""
        return {_wire(name): value for name, value in self.as_dict().items()}

    @classmethod
    def read(cls, metadata: Mapping[str, object]) -> Signals:
        """Read signals from metadata of any origin: what is absent or not a number is 0."""
        return cls(**{part.name: _number(metadata.get(_wire(part.name))) for part in fields(cls)})


_NAMES = tuple(part.name for part in fields(Signals))


def score(
    text: str, memory_hits: Sequence[float], turn_hits: Sequence[float], settings: GateSettings, thresholds: Thresholds
) -> Signals:
    """Judge one turn by its words and by the cosines of its nearest durable records and of the nearest turns.

    The order of the hits does not matter, and hits beyond the nearest 5 records and 10 turns change nothing.
    """
    records = _nearest(memory_hits, KNOWN_RECORDS)
    turns = _nearest(turn_hits, _EARLIER_TURNS)

    h = novelty(records)
    frequency = min(_at_least(thresholds.repeat, turns) / _FREQUENT, 1.0)
    saturation = min(_at_least(thresholds.known, records) / _SATURATED, 1.0)
    r = frequency * (1.0 - saturation)  # a product: what memory is full of gains nothing by being said once more

    t = technical_density(text, settings)
    d = nl_structure(text, settings)
    p = specificity(text, settings)
    a = actionability(text, settings)
    dtech = tech_structure(text, settings)

    gconv = _unit(
        settings.weights.novelty * h + settings.weights.repetition * r + settings.weights.conversational_structure * d
    )
    gtech = _unit(
        settings.weights.specificity * p
        + settings.weights.actionability * a
        + settings.weights.technical_structure * dtech
    )
    return Signals(blend(t, gconv, gtech), t, h, r, d, p, a, dtech, gconv, gtech, frequency, saturation)


def blend(t: float, gconv: float, gtech: float) -> float:
    """G, which lies between its branches and moves in a straight line from one to the other."""
    low, high = sorted((gconv, gtech))
    return min(max((1.0 - t) * gconv + t * gtech, low), high)  # rounding may not leave the interval


def novelty(cosines: Sequence[float]) -> float:
    """H: 1 with nothing to compare with. A record that points the other way is unrelated, not more than that."""
    if not cosines:
        return 1.0
    return 1.0 - sum(_unit(cosine) for cosine in cosines) / len(cosines)


def _nearest(cosines: Iterable[float], most: int) -> list[float]:
    return sorted(cosines, reverse=True)[:most]


def _at_least(threshold: float, cosines: Iterable[float]) -> int:
    return sum(1 for cosine in cosines if cosine >= threshold)


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))  # in this order a NaN is 0


def _wire(name: str) -> str:
    return "gating_score" if name == "g" else f"gating_{name}"


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0.0
    return float(value) if 0.0 <= value <= 1.0 else 0.0


# --- What the gate decides about a turn, with the sentence its receipt keeps (GATE-12, -14).


@dataclass(frozen=True, slots=True)
class Verdict:
    promoted: bool
    """Salient, and G reaches the threshold."""
    yields: bool
    """True if records may be made of it: of every salient turn (rank), or only of the promoted ones (filter)."""
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
