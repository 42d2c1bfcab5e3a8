ALTER TABLE studies
    DROP COLUMN limits,
    DROP COLUMN simulated_lab;
