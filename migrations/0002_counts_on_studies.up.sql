-- What lists show of a study stands on its row, written with each event. trials is null while that has not been worked out: the
-- program folds the ledgers of such studies once, right after migrating.
ALTER TABLE studies
    ADD COLUMN trials         integer,
    ADD COLUMN waiting        integer     NOT NULL DEFAULT 0, -- suggested or partial
    ADD COLUMN oldest_waiting timestamptz,                    -- when the oldest of those was chosen
    ADD COLUMN feasible       integer     NOT NULL DEFAULT 0, -- within every limit
    ADD COLUMN known          integer     NOT NULL DEFAULT 0, -- of which it is known whether they are
    ADD COLUMN best           json;                           -- {"number", "metric", "value", "unit"}; null: none within every limit

-- Pages of the list go on from the last change and id of the page before: both in one direction.
DROP INDEX studies_newest_change;
CREATE INDEX studies_last_change ON studies (updated_at, id);

-- Nothing reads trials and readings any more: the ledger has them.
DROP TABLE observations;
DROP TABLE trials;
