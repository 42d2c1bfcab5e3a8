-- The limits of a study and whose readings it has stand on its row too, for the list: as its last definition has them.
ALTER TABLE studies
    ADD COLUMN limits        json NOT NULL DEFAULT '[]', -- [{"name", "metric", "op", "threshold", "unit"}]
    ADD COLUMN simulated_lab text NOT NULL DEFAULT '';   -- the simulator's problem that answers, '' where a laboratory does

UPDATE studies SET
    limits = coalesce(last.definition -> 'constraints', '[]'),
    simulated_lab = coalesce(last.definition ->> 'simulated_lab', '')
FROM (
    SELECT DISTINCT ON (study_id) study_id, data -> 'definition' AS definition
    FROM events WHERE kind IN ('created', 'reconfigured') ORDER BY study_id, seq DESC
) AS last
WHERE last.study_id = studies.id;
