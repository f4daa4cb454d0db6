-- Changes of files on other machines: the place that a file is in, as people read it; empty: this machine.

ALTER TABLE changes ADD COLUMN place TEXT NOT NULL DEFAULT '';

CREATE TABLE rewind_files_of_places (
  rewind INTEGER NOT NULL REFERENCES rewinds(key) ON DELETE CASCADE,
  place TEXT NOT NULL,
  path BLOB NOT NULL,
  was TEXT,
  was_mode INTEGER,
  became TEXT,
  became_mode INTEGER,
  PRIMARY KEY (rewind, place, path)
) STRICT, WITHOUT ROWID;
INSERT INTO rewind_files_of_places SELECT rewind, '', path, was, was_mode, became, became_mode FROM rewind_files;
DROP TABLE rewind_files;
ALTER TABLE rewind_files_of_places RENAME TO rewind_files;
