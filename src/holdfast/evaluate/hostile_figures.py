"""The shape of what `bench hostile` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["CarrierFigures", "HostileFigures"]


@dataclass(frozen=True)
class CarrierFigures:
    n: int
    stored_byte_for_byte: int
    refused: int
    reasons: Mapping[str, int]
    wrong: int
    search_errors: int


@dataclass(frozen=True)
class HostileFigures:
    """What `bench hostile` writes at least: how each text fared by each way in; nothing may be wrong."""

    set: str
    n: int
    carriers: Mapping[str, CarrierFigures]
    wrong: int
    refused: int
    search_errors: int
    seconds: float
    version: str
