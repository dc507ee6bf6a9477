-- The usual append of several turns as one call, like append_turn: a function, unlike a statement that writes two tables,
-- can be sent to one node of Citus. The namespace is read from its own row: so is an INSERT … SELECT.
CREATE FUNCTION append_turns(
    of_ns UUID, of_session TEXT, expect BIGINT, turn_id TEXT[], turn_role BIGINT[], turn_origin TEXT[], said_at BIGINT[],
    said_at_given BOOLEAN[], kept_at BIGINT[], turn_stability DOUBLE PRECISION[], turn_key TEXT[], turn_digest BYTEA[],
    turn_text TEXT[], turn_metadata TEXT[], OUT new_seq BIGINT, OUT new_idx BIGINT
) LANGUAGE plpgsql AS $$
DECLARE
    number BIGINT;
    ending BIGINT;
BEGIN
    PERFORM set_config('holdfast.ns', of_ns::text, true);
    SELECT namespaces.seq INTO ending FROM namespaces
        WHERE namespaces.ns = of_ns AND namespaces.name IS NOT NULL FOR UPDATE;
    IF ending IS NULL THEN RETURN; END IF;
    SELECT sessions.session INTO number FROM sessions WHERE sessions.ns = of_ns AND sessions.name = of_session;
    IF number IS NULL THEN RETURN; END IF;
    PERFORM 1 FROM tombstones WHERE tombstones.ns = of_ns LIMIT 1;
    IF FOUND THEN RETURN; END IF;
    SELECT coalesce(max(log.idx), -1) + 1 INTO new_idx FROM log
        WHERE log.ns = of_ns AND log.session = number AND log.entry = 'turn';
    IF new_idx <> expect + 1 THEN RETURN; END IF;
    PERFORM 1 FROM log WHERE log.ns = of_ns AND log.session = number AND log.key = ANY(turn_key) LIMIT 1;
    IF FOUND THEN RETURN; END IF;
    new_seq := ending + 1;
    INSERT INTO log (ns, seq, id, entry, session, idx, role, origin, at, at_given, recorded_at, stability, key, digest,
                     text, metadata)
        SELECT namespaces.ns, ending + new.place, new.id, 'turn', number, new_idx + new.place - 1, new.role, new.origin,
            new.at, new.at_given, new.recorded_at, new.stability, new.key, new.digest, new.text, new.metadata
        FROM namespaces CROSS JOIN unnest(turn_id, turn_role, turn_origin, said_at, said_at_given, kept_at, turn_stability,
            turn_key, turn_digest, turn_text, turn_metadata) WITH ORDINALITY
            AS new (id, role, origin, at, at_given, recorded_at, stability, key, digest, text, metadata, place)
        WHERE namespaces.ns = of_ns;
    UPDATE namespaces SET seq = ending + cardinality(turn_id) WHERE namespaces.ns = of_ns;
END $$;

-- The same as before, with one table per statement: Citus plans such statements once, and others in every call.
CREATE OR REPLACE FUNCTION append_turn(
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
    SELECT sessions.session INTO number FROM sessions WHERE sessions.ns = of_ns AND sessions.name = of_session;
    IF number IS NULL THEN RETURN; END IF;
    PERFORM 1 FROM tombstones WHERE tombstones.ns = of_ns LIMIT 1;
    IF FOUND THEN RETURN; END IF;
    SELECT coalesce(max(log.idx), -1) + 1 INTO new_idx FROM log
        WHERE log.ns = of_ns AND log.session = number AND log.entry = 'turn';
    IF new_idx <> expect + 1 THEN RETURN; END IF;
    IF turn_key IS NOT NULL THEN
        PERFORM 1 FROM log WHERE log.ns = of_ns AND log.session = number AND log.key = turn_key;
        IF FOUND THEN RETURN; END IF;
    END IF;
    new_seq := ending + 1;
    INSERT INTO log (ns, seq, id, entry, session, idx, role, origin, at, at_given, recorded_at, stability, key, digest,
                     text, metadata)
        VALUES (of_ns, new_seq, turn_id, 'turn', number, new_idx, turn_role, turn_origin, said_at, said_at_given, kept_at,
                turn_stability, turn_key, turn_digest, turn_text, turn_metadata);
    UPDATE namespaces SET seq = new_seq WHERE namespaces.ns = of_ns;
END $$;
