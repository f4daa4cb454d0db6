-- The index of substrings also holds what people and models said, not only Chinese, Japanese and Korean; positions are left
-- out of it, since what is found is compared again. The index of words knows beginnings of three letters, for searches
-- while they are typed.
DROP TABLE item_trigrams;
DROP VIEW item_text_cjk;
CREATE VIEW item_text_parts(key, text) AS
  SELECT key, text FROM (
    SELECT i.key AS key, CASE WHEN i.cjk = 1 THEN (SELECT t.text FROM item_text t WHERE t.key = i.key) ELSE i.body ->> '$.text' END AS text
    FROM items i WHERE (i.cjk = 1 OR i.role IN ('user', 'assistant')) AND json_valid(i.body))
  WHERE text <> '';
CREATE VIRTUAL TABLE item_trigrams USING fts5(
  text, content = 'item_text_parts', content_rowid = 'key', tokenize = 'trigram', detail = none);
INSERT INTO item_trigrams (item_trigrams, rank) VALUES ('automerge', 8);

DROP TABLE item_words;
CREATE VIRTUAL TABLE item_words USING fts5(
  text, content = 'item_text', content_rowid = 'key', tokenize = "unicode61 remove_diacritics 2", prefix = '3');
INSERT INTO item_words (item_words, rank) VALUES ('automerge', 8);
-- Below zero: the parts that are there are of an older form, and are made again.
UPDATE state SET value = -1 WHERE name = 'indexed';
