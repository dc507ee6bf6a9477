"""Tune similarity: one namespace's close pairs, weighed at several thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from holdfast.admit.tuning import around, draw, figures, read_judgements
from holdfast.derive.pairs import pairs_of_records, pairs_of_turns
from holdfast.errors import InputError
from holdfast.insight import Pair, Tuning
from holdfast.models.embedder import Profile
from holdfast.settings import Settings
from holdfast.store.protocol import Snapshot

__all__ = ["tune"]


def tune(
    view: Snapshot,
    profile: Profile,
    thresholds: Sequence[float] | None,
    sample: int,
    judged: Iterable[Mapping[str, object] | Pair] | None,
    settings: Settings,
) -> Tuning:
    noted = settings.admit.noted_cosine
    used = settings.merge.same or profile.thresholds.same
    asked = _checked(thresholds, noted) if thresholds is not None else around(used, noted)
    told = read_judgements(judged or ())
    placed, of_records = pairs_of_records(view, asked[0])
    turns, of_turns = pairs_of_turns(view, profile.fingerprint, asked[0], settings.admit.tuned_turns)
    return Tuning(
        threshold=used,
        records=figures(placed, of_records, [pair for pair in told if pair.of == "record"], asked),
        turns=figures(turns, of_turns, [pair for pair in told if pair.of != "record"], asked),
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
