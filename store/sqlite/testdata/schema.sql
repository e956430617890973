-- version 2
CREATE TABLE blobs (
  id     INTEGER PRIMARY KEY,
  digest BLOB    NOT NULL UNIQUE,
  size   INTEGER NOT NULL,
  run    INTEGER NOT NULL, -- key of the run that brought it
  data   BLOB
);
CREATE INDEX blobs_run ON blobs (run);
CREATE TABLE controls (
  id      INTEGER PRIMARY KEY,
  run     INTEGER NOT NULL,
  control TEXT    NOT NULL,
  kind    TEXT    NOT NULL,
  data    BLOB    NOT NULL,
  by      TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  taken   INTEGER,
  UNIQUE (run, control)
);
CREATE INDEX controls_waiting ON controls (run, id) WHERE taken IS NULL;
CREATE TABLE log (
  id    INTEGER PRIMARY KEY,
  run   INTEGER NOT NULL, -- 0: the newest row, of a run that was removed
  first INTEGER NOT NULL, -- seq of the first event
  n     INTEGER NOT NULL, -- how many events
  data  BLOB    NOT NULL  -- the events, as entry.go packs them
);
CREATE TABLE questions (
  question TEXT    NOT NULL,
  run      INTEGER NOT NULL,
  PRIMARY KEY (question, run)
) WITHOUT ROWID;
CREATE INDEX questions_run ON questions (run);
CREATE TABLE runs (
  key      INTEGER PRIMARY KEY,
  run      TEXT    NOT NULL UNIQUE,
  parent   INTEGER REFERENCES runs (key), -- of a fork
  cut      INTEGER NOT NULL DEFAULT 0,    -- last seq shared with the parent
  base     BLOB    NOT NULL,              -- sum before the first own event
  epoch    INTEGER NOT NULL,
  status   TEXT    NOT NULL DEFAULT '',
  started  INTEGER NOT NULL DEFAULT 0,    -- microseconds since 1970
  updated  INTEGER NOT NULL DEFAULT 0,
  root     TEXT    NOT NULL DEFAULT '',
  child_of TEXT    NOT NULL DEFAULT '',
  fork_of  TEXT    NOT NULL DEFAULT '',
  head     TEXT    NOT NULL DEFAULT '{}'
);
CREATE INDEX runs_child_of ON runs (child_of) WHERE child_of <> '';
CREATE INDEX runs_fork_of ON runs (fork_of) WHERE fork_of <> '';
CREATE INDEX runs_started ON runs (started DESC, run DESC);
CREATE TABLE snapshots (
  run   INTEGER NOT NULL,
  seq   INTEGER NOT NULL,
  sum   BLOB    NOT NULL, -- SHA-256 of the state
  state BLOB    NOT NULL,
  UNIQUE (run, seq)
);
CREATE TABLE spans (
  run   INTEGER NOT NULL,
  first INTEGER NOT NULL,
  id    INTEGER NOT NULL,
  PRIMARY KEY (run, first)
) WITHOUT ROWID;
