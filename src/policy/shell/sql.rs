//! SQL that loses data.

/// The effect of the worst statement in a text, if it loses data.
pub fn danger(text: &str) -> Option<&'static str> {
    text.split(';').find_map(statement)
}

fn statement(text: &str) -> Option<&'static str> {
    let words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '*' | '=')))
        .filter(|w| !w.is_empty())
        .map(str::to_ascii_lowercase)
        .collect();
    // `EXPLAIN DELETE …` only explains; with ANALYZE it runs.
    if words.first().is_some_and(|w| w == "explain") && !words.iter().any(|w| w == "analyze") {
        return None;
    }
    let has_where = |from: usize| words[from..].iter().any(|w| w == "where");
    for (i, word) in words.iter().enumerate() {
        let next = words.get(i + 1).map_or("", String::as_str);
        match (word.as_str(), next) {
            (
                "drop",
                "table" | "database" | "schema" | "view" | "index" | "role" | "user" | "keyspace" | "collection"
                | "materialized" | "sequence" | "function" | "owned",
            ) => {
                return Some("SQL DROP");
            }
            ("truncate", next) if !next.is_empty() => return Some("SQL TRUNCATE"),
            ("delete", "from") if !has_where(i) => return Some("SQL DELETE without WHERE"),
            ("update", _) if i == 0 && words.iter().any(|w| w == "set") && !has_where(i) => {
                return Some("SQL UPDATE without WHERE");
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements() {
        for (text, want) in [
            ("DROP TABLE users", Some("SQL DROP")),
            ("select 1; delete from users", Some("SQL DELETE without WHERE")),
            ("DELETE FROM users WHERE id = 1", None),
            ("delete from users;\nselect 1 where 1=1", Some("SQL DELETE without WHERE")),
            ("TRUNCATE t", Some("SQL TRUNCATE")),
            ("update users set a = 1", Some("SQL UPDATE without WHERE")),
            ("update users set a = 1 where b", None),
            ("select * from drops", None),
            ("explain delete from users", None),
        ] {
            assert_eq!(danger(text), want, "{text}");
        }
    }
}
