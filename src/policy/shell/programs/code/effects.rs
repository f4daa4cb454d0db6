//! What the calls of code do: files that they open, and commands that they run.

use super::Lang;
use super::calls::{Calls, NO_WORD, name_of};
use super::lex::Token;
use super::value::Value;
use crate::policy::shell::walk::resolve::{Field, UNKNOWN};
use crate::policy::table::Role;

impl Calls<'_, '_, '_> {
    /// `open(path, mode)`; in Perl and Ruby it also runs commands.
    pub(in crate::policy::shell) fn opens(&mut self, i: usize, values: &[Value], texts: &[String]) {
        let object = matches!(self.tokens[i], Token::Name { member: true, .. });
        let mut texts = texts.to_vec();
        let of_path = object
            && self.scope.lang == Lang::Python
            && !matches!(self.path(i).as_str(), "io.open" | "os.open" | "codecs.open" | "gzip.open");
        if of_path {
            texts.insert(0, self.scope.value(self.object(i)).text());
        } else if values.first() == Some(&Value::Other) && self.scope.lang != Lang::Perl {
            texts.insert(0, UNKNOWN.to_string());
        }
        let (mut mode, path) = match (self.scope.lang, texts.as_slice()) {
            (_, []) => {
                self.clear = false;
                return;
            }
            (Lang::Perl, [mode, path, ..]) => (mode.clone(), path.clone()),
            (Lang::Perl, [one]) => {
                let mode: String = one.chars().take_while(|c| matches!(c, '<' | '>' | '+' | '|' | ' ')).collect();
                let end = if one.trim_end().ends_with('|') { "|" } else { "" };
                (format!("{mode}{end}"), one.trim_start_matches(['<', '>', '+', ' ']).to_owned())
            }
            (_, [path, rest @ ..]) => (rest.first().cloned().unwrap_or_default(), path.clone()),
        };
        if path.starts_with('|') {
            mode = "|".into();
        }
        if mode.contains('|') {
            self.clear = false;
            let line = path.trim_matches(['|', ' ']).to_owned();
            return self.line(&line);
        }
        let writes = mode.contains(['w', 'a', 'x', '+', '>']) || mode.contains(UNKNOWN) || mode.contains("WR");
        if writes || path.contains(UNKNOWN) {
            self.clear = false;
        }
        self.touch(if writes { Role::Write } else { Role::Read }, &path);
    }

    /// A shell line, or a program with its words.
    pub(in crate::policy::shell) fn runs(&mut self, parts: &[&[Token]], values: &[Value]) {
        let own = |part: &[Token]| !matches!(part, [Token::Name { text, .. }, Token::Sign('=' | ':'), ..] if NO_WORD.contains(&text.as_str()));
        let given: Vec<&Value> =
            parts.iter().zip(values).filter(|(part, v)| own(part) && **v != Value::Other).map(|(_, v)| v).collect();
        match given.as_slice() {
            [] => {}
            [Value::Text(line)] => self.line(&line.clone()),
            [Value::List(_), ..] => self.command(given[0].words()),
            [Value::Text(program), Value::List(words), ..] => {
                let mut all = vec![program.clone()];
                all.extend(words.iter().map(Value::text));
                // `sh -c` is told by its words, a line with options by itself.
                if program.contains(' ') {
                    self.line(program);
                }
                self.command(all);
            }
            all => {
                let words: Vec<String> = all.iter().map(|v| v.text()).collect();
                if words[0].contains(' ') {
                    self.line(&words[0]);
                } else {
                    self.command(words);
                }
            }
        }
    }

    pub(in crate::policy::shell) fn line(&mut self, text: &str) {
        self.clear = false;
        let (span, current) = (self.span, self.walker.current);
        if text.trim().is_empty() || text.trim() == UNKNOWN.to_string() {
            return;
        }
        self.walker.subshell(|w| w.text(text, span, None));
        self.walker.current = current;
    }

    pub(in crate::policy::shell) fn command(&mut self, words: Vec<String>) {
        let (span, current) = (self.span, self.walker.current);
        if words.first().is_none_or(|w| w.is_empty() || w.contains(UNKNOWN)) {
            return;
        }
        let fields: Vec<Field> = words.into_iter().take(64).map(|text| Field::known(text, span.clone())).collect();
        // No rule for the words of the interpreter speaks of what its code runs.
        let within = current.map(|me| (me, 1 << 20));
        self.walker.deeper(span, |w| w.subshell(|w| w.invoke(fields, None, within)));
        self.walker.current = current;
    }

    pub(in crate::policy::shell) fn touch(&mut self, role: Role, path: &str) {
        self.walker.touch(role, &Field::known(path, self.span.clone()));
    }

    /// Copies of itself without end: a fork in a loop that never ends.
    pub(in crate::policy::shell) fn is_bomb(&self) -> bool {
        let forks = self.tokens.iter().any(|t| matches!(t, Token::Name { text, .. } if text == "fork"));
        forks
            && (0..self.tokens.len()).any(|i| {
                let mut rest = self.tokens[i + 1..].iter().filter(|t| !matches!(t, Token::Sign('(' | '!')));
                match name_of(self.tokens.get(i)) {
                    "loop" => true,
                    "while" | "until" => match rest.next() {
                        Some(Token::Number(n)) => n != "0",
                        Some(Token::Name { text, .. }) => matches!(text.as_str(), "True" | "true" | "fork" | "os"),
                        _ => false,
                    },
                    "for" => rest.take(2).filter(|t| **t == Token::Sign(';')).count() == 2,
                    _ => false,
                }
            })
    }
}
