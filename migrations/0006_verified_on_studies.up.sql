-- How verifying a study ended last, on whichever server: the outcome, the version and its hash, and when that was. Null: not verified yet.
ALTER TABLE studies ADD COLUMN verified json;
