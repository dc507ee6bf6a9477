"""The doctor: audits a store, or the memory files of another system, and can repair derived data (KEEP-3)."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from holdfast.admit.floor import Reason
from holdfast.index.vectors import embed_texts
from holdfast.model import Entry, Kind, Record
from holdfast.models.embedder import Embedder
from holdfast.settings import Settings, tuned
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import COMPACTION
from holdfast.upkeep.audit import audit_texts, broken_links, framed_turns, looped_records, secret_turns
from holdfast.upkeep.findings import (
    AuditItem,
    AuditResult,
    Check,
    CheckResult,
    Diagnosis,
    DoctorSizes,
    Example,
    make_finding,
)
from holdfast.upkeep.foreign import read_foreign
from holdfast.upkeep.indexes import unreadable_vectors, vector_drift, word_drift

_ALL = 1_000_000_000
_SAME = 0.92  # the seeds' threshold, used without an embedder
_REBUILD = "`holdfast doctor --fix` rebuilds it from the log"
UNREADABLE, DRIFTED, MIXED = "unreadable vectors", "vector index", "mixed fingerprints"
_RULES = frozenset({Reason.COMMAND, Reason.FRAGMENT})
"""In a file of rules "Run the tests first" is a rule, and a few words below a heading are complete."""


def examine(
    store: Store,
    namespace: str,
    embedder: Embedder | None,
    settings: Settings,
    now: datetime,
    behind: int = 0,
    alone: bool = False,
) -> Diagnosis:
    """Audit a namespace.

    `behind` is the number of log lines that its views have not read yet, which is a finding. With `alone` the integrity
    check of the store, which covers other namespaces too, is skipped.
    """
    start = time.perf_counter()
    with store.snapshot(namespace) as view:
        records = view.recent_records(_ALL, None, None, None, None)[::-1]  # of two duplicates the later one is reported
        remembered = {act.subject for act in view.acts_of_kind(Entry.REMEMBER)}
        stated = [record for record in records if COMPACTION not in record.metadata]
        items = [
            AuditItem(one.id, one.text, one.at, one.id not in remembered and one.kind is not Kind.GUIDANCE)
            for one in stated
        ]
        vectors = _record_vectors(view, stated, embedder)
        found = audit_texts(items, vectors, _same_threshold(embedder, settings), now, tuned(settings, DoctorSizes))
        found += _check_loops(view, stated, settings)
        found += _check_structure(view, behind)
        found += _check_indexes(view, embedder, settings)
    if not alone:
        check = Check("integrity", 0.0, "restore a backup; `holdfast export` may still read the log")
        found.append(make_finding(check, 1, [Example("the file", "", line) for line in store.check()]))
    return _diagnosis(store.location, "holdfast", namespace, len(records), found, start)


def audit_file(path: str | os.PathLike[str], embedder: Embedder | None, settings: Settings, now: datetime) -> Diagnosis:
    """Audit the memories of another system, in a file or folder."""
    start = time.perf_counter()
    read = read_foreign(Path(path), tuned(settings, DoctorSizes))
    texts = [item.text for item in read.items]
    vectors = embed_texts(texts, embedder) if embedder is not None and texts else None
    harmless = _RULES if read.authored else frozenset()
    found = audit_texts(
        read.items, vectors, _same_threshold(embedder, settings), now, tuned(settings, DoctorSizes), harmless
    )
    orphans = Check("orphans", 0.0, "remove the references that lead nowhere, or restore their targets")
    found.append(make_finding(orphans, len(read.items) + read.links, read.dangling))
    return _diagnosis(os.fspath(path), read.system, None, len(read.items), found, start)


def repair(store: Store, namespace: str, found: Diagnosis, fingerprint: str | None) -> None:
    """Drop derived data that is wrong; the caller's worker then rebuilds it from the log."""
    wrong = {one.check for one in found.findings if one.count and one.fixable}
    if fingerprint is not None and wrong & {UNREADABLE, DRIFTED}:
        store.drop_vectors(namespace, fingerprint)
    if fingerprint is not None and MIXED in wrong:
        with store.snapshot(namespace) as view:
            others = _other_models(view, fingerprint)
        for name in others:
            store.drop_vectors(namespace, name)
    if wrong - {MIXED}:
        store.drop_orphans(namespace)
        store.clear_views(namespace)


