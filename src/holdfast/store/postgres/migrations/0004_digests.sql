-- A history without keys is aligned with the turns that have its digests, not with the whole session.
CREATE INDEX log_by_digest ON log (ns, session, digest, at, idx) WHERE entry = 'turn';
