-- Spreads the tables of a store over the nodes of a Citus cluster, by namespace: `holdfast store shard` runs this once.
-- All lie together (co-located), so that every statement, which names its namespace for each table it touches, is sent
-- whole to the one node that holds it. Running it again does nothing: it passes over tables that are distributed.

-- Tables and functions in one transaction: then Citus must not have several connections to a node.
SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true);

-- A row or two that every node needs at hand.
SELECT create_reference_table(one::regclass)
FROM unnest(ARRAY['secrets', 'schema_versions']) AS one
WHERE one::regclass NOT IN (SELECT logicalrelid FROM pg_dist_partition);

-- The rows of a table that is filled are copied to the nodes, and the owner must see them all for that.
DO $$
DECLARE
    one TEXT;
BEGIN
    FOREACH one IN ARRAY ARRAY[
    'namespaces', 'views', 'sessions', 'log', 'records', 'sources', 'hidden', 'gone', 'receipts', 'cursors', 'documents',
    'postings', 'vectors', 'segments', 'models', 'passages', 'signals', 'counters', 'retrievals', 'tended', 'tombstones',
    'refused', 'unswept', 'copies'
    ]
    LOOP
        CONTINUE WHEN one::regclass IN (SELECT logicalrelid FROM pg_dist_partition);
        EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', one);
        PERFORM create_distributed_table(
            one::regclass, 'ns', colocate_with => CASE one WHEN 'namespaces' THEN 'none' ELSE 'namespaces' END
        );
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', one);
    END LOOP;
    -- An append is one call on the node of its namespace, where sessions of other nodes do not set the path.
    FOREACH one IN ARRAY ARRAY['append_turn', 'append_turns']
    LOOP
        EXECUTE format('ALTER FUNCTION %I SET search_path TO %I', one, current_schema());
        PERFORM create_distributed_function(one::regproc::regprocedure, 'of_ns', colocate_with => 'namespaces');
    END LOOP;
    -- What connection.py sets for its sessions, for those of Citus on the nodes: they hear of no other settings.
    FOREACH one IN ARRAY ARRAY[
    'enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_material', 'jit', 'lock_timeout', 'synchronous_commit'
    ]
    LOOP
        EXECUTE format(
            'ALTER ROLE %I IN DATABASE %I SET %I = %L', current_user, current_database(), one, current_setting(one)
        );
    END LOOP;
END $$;
