-- Calls that a script made are found like any other: their tools, arguments and results stand with the result of the script.
DROP VIEW item_text;
CREATE VIEW item_text(key, cjk, text) AS
  SELECT key, cjk, CASE role
    WHEN 'user' THEN body ->> '$.text'
    WHEN 'assistant' THEN concat_ws(char(10), nullif(body ->> '$.text', ''), (
      SELECT group_concat(concat_ws(' ', value ->> '$.name', value ->> '$.args'), char(10)) FROM json_each(body, '$.calls')))
    WHEN 'tool' THEN concat_ws(' ', body ->> '$.name', body ->> '$.content', (
      SELECT group_concat(concat_ws(' ', value ->> '$.tool', value ->> '$.args', value ->> '$.view.output'), char(10))
      FROM json_each(body, '$.inner')))
  END
  FROM items WHERE role IN ('user', 'assistant', 'tool') AND json_valid(body);
