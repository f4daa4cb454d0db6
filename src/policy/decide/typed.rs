//! Text for a running program. For a shell it is a line; for an interpreter at its prompt it is code of its language; what any
//! other program makes of it nobody knows, and a person may trust that program in that process once.

use super::{BY_RULE, granted, line};
use crate::policy::permissions::{Names, Reader};
use crate::policy::rule::Rules;
use crate::policy::{Verdict, Why, World};
use std::path::Path;

/// Reasons that say that text is no good line of shell. Of what is typed into another program that is no wonder.
const OF_NO_SHELL: &[&str] = &[
    "hidden characters",
    "malformed shell",
    "unresolved command",
    "alias",
    "look-alike command",
    "command parser limit or malformed executable payload",
];

/// Classes that say that code of an interpreter is not followed to its end.
pub(super) const OF_CODE: &[&str] = &["script execution via -e/-c flag", "script execution via heredoc"];

/// How an interpreter is given code in a command: its name without a version, the words before the code, and what makes of
/// code that only computes a look at something. At a prompt the person looks.
const GIVEN: &[(&str, &str, &str)] = &[
    ("python", "python3 -c", "import sys\n"),
    ("pypy", "pypy3 -c", "import sys\n"),
    ("node", "node -e", "process.argv;\n"),
    ("lua", "lua -e", ""),
    ("luajit", "luajit -e", ""),
    ("psql", "psql -c", ""),
    ("mysql", "mysql -e", ""),
    ("mariadb", "mariadb -e", ""),
    ("sqlite", "sqlite3 x.db", ""),
];
/// Keys that end a line, or run it by themselves.
const RUNS: [char; 3] = ['\n', '\r', '\x0f'];

/// The class of a question as it is granted for one process alone.
pub fn in_process(effect: &str, process: &str) -> String {
    format!("{effect} in {process}")
}

/// What is typed where, and the rules for it.
pub(super) struct Typed<'a> {
    pub process: &'a str,
    pub text: &'a str,
    pub cwd: &'a Path,
    pub rules: &'a Rules,
    pub names: Names<'a>,
    pub world: &'a dyn World,
}

impl Typed<'_> {
    pub(super) fn judge(&self, by: &mut Vec<String>) -> Verdict {
        let judged = match &self.rules.here.reader {
            Reader::Shell => self.shell(None, by),
            Reader::Unknown => self.shell(Some(self.for_a_program()), by),
            Reader::Code(name) => self.code(name, by),
            Reader::Program(_) => self.program(by),
        };
        self.trusted(granted(judged, self.rules, by), by)
    }

    /// As a line of shell. What the text reaches is not certain to be one: at most a question, but one that is always asked.
    fn shell(&self, more: Option<Why>, by: &mut Vec<String>) -> Verdict {
        let mut more: Vec<Why> = more.into_iter().collect();
        if !is_whole_line(self.text) {
            more.insert(0, fragment(self.text));
        }
        // Keys alone hide nothing: they are shown by their names.
        let keys = without_keys(self.text).chars().all(|c| c == '\n');
        let line = if keys { "" } else { self.text };
        with(softened(self.line(line, by)), more)
    }

    /// As code of the language that the interpreter reads: what is read completely and only computes passes.
    fn code(&self, name: &str, by: &mut Vec<String>) -> Verdict {
        let plain = without_keys(self.text);
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        let Some((_, given, look)) = GIVEN.iter().find(|(known, ..)| *known == base) else { return self.program(by) };
        let code = plain.trim_end_matches('\n').replace('\'', r"'\''");
        let command = format!("{given} '{look}{code}'");
        // A key alone runs nothing.
        let whole = is_whole_line(self.text) || (plain.trim().is_empty() && !self.text.contains(RUNS));
        let more = if whole { Vec::new() } else { vec![fragment(self.text)] };
        let judged = match self.line(&command, by) {
            judged if plain.trim().is_empty() => drop_reasons(judged, |_| false),
            judged => softened(judged),
        };
        let judged = match judged {
            // It is not known what it does, but that it does something: as for any other program.
            Verdict::Ask(why) if why.iter().all(|why| OF_CODE.contains(&&*why.effect)) => {
                Verdict::Ask(vec![self.for_a_program()])
            }
            other => other,
        };
        // The words of the command around it are not the person's.
        with(spanning(judged, self.text.len()), more)
    }

    /// As text for a program of which nothing is known; where it reads as a command that is asked about, that counts as well,
    /// for the program may have ended before a shell.
    fn program(&self, by: &mut Vec<String>) -> Verdict {
        let plain = without_keys(self.text);
        let judged = softened(self.line(&plain, by));
        let judged = drop_reasons(judged, |why| !OF_NO_SHELL.contains(&&*why.effect));
        let judged = if plain == self.text { judged } else { spanning(judged, self.text.len()) };
        with(judged, vec![self.for_a_program()])
    }

    fn line(&self, text: &str, by: &mut Vec<String>) -> Verdict {
        line::judge(text, self.cwd, self.rules, self.names, self.world, by)
    }

    /// The question about text for a program whose language is not ours.
    fn for_a_program(&self) -> Why {
        let (effect, who) = match &self.rules.here.reader {
            Reader::Program(name) => (format!("typing into {name}"), format!("{name}, which is not a shell")),
            Reader::Code(name) => (format!("typing into {name}"), format!("{name} as code that was not fully read")),
            Reader::Shell | Reader::Unknown => ("typing into an unknown program".into(), "an unknown program".into()),
        };
        let text = format!("goes to {who}: its effect is unknown");
        Why { effect, text, span: 0..self.text.len() }
    }

    /// Without the questions whose class was granted for this process.
    fn trusted(&self, judged: Verdict, by: &mut Vec<String>) -> Verdict {
        let Verdict::Ask(why) = judged else { return judged };
        let entry = |why: &Why| in_process(&why.effect, self.process);
        let holds = |one: &Why| {
            one.effect != BY_RULE && (self.rules.session.has(&entry(one)) || self.rules.grants(&one.effect, &[]))
        };
        if !why.iter().all(holds) {
            return Verdict::Ask(why);
        }
        by.extend(why.iter().map(|one| format!("{} (this session)", entry(one))));
        Verdict::Allow(why)
    }
}

