-- Who came by a PIN would have an admin's rights afterwards.
DELETE FROM sessions WHERE by_pin;
ALTER TABLE sessions DROP COLUMN by_pin;
DROP TABLE pins;
