-- The usual append of one turn as one call, which is one transaction and one round trip. It does nothing where something
-- is unusual (no such namespace or session yet, a key that is known, something that was erased, a session that has moved
-- on): append.py then takes a closer look. Statements see what was committed before the row of the log was held.
CREATE FUNCTION append_turn(
    of_ns UUID, of_session TEXT, expect BIGINT, turn_id TEXT, turn_role BIGINT, turn_origin TEXT, said_at BIGINT,
    said_at_given BOOLEAN, kept_at BIGINT, turn_stability DOUBLE PRECISION, turn_key TEXT, turn_digest BYTEA,
    turn_text TEXT, turn_metadata TEXT, OUT new_seq BIGINT, OUT new_idx BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
    number BIGINT;
    ending BIGINT;
BEGIN
    PERFORM set_config('holdfast.ns', of_ns::text, true);
    SELECT namespaces.seq INTO ending FROM namespaces
        WHERE namespaces.ns = of_ns AND namespaces.name IS NOT NULL FOR UPDATE;
    IF ending IS NULL THEN RETURN; END IF;
    SELECT sessions.session, (SELECT coalesce(max(log.idx), -1) FROM log
            WHERE log.ns = of_ns AND log.session = sessions.session AND log.entry = 'turn') + 1
        INTO number, new_idx FROM sessions
        WHERE sessions.ns = of_ns AND sessions.name = of_session
        AND NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.ns = of_ns);
    IF number IS NULL OR new_idx <> expect + 1 THEN RETURN; END IF;
    IF turn_key IS NOT NULL AND EXISTS (SELECT 1 FROM log
            WHERE log.ns = of_ns AND log.session = number AND log.key = turn_key) THEN RETURN; END IF;
    new_seq := ending + 1;
    INSERT INTO log (ns, seq, id, entry, session, idx, role, origin, at, at_given, recorded_at, stability, key, digest,
                     text, metadata)
        VALUES (of_ns, new_seq, turn_id, 'turn', number, new_idx, turn_role, turn_origin, said_at, said_at_given, kept_at,
                turn_stability, turn_key, turn_digest, turn_text, turn_metadata);
    UPDATE namespaces SET seq = new_seq WHERE namespaces.ns = of_ns;
END $$;
