"""The similarity threshold on one's own data: how often it fires, what it would merge, and how often wrongly (MERGE-6).

Pairs are drawn evenly from all that the lowest threshold lets through, so those of them at or above a higher one are
an even sample of what that one lets through, and the share judged wrong estimates its false merges without weights.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.extract import AdmitWeights
from holdfast.admit.merge import Likeness, compare
from holdfast.admit.secrets import mask
from holdfast.errors import InputError
from holdfast.index.vectors import matrix
from holdfast.model import Origin, Role
from holdfast.models.embedder import Profile
from holdfast.results import Pair, ThresholdFigures, Tuning
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.types import Space
from holdfast.text.jsonio import parse_json_lines, read_text_file

_AROUND = (-0.10, -0.05, 0.0, 0.03, 0.06)
_STOPPED_SHARE = 4  # one in this many of the sample is a pair that the guard stops: what it misses is seen there
_FORM = '{"new": TEXT, "old": TEXT, "cosine": 0.93, "same": true}, as `tune similarity --json` gives it'


def around(threshold: float, lowest: float) -> tuple[float, ...]:
    """Thresholds to look at next to the one in use."""
    return tuple(sorted({round(min(1.0, max(lowest, threshold + step)), 4) for step in _AROUND}))


def weigh(new: str, old: str, cosine: float, of: str, same: bool | None = None) -> Pair:
    """Judge two texts that the cosine proposes, with the value guard."""
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
    near = [pair for pair in judged if pair.cosine >= threshold and not _is_copy(pair)]
    merged = [pair for pair in near if pair.merges]
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
        missed=sum(pair.same is True and not pair.merges for pair in near),
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
    name, text = Path(path).name, read_text_file(path)
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        return _read(parse_json_lines(name, text))
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


# --- Pairs that lie close: what the similarity gate compared, and the user's turns next to their nearest earlier
# ones.


_PLACED = ("added", "merged", "replaces", "dropped")  # what admit/place.py says of a candidate
_ROWS = 512  # turns compared with all before them in one product


def pairs_of_records(view: Snapshot, lowest: float) -> tuple[int, list[Pair]]:
    """Return the number of placed candidates, and those with a record at least this near at that time."""
    decisions = view.decisions(_PLACED)
    pairs = []
    candidates = 0
    for _, decision in decisions:
        if "record" not in decision.details:  # a record's own receipt of the same event
            continue
        candidates += 1
        near = decision.details.get("compared")
        if isinstance(near, Mapping) and near["cosine"] >= lowest:
            pairs.append(weigh(near["said"], near["known"], near["cosine"], "record"))
    return candidates, pairs


def pairs_of_turns(view: Snapshot, fingerprint: str, lowest: float, most: int) -> tuple[int, list[Pair]]:
    """The user's newest turns, each with the nearest earlier one; one row a turn, as the gate would see it."""
    hidden = set(view.hidden(Space.TURN))
    own = {
        turn.seq: turn.text
        for turn in view.recent_turns(2 * most, None, None, None)
        if turn.role is Role.USER and turn.origin is Origin.USER and turn.seq not in hidden
    }
    seqs = sorted(own)[-most:]
    stored = sorted(view.vectors(Space.TURN, fingerprint, seqs))
    if not stored:
        return 0, []
    vectors = matrix(stored)
    nearest, cosines = _nearest_before(vectors)
    pairs = [
        _masked(weigh(own[stored[row][0]], own[stored[nearest[row]][0]], round(float(cosine), 4), "turn"))
        for row, cosine in enumerate(cosines)
        if cosine >= lowest
    ]
    return len(stored), pairs


def _masked(pair: Pair) -> Pair:
    """Compared as it was said, shown without secrets: a candidate's are masked already, a turn's are not (ADMIT-7)."""
    return replace(pair, new=mask(pair.new).text, old=mask(pair.old).text, reason=mask(pair.reason).text)


def _nearest_before(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row the row before it that is nearest, and how near; the first has none (-1)."""
    nearest = np.zeros(len(vectors), np.int64)
    cosines = np.full(len(vectors), -1.0, np.float32)
    for start in range(0, len(vectors), _ROWS):
        part = vectors[start : start + _ROWS]
        products = part @ vectors[: start + len(part)].T
        products[np.arange(products.shape[1])[None, :] >= np.arange(start, start + len(part))[:, None]] = -1.0
        nearest[start : start + len(part)] = products.argmax(axis=1)
        cosines[start : start + len(part)] = products.max(axis=1)
    return nearest, cosines


# --- Tune similarity: one namespace's close pairs, weighed at several thresholds.


def tune(
    view: Snapshot,
    profile: Profile,
    thresholds: Sequence[float] | None,
    sample: int,
    judged: Iterable[Mapping[str, object] | Pair] | None,
    settings: Settings,
) -> Tuning:
    noted = tuned(settings, AdmitWeights).noted_cosine
    used = settings.merge.same or profile.thresholds.same
    asked = _checked(thresholds, noted) if thresholds is not None else around(used, noted)
    known = read_judgements(judged or ())
    placed, of_records = pairs_of_records(view, asked[0])
    turns, of_turns = pairs_of_turns(view, profile.fingerprint, asked[0], tuned(settings, AdmitWeights).tuned_turns)
    return Tuning(
        threshold=used,
        records=figures(placed, of_records, [pair for pair in known if pair.of == "record"], asked),
        turns=figures(turns, of_turns, [pair for pair in known if pair.of != "record"], asked),
        sample=draw([*of_records, *of_turns], sample),
    )


def _checked(thresholds: Sequence[float], lowest: float) -> tuple[float, ...]:
    for one in thresholds:
        if isinstance(one, bool) or not isinstance(one, int | float) or not lowest <= one <= 1:
            raise InputError(
                f"a similarity threshold lies from {lowest:g} to 1, not {one!r} (nearer pairs alone are noted: "
                "the setting admit.noted_cosine)"
            )
    if not thresholds:
        raise InputError("give at least one similarity threshold, or none for those around the one in use")
    return tuple(sorted(set(thresholds)))
