-- What commands changed, so that one command can be undone; and the modes that changes left.

-- A command of the terminal tool that ran, or runs in the background. `gaps`: a JSON list of what an undo can't restore, in words.
CREATE TABLE commands (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  call TEXT NOT NULL,
  line TEXT NOT NULL,
  gaps TEXT NOT NULL
) STRICT;
CREATE INDEX commands_by_turn ON commands(session, turn);

-- Mode bits after the change, with those of the kind for a link or a folder; NULL: not known.
ALTER TABLE changes ADD COLUMN after_mode INTEGER;
-- The command that made the change; NULL: a file tool.
ALTER TABLE changes ADD COLUMN command INTEGER;
CREATE INDEX changes_by_command ON changes(command) WHERE command IS NOT NULL;

-- The command that was undone; NULL: a rewind to a prompt. Such a row can be redone whatever was said since.
ALTER TABLE rewinds ADD COLUMN command INTEGER;