def fixed_checks(before: Diagnosis, after: Diagnosis) -> tuple[str, ...]:
    """Return the checks that found something before and nothing after."""
    left = {one.check for one in after.findings if one.count}
    return tuple(one.check for one in before.findings if one.count and one.check not in left)


def _diagnosis(
    source: str, system: str, namespace: str | None, memories: int, found: Sequence[CheckResult], start: float
) -> Diagnosis:
    healthy = not any(one.over for one in found)
    seconds = round(time.perf_counter() - start, 3)
    return Diagnosis(source, system, namespace, memories, healthy, tuple(found), (), seconds)


def _same_threshold(embedder: Embedder | None, settings: Settings) -> float:
    if settings.merge.same is not None:
        return settings.merge.same
    return _SAME if embedder is None else embedder.profile.thresholds.same


def _record_vectors(view: Snapshot, records: Sequence[Record], embedder: Embedder | None) -> NDArray[np.float32] | None:
    """Return the stored vectors of the records; zeros where one is missing."""
    if embedder is None or not records:
        return None
    dims = embedder.profile.dims
    by_id = {
        one.record.id: np.frombuffer(one.vector, "<f4")
        for one in view.record_states(embedder.profile.fingerprint)
        if len(one.vector) == 4 * dims
    }
    vectors = np.zeros((len(records), dims), np.float32)
    for row, record in enumerate(records):
        if record.id in by_id:
            vectors[row] = by_id[record.id]
    return np.nan_to_num(vectors, copy=False)


def _check_loops(view: Snapshot, records: Sequence[Record], settings: Settings) -> list[CheckResult]:
    advice = "ingest only what was said, without the memory that was recalled for the model"
    limit = settings.doctor.max_loops
    found = [
        _finding(Check("loops", limit, advice), looped_records(view, records, settings)),
        _finding(Check("recalled frames in turns", limit, advice), framed_turns(view)),
    ]
    if settings.log.redact_secrets:
        advice = "change the secret, then erase the turn: it was stored before log.redact_secrets was on, or imported"
        found.append(_finding(Check("secrets in turns", 0.0, advice), secret_turns(view, settings)))
    return found


def _check_structure(view: Snapshot, behind: int) -> list[CheckResult]:
    counts = view.counts()
    orphans = [Example(orphan_id, "", what) for what, orphan_id in view.orphans()]
    late = [Example("the log", "", f"{behind} lines are not derived yet")] if behind else []
    return [
        _finding(Check("broken links", 0.0, _REBUILD, fixable=True), broken_links(view)),
        make_finding(Check("orphans", 0.0, _REBUILD, fixable=True), counts.turns + counts.records, orphans),
        make_finding(Check("behind", 0.0, "`holdfast status` shows what it waits for"), view.end(), late, behind),
    ]


def _check_indexes(view: Snapshot, embedder: Embedder | None, settings: Settings) -> list[CheckResult]:
    found = [_finding(Check("word index", 0.0, _REBUILD, fixable=True), word_drift(view, settings))]
    if embedder is None:
        return found
    profile = embedder.profile
    bad = unreadable_vectors(view, profile.fingerprint, profile.dims)
    found.append(_finding(Check(UNREADABLE, 0.0, _REBUILD, fixable=True), bad))
    # Vectors that cannot be read cannot be compared.
    drift = AuditResult() if bad.problems else vector_drift(view, profile.fingerprint, profile.dims, settings)
    found.append(_finding(Check(DRIFTED, 0.0, _REBUILD, fixable=True), drift))
    others = _other_models(view, profile.fingerprint)
    examples = [Example(name, "", f"{count} vectors of another model") for name, count in others.items() if count]
    advice = "they are never compared with this model's and only take space; `holdfast doctor --fix` drops them"
    checked = sum(view.models().values())
    found.append(make_finding(Check(MIXED, 1.0, advice, fixable=True), checked, examples, sum(others.values())))
    return found


def _other_models(view: Snapshot, fingerprint: str) -> dict[str, int]:
    """Return how many vectors there are of models other than the embedder and the ask encoder."""
    from holdfast.models.ask import open_models  # only who asks the doctor loads it

    ask = open_models()
    used = {fingerprint, *([] if ask is None else [ask.encoder.profile.fingerprint])}
    return {name: count for name, count in view.models().items() if name not in used}


def _finding(check: Check, result: AuditResult) -> CheckResult:
    return make_finding(check, result.checked, result.problems)
