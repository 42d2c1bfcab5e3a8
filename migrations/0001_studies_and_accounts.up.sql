-- A study and its ledger. The columns of studies beyond id are read tables: they follow from the ledger.
CREATE TABLE studies (
    id         text PRIMARY KEY,
    name       text        NOT NULL,
    state      text        NOT NULL,
    algorithm  text        NOT NULL,
    version    bigint      NOT NULL, -- seq of the last event
    hash       text        NOT NULL, -- of the last event
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
CREATE INDEX studies_newest_change ON studies (updated_at DESC, id);

-- data is json, not jsonb: jsonb would rewrite numbers and member order, and the hash is over the text.
CREATE TABLE events (
    study_id text        NOT NULL REFERENCES studies (id),
    seq      bigint      NOT NULL CHECK (seq > 0),
    at       timestamptz NOT NULL,
    by       text        NOT NULL,
    kind     text        NOT NULL,
    data     json        NOT NULL,
    hash     text        NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    PRIMARY KEY (study_id, seq)
);

CREATE FUNCTION refuse_change_of_ledger() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the ledger is append-only: % of events refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER events_are_append_only BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_ledger();
CREATE TRIGGER events_are_never_emptied BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_ledger();

-- Read tables: each trial and reading as it stands now, for the list of studies and for people who ask in SQL.
CREATE TABLE trials (
    study_id     text        NOT NULL REFERENCES studies (id),
    number       integer     NOT NULL CHECK (number > 0),
    origin       text        NOT NULL,
    status       text        NOT NULL,
    excluded     boolean     NOT NULL,
    feasible     boolean, -- null: some constraint's metric is not known
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
    known       boolean          NOT NULL, -- came with the decision, not from a reading
    PRIMARY KEY (study_id, number, metric),
    FOREIGN KEY (study_id, number) REFERENCES trials (study_id, number)
);

-- Answers given under an Idempotency-Key. A row is written with the effect it answers for.
CREATE TABLE retries (
    caller     text        NOT NULL,
    method     text        NOT NULL,
    path       text        NOT NULL,
    key        text        NOT NULL,
    body_hash  bytea       NOT NULL,
    status     integer     NOT NULL,
    location   text        NOT NULL,
    etag       text        NOT NULL,
    body       bytea       NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (caller, method, path, key)
);
CREATE INDEX retries_oldest ON retries (created_at);

CREATE TABLE people (
    id          text PRIMARY KEY,
    name        text        NOT NULL,
    role        text        NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    created_at  timestamptz NOT NULL,
    disabled_at timestamptz
);
CREATE UNIQUE INDEX people_by_name ON people (lower(name));

-- Of every credential only the SHA-256 is kept.
CREATE TABLE tokens (
    id         text PRIMARY KEY,
    hash       bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    name       text        NOT NULL,
    role       text        NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    study_id   text REFERENCES studies (id), -- null: every study
    by         text        NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    last_used  timestamptz,
    revoked_at timestamptz
);

CREATE TABLE sessions (
    id         text PRIMARY KEY,
    hash       bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    person_id  text        NOT NULL REFERENCES people (id),
    device     text        NOT NULL,
    created_at timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_of_person ON sessions (person_id);

CREATE TABLE links (
    id         text PRIMARY KEY,
    hash       bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    kind       text        NOT NULL CHECK (kind IN ('sign_in', 'invite')),
    person_id  text REFERENCES people (id), -- an invite's once it is used
    name       text        NOT NULL,
    role       text        NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    by         text        NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    revoked_at timestamptz
);

CREATE TABLE shares (
    id         text PRIMARY KEY,
    hash       bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    study_id   text        NOT NULL REFERENCES studies (id),
    name       text        NOT NULL,
    by         text        NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    last_used  timestamptz,
    revoked_at timestamptz
);
CREATE INDEX shares_of_study ON shares (study_id);
