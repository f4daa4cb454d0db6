//! Variables and functions of make, and the simpler ones of ninja and just, replaced by what they stand for.

use crate::policy::shell::walk::streams::MAX_TEXT;
use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;

/// Values inside values that are followed.
const MAX_DEPTH: usize = 40;
/// Values that one file makes.
const MAX_VALUES: usize = 4096;
/// Words of a list, and parts of a function, that are followed.
const MAX_WORDS: usize = 64;
/// Variables that make knows by itself.
const OWN: &[(&str, &str)] = &[
    ("CC", "cc"),
    ("CXX", "c++"),
    ("MAKE", "make"),
    ("RM", "rm -f"),
    ("SHELL", "/bin/sh"),
    ("MAKEFILE_LIST", "Makefile"),
];

/// How a file writes its variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// `$(NAME)`, `$$` for the shell's.
    Make,
    /// `$name`, `$$` for the shell's.
    Ninja,
    /// `{{name}}`; the dollar sign is the shell's.
    Tasks,
}

/// Names and what they stand for.
pub(in crate::policy::shell) type Names = HashMap<String, String>;

/// What names in a file of recipes stand for.
pub(super) struct Values<'a> {
    pub dialect: Dialect,
    /// What the command line says, which wins.
    pub given: &'a Names,
    /// What the file says, not replaced yet.
    pub said: Names,
    /// What the environment says.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// All of it was read, with all that it includes: a name that nobody set is empty.
    pub whole: bool,
    made: Cell<usize>,
}

impl<'a> Values<'a> {
    pub fn new(dialect: Dialect, given: &'a Names, environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { dialect, given, said: Names::new(), environment, whole: false, made: Cell::new(0) }
    }

    /// Whether more was to be replaced than is followed.
    pub fn is_cut(&self) -> bool {
        self.made.get() > MAX_VALUES
    }

    /// The text with its variables replaced, those in `local` first. One that is not known is a plain word.
    pub fn expand(&self, text: &str, local: &Names) -> String {
        self.replaced(text, local, 0)
    }

    fn replaced(&self, text: &str, local: &Names, depth: usize) -> String {
        let out = match self.dialect {
            Dialect::Tasks => self.braces(text, local, depth),
            Dialect::Make | Dialect::Ninja => self.dollars(text, local, depth),
        };
        if out.len() > MAX_TEXT {
            self.made.set(self.made.get() + MAX_VALUES + 1);
        }
        out
    }

    fn dollars(&self, text: &str, local: &Names, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$').filter(|_| out.len() <= MAX_TEXT) {
            out.push_str(before);
            rest = after;
            let Some(first) = rest.chars().next() else { break };
            match first {
                '$' => {
                    out.push('$');
                    rest = &rest[1..];
                }
                '(' | '{' => {
                    let inner = balanced(&rest[1..], if first == '(' { ')' } else { '}' });
                    out.push_str(&self.reference(inner, local, depth));
                    rest = rest.get(inner.len() + 2..).unwrap_or("");
                }
                _ => {
                    let word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
                    let ninja = self.dialect == Dialect::Ninja && word(first);
                    let end = if ninja { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
                    out.push_str(&self.named(&rest[..end], local, depth));
                    rest = &rest[end..];
                }
            }
        }
        out.push_str(rest);
        out
    }

