"""What a search answers, apart from the other answers: a hook that asks one question loads nothing of them (30 ms)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from holdfast.model import Hit, Hits, Receipt

__all__ = ["SearchAnswer"]


@dataclass(frozen=True)
class SearchAnswer:
    hits: tuple[Hit, ...]
    receipt: Receipt

    @classmethod
    def of(cls, hits: Hits) -> Self:
        return cls(tuple(hits), hits.receipt)
