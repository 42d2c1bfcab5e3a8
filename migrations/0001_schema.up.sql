-- A study. What lists show of it stands on its row, written with each event: all columns but verified follow from the ledger.
CREATE TABLE studies (
    id             text PRIMARY KEY,
    name           text        NOT NULL,
    state          text        NOT NULL,
    algorithm      text        NOT NULL,
    version        bigint      NOT NULL, -- seq of the last event
    hash           text        NOT NULL, -- of the last event
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    trials         integer     NOT NULL,
    waiting        integer     NOT NULL, -- suggested or partial
    oldest_waiting timestamptz,          -- when the oldest of those was chosen
    feasible       integer     NOT NULL, -- within every limit
    known          integer     NOT NULL, -- of which it is known whether they are
    best           json,                 -- {"number", "metric", "value", "unit"}; null: none within every limit
    limits         json        NOT NULL, -- [{"name", "metric", "op", "threshold", "unit"}]
    simulated_lab  text        NOT NULL, -- the test problem that answers, '' where a laboratory does
    words          text        NOT NULL, -- name, description, parameters, choices and metrics, case folded: what the list finds it by
    verified       json                  -- how verifying it ended last, on whichever server: the outcome, the version, its hash, and when; null: not yet
);
-- Pages of the list go on from the last change and id of the page before: both in one direction.
CREATE INDEX studies_last_change ON studies (updated_at, id);

-- A study's ledger. data is json, not jsonb: jsonb would rewrite numbers and member order, and the hash is over the text.
CREATE TABLE events (
    study_id text        NOT NULL REFERENCES studies (id),
    seq      bigint      NOT NULL CHECK (seq > 0),
    at       timestamptz NOT NULL,
    by       text        NOT NULL,
    kind     text        NOT NULL,
    data     json        NOT NULL,
    hash     text        NOT NULL CHECK (hash ~ '^[0-9a-f]{64}$'),
    author   text        NOT NULL DEFAULT '', -- who wrote it by identity, '' where that was elsewhere; no part of the ledger, and in no hash
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

-- What was done under an Idempotency-Key, from which whoever asks again is answered anew. A row is written with the effect it tells of.
CREATE TABLE idempotency_keys (
    caller     text        NOT NULL,
    request    text        NOT NULL,
    key        text        NOT NULL,
    body_hash  bytea       NOT NULL,
    study_id   text        NOT NULL, -- '' where it was none
    version    bigint      NOT NULL, -- of the study afterwards
    trials     bigint[],             -- concerned
    made       bytea,                -- a credential without its secret, as JSON
    created_at timestamptz NOT NULL,
    PRIMARY KEY (caller, request, key)
);
CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);

CREATE TABLE people (
    id          text PRIMARY KEY,
    name        text        NOT NULL,
    role        text        NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
    created_at  timestamptz NOT NULL,
    disabled_at timestamptz
);
CREATE UNIQUE INDEX people_by_name ON people (lower(name));

-- What lets somebody in: a script's token, a person's session in a browser, a read-only link to a study, and links that work once, by which a person
-- signs in or somebody becomes one. Only the SHA-256 of each is kept. Its owner is the person who answers for it, who made it or the token that made
-- it: names are for people, and two can have the same. Null: the server, or nobody who is known.
CREATE TABLE credentials (
    id         text PRIMARY KEY,
    hash       bytea       NOT NULL UNIQUE CHECK (length(hash) = 32),
    kind       text        NOT NULL CHECK (kind IN ('token', 'session', 'share', 'sign_in', 'invite')),
    name       text        NOT NULL, -- a session's: its browser's own description of itself
    role       text        CHECK (role IN ('viewer', 'operator', 'admin')), -- null: that of a session's person
    study_id   text        REFERENCES studies (id), -- null: every study
    person_id  text        REFERENCES people (id), -- whom it signs in; an invite's once it is used
    by         text        NOT NULL,
    owner      text        REFERENCES people (id),
    created_at timestamptz NOT NULL,
    expires_at timestamptz, -- null: never
    used_at    timestamptz, -- last
    revoked_at timestamptz,
    by_pin     boolean     NOT NULL DEFAULT false,
    CHECK (kind = 'token' OR expires_at IS NOT NULL),
    CHECK (kind = 'session' OR role IS NOT NULL),
    CHECK (kind NOT IN ('session', 'sign_in') OR person_id IS NOT NULL),
    CHECK (kind <> 'share' OR study_id IS NOT NULL)
);
CREATE INDEX credentials_of_person ON credentials (person_id);
CREATE INDEX credentials_of_study ON credentials (study_id);

-- By a PIN a person comes back on a device on which they have signed in fully before. It is kept as derived from the PIN and the device's
-- secret, which only the device has: what is here gives nothing to guess at.
CREATE TABLE pins (
    device    bytea       NOT NULL CHECK (length(device) = 32), -- SHA-256 of the device's secret
    person_id text        NOT NULL REFERENCES people (id),
    derived   bytea       NOT NULL CHECK (length(derived) = 32),
    browser   text        NOT NULL, -- the device's own description of itself
    wrong     integer     NOT NULL DEFAULT 0, -- PINs tried since the last right one
    last_used timestamptz NOT NULL,
    PRIMARY KEY (device, person_id)
);
CREATE INDEX pins_of_person ON pins (person_id);

-- Rows of what was worked out from studies, so that a server that starts reads them instead: nothing here is needed, all of it can be
-- thrown away at any time. After a crash of the database it is empty, and no standby has it.
CREATE UNLOGGED TABLE kept_rows (
    study_id text        NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
    key      bytea       NOT NULL CHECK (length(key) = 32), -- of all that the rows are a function of
    first    integer     NOT NULL CHECK (first >= 0),       -- of the rows
    numbers  bytea       NOT NULL,                          -- row after row
    sum      bytea       NOT NULL CHECK (length(sum) = 32), -- SHA-256 of numbers
    kept_at  timestamptz NOT NULL,
    PRIMARY KEY (study_id, key)
);
ALTER TABLE kept_rows ALTER COLUMN numbers SET STORAGE EXTERNAL; -- packing them takes time and saves nothing
