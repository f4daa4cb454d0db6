-- Sessions and their items. Times are milliseconds since the epoch, UTC.

CREATE TABLE sessions (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  title TEXT,
  source TEXT NOT NULL,
  cwd TEXT NOT NULL,
  model TEXT NOT NULL,
  preview TEXT NOT NULL DEFAULT '',
  started_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- Kept up to date by each append, so that lists read this table alone.
  item_count INTEGER NOT NULL DEFAULT 0,
  last_item INTEGER NOT NULL DEFAULT 0,
  last_turn INTEGER NOT NULL DEFAULT 0,
  -- The first item that the model still reads: later than 1 after a compression.
  context_from INTEGER NOT NULL DEFAULT 1,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  reasoning_tokens INTEGER NOT NULL DEFAULT 0,
  cost REAL
) STRICT;
CREATE UNIQUE INDEX sessions_by_title ON sessions(title) WHERE title IS NOT NULL;
CREATE INDEX sessions_by_time ON sessions(updated_at DESC) WHERE item_count > 0;
CREATE INDEX sessions_by_folder ON sessions(cwd, updated_at DESC) WHERE item_count > 0;
CREATE INDEX sessions_empty ON sessions(started_at) WHERE item_count = 0;

CREATE TABLE items (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  id INTEGER NOT NULL,
  at INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  role TEXT NOT NULL,
  -- Holds a Chinese, Japanese or Korean character: only these are in the trigram index.
  cjk INTEGER NOT NULL DEFAULT 0,
  body TEXT NOT NULL,
  UNIQUE (session, id)
) STRICT;
CREATE INDEX items_cjk ON items(key) WHERE cjk = 1;

-- The answer that streams now; becomes an item when the program ends before it is whole.
CREATE TABLE partials (
  session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  text TEXT NOT NULL,
  reasoning TEXT NOT NULL
) STRICT;

-- The process that works in a session; `born` is its start time, so that a reused id is no match.
CREATE TABLE live (
  session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE,
  pid INTEGER NOT NULL,
  born INTEGER NOT NULL
) STRICT;

-- The system prompt as it was assembled once, reused byte for byte.
CREATE TABLE prompts (
  session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE,
  text TEXT NOT NULL
) STRICT;

-- Grants, plan, effort: JSON values by name.
CREATE TABLE session_meta (
  session INTEGER NOT NULL REFERENCES sessions(key) ON DELETE CASCADE,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (session, name)
) STRICT, WITHOUT ROWID;

-- `place` is `session:ID` or `folder:PATH`.
CREATE TABLE drafts (
  place TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE history (
  key INTEGER PRIMARY KEY,
  text TEXT NOT NULL
) STRICT;

-- `indexed`: the last key of `items` that the search indexes hold. They follow the items when nothing else is to do.
CREATE TABLE state (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO state VALUES ('indexed', 0);

-- What a search sees of an item. Both indexes take their text from here when they fill, quote, rebuild and delete.
CREATE VIEW item_text(key, cjk, text) AS
  SELECT key, cjk, CASE role
    WHEN 'user' THEN body ->> '$.text'
    WHEN 'assistant' THEN concat_ws(char(10), nullif(body ->> '$.text', ''), (
      SELECT group_concat(concat_ws(' ', value ->> '$.name', value ->> '$.args'), char(10)) FROM json_each(body, '$.calls')))
    WHEN 'tool' THEN concat_ws(' ', body ->> '$.name', body ->> '$.content')
  END
  FROM items WHERE role IN ('user', 'assistant', 'tool') AND json_valid(body);
CREATE VIEW item_text_cjk(key, text) AS SELECT key, text FROM item_text WHERE cjk = 1;

CREATE VIRTUAL TABLE item_words USING fts5(
  text, content = 'item_text', content_rowid = 'key', tokenize = "unicode61 remove_diacritics 2");
CREATE VIRTUAL TABLE item_trigrams USING fts5(
  text, content = 'item_text_cjk', content_rowid = 'key', tokenize = 'trigram');
