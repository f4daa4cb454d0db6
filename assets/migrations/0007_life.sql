-- The life of a session beyond its items: how it is kept and found again, what it says in short, where it came from, and
-- what each call of a model used.

-- Whom it was held with, on a platform with several people; NULL: the person of this computer.
ALTER TABLE sessions ADD COLUMN user_id TEXT;
-- When it was last left; NULL: it is open, or its program was killed.
ALTER TABLE sessions ADD COLUMN ended_at INTEGER;
-- The branch of its repository at its last prompt.
ALTER TABLE sessions ADD COLUMN branch TEXT;
-- The session it was forked from; `lineage` says where.
ALTER TABLE sessions ADD COLUMN parent INTEGER REFERENCES sessions(key) ON DELETE SET NULL;
-- The newest of `session_summaries`, so that lists read this table alone.
ALTER TABLE sessions ADD COLUMN summary TEXT;
-- Words in small letters, each with a comma before and after: `,red,blue,`. Empty: none.
ALTER TABLE sessions ADD COLUMN tags TEXT NOT NULL DEFAULT '';
-- Kept up to date by each append: prompts and answers, and results of tools.
ALTER TABLE sessions ADD COLUMN message_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN tool_call_count INTEGER NOT NULL DEFAULT 0;
-- Since when it is pinned, out of the usual lists, in the trash; NULL: it is not.
ALTER TABLE sessions ADD COLUMN pinned_at INTEGER;
ALTER TABLE sessions ADD COLUMN archived_at INTEGER;
ALTER TABLE sessions ADD COLUMN trashed_at INTEGER;
CREATE INDEX sessions_pinned ON sessions(updated_at DESC) WHERE pinned_at IS NOT NULL;
CREATE INDEX sessions_hidden ON sessions(key) WHERE archived_at IS NOT NULL OR trashed_at IS NOT NULL;
CREATE INDEX sessions_by_parent ON sessions(parent) WHERE parent IS NOT NULL;

UPDATE sessions SET
  message_count = (SELECT count(*) FROM items i WHERE i.session = sessions.key AND i.role IN ('user', 'assistant')),
  tool_call_count = (SELECT count(*) FROM items i WHERE i.session = sessions.key AND i.role = 'tool'),
  branch = (SELECT value ->> '$' FROM session_meta m WHERE m.session = sessions.key AND m.name = 'branch' AND json_valid(value));
DELETE FROM session_meta WHERE name = 'branch';

-- Items with their fields by name.
CREATE VIEW messages(session, id, turn, role, content, tool_name, timestamp, tokens_used) AS
  SELECT session, id, turn, role,
    CASE WHEN json_valid(body) THEN coalesce(body ->> '$.text', body ->> '$.content') END,
    CASE WHEN role = 'tool' AND json_valid(body) THEN body ->> '$.name' END,
    at,
    CASE WHEN json_valid(body) THEN (body ->> '$.usage.input') + (body ->> '$.usage.output') END
  FROM items;

-- One row a call of a model that was paid for: an answer, or a call of an auxiliary model. Stays when its session goes.
CREATE TABLE usage (
  key INTEGER PRIMARY KEY,
  session INTEGER REFERENCES sessions(key) ON DELETE SET NULL,
  at INTEGER NOT NULL,
  -- The item that came of it; NULL: none.
  item INTEGER,
  -- `PROVIDER:MODEL`; empty: not known.
  model TEXT NOT NULL,
  -- What for: `answer`, `compaction`, `summary`.
  role TEXT NOT NULL,
  -- Tokens. `input` counts cached ones, `output` reasoning.
  input INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  output INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  -- US dollars; NULL: no price is known.
  cost REAL
) STRICT;
CREATE INDEX usage_by_session ON usage(session, at);
CREATE INDEX usage_by_time ON usage(at);

-- What a fork brought along is older than it, and was paid for by the session it came from.
INSERT INTO usage (session, at, item, model, role, input, cached, cache_write, output, reasoning, cost)
  SELECT i.session, i.at, i.id,
    coalesce(nullif(i.body ->> '$.model', ''), i.body ->> '$.by.data', s.model),
    CASE i.role WHEN 'assistant' THEN 'answer' ELSE 'compaction' END,
    coalesce(i.body ->> '$.usage.input', 0), coalesce(i.body ->> '$.usage.cached', 0),
    coalesce(i.body ->> '$.usage.cache_write', 0), coalesce(i.body ->> '$.usage.output', 0),
    coalesce(i.body ->> '$.usage.reasoning', 0), i.body ->> '$.usage.cost'
  FROM items i JOIN sessions s ON s.key = i.session
  WHERE i.role IN ('assistant', 'summary') AND json_valid(i.body) AND i.body -> '$.usage' IS NOT NULL
    AND i.at >= s.started_at ORDER BY i.key;

-- What a session says in short. `by`: `extract`, or the `PROVIDER:MODEL` that wrote it.
CREATE TABLE session_summaries (
  session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE,
  summary TEXT NOT NULL,
  -- Joined by `, `.
  keywords TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  by TEXT NOT NULL,
  -- The last item that it knows.
  upto INTEGER NOT NULL,
  -- When a model was last asked for a better one.
  tried_at INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE VIRTUAL TABLE summary_words USING fts5(
  summary, keywords, content = 'session_summaries', content_rowid = 'session',
  tokenize = "unicode61 remove_diacritics 2");
CREATE TRIGGER summary_added AFTER INSERT ON session_summaries BEGIN
  INSERT INTO summary_words (rowid, summary, keywords) VALUES (new.session, new.summary, new.keywords);
  UPDATE sessions SET summary = new.summary WHERE key = new.session;
END;
CREATE TRIGGER summary_gone AFTER DELETE ON session_summaries BEGIN
  INSERT INTO summary_words (summary_words, rowid, summary, keywords)
    VALUES ('delete', old.session, old.summary, old.keywords);
END;
CREATE TRIGGER summary_changed AFTER UPDATE OF summary, keywords ON session_summaries BEGIN
  INSERT INTO summary_words (summary_words, rowid, summary, keywords)
    VALUES ('delete', old.session, old.summary, old.keywords);
  INSERT INTO summary_words (rowid, summary, keywords) VALUES (new.session, new.summary, new.keywords);
  UPDATE sessions SET summary = new.summary WHERE key = new.session;
END;

-- Where a fork branched: the last item that it has of its parent (0: none), and the turn of that item.
CREATE TABLE lineage (
  session INTEGER PRIMARY KEY REFERENCES sessions(key) ON DELETE CASCADE,
  -- NULL: the parent was deleted.
  parent INTEGER REFERENCES sessions(key) ON DELETE SET NULL,
  item INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX lineage_by_parent ON lineage(parent) WHERE parent IS NOT NULL;

-- What went wrong once and how it was solved, for prompts of later sessions.
CREATE TABLE learnings (
  id INTEGER PRIMARY KEY,
  -- What such an error looks like.
  pattern TEXT NOT NULL,
  error_type TEXT NOT NULL,
  fix TEXT NOT NULL,
  -- Where it holds: a tool, a language, a project.
  context TEXT NOT NULL DEFAULT '',
  tags TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  times_used INTEGER NOT NULL DEFAULT 0
) STRICT;
