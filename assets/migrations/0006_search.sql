-- The index of words in parts, so that a search of a common word, and the merging of an index, cost the same however much
-- was said. A part holds the items from `first` on, up to the first of the next part; all take their text from `item_text`.
CREATE TABLE search_parts (
  first INTEGER PRIMARY KEY,
  -- The FTS5 table.
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO search_parts VALUES (0, 'item_words');
