-- Every change of the views of a namespace writes a new version into its row: what was read of a version holds for as long
-- as the row has it, so a process that searches again need not read it again.
ALTER TABLE views ADD COLUMN version BIGINT NOT NULL DEFAULT 0;

-- Whether there may be a namespace `global`, which a search of any other reads too: in a store that is made from now on,
-- only once something is written to it. Every node of Citus has this row.
ALTER TABLE secrets ADD COLUMN common BOOLEAN NOT NULL DEFAULT TRUE;
