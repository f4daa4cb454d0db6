//! SQL that loses data or runs programs.

/// Words of a condition that are looked at.
const MAX_CONDITION: usize = 256;

/// What a statement would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Statement {
    pub effect: Option<&'static str>,
    /// A file of the server or of the client that it writes.
    pub writes: Option<String>,
    /// A shell line that it runs.
    pub runs: Option<String>,
}

/// Statements inside of statements that are followed.
const MAX_DEPTH: usize = 4;

/// What the statements of a text would do, one by one.
pub(in crate::policy::shell) fn read(text: &str) -> impl Iterator<Item = Statement> {
    statements(text).into_iter().map(|words| judge(&words, 0))
}

/// A word of SQL; texts in quotes are one.
#[derive(Clone, Debug, PartialEq)]
enum Word {
    Name(String),
    Text(String),
    Sign(char),
}

impl Word {
    fn is(&self, name: &str) -> bool {
        matches!(self, Word::Name(word) if word == name)
    }
}

/// The statements of a text without comments, in lower case.
fn statements(text: &str) -> Vec<Vec<Word>> {
    let mut all = vec![Vec::new()];
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let rest = &text[at..];
        let skip = |to: usize, chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
            while chars.peek().is_some_and(|(i, _)| *i < to) {
                chars.next();
            }
        };
        let word = match c {
            ';' => {
                all.push(Vec::new());
                continue;
            }
            '-' if rest.starts_with("--") => {
                skip(rest.find('\n').map_or(text.len(), |end| at + end), &mut chars);
                continue;
            }
            // `/*! … */` runs.
            '/' if rest.starts_with("/*") && !rest.starts_with("/*!") => {
                skip(rest.find("*/").map_or(text.len(), |end| at + end + 2), &mut chars);
                continue;
            }
            '\'' | '"' | '`' => {
                let end = rest[1..].find(c).map_or(rest.len() - 1, |end| end + 1);
                skip(at + end + 1, &mut chars);
                let inner = rest.get(1..end).unwrap_or("").to_owned();
                if c == '\'' { Word::Text(inner) } else { Word::Name(inner.to_lowercase()) }
            }
            c if c.is_alphanumeric() || c == '_' => {
                let end = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '.' | '$'));
                let end = end.unwrap_or(rest.len());
                skip(at + end, &mut chars);
                Word::Name(rest[..end].to_lowercase())
            }
            c if c.is_whitespace() => continue,
            c => Word::Sign(c),
        };
        if let Some(last) = all.last_mut() {
            last.push(word);
        }
    }
    all
}

/// The effect of the first statement of a text that loses data or runs something.
#[cfg(test)]
pub(super) fn danger(text: &str) -> Option<&'static str> {
    read(text).find_map(|statement| statement.effect)
}

/// Whether a condition holds for every row.
fn always(words: &[Word]) -> bool {
    let words = &words[..words.len().min(MAX_CONDITION)];
    let end = words.iter().position(|w| w.is("returning") || w.is("limit") || w.is("order")).unwrap_or(words.len());
    let plain: Vec<&Word> = words[..end].iter().filter(|w| !matches!(w, Word::Sign('(' | ')'))).collect();
    let all = plain.as_slice();
    let truth = |part: &[&Word]| match part {
        [Word::Name(word)] => word == "true" || word.parse::<i64>().is_ok_and(|n| n != 0),
        [left, Word::Sign('='), right] => left == right,
        [Word::Name(not), Word::Name(word)] => not == "not" && matches!(word.as_str(), "false" | "0"),
        [Word::Name(a), Word::Sign('<' | '!'), Word::Sign('>' | '='), Word::Name(b)] => {
            a.parse::<i64>().is_ok() && b.parse::<i64>().is_ok() && a != b
        }
        [Word::Text(_), Word::Name(like), Word::Text(any)] => like == "like" && any == "%",
        [Word::Name(_), Word::Name(like), Word::Text(any)] => like == "like" && any == "%",
        _ => false,
    };
    all.split(|w| w.is("or")).any(|part| part.split(|w| w.is("and")).all(truth))
}

