//! Calls in code: what is run, deleted, written, moved or read, judged as the command that does the same.

use super::lex::Token;
use super::value::{Scope, Value, close_of, split};
use super::{Lang, Shapes};
use crate::policy::shell::read::ast::Span;
use crate::policy::shell::walk::Walker;
use crate::policy::shell::walk::resolve::UNKNOWN;
use crate::policy::table::Role;
use std::collections::HashMap;

/// Words after which a call without parentheses has ended.
const ENDS: &[&str] = &["if", "unless", "and", "or", "do", "while", "until", "for", "foreach", "then", "rescue"];
/// Methods whose path is the object itself.
const OF_OBJECT: &[&str] = &[
    "write_text",
    "write_bytes",
    "read_text",
    "read_bytes",
    "unlink",
    "rmdir",
    "open",
    "touch",
    "chmod",
    "rename",
    "replace",
];
/// Words before a program in a list of arguments that are none of it.
pub(super) const NO_WORD: &[&str] = &[
    "shell",
    "cwd",
    "env",
    "text",
    "timeout",
    "capture_output",
    "check",
    "stdout",
    "stderr",
    "encoding",
    "input",
    "stdio",
    "universal_newlines",
];

pub(super) struct Calls<'a, 'w, 't> {
    pub(super) walker: &'a mut Walker<'w>,
    pub(super) shapes: &'a Shapes,
    pub(super) scope: Scope<'a>,
    pub(super) tokens: &'t [Token],
    pub(super) span: &'a Span,
    /// Nothing was seen that is more than reading files that can be named.
    pub(super) clear: bool,
}

/// Judges all calls of a text; false when one of them does more than read.
pub(super) fn judge(walker: &mut Walker<'_>, shapes: &Shapes, lang: Lang, tokens: &[Token], span: &Span) -> bool {
    let home = walker.home.clone();
    let scope = Scope { lang, home: &home, variables: HashMap::new() };
    let mut calls = Calls { walker, shapes, scope, tokens, span, clear: true };
    calls.all();
    calls.clear
}

pub(super) fn name_of(token: Option<&Token>) -> &str {
    match token {
        Some(Token::Name { text, .. }) => text,
        _ => "",
    }
}