/// At most a question.
fn softened(judged: Verdict) -> Verdict {
    match judged {
        Verdict::Refuse(why) => Verdict::AskAlways(why),
        other => other,
    }
}

/// With these reasons besides.
fn with(judged: Verdict, more: Vec<Why>) -> Verdict {
    match judged {
        other if more.is_empty() => other,
        Verdict::Allow(_) => Verdict::Ask(more),
        Verdict::Ask(mut why) => {
            why.extend(more);
            Verdict::Ask(why)
        }
        other => other,
    }
}

/// With the reasons that count only.
fn drop_reasons(judged: Verdict, counts: impl Fn(&Why) -> bool) -> Verdict {
    let kept = |why: Vec<Why>| why.into_iter().filter(|why| counts(why)).collect::<Vec<_>>();
    match judged {
        Verdict::Ask(why) => {
            Some(kept(why)).filter(|why| !why.is_empty()).map_or(Verdict::Allow(Vec::new()), Verdict::Ask)
        }
        Verdict::AskAlways(why) => {
            Some(kept(why)).filter(|why| !why.is_empty()).map_or(Verdict::Allow(Vec::new()), Verdict::AskAlways)
        }
        other => other,
    }
}

/// With reasons that stand under all of the text.
fn spanning(judged: Verdict, length: usize) -> Verdict {
    let under_all = |why: Vec<Why>| why.into_iter().map(|why| Why { span: 0..length, ..why }).collect();
    match judged {
        Verdict::Allow(why) => Verdict::Allow(under_all(why)),
        Verdict::Ask(why) => Verdict::Ask(under_all(why)),
        Verdict::AskAlways(why) => Verdict::AskAlways(under_all(why)),
        other => other,
    }
}

/// The text without what keys send: escape sequences and control characters, but for the ends of lines.
fn without_keys(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\x1b', Some('[')) => {
                rest.next();
                // Up to the letter or `~` that ends it.
                while rest.next().is_some_and(|c| !('\x40'..='\x7e').contains(&c)) {}
            }
            ('\x1b', Some('O')) => drop((rest.next(), rest.next())),
            ('\r', _) => plain.push('\n'),
            (c, _) if c.is_control() && c != '\n' => {}
            (c, _) => plain.push(c),
        }
    }
    plain
}

/// One line with its end and without keys: what is judged is then what the program gets.
fn is_whole_line(text: &str) -> bool {
    text.strip_suffix('\n').is_some_and(|line| !line.contains(char::is_control))
}

/// A line typed in parts, or with keys that edit it, is never seen by the gate as a whole.
fn fragment(text: &str) -> Why {
    let why = "types keys or part of a line, which the next input can turn into any command";
    Why { effect: "typing of anything but a whole line".into(), text: why.into(), span: 0..text.len() }
}

#[cfg(test)]
mod tests;
