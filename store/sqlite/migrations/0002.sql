-- The log: a row per Append, in the order of their commits. Ids only grow.
-- What is converted to it is in migrate.go: it takes the place of events.
CREATE TABLE log (
  id    INTEGER PRIMARY KEY,
  run   INTEGER NOT NULL, -- 0: the newest row, of a run that was removed
  first INTEGER NOT NULL, -- seq of the first event
  n     INTEGER NOT NULL, -- how many events
  data  BLOB    NOT NULL  -- the events, as entry.go packs them
);

-- Where the rows of a run are: from the row id on they stand together, at most
-- 64 of them; then another span begins.
CREATE TABLE spans (
  run   INTEGER NOT NULL,
  first INTEGER NOT NULL,
  id    INTEGER NOT NULL,
  PRIMARY KEY (run, first)
) WITHOUT ROWID;
