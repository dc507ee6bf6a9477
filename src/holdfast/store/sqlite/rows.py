"""The columns of the tables that make a noun, in the order that store/rows.py reads them in."""

from __future__ import annotations

from holdfast.store.sqlite.keys import NUMBER_MASK

__all__ = ["FROM_LOG", "RECORD_COLUMNS", "TURN_COLUMNS"]

TURN_COLUMNS = f"""log.pos & {NUMBER_MASK}, log.id, sessions.name, log.idx, log.role, log.origin, log.text, log.at,
    log.recorded_at, log.stability, log.key, log.metadata, signals.data"""
FROM_LOG = """FROM log JOIN sessions ON sessions.ns = log.ns AND sessions.session = log.session
    LEFT JOIN signals ON signals.pos = log.pos"""
RECORD_COLUMNS = f"""records.pos & {NUMBER_MASK}, records.id, records.kind, records.text, records.provenance,
    records.confidence, records.evidence_count, records.at, records.valid_from, records.valid_to, records.superseded_by,
    (SELECT count FROM retrievals WHERE retrievals.ns = records.ns AND retrievals.subject = records.id),
    (SELECT last FROM retrievals WHERE retrievals.ns = records.ns AND retrievals.subject = records.id),
    records.metadata, records.notches, records.trust"""