fn judge(words: &[Word], depth: usize) -> Statement {
    let found = |effect| Statement { effect: Some(effect), ..Statement::default() };
    const RUNS: &str = "arbitrary program execution via a flag";
    // `EXPLAIN DELETE …` only explains; with ANALYZE it runs.
    if words.first().is_some_and(|w| w.is("explain")) && !words.iter().any(|w| w.is("analyze")) {
        return Statement::default();
    }
    let after_where = |from: usize| words[from..].iter().position(|w| w.is("where")).map(|at| from + at + 1);
    let every_row = |from: usize| after_where(from).is_none_or(|at| always(&words[at..]));
    // Words behind which a statement begins: `with x as (…) delete`, `explain analyze delete`, `begin delete`.
    let starts = |i: usize| {
        i == 0
            || matches!(&words[i - 1], Word::Sign('(' | ')' | '!'))
            || ["analyze", "begin", "then", "do", "else", "as", "execute", "loop"].iter().any(|w| words[i - 1].is(w))
            || matches!(&words[i - 1], Word::Name(n) if n.bytes().all(|b| b.is_ascii_digit()))
    };
    let altered = words.first().is_some_and(|w| w.is("alter"));
    let mut writes = None;
    for (i, word) in words.iter().enumerate() {
        let Word::Name(name) = word else { continue };
        let next = match words.get(i + 1) {
            Some(Word::Name(next)) => next.as_str(),
            _ => "",
        };
        match name.as_str() {
            "grant" | "revoke" if starts(i) && !next.is_empty() => return found("changes access"),
            "user" | "role" | "login" if i == 1 && (altered || words[0].is("create")) => {
                return found("changes access");
            }
            "password" if i == 1 && words[0].is("set") => return found("changes access"),
            "drop" if altered && next != "not" && next != "default" && next != "identity" => return found("SQL DROP"),
            "drop"
                if matches!(
                    next,
                    "table"
                        | "database"
                        | "schema"
                        | "view"
                        | "index"
                        | "role"
                        | "user"
                        | "keyspace"
                        | "collection"
                        | "materialized"
                        | "sequence"
                        | "function"
                        | "owned"
                        | "tablespace"
                        | "type"
                        | "trigger"
                        | "procedure"
                        | "extension"
                        | "policy"
                        | "domain"
                        | "server"
                        | "foreign"
                        | "publication"
                        | "subscription"
                        | "column"
                        | "event"
                        | "measurement"
                        | "series"
                        | "bucket"
                        | "stream"
                        | "dictionary"
                        | "warehouse"
                        | "temporary"
                        | "aggregate"
                        | "cast"
                        | "if"
                ) =>
            {
                return found("SQL DROP");
            }
            "truncate" if !next.is_empty() && (starts(i) || next == "table") => return found("SQL TRUNCATE"),
            "delete" if next == "from" && every_row(i) => return found("SQL DELETE without WHERE"),
            "delete" if i == 0 && words.iter().any(|w| w.is("from")) && every_row(i) => {
                return found("SQL DELETE without WHERE");
            }
            "update" if starts(i) && words[i..].iter().any(|w| w.is("set")) && every_row(i) => {
                return found("SQL UPDATE without WHERE");
            }
            // `execute 'DROP …'`, `prepare x from '…'`, the body of `do $$ … $$`
            "execute" | "immediate" | "from" if name != "from" || words[0].is("prepare") => {
                if let (Some(Word::Text(inner)), true) = (words.get(i + 1), depth < MAX_DEPTH) {
                    let inner =
                        statements(inner).iter().map(|words| judge(words, depth + 1)).find(|s| s.effect.is_some());
                    if let Some(inner) = inner {
                        return inner;
                    }
                }
            }
            "load_extension" | "xp_cmdshell" | "sys_exec" | "sys_eval" | "dblink_exec" => return found(RUNS),
            "program" if words.first().is_some_and(|w| w.is("copy")) || i > 0 && words[0] == Word::Sign('\\') => {
                let runs = match words.get(i + 1) {
                    Some(Word::Text(line)) => Some(line.clone()),
                    _ => None,
                };
                return Statement { runs, ..found(RUNS) };
            }
            "language" if matches!(next, "c" | "plpythonu" | "plpython3u" | "plperlu" | "plsh" | "pltclu") => {
                return found(RUNS);
            }
            "outfile" | "dumpfile" | "to" | "into" => {
                let file = match name.as_str() {
                    "to" => words[0].is("copy"),
                    "into" => words[0].is("vacuum"),
                    _ => true,
                };
                if let (true, Some(Word::Text(path))) = (file, words.get(i + 1)) {
                    writes = Some(path.clone());
                }
            }
            "writefile" => {
                if let Some(Word::Text(path)) = words.get(i + 2) {
                    writes = Some(path.clone());
                }
            }
            _ => {}
        }
    }
    Statement { writes, ..Statement::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_statements_lose() {
        for (text, want) in [
            ("DROP TABLE users", Some("SQL DROP")),
            ("DROP/**/TABLE users", Some("SQL DROP")),
            ("drop -- x\n table users", Some("SQL DROP")),
            ("select 1; delete from users", Some("SQL DELETE without WHERE")),
            ("DELETE FROM users WHERE id = 1", None),
            ("delete from users where 1=1", Some("SQL DELETE without WHERE")),
            ("delete from users where true", Some("SQL DELETE without WHERE")),
            ("delete from users where 'a'='a'", Some("SQL DELETE without WHERE")),
            ("delete from users where id=3 or 1=1", Some("SQL DELETE without WHERE")),
            ("delete from users where (1=1)", Some("SQL DELETE without WHERE")),
            ("delete from users where id=id", Some("SQL DELETE without WHERE")),
            ("delete from users where 1=1 and id = 3", None),
            ("delete from users;\nselect 1 where 1=1", Some("SQL DELETE without WHERE")),
            ("with x as (select 1) delete from users", Some("SQL DELETE without WHERE")),
            ("TRUNCATE t", Some("SQL TRUNCATE")),
            ("select truncate(x, 2) from t", None),
            ("update users set a = 1", Some("SQL UPDATE without WHERE")),
            ("update users set a = 1 where b", None),
            ("update users set a = 1 where 1=1", Some("SQL UPDATE without WHERE")),
            ("alter table x drop column y", Some("SQL DROP")),
            ("alter table x alter column y drop not null", None),
            ("alter table x add column y int", None),
            ("copy t to program 'sh'", Some("arbitrary program execution via a flag")),
            ("copy t from stdin", None),
            ("select load_extension('./x')", Some("arbitrary program execution via a flag")),
            ("select * from drops", None),
            ("select 'drop table x'", None),
            ("insert into t values ('delete from users')", None),
            ("select * from t for update", None),
            ("create table t (a int on update cascade)", None),
            ("do $$ begin execute 'drop table users'; end $$", Some("SQL DROP")),
            ("prepare x from 'delete from users'", Some("SQL DELETE without WHERE")),
            ("execute x", None),
            ("GRANT ALL ON users TO bob", Some("changes access")),
            ("revoke all on t from u", Some("changes access")),
            ("create role eve login", Some("changes access")),
            ("alter user app with password 'x'", Some("changes access")),
            ("select role, login from users", None),
            ("create table role (a int)", None),
            ("explain delete from users", None),
            ("explain analyze delete from users", Some("SQL DELETE without WHERE")),
        ] {
            assert_eq!(danger(text), want, "{text}");
        }
    }
}
