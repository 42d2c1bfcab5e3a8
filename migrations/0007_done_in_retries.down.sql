-- What was done under retry keys is forgotten: a request that is repeated counts again.
DROP TABLE retries;
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
