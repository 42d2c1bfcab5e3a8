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

ALTER TABLE sessions ADD COLUMN by_pin boolean NOT NULL DEFAULT false;
