-- Who is behind what was made, by identity: names are for people, and two can have the same.

-- The caller who wrote an event here, '' when that was elsewhere or is not known. It is no part of the ledger, and is in no hash.
ALTER TABLE events ADD COLUMN author text NOT NULL DEFAULT '';

-- The person who answers for a credential: who made it, or made the token that made it. null: the server, or nobody who is known.
ALTER TABLE tokens ADD COLUMN owner text REFERENCES people (id);
ALTER TABLE links  ADD COLUMN owner text REFERENCES people (id);
ALTER TABLE shares ADD COLUMN owner text REFERENCES people (id);
UPDATE tokens SET owner = people.id FROM people WHERE lower(people.name) = lower(tokens.by);
UPDATE links  SET owner = people.id FROM people WHERE lower(people.name) = lower(links.by);
UPDATE shares SET owner = people.id FROM people WHERE lower(people.name) = lower(shares.by);
