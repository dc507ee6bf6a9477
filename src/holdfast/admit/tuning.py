"""The similarity threshold on one's own data: how often it fires, what it would merge, and how often wrongly (MERGE-6).

Pairs are drawn evenly from all that the lowest threshold lets through, so those of them at or above a higher one are
an even sample of what that one lets through, and the share judged wrong estimates its false merges without weights.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from holdfast.admit.similarity import Likeness, compare
from holdfast.errors import InputError
from holdfast.insight import Pair, ThresholdFigures
from holdfast.json_lines import lines_of_text, text_of_file

__all__ = ["around", "draw", "figures", "judgements_of_file", "read_judgements", "weigh"]

_AROUND = (-0.10, -0.05, 0.0, 0.03, 0.06)
_STOPPED_SHARE = 4  # of the sample one in so many is a pair that the guard stops: what it misses is seen there
_FORM = '{"new": TEXT, "old": TEXT, "cosine": 0.93, "same": true}, as `tune similarity --json` gives it'


def around(threshold: float, lowest: float) -> tuple[float, ...]:
    """Thresholds to look at beside the one in use."""
    return tuple(sorted({round(min(1.0, max(lowest, threshold + step)), 4) for step in _AROUND}))


def weigh(new: str, old: str, cosine: float, of: str, same: bool | None = None) -> Pair:
    """What the value guard says of two texts that the cosine proposes."""
    comparison = compare(new, old)
    return Pair(new, old, cosine, of, comparison.likeness is not Likeness.DIFFERENT, comparison.reason, same)


def figures(
    compared: int, pairs: Sequence[Pair], judged: Sequence[Pair], thresholds: Sequence[float]
) -> tuple[ThresholdFigures, ...]:
    """Each threshold's figures, over `compared` statements of which `pairs` have something near."""
    return tuple(_figures(compared, pairs, judged, threshold) for threshold in thresholds)


def _figures(compared: int, pairs: Sequence[Pair], judged: Sequence[Pair], threshold: float) -> ThresholdFigures:
    near = [pair for pair in pairs if pair.cosine >= threshold]
    copies = sum(_is_copy(pair) for pair in near)
    merges = sum(pair.merges for pair in near) - copies
    told = [pair for pair in judged if pair.cosine >= threshold and not _is_copy(pair)]
    merged = [pair for pair in told if pair.merges]
    wrong = sum(pair.same is False for pair in merged)
    return ThresholdFigures(
        threshold=threshold,
        compared=compared,
        triggers=len(near),
        trigger_rate=round(len(near) / compared, 4) if compared else 0.0,
        copies=copies,
        merges=merges,
        stopped=len(near) - copies - merges,
        judged=len(merged),
        false_merges=wrong,
        false_merge_rate=round(wrong / len(merged), 4) if merged else None,
        missed=sum(pair.same is True and not pair.merges for pair in told),
    )


def draw(pairs: Sequence[Pair], count: int) -> tuple[Pair, ...]:
    """An even sample to judge, the same each time, no pair twice; word-for-word copies need no judge."""
    apart = {(pair.new, pair.old): pair for pair in reversed(pairs) if not _is_copy(pair)}  # the first of them stays
    order = sorted(apart.values(), key=_lot)
    merges = [pair for pair in order if pair.merges]
    stopped = [pair for pair in order if not pair.merges]
    room = min(len(stopped), max(count // _STOPPED_SHARE, count - len(merges)))
    return (*merges[: count - room], *stopped[:room])


def _is_copy(pair: Pair) -> bool:
    return pair.new.strip() == pair.old.strip()


def _lot(pair: Pair) -> bytes:
    """Chance that comes out the same on every machine."""
    return blake2b(f"{pair.new}\0{pair.old}".encode(errors="surrogatepass"), digest_size=8).digest()


# --- what a person judged


def judgements_of_file(path: str | os.PathLike[str]) -> list[Pair]:
    """The answer of `tune similarity --json` with its sample's "same" filled in, its sample alone, or a pair a line."""
    name, text = Path(path).name, text_of_file(path)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _read(lines_of_text(name, text))
    if isinstance(whole, Mapping):
        whole = whole.get("sample", [whole])
    if not isinstance(whole, list):
        raise InputError(f"{name} holds no judged pairs; a pair is {_FORM}")
    return _read([(f"{name}, pair {number}", pair) for number, pair in enumerate(whole, 1)])


def read_judgements(given: Iterable[Mapping[str, object] | Pair]) -> list[Pair]:
    return _read([(f"pair {number}", pair) for number, pair in enumerate(given, 1)])


def _read(given: Sequence[tuple[str, object]]) -> list[Pair]:
    """Those that were judged; a "same" left at null is no judgement yet."""
    judged: list[Pair] = []
    for where, one in given:
        said = one if isinstance(one, Mapping) else vars(one) if isinstance(one, Pair) else None
        if said is None:
            raise InputError(f"{where}: no {'JSON' if one is None else 'pair'}; a pair is {_FORM}")
        new, old, cosine, same = said.get("new"), said.get("old"), said.get("cosine"), said.get("same")
        if not isinstance(new, str) or not isinstance(old, str):
            raise InputError(f'{where}: "new" and "old" must be the two texts; a pair is {_FORM}')
        if isinstance(cosine, bool) or not isinstance(cosine, int | float) or not -1 <= cosine <= 1.0001:
            raise InputError(f'{where}: "cosine" must be a number from -1 to 1, not {cosine!r}')
        if same is not None and not isinstance(same, bool):
            raise InputError(f'{where}: "same" must be true, false or null, not {same!r}')
        if same is not None:
            judged.append(weigh(new, old, float(cosine), str(said.get("of", "record")), same))
    return judged
