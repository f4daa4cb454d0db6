-- A rewind that was redone stays, so that its number is never given again and a journal is not believed over it.
ALTER TABLE rewinds ADD COLUMN redone INTEGER NOT NULL DEFAULT 0;
