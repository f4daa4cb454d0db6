//! Clients of databases: the SQL that they are given, and the commands of their own that run programs and write files.

use super::decode::Stream;
use super::sql::{Statement, read};
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::invoke::Known;
use crate::policy::shell::walk::resolve::Field;
use crate::policy::table::Role;

/// Bytes of a text that are read.
const MAX_TEXT: usize = 256 * 1024;

/// Clients of databases that are a file of this machine.
const OF_FILES: &[&str] = &["sqlite3", "sqlite", "duckdb", "litecli", "clickhouse-local"];
/// Options that give a client its statements, or end it at once.
const GIVEN: &[&str] = &[
    "-c",
    "--command",
    "-e",
    "--execute",
    "-q",
    "-Q",
    "--query",
    "-f",
    "--file",
    "--queries-file",
    "-i",
    "-l",
    "--list",
    "-V",
    "--version",
    "--help",
];

/// A command of a client's own: what it runs in a shell, or the file that it writes or shows, or reads further commands from.
#[derive(Debug, PartialEq)]
enum Own<'t> {
    Runs(&'t str),
    Writes(&'t str),
    Shows(&'t str),
    Reads(&'t str),
}

/// The first word, which may stand in quotes.
fn first_word(text: &str) -> &str {
    match text.strip_prefix(['\'', '"']) {
        Some(inner) => inner.split(&text[..1]).next().unwrap_or(inner),
        None => text.split_whitespace().next().unwrap_or(""),
    }
}

fn own_command(line: &str) -> Option<Own<'_>> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    // `\!ls`, `:!!ls`
    let escape = line.strip_prefix("\\!").or_else(|| line.strip_prefix(":!!")).or_else(|| line.strip_prefix('!'));
    if let Some(text) = escape {
        return Some(Own::Runs(text.trim_start_matches('!').trim()));
    }
    let word = first_word(rest);
    let last = || rest.split_whitespace().last().map(|word| word.trim_matches(['\'', '"'])).unwrap_or("");
    match name.to_lowercase().as_str() {
        "system" | "\\system" | "host" | "\\shell" if !rest.is_empty() => Some(Own::Runs(rest)),
        // pgbench: the first word is the variable that gets the output.
        "\\setshell" => Some(Own::Runs(rest.split_once(char::is_whitespace).map_or("", |(_, text)| text.trim()))),
        // psql: what these variables name is run by a shell.
        "\\setenv" => {
            let runs = ["PAGER", "EDITOR", "VISUAL", "SHELL"].iter().any(|part| word.to_uppercase().contains(part));
            let value = rest.split_once(char::is_whitespace).map_or("", |(_, text)| text.trim());
            (runs && !value.is_empty()).then(|| Own::Runs(value.trim_matches(['\'', '"'])))
        }
        // Commands of sqlite3 may be shortened.
        short if short.len() > 2 && !rest.is_empty() && [".shell", ".system"].iter().any(|n| n.starts_with(short)) => {
            Some(Own::Runs(rest))
        }
        ".import" | ".output" | ".once" | ".excel" | "\\o" | "\\g" | "\\gx" | "\\out" | "tee" | "\\t" | "pager"
        | "\\p" | ".open" | ".save" | ".backup" | ".log" | ".trace" | "\\w" | "\\write" | "\\s" | "\\lo_export" => {
            let unquoted = rest.trim_matches(['\'', '"']);
            match unquoted.strip_prefix('|') {
                Some(_) if rest.starts_with(['\'', '"']) => Some(Own::Runs(word.trim_start_matches('|').trim())),
                Some(text) => Some(Own::Runs(text.trim())),
                None if matches!(name, "pager" | "\\P") && !rest.is_empty() => Some(Own::Runs(unquoted)),
                None if name == ".import" && !word.is_empty() => Some(Own::Shows(word)),
                None if name == ".open" || unquoted.is_empty() => None,
                None => Some(Own::Writes(last())),
            }
        }
        "\\lo_import" if !word.is_empty() => Some(Own::Shows(word)),
        ".load" => Some(Own::Runs("")),
        ".read" | "\\i" | "\\ir" | "source" | "\\." | ":r" if !rest.is_empty() => match rest.strip_prefix('|') {
            Some(text) => Some(Own::Runs(text.trim())),
            None if word.starts_with('|') => Some(Own::Runs(word[1..].trim())),
            None => Some(Own::Reads(word)),
        },
        "\\copy" => match rest.split_once("program").or_else(|| rest.split_once("PROGRAM")) {
            Some((_, text)) => Some(Own::Runs(text.trim().trim_matches(['\'', '"']))),
            None => {
                let side = |mark: &str| {
                    rest.to_ascii_lowercase().rfind(mark).map(|at| first_word(rest[at + mark.len()..].trim()))
                };
                side(" to ").map(Own::Writes).or_else(|| side(" from ").map(Own::Shows))
            }
        },
        _ => {
            // `select … \g |sh`, `select … \g FILE`
            let (_, rest) = ["\\gx ", "\\g ", "\\o ", "\\g|", "\\o|"].iter().find_map(|mark| line.split_once(mark))?;
            match line
                .split_once('|')
                .filter(|(front, _)| rest.trim().starts_with('|') || front.ends_with(['g', 'o', 'x']))
            {
                Some((_, text)) => Some(Own::Runs(text.trim())),
                None => Some(Own::Writes(first_word(rest.trim()))),
            }
        }
    }
}

/// Whether a line may be a command of a client, and no SQL.
fn may_be_own(line: &str) -> bool {
    const WORDS: &[&str] = &["system ", "host ", "source ", "tee ", "pager "];
    let trimmed = line.trim_start();
    let word = |known: &str| trimmed.get(..known.len()).is_some_and(|start| start.eq_ignore_ascii_case(known));
    trimmed.starts_with(['.', '\\', '!', ':']) || line.contains('\\') || WORDS.iter().any(|known| word(known))
}

impl Walker<'_> {
    /// SQL in a text, with the commands of clients.
    pub(in crate::policy::shell) fn sql(&mut self, text: &str, span: &Span) {
        self.sql_text(text, span, true);
    }

    /// Texts of files do not name further files.
    fn sql_text(&mut self, text: &str, span: &Span, names_files: bool) {
        if text.len() > MAX_TEXT || !self.spend(1 + text.len() / 256, span) {
            return;
        }
        for line in text.lines().filter(|line| may_be_own(line)) {
            match own_command(line) {
                Some(Own::Runs(command)) => {
                    self.find("arbitrary program execution via a flag", span.clone());
                    self.shell_line(command, span);
                }
                Some(Own::Writes(path)) => self.touch(Role::Write, &self.at_home(path, span)),
                Some(Own::Shows(path)) => self.touch(Role::Read, &self.at_home(path, span)),
                Some(Own::Reads(path)) if names_files => {
                    // A dot command is one of a client whose database is a file.
                    let service = !line.trim_start().starts_with('.');
                    self.sql_file(&self.at_home(path, span), service);
                }
                Some(Own::Reads(_)) | None => {}
            }
        }
        // `readfile('/path')`, `load data infile`, `from read_text(…)`
        for path in text.split('\'').skip(1).step_by(2).filter(|path| path.starts_with(['/', '~'])).take(16) {
            self.touch(Role::Read, &self.at_home(path, span));
        }
        for Statement { effect, writes, runs } in read(text) {
            if let Some(line) = runs {
                self.shell_line(&line, span);
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

    /// A path as a program reads it that knows `~` itself.
    pub(super) fn at_home(&self, path: &str, span: &Span) -> Field {
        let path = match path.strip_prefix("~/") {
            Some(rest) => format!("{}/{rest}", self.home),
            None => path.to_owned(),
        };
        Field::known(path, span.clone())
    }

    /// A client of a database: SQL in its words, its files and what is piped in.
    pub(super) fn sql_client(&mut self, known: &Known<'_>, input: Option<&Stream>) {
        let service = !OF_FILES.contains(&known.name.as_str());
        for field in &known.argv[1..] {
            // `--execute=…`, `-c…`
            let text = match field.text.split_once('=') {
                Some((name, value)) if name.starts_with("--") => value,
                _ => field.text.trim_start_matches("-c").trim_start_matches("-e"),
            };
            self.sql(text, &field.span);
        }
        for flag in &known.args.flags {
            if let ("-f" | "--file" | "-init" | "-i" | "--queries-file", Some((path, at))) =
                (flag.name.as_str(), &flag.value)
            {
                // `FILE@WEIGHT` of pgbench
                let weight = |(_, weight): &(&str, &str)| weight.bytes().all(|b| b.is_ascii_digit());
                let path = path.rsplit_once('@').filter(weight).map_or(path.as_str(), |(path, _)| path);
                self.sql_file(&Field { text: path.to_owned(), ..known.argv[*at].clone() }, service);
            }
        }
        // `sqlplus app@prod @drop.sql`
        for field in known.operands().filter(|field| field.text.starts_with('@') && known.name == "sqlplus") {
            self.sql_file(&Field { text: field.text[1..].to_owned(), ..field.clone() }, true);
        }
        let Some(stream) = input else { return };
        match (&stream.text, &stream.path) {
            (Some(text), _) => self.sql(text, &stream.span),
            (None, Some(path)) => self.sql_file(&Field::known(path.clone(), stream.span.clone()), service),
            // With statements in its words it reads nothing else.
            (None, None) if service && known.args.flags.iter().all(|flag| !GIVEN.contains(&flag.name.as_str())) => {
                self.find("statements that were not read", known.span());
            }
            (None, None) => {}
        }
    }

    /// A file of SQL, when this line wrote it or it can be read. What a service gets and cannot be read is asked about.
    fn sql_file(&mut self, field: &Field, service: bool) {
        if !field.is_known() && !field.process {
            if service {
                self.find("statements that were not read", field.span.clone());
            }
            return;
        }
        // What is no SQL is shown in the messages.
        self.touch(Role::Read, field);
        let text = match self.named(field) {
            Some(stream) => stream.text,
            None => {
                let paths = self.absolute(&field.text);
                paths.iter().find_map(|path| self.world.text(std::path::Path::new(path), MAX_TEXT))
            }
        };
        match text {
            Some(text) if self.spend(8, &field.span) => self.sql_text(&text, &field.span, false),
            Some(_) => {}
            None if service => self.find_path("statements that were not read", field),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_clients() {
        for (line, want) in [
            ("\\! ls", Some(Own::Runs("ls"))),
            (":!! ls", Some(Own::Runs("ls"))),
            ("HOST ls", Some(Own::Runs("ls"))),
            ("\\shell ls -l", Some(Own::Runs("ls -l"))),
            ("\\setshell x ls -l", Some(Own::Runs("ls -l"))),
            ("\\setenv PSQL_PAGER 'ls -l'", Some(Own::Runs("ls -l"))),
            ("\\setenv PGHOST db", None),
            ("\\set aid random(1, 10)", None),
            ("\\copy t to 'out.csv' csv header", Some(Own::Writes("out.csv"))),
            ("\\copy t from in.csv", Some(Own::Shows("in.csv"))),
            ("\\copy t to program 'ls'", Some(Own::Runs("ls"))),
            ("select 1 \\g out.txt", Some(Own::Writes("out.txt"))),
            ("select 1 \\g | ls", Some(Own::Runs("ls"))),
            ("\\o|ls", Some(Own::Runs("ls"))),
            ("\\lo_export 12 out", Some(Own::Writes("out"))),
            (".import \"|ls -l\" t", Some(Own::Runs("ls -l"))),
            (".import a.csv t", Some(Own::Shows("a.csv"))),
            (".backup main out.db", Some(Own::Writes("out.db"))),
            ("\\i q.sql", Some(Own::Reads("q.sql"))),
            ("\\dt", None),
            ("select '\\n'", None),
        ] {
            assert_eq!(own_command(line), want, "{line}");
        }
    }
}
