-- Drops who is behind events and credentials.
ALTER TABLE events DROP COLUMN author;
ALTER TABLE tokens DROP COLUMN owner;
ALTER TABLE links  DROP COLUMN owner;
ALTER TABLE shares DROP COLUMN owner;
