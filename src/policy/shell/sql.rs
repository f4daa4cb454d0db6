//! SQL that loses data or runs programs, and the clients that it is given to.

use super::ast::Span;
use super::decode::Stream;
use super::invoke::Known;
use super::resolve::Field;
use super::walk::Walker;
use crate::policy::table::Role;

/// Bytes of a text that are read.
const MAX_TEXT: usize = 256 * 1024;

/// Words of a condition that are looked at.
const MAX_CONDITION: usize = 256;

/// What a statement would do.
#[derive(Clone, Debug, Default, PartialEq)]
struct Statement {
    effect: Option<&'static str>,
    /// A file of the server or of the client that it writes.
    writes: Option<String>,
    /// A shell line that it runs.
    runs: Option<String>,
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
    statements(text).iter().find_map(|words| judge(words).effect)
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

fn judge(words: &[Word]) -> Statement {
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

/// A command of a client's own: what it runs in a shell, or the file that it writes.
enum Own<'t> {
    Runs(&'t str),
    Writes(&'t str),
    Reads(&'t str),
}

fn own_command(line: &str) -> Option<Own<'_>> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let unquoted = rest.trim_matches(['\'', '"']);
    // `\!ls`, `\o|sh`
    if let Some(text) = line.strip_prefix("\\!").or_else(|| line.strip_prefix('!')) {
        let text = text.trim_start_matches('!');
        return Some(Own::Runs(text.trim()));
    }
    match name {
        "system" | "\\system" | "host" if !rest.is_empty() => Some(Own::Runs(rest)),
        // Commands of sqlite3 may be shortened.
        short if short.len() > 2 && !rest.is_empty() && [".shell", ".system"].iter().any(|n| n.starts_with(short)) => {
            Some(Own::Runs(rest))
        }
        ".import" | ".output" | ".once" | ".excel" | "\\o" | "\\g" | "\\gx" | "\\out" | "tee" | "\\T" | "pager"
        | "\\P" | ".open" | ".save" | ".backup" | ".log" | ".trace" | "\\w" | "\\write" => {
            match unquoted.strip_prefix('|') {
                Some(text) => Some(Own::Runs(text.trim())),
                None if matches!(name, "pager" | "\\P") && !rest.is_empty() => Some(Own::Runs(unquoted)),
                None if matches!(name, ".import" | ".open") || unquoted.is_empty() => None,
                None => Some(Own::Writes(unquoted.split_whitespace().last().unwrap_or(""))),
            }
        }
        ".load" => Some(Own::Runs("")),
        ".read" | "\\i" | "\\ir" | "source" | "\\." if !rest.is_empty() => match unquoted.strip_prefix('|') {
            Some(text) => Some(Own::Runs(text.trim())),
            None => Some(Own::Reads(unquoted)),
        },
        "\\copy" => match rest.split_once("program").or_else(|| rest.split_once("PROGRAM")) {
            Some((_, text)) => Some(Own::Runs(text.trim().trim_matches(['\'', '"']))),
            None => rest.rsplit_once(" to ").map(|(_, file)| Own::Writes(file.trim().trim_matches(['\'', '"']))),
        },
        _ => {
            // `\o|sh`, `\g |sh` after a statement
            let (_, text) = line.split_once('|').filter(|(front, _)| {
                let front = front.trim_end();
                front.ends_with("\\o") || front.ends_with("\\g") || front.ends_with("\\gx")
            })?;
            Some(Own::Runs(text.trim()))
        }
    }
}

impl Walker<'_> {
    /// SQL in a text, with the commands of clients.
    pub(super) fn sql(&mut self, text: &str, span: &Span) {
        if text.len() > MAX_TEXT || !self.spend(1 + text.len() / 256, span) {
            return;
        }
        for line in text.lines().filter(|line| {
            line.trim_start().starts_with(['.', '\\', '!']) || line.contains('\\') || {
                let line = line.trim_start();
                line.starts_with("system ")
                    || line.starts_with("host ")
                    || line.starts_with("source ")
                    || line.starts_with("tee ")
                    || line.starts_with("pager ")
            }
        }) {
            match own_command(line) {
                Some(Own::Runs(command)) => {
                    self.find("arbitrary program execution via a flag", span.clone());
                    self.runs_text(command, span);
                }
                Some(Own::Writes(path)) => self.touch(Role::Write, &self.at_home(path, span)),
                Some(Own::Reads(path)) => self.sql_file(&self.at_home(path, span)),
                None => {}
            }
        }
        for words in statements(text) {
            let Statement { effect, writes, runs } = judge(&words);
            if let Some(line) = runs {
                self.runs_text(&line, span);
            }
            if let Some(effect) = effect {
                self.find(effect, span.clone());
            }
            // `copy … program 'x'`: the program is a shell line.
            if effect == Some("arbitrary program execution via a flag") {
                for value in text.split('\'').skip(1).step_by(2).take(16) {
                    self.refused_text(value, span);
                }
            }
            if let Some(path) = writes {
                self.touch(Role::Write, &Field::known(path, span.clone()));
            }
        }
    }

    fn at_home(&self, path: &str, span: &Span) -> Field {
        let path = match path.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.home),
            None => path.to_owned(),
        };
        Field::known(path, span.clone())
    }

    /// A client of a database: SQL in its words, its files and what is piped in.
    pub(super) fn sql_client(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        for field in &known.argv[1..] {
            // `--execute=…`, `-c…`
            let text = match field.text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => value,
                _ => field.text.trim_start_matches("-c").trim_start_matches("-e"),
            };
            self.sql(text, &field.span);
        }
        for flag in &known.args.flags {
            if let ("-f" | "--file" | "-init" | "-i", Some((path, at))) = (flag.name.as_str(), &flag.value) {
                let span = known.argv[*at].span.clone();
                self.sql_file(&Field::known(path.clone(), span));
            }
        }
        if let Some(text) = input.and_then(|stream| stream.text.as_deref().map(|t| (t, stream.span.clone()))) {
            self.sql(text.0, &text.1);
        }
    }

    /// A file of SQL, when this line wrote it or it can be read.
    fn sql_file(&mut self, field: &Field) {
        if !field.is_known() {
            return;
        }
        let text = match self.file(field) {
            Some(stream) => stream.text,
            None => {
                let paths = self.absolute(&field.text);
                paths.iter().find_map(|path| self.world.text(std::path::Path::new(path), MAX_TEXT))
            }
        };
        if let Some(text) = text
            && self.spend(8, &field.span)
        {
            self.sql_text(&text, &field.span);
        }
    }

    /// SQL of a file: commands of the client in it are not followed into further files.
    fn sql_text(&mut self, text: &str, span: &Span) {
        for words in statements(text) {
            if let Some(effect) = judge(&words).effect {
                self.find(effect, span.clone());
                return;
            }
        }
    }
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
            ("explain delete from users", None),
            ("explain analyze delete from users", Some("SQL DELETE without WHERE")),
        ] {
            assert_eq!(danger(text), want, "{text}");
        }
    }
}
