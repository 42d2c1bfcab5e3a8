-- Rows of what was worked out from studies, so that a server that starts reads them instead: nothing here is needed, all of it can be
-- thrown away at any time. After a crash of the database it is empty, and no standby has it.
CREATE UNLOGGED TABLE kept_rows (
    study_id text        NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    key      bytea       NOT NULL CHECK (length(key) = 32), -- of all that the rows are a function of
    first    integer     NOT NULL CHECK (first >= 0),       -- of the rows
    numbers  bytea       NOT NULL,                          -- of the lower triangle, row after row
    sum      bytea       NOT NULL CHECK (length(sum) = 32), -- SHA-256 of numbers
    kept_at  timestamptz NOT NULL,
    PRIMARY KEY (study_id, key)
);
ALTER TABLE kept_rows ALTER COLUMN numbers SET STORAGE EXTERNAL; -- packing them takes time and saves nothing
