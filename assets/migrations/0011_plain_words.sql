-- The index of words without one of beginnings, which was half of what it wrote and served searches of three letters alone.
-- What is indexed at once stays in memory until then: a batch is one segment.
DROP TABLE item_words;
CREATE VIRTUAL TABLE item_words USING fts5(
  text, content = 'item_text', content_rowid = 'key', tokenize = "unicode61 remove_diacritics 2");
INSERT INTO item_words (item_words, rank) VALUES ('automerge', 8);
INSERT INTO item_words (item_words, rank) VALUES ('hashsize', 8388608);
-- The other parts are of the older form, and are made again with this one.
UPDATE state SET value = -1 WHERE name = 'indexed';
