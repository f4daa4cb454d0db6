-- A rewind that was redone stays, so that its number is never given again and a journal is not believed over it.
ALTER TABLE rewinds ADD COLUMN redone INTEGER NOT NULL DEFAULT 0;

-- The file in `journal/open` that the process keeps locked while it runs: it says so also where the numbers of processes
-- mean others, in a container that shares the home. Empty: it has none.
ALTER TABLE live ADD COLUMN marker TEXT NOT NULL DEFAULT '';
