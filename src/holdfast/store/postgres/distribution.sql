-- Spreads the tables of a store over the nodes of a Citus cluster, by namespace: `holdfast store shard` runs this once.
-- All lie together (co-located), so that every statement, which names its namespace for each table it touches, is sent
-- whole to the one node that holds it. Running it again does nothing: it passes over tables that are distributed.

-- Transactions say whose rows they may see with SET LOCAL holdfast.ns: the nodes must hear it too.
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET citus.propagate_set_commands TO ''local''', current_database());
END $$;
SET citus.propagate_set_commands TO 'local';

-- A row or two that every node needs at hand.
SELECT create_reference_table(one::regclass)
FROM unnest(ARRAY['secrets', 'schema_versions']) AS one
WHERE one::regclass NOT IN (SELECT logicalrelid FROM pg_dist_partition);

SELECT create_distributed_table('namespaces', 'ns')
WHERE 'namespaces'::regclass NOT IN (SELECT logicalrelid FROM pg_dist_partition);

SELECT create_distributed_table(one::regclass, 'ns', colocate_with => 'namespaces')
FROM unnest(ARRAY[
    'views', 'sessions', 'log', 'records', 'sources', 'hidden', 'gone', 'receipts', 'cursors', 'documents', 'postings',
    'vectors', 'segments', 'models', 'passages', 'signals', 'counters', 'retrievals', 'tended', 'tombstones',
    'refused', 'unswept', 'copies'
]) AS one
WHERE one::regclass NOT IN (SELECT logicalrelid FROM pg_dist_partition);