    /// `{{name}}`, `{{env("NAME")}}`, `{{.NAME}}`
    fn braces(&self, text: &str, local: &Names, depth: usize) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{").filter(|_| out.len() <= MAX_TEXT) {
            out.push_str(before);
            let (inner, behind) = after.split_once("}}").unwrap_or((after, ""));
            rest = behind;
            let parts = inner.split([' ', '+', '/', '|']).filter(|part| !part.is_empty()).take(MAX_WORDS);
            let texts: Vec<String> = parts.map(|part| self.part(part, local, depth)).collect();
            out.push_str(&texts.join(if inner.contains(" / ") { "/" } else { "" }));
        }
        out.push_str(rest);
        out
    }

    /// A part of an expression of just: a text, a name, a call.
    fn part(&self, part: &str, local: &Names, depth: usize) -> String {
        let name = part.split('(').next().unwrap_or("").trim_start_matches('.');
        let quoted = part.split(['"', '\'']).nth(1);
        let environment = |name: &str| (self.environment)(name).unwrap_or_else(|| "x".into());
        match (name, quoted) {
            ("env" | "env_var" | "env_var_or_default", Some(name)) => environment(name),
            ("home_directory" | "home_dir", _) => environment("HOME"),
            ("justfile_directory" | "invocation_directory" | "source_directory", _) => environment("PWD"),
            (_, Some(text)) => text.to_owned(),
            (name, None) => self.named(name, local, depth),
        }
    }

    /// What a name stands for.
    fn named(&self, name: &str, local: &Names, depth: usize) -> String {
        let unknown = || "x".to_owned();
        self.made.set(self.made.get() + if depth > MAX_DEPTH { MAX_VALUES } else { 1 });
        if self.is_cut() {
            return unknown();
        }
        if let Some(value) = local.get(name).or_else(|| self.given.get(name)) {
            return value.clone();
        }
        if let Some(value) = self.said.get(name) {
            return self.replaced(value, local, depth + 1);
        }
        let own = || OWN.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        let outside = if self.dialect == Dialect::Ninja { None } else { (self.environment)(name) };
        outside.or_else(own).unwrap_or_else(|| {
            // Names of other kinds have a meaning of their own more often than not.
            let plain = name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
            if plain && self.whole && self.dialect == Dialect::Make { String::new() } else { unknown() }
        })
    }

    /// What stands between the brackets of `$(…)`.
    fn reference(&self, inner: &str, local: &Names, depth: usize) -> String {
        if self.is_cut() {
            return "x".into();
        }
        let inner = inner.trim_start();
        if depth > MAX_DEPTH {
            return self.named("", local, depth);
        }
        if let Some((function, rest)) = inner.split_once([' ', '\t'])
            && let Some(made) = self.function(function, rest.trim_start(), local, depth + 1)
        {
            return made;
        }
        let name = self.dollars(inner, local, depth + 1);
        // `$(NAME:.c=.o)`
        if let Some((name, change)) = name.split_once(':')
            && let Some((from, to)) = change.split_once('=')
        {
            let of_word = |word: &str| match (from.contains('%'), word.strip_suffix(from)) {
                (true, _) => patterned(from, to, word),
                (false, Some(stem)) => format!("{stem}{to}"),
                (false, None) => word.to_owned(),
            };
            return each(&self.named(name.trim(), local, depth + 1), of_word);
        }
        self.named(name.trim(), local, depth + 1)
    }

    /// What a function of make gives; of those that choose words, all that they choose from. `None`: it is none.
    fn function(&self, name: &str, rest: &str, local: &Names, depth: usize) -> Option<String> {
        let parts = parts(rest);
        let part = |i: usize| self.dollars(parts.get(i).copied().unwrap_or(""), local, depth);
        let last = || part(parts.len().saturating_sub(1));
        Some(match name {
            "shell" => format!("$({})", self.dollars(rest, local, depth)),
            "eval" | "info" | "warning" | "error" => String::new(),
            "value" => self.named(&part(0), local, depth),
            "call" => {
                let mut local = local.clone();
                local.extend((1..parts.len()).map(|i| (i.to_string(), part(i))));
                self.dollars(self.said.get(part(0).trim())?, &local, depth)
            }
            "foreach" => {
                let (variable, body) = (part(0), parts.get(2)?);
                let of_word = |word: &str| {
                    let mut local = local.clone();
                    local.insert(variable.trim().to_owned(), word.to_owned());
                    self.dollars(body, &local, depth)
                };
                each(&part(1), of_word)
            }
            "if" => format!("{} {}", part(1), part(2)),
            "or" | "and" => (0..parts.len()).map(part).collect::<Vec<_>>().join(" "),
            "subst" => part(2).replace(&part(0), &part(1)),
            "patsubst" => each(&part(2), |word| patterned(&part(0), &part(1), word)),
            "addprefix" => each(&part(1), |word| format!("{}{word}", part(0))),
            "addsuffix" => each(&part(1), |word| format!("{word}{}", part(0))),
            "join" => format!("{}{}", part(0), part(1)),
            "dir" => each(&last(), |word| format!("{}/", word.rsplit_once('/').map_or(".", |(folder, _)| folder))),
            "notdir" => each(&last(), |word| word.rsplit('/').next().unwrap_or("").to_owned()),
            "basename" => each(&last(), |word| Path::new(word).with_extension("").to_string_lossy().into_owned()),
            "strip" | "sort" | "abspath" | "realpath" | "wildcard" | "firstword" | "lastword" | "word" | "wordlist"
            | "filter" | "filter-out" | "suffix" => last(),
            _ => return None,
        })
    }
}

/// A list with each word changed.
fn each(list: &str, change: impl FnMut(&str) -> String) -> String {
    list.split_whitespace().take(MAX_WORDS).map(change).collect::<Vec<_>>().join(" ")
}

/// `%.c` → `%.o`
fn patterned(from: &str, to: &str, word: &str) -> String {
    let (before, after) = from.split_once('%').unwrap_or((from, ""));
    let stem = word.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    stem.map_or_else(|| word.to_owned(), |stem| to.replacen('%', stem, 1))
}

/// Parts between commas that stand in no brackets.
fn parts(text: &str) -> Vec<&str> {
    let (mut all, mut from, mut depth) = (Vec::new(), 0, 0i32);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 && all.len() < MAX_WORDS => {
                all.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(&text[from..]);
    all
}

/// The text up to the bracket that closes one before it.
pub(super) fn balanced(text: &str, close: char) -> &str {
    let open = if close == ')' { '(' } else { '{' };
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == open) - i32::from(c == close);
        depth < 0
    });
    &text[..end.unwrap_or(text.len())]
}
