"""Which memories fit: by score, what is short before what is long, what tells something new before what repeats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heapreplace

from holdfast.context.budget import Pieces
from holdfast.context.excerpt import excerpt
from holdfast.context.render import Item
from holdfast.context.tiers import Candidate
from holdfast.settings import ContextSettings, IndexSettings

__all__ = ["Packing"]

_COUNTED_CHARS = 20_000  # a longer text's tokens are guessed for its worth: it will not fit whole
_CHARS_A_TOKEN = 4


@dataclass(frozen=True)
class Packing:
    """How recalled candidates are chosen for one question."""

    words: Set[str]
    """Its terms."""
    settings: ContextSettings
    index: IndexSettings

    def __call__(self, candidates: Sequence[Candidate], room: int, pieces: Pieces) -> Mapping[int, Item]:
        """As many as fit, by worth: the score less what the tokens cost. One that does not fit makes way."""
        shown: dict[int, Item] = {}
        days: set[str] = set()
        for rank, item in self._by_worth(candidates, pieces):
            day = pieces.day(item)
            more = 0 if day in days else pieces.day_tokens(item)
            chosen = self._that_fits(item, rank, room - more, pieces)
            if chosen is not None:
                shown[rank] = chosen
                days.add(day)
                room -= more + pieces.body(chosen)
        return shown

    def _by_worth(self, candidates: Sequence[Candidate], pieces: Pieces) -> Iterator[tuple[int, Item]]:
        """With their rank in the search, the best first; a word that is new among those before counts for something."""
        worth = [self._worth(one, pieces) for one in candidates]
        told: set[str] = set()
        waiting = [(-worth[rank] - self._news(one, told), rank) for rank, one in enumerate(candidates)]
        heapify(waiting)
        while waiting:
            _, best = waiting[0]
            now = (-worth[best] - self._news(candidates[best], told), best)
            heapreplace(waiting, now)  # news only fade: who is still first with today's is the best
            if waiting[0] == now:
                heappop(waiting)
                told.update(candidates[best].words)
                yield best, candidates[best].item

    def _news(self, candidate: Candidate, told: Set[str]) -> float:
        return self.settings.coverage * sum(word not in told for word in candidate.words)

    def _worth(self, candidate: Candidate, pieces: Pieces) -> float:
        length = len(candidate.item.text)
        tokens = pieces.body(candidate.item) if length <= _COUNTED_CHARS else length // _CHARS_A_TOKEN
        return candidate.score - self.settings.length_cost * max(math.log(tokens / self.settings.length_free), 0.0)

    def _that_fits(self, item: Item, rank: int, room: int, pieces: Pieces) -> Item | None:
        """The item, or of one that was found among the first its best passages, if they fit."""
        if len(item.text) <= _CHARS_A_TOKEN * 4 * room and pieces.body(item) <= room:
            return item
        if rank >= self.settings.excerpt_ranks:
            return None
        text = excerpt(item.text, self.words, self.settings.excerpt_passages, self.index)
        cut = replace(item, text=text, kind=f"excerpt of {item.kind}")
        return cut if text != item.text and pieces.body(cut) <= room else None
