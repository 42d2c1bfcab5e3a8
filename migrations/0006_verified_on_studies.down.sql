-- A verification can be repeated at any time.
ALTER TABLE studies DROP COLUMN verified;
