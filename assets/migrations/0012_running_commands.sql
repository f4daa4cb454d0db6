-- Commands that run: their rows are written when they begin, so that a program that is killed leaves word of them.

-- 1: it runs, or its program was killed while it did.
ALTER TABLE commands ADD COLUMN running INTEGER NOT NULL DEFAULT 0;
-- While it runs: where the folder stands as it was before, in words of the checkpoints; NULL: nowhere.
ALTER TABLE commands ADD COLUMN base TEXT;
CREATE INDEX commands_running ON commands(session) WHERE running = 1;
