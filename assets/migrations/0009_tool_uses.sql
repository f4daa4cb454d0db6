-- What tools were called, for figures over time: one row a result, written behind the items when figures are asked for.
-- `state` has the last key of `items` that was counted as `tools`. Rows stay when their session goes.
CREATE TABLE tool_uses (
  key INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  name TEXT NOT NULL,
  -- 1: it ran and failed, or did not run.
  failed INTEGER NOT NULL,
  ms INTEGER NOT NULL
) STRICT;
-- Holds all that a sum needs, in the order that a median needs.
CREATE INDEX tool_uses_by_name ON tool_uses(name, ms, at, failed);
INSERT INTO state VALUES ('tools', 0);
