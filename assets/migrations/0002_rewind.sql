-- Going back: items that were left out of a conversation, files as tools found them, and what a redo puts back.

-- 0: in the conversation; else the key of the rewind that left it out. Such an item stays searchable.
ALTER TABLE items ADD COLUMN rewound INTEGER NOT NULL DEFAULT 0;

-- What a file tool was about to change, written before the file was. Hashes are SHA-256 in hex and name files in the
-- folder `history`; NULL: there is no file.
CREATE TABLE changes (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  call TEXT NOT NULL,
  path BLOB NOT NULL,
  before TEXT,
  -- Permission bits and bytes before.
  mode INTEGER,
  size INTEGER NOT NULL,
  after TEXT,
  -- 0: in effect; else the key of the rewind that put the file back.
  undone INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX changes_by_turn ON changes(session, turn);

-- One row a rewind that can be redone; a redo removes it.
CREATE TABLE rewinds (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  -- The prompt that was gone back to.
  item INTEGER NOT NULL,
  conversation INTEGER NOT NULL,
  -- The session's last item and first item for the model at that time: a redo works while nothing was said since.
  last_item INTEGER NOT NULL,
  context_from INTEGER NOT NULL
) STRICT;
CREATE INDEX rewinds_by_session ON rewinds(session);

-- Files of a rewind: as they were before it, and as it left them.
CREATE TABLE rewind_files (
  rewind INTEGER NOT NULL REFERENCES rewinds(key) ON DELETE CASCADE,
  path BLOB NOT NULL,
  was TEXT,
  was_mode INTEGER,
  became TEXT,
  became_mode INTEGER,
  PRIMARY KEY (rewind, path)
) STRICT, WITHOUT ROWID;
