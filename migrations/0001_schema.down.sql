-- Drops everything: every ledger, every account. There is nothing below the first schema that could hold it.
DROP TABLE kept_rows, shares, links, pins, sessions, tokens, people, idempotency_keys, events, studies;
DROP FUNCTION refuse_change_of_ledger();