/// Whether the last parts of `os.path.join` are this name: `path.join`.
fn ends_with_name(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

impl Calls<'_, '_, '_> {
    fn all(&mut self) {
        for i in 0..self.tokens.len() {
            match &self.tokens[i] {
                Token::Shell(text) => self.line(&text.clone()),
                Token::Variable(name) => self.assigned(i, name),
                Token::Name { text, member } => {
                    if !member {
                        self.assigned(i, text);
                    }
                    self.call(i);
                }
                _ => {}
            }
        }
        if self.is_bomb() {
            self.walker.find("fork bomb", self.span.clone());
        }
    }

    /// `x = …`, `for x in …`: what the name stands for from here on.
    fn assigned(&mut self, i: usize, name: &str) {
        let sign = |at: usize, c: char| self.tokens.get(at) == Some(&Token::Sign(c));
        let from = if sign(i + 1, '=') && !['=', '~', '>'].iter().any(|c| sign(i + 2, *c))
            || name_of(self.tokens.get(i + 1)) == "in"
        {
            i + 2
        } else {
            return;
        };
        if sign(from, '=') {
            return;
        }
        let value = self.scope.value(&self.tokens[from..self.statement_end(from, &[',', ';', ':'])]);
        if value == Value::Other {
            self.scope.variables.remove(name);
        } else if self.scope.variables.len() < 64 {
            self.scope.variables.insert(name.to_owned(), value);
        }
    }

    fn statement_end(&self, from: usize, signs: &[char]) -> usize {
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(from) {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') if depth == 0 => return i,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                Token::Break if depth == 0 => return i,
                Token::Sign(c) if depth == 0 && signs.contains(c) => return i,
                Token::Name { text, member: false } if depth == 0 && i > from && ENDS.contains(&text.as_str()) => {
                    return i;
                }
                _ => {}
            }
        }
        self.tokens.len()
    }

    /// `os.path.join` for the name at `i`, with the module of `require('fs').rmSync`.
    pub(super) fn path(&self, i: usize) -> String {
        let mut path = name_of(self.tokens.get(i)).to_owned();
        let mut at = i;
        while matches!(self.tokens[at], Token::Name { member: true, .. }) && at > 0 {
            match &self.tokens[at - 1] {
                Token::Name { text, .. } => {
                    path = format!("{text}.{path}");
                    at -= 1;
                }
                Token::Sign(')') if at >= 4 => {
                    if let (Token::Text(module), "require" | "import" | "__import__") =
                        (&self.tokens[at - 2], name_of(self.tokens.get(at - 4)))
                    {
                        path = format!("{}.{path}", module.trim_start_matches("node:"));
                    }
                    break;
                }
                _ => break,
            }
        }
        path
    }

    /// The tokens of the object that a method at `i` belongs to.
    pub(super) fn object(&self, i: usize) -> &[Token] {
        let mut at = i;
        while at > 0 {
            match &self.tokens[at - 1] {
                Token::Sign(')' | ']') => {
                    let open = (0..at - 1).rev().find(|o| {
                        matches!(self.tokens[*o], Token::Sign('(' | '[')) && close_of(self.tokens, *o) == Some(at - 1)
                    });
                    match open {
                        Some(open) => at = open,
                        None => break,
                    }
                }
                Token::Name { .. } | Token::Variable(_) | Token::Text(_) => at -= 1,
                _ => break,
            }
        }
        &self.tokens[at..i]
    }

    fn call(&mut self, i: usize) {
        let path = self.path(i);
        let last = path.rsplit('.').next().unwrap_or("").trim_end_matches('!').to_owned();
        let means = |list: &[String]| list.iter().any(|n| *n == last || n.contains('.') && ends_with_name(&path, n));
        let shapes = self.shapes;
        let lists = [
            &shapes.runs,
            &shapes.evaluates,
            &shapes.deletes,
            &shapes.deletes_tree,
            &shapes.writes,
            &shapes.reads,
            &shapes.moves,
            &shapes.copies,
            &shapes.permissions,
            &shapes.opens,
            &shapes.sql,
        ];
        if !lists.iter().any(|list| means(list)) {
            return;
        }
        let (from, to) = match self.tokens.get(i + 1) {
            Some(Token::Sign('(')) => (i + 2, close_of(self.tokens, i + 1).unwrap_or(self.tokens.len())),
            Some(
                Token::Text(_)
                | Token::Words(_)
                | Token::Variable(_)
                | Token::Name { member: false, .. }
                | Token::Sign('[' | '{'),
            ) => (i + 1, self.statement_end(i + 1, &[';'])),
            _ => (i + 1, i + 1),
        };
        let inner: &[Token] = &self.tokens[from.min(to)..to];
        // Calls inside of calls are looked through again and again.
        if !self.walker.spend(1 + inner.len() / 4, self.span) {
            self.clear = false;
            return;
        }
        let parts: Vec<&[Token]> = split(inner, &[',']);
        let values: Vec<Value> = parts.iter().map(|part| self.scope.value(part)).collect();
        let texts: Vec<String> = values.iter().filter(|v| **v != Value::Other).flat_map(Value::words).collect();
        // A method of a path: `Path("x").unlink()`.
        let named = || -> Vec<String> {
            let object =
                OF_OBJECT.contains(&last.as_str()) && matches!(self.tokens[i], Token::Name { member: true, .. });
            let of_object = texts.is_empty() || object && last.contains('_');
            if !of_object {
                return texts.iter().filter(|t| !t.starts_with('-')).cloned().collect();
            }
            let value = if object { self.scope.value(self.object(i)) } else { Value::Other };
            value.words()
        };
        let paths = named();
        if means(&shapes.runs) {
            self.clear = false;
            self.runs(&parts, &values);
        }
        if means(&shapes.evaluates) {
            self.clear = false;
            for text in texts.iter().take(2) {
                self.walker.code(self.scope.lang, text, self.span);
            }
        }
        if means(&shapes.deletes) || means(&shapes.deletes_tree) {
            self.clear = false;
            let tree = means(&shapes.deletes_tree);
            for path in paths.iter().take(16) {
                let mut words = vec!["rm".to_owned()];
                words.extend(tree.then(|| "-rf".to_owned()));
                words.push(path.clone());
                self.command(words);
            }
        }
        if means(&shapes.writes) {
            self.clear = false;
            if let Some(path) = paths.first() {
                self.touch(Role::Write, path);
            }
        }
        if means(&shapes.permissions) {
            self.clear = false;
            if let Some(path) = paths.first() {
                self.touch(Role::Permissions, path);
            }
        }
        if means(&shapes.moves) || means(&shapes.copies) {
            self.clear = false;
            let program = if means(&shapes.moves) { "mv" } else { "cp" };
            if values.len() >= 2 {
                self.command(vec![program.into(), values[0].text(), values[1].text()]);
            }
        }
        if means(&shapes.reads) {
            let number = matches!(inner.first(), Some(Token::Number(_)));
            match paths.first() {
                Some(path) if path == "php://stdin" => {}
                Some(path) if !path.contains(UNKNOWN) && !path.contains("://") => self.touch(Role::Read, path),
                _ => self.clear &= number,
            }
        }
        if means(&shapes.opens) {
            self.opens(i, &values, &texts);
        }
        if means(&shapes.sql) {
            self.clear = false;
            for text in &texts {
                self.walker.sql(text, self.span);
            }
        }
    }
}
