"""The doctor: how healthy a store is, ours or another system's, with rates, examples and a verdict (KEEP-3)."""

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
from holdfast.settings import Settings
from holdfast.store.snapshot import Snapshot
from holdfast.store.store import Store
from holdfast.store.types import COMPACTION
from holdfast.upkeep.audit import audit_texts, broken_links, framed_turns, looped_records, secret_turns
from holdfast.upkeep.findings import Check, Diagnosis, Example, Finding, Memo, finding
from holdfast.upkeep.foreign import Foreign, read_foreign
from holdfast.upkeep.indexes import Looked, unreadable, vector_drift, word_drift

_ALL = 1_000_000_000
_SAME = 0.92  # the seeds', where there is no model to ask for its own
_ANEW = "`holdfast doctor --fix` derives it anew from the log"
UNREADABLE, DRIFTED, MIXED = "unreadable vectors", "vector index", "mixed fingerprints"
_RULES = frozenset({Reason.COMMAND, Reason.FRAGMENT})
"""In a file of rules "Run the tests first" is a rule, and a heading's few words have the heading."""


def examine(
    store: Store,
    namespace: str,
    embedder: Embedder | None,
    settings: Settings,
    now: datetime,
    behind: int = 0,
    alone: bool = False,
) -> Diagnosis:
    """Look at a namespace; `behind`: lines of the log that its views have yet to read, which is a finding. `alone`: at
    nothing else, so not at the store's integrity.
    """
    start = time.perf_counter()
    with store.snapshot(namespace) as view:
        records = view.recent_records(_ALL, None, None, None, None)[::-1]  # of two copies the later one is told
        remembered = {act.subject for act in view.acts_of_kind(Entry.REMEMBER)}
        told = [record for record in records if COMPACTION not in record.metadata]
        memos = [_memo(record, record.id in remembered) for record in told]
        found = audit_texts(memos, _stored(view, told, embedder), _same(embedder, settings), now, settings.doctor)
        found += _loops(view, told, settings)
        found += _structure(view, behind)
        found += _indexes(view, embedder, settings)
    if not alone:
        advice = "restore a backup; `holdfast export` may still read the log"
        found.append(
            finding(Check("integrity", 0.0, advice), 1, [Example("the file", "", line) for line in store.check()])
        )
    return _diagnosis(store.location, "holdfast", namespace, len(records), found, start)


def audit_file(path: str | os.PathLike[str], embedder: Embedder | None, settings: Settings, now: datetime) -> Diagnosis:
    """Look at the memories of another system: a file or a folder (upkeep/foreign)."""
    start = time.perf_counter()
    read = read_foreign(Path(path), settings.doctor)
    texts = [memo.text for memo in read.memos]
    vectors = embed_texts(texts, embedder) if embedder is not None and texts else None
    harmless = _RULES if read.authored else frozenset()
    found = audit_texts(read.memos, vectors, _same(embedder, settings), now, settings.doctor, harmless)
    found.append(_dangling(read))
    return _diagnosis(os.fspath(path), read.system, None, len(read.memos), found, start)


def heal(store: Store, namespace: str, found: Diagnosis, fingerprint: str | None) -> None:
    """Drop what is wrong and can be derived; deriving it anew is for whoever holds the worker."""
    wrong = {one.check for one in found.findings if one.count and one.fixable}
    if fingerprint is not None and wrong & {UNREADABLE, DRIFTED}:
        store.drop_vectors(namespace, fingerprint)
    if fingerprint is not None and MIXED in wrong:
        with store.snapshot(namespace) as view:
            others = [name for name in view.models() if name != fingerprint]
        for name in others:
            store.drop_vectors(namespace, name)
    if wrong - {MIXED}:
        store.drop_orphans(namespace)
        store.clear_views(namespace)


def fixed(before: Diagnosis, after: Diagnosis) -> tuple[str, ...]:
    """What was wrong before and is not any more."""
    left = {one.check for one in after.findings if one.count}
    return tuple(one.check for one in before.findings if one.count and one.check not in left)


def _diagnosis(
    source: str, system: str, namespace: str | None, memories: int, found: Sequence[Finding], start: float
) -> Diagnosis:
    healthy = not any(one.over for one in found)
    seconds = round(time.perf_counter() - start, 3)
    return Diagnosis(source, system, namespace, memories, healthy, tuple(found), (), seconds)


def _memo(record: Record, remembered: bool) -> Memo:
    return Memo(record.id, record.text, record.at, judged=not remembered and record.kind is not Kind.GUIDANCE)


def _same(embedder: Embedder | None, settings: Settings) -> float:
    own = _SAME if embedder is None else embedder.profile.thresholds.same
    return own if settings.merge.same is None else settings.merge.same


def _stored(view: Snapshot, records: Sequence[Record], embedder: Embedder | None) -> NDArray[np.float32] | None:
    """The records' vectors as they are stored; zeros where there is none."""
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


def _loops(view: Snapshot, records: Sequence[Record], settings: Settings) -> list[Finding]:
    advice = "give what was recalled to the model only, and ingest what was said"
    looped = looped_records(view, records, settings)
    framed = framed_turns(view)
    found = [
        finding(Check("loops", settings.doctor.max_loops, advice), looped.of, looped.wrong),
        finding(Check("recalled frames in turns", settings.doctor.max_loops, advice), framed.of, framed.wrong),
    ]
    if settings.log.redact_secrets:
        kept = secret_turns(view, settings)
        advice = "change the secret, then erase the turn: it is older than log.redact_secrets, or came by another way"
        found.append(finding(Check("secrets in turns", 0.0, advice), kept.of, kept.wrong))
    return found


def _structure(view: Snapshot, behind: int) -> list[Finding]:
    counts = view.counts()
    broken = broken_links(view)
    lost = [Example(noun, "", what) for what, noun in view.orphans()]
    late = [Example("the log", "", f"{behind} lines are not derived yet")] if behind else []
    return [
        finding(Check("broken links", 0.0, _ANEW, fixable=True), broken.of, broken.wrong),
        finding(Check("orphans", 0.0, _ANEW, fixable=True), counts.turns + counts.records, lost),
        finding(Check("behind", 0.0, "`holdfast status` says what it waits for"), view.end(), late, behind),
    ]


def _indexes(view: Snapshot, embedder: Embedder | None, settings: Settings) -> list[Finding]:
    words = word_drift(view, settings)
    found = [finding(Check("word index", 0.0, _ANEW, fixable=True), words.of, words.wrong)]
    if embedder is None:
        return found
    profile = embedder.profile
    bad = unreadable(view, profile.fingerprint, profile.dims)
    found.append(finding(Check(UNREADABLE, 0.0, _ANEW, fixable=True), bad.of, bad.wrong))
    # What cannot be read cannot be compared.
    drift = Looked(0, []) if bad.wrong else vector_drift(view, profile.fingerprint, profile.dims, settings)
    found.append(finding(Check(DRIFTED, 0.0, _ANEW, fixable=True), drift.of, drift.wrong))
    models = view.models()
    others = [name for name in models if name != profile.fingerprint and models[name]]
    examples = [Example(name, "", f"{models[name]} vectors of another model") for name in others]
    room = "never compared with this model's, they only take room; `holdfast doctor --fix` drops them"
    count = sum(models[name] for name in others)
    found.append(finding(Check(MIXED, 1.0, room, fixable=True), sum(models.values()), examples, count))
    return found


def _dangling(read: Foreign) -> Finding:
    return finding(
        Check("orphans", 0.0, "remove what points nowhere, or bring back what it points to"),
        len(read.memos) + read.links,
        read.dangling,
    )
