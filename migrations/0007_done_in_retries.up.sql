-- What was done under a retry key, from which whoever asks again is answered anew. The answers of before, which would be repeated for two days, are forgotten.
DROP TABLE retries;
CREATE TABLE retries (
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
CREATE INDEX retries_oldest ON retries (created_at);
