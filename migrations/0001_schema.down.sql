-- Drops everything: every ledger, every account. There is nothing below the first schema that could hold it.
DROP TABLE kept_rows, pins, credentials, people, idempotency_keys, events, studies;
DROP FUNCTION refuse_change_of_ledger();
