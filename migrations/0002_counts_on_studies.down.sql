-- Brings back the tables of trials and readings, empty, and drops the counts. No entry is lost: the ledger has everything. But version 1 counts
-- trials in its table, where a trial stands again from its next change on; until then version 1's list of studies counts too few.
ALTER TABLE studies
    DROP COLUMN trials,
    DROP COLUMN waiting,
    DROP COLUMN oldest_waiting,
    DROP COLUMN feasible,
    DROP COLUMN known,
    DROP COLUMN best;

DROP INDEX studies_last_change;
CREATE INDEX studies_newest_change ON studies (updated_at DESC, id);

CREATE TABLE trials (
    study_id     text        NOT NULL REFERENCES studies (id),
    number       integer     NOT NULL CHECK (number > 0),
    origin       text        NOT NULL,
    status       text        NOT NULL,
    excluded     boolean     NOT NULL,
    feasible     boolean,
    parameters   json        NOT NULL,
    replicate_of integer,
    note         text        NOT NULL,
    reason       text        NOT NULL,
    created_at   timestamptz NOT NULL,
    by           text        NOT NULL,
    PRIMARY KEY (study_id, number)
);
CREATE INDEX trials_waiting ON trials (study_id, created_at) WHERE status IN ('suggested', 'partial');

CREATE TABLE observations (
    study_id    text             NOT NULL,
    number      integer          NOT NULL,
    metric      text             NOT NULL,
    value       double precision NOT NULL CHECK (value > '-Infinity' AND value < 'Infinity'),
    stddev      double precision CHECK (stddev >= 0 AND stddev < 'Infinity'),
    observed_at timestamptz,
    told_at     timestamptz      NOT NULL,
    by          text             NOT NULL,
    corrected   boolean          NOT NULL,
    known       boolean          NOT NULL,
    PRIMARY KEY (study_id, number, metric),
    FOREIGN KEY (study_id, number) REFERENCES trials (study_id, number)
);
