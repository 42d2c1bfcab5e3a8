DROP TABLE kept_rows;
