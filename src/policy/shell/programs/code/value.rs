//! What an argument of a call is, where that can be told: texts, lists, paths built from them, variables with a known value.

use super::Lang;
use super::lex::Token;
use crate::policy::shell::walk::resolve::UNKNOWN;
use std::collections::HashMap;

/// A value of code.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Value>),
    /// A name, a number, an object: anything else.
    Other,
}

impl Value {
    /// As one text; what is not known is [`UNKNOWN`].
    pub fn text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::List(all) => all.iter().map(Value::text).collect::<Vec<_>>().join(" "),
            Value::Other => UNKNOWN.to_string(),
        }
    }

    /// As words of a command.
    pub fn words(&self) -> Vec<String> {
        match self {
            Value::List(all) => all.iter().map(Value::text).collect(),
            other => vec![other.text()],
        }
    }
}

/// What is known while values are told.
pub(super) struct Scope<'a> {
    pub lang: Lang,
    pub home: &'a str,
    pub variables: HashMap<String, Value>,
}

/// The place of the bracket that closes the one at `open`.
pub(super) fn close_of(tokens: &[Token], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts between these signs, outside of brackets.
pub(super) fn split<'t>(tokens: &'t [Token], signs: &[char]) -> Vec<&'t [Token]> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (i, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Sign(c) if depth == 0 && signs.contains(c) => {
                parts.push(&tokens[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    if from < tokens.len() || !parts.is_empty() {
        parts.push(&tokens[from..]);
    }
    parts
}

/// Functions that give their first argument, as far as paths go.
const SAME: &[&str] = &[
    "Path",
    "PurePath",
    "PosixPath",
    "str",
    "String",
    "abspath",
    "realpath",
    "resolve",
    "normpath",
    "fspath",
    "new",
    "URL",
    "file",
    "expand_path",
];
const HOME: &[&str] = &["homedir", "home"];
const JOIN: &[&str] = &["join", "joinpath"];

impl Scope<'_> {
    /// The value that these tokens are.
    pub fn value(&self, tokens: &[Token]) -> Value {
        self.value_at(tokens, 0)
    }

    fn value_at(&self, tokens: &[Token], depth: usize) -> Value {
        let tokens = trim(tokens);
        if tokens.is_empty() || depth > 12 {
            return Value::Other;
        }
        // `args=[…]`, `shell=True`, `args: […]`.
        if let [Token::Name { member: false, .. } | Token::Text(_), Token::Sign('=' | ':'), rest @ ..] = tokens
            && !matches!(rest.first(), Some(Token::Sign('=')))
        {
            return self.value_at(rest, depth + 1);
        }
        let joins: &[char] = match self.lang {
            Lang::Perl | Lang::Php | Lang::Lua => &['.', '+'],
            Lang::Python => &['+', '/'],
            _ => &['+'],
        };
        // `"… %s" % value`
        if let ([template, values], Lang::Python | Lang::Ruby) = (split(tokens, &['%']).as_slice(), self.lang)
            && let Value::Text(text) = self.value_at(template, depth + 1)
        {
            return Value::Text(filled(&text, "%s", &self.value_at(values, depth + 1)));
        }
        let parts = split(tokens, joins);
        if parts.len() > 1 {
            let path = self.lang == Lang::Python && tokens.contains(&Token::Sign('/'));
            let mut text = String::new();
            for part in parts.iter().filter(|part| !part.is_empty()) {
                if path && !text.is_empty() && !text.ends_with('/') {
                    text.push('/');
                }
                text.push_str(&self.value_at(part, depth + 1).text());
            }
            return Value::Text(text);
        }
        match tokens {
            [Token::Text(text)] => Value::Text(text.clone()),
            // Texts side by side are one; a template comes after its own code.
            [Token::Text(_), rest @ ..] if rest.iter().all(|t| matches!(t, Token::Text(_) | Token::Break)) => {
                Value::Text(tokens.iter().map(|t| if let Token::Text(t) = t { t.as_str() } else { "" }).collect())
            }
            [Token::Sign('{'), .., Token::Text(text)] if is_template(tokens) => {
                // What is put in, where that is known.
                let (mut out, mut at) = (text.clone(), 0);
                while let (Some(Token::Sign('{')), Some(end)) = (tokens.get(at), close_of(tokens, at)) {
                    let value = self.value_at(&tokens[at + 1..end], depth + 1).text();
                    out = out.replacen(UNKNOWN, if value.contains(UNKNOWN) { "\u{1}" } else { &value }, 1);
                    at = end + 1;
                }
                Value::Text(out.replace('\u{1}', UNKNOWN.to_string().as_str()))
            }
            [Token::Words(words)] => Value::List(words.iter().cloned().map(Value::Text).collect()),
            [Token::Variable(name)] => self.variables.get(name).cloned().unwrap_or(Value::Other),
            [Token::Name { text, member: false }] => self.variables.get(text).cloned().unwrap_or(Value::Other),
            [Token::Sign('['), inner @ .., Token::Sign(']')] if close_of(tokens, 0) == Some(tokens.len() - 1) => {
                Value::List(split(inner, &[',']).into_iter().map(|part| self.value_at(part, depth + 1)).collect())
            }
            [Token::Sign('('), inner @ .., Token::Sign(')')] if close_of(tokens, 0) == Some(tokens.len() - 1) => {
                let all = split(inner, &[',']);
                match all.as_slice() {
                    [one] => self.value_at(one, depth + 1),
                    _ => Value::List(all.into_iter().map(|part| self.value_at(part, depth + 1)).collect()),
                }
            }
            // `{args: ["-rf", "/"]}`
            [Token::Sign('{'), inner @ .., Token::Sign('}')] => {
                let lists = split(inner, &[',']).into_iter().map(|part| self.value_at(part, depth + 1));
                lists.into_iter().find(|v| matches!(v, Value::List(_))).unwrap_or(Value::Other)
            }
            _ => self.chain(tokens, depth),
        }
    }

    /// Calls whose value can be told: `Path.home()`, `os.path.join(a, b)`, `"a b".split()`, `os.environ["HOME"]`.
    fn chain(&self, tokens: &[Token], depth: usize) -> Value {
        let names: Vec<&str> = tokens
            .iter()
            .filter_map(|t| if let Token::Name { text, .. } = t { Some(text.as_str()) } else { None })
            .collect();
        let environment = names.iter().any(|n| matches!(*n, "environ" | "env" | "ENV" | "getenv"))
            || tokens
                .iter()
                .any(|t| matches!(t, Token::Variable(v) if matches!(v.as_str(), "$ENV" | "$_ENV" | "$_SERVER")));
        let says_home = tokens.iter().any(|t| matches!(t, Token::Text(t) if t == "HOME")) || names.contains(&"HOME");
        if environment && says_home && tokens.len() < 12 {
            return Value::Text(self.home.to_owned());
        }
        // `Dir.home`
        if let [.., Token::Name { text: last, member: true }] = tokens
            && HOME.contains(&last.as_str())
        {
            return Value::Text(self.home.to_owned());
        }
        // The last call of the chain.
        let last = tokens.len() - 1;
        if tokens[last] == Token::Sign(')')
            && let Some((open, name)) = self.last_call(tokens)
        {
            let inner = &tokens[open + 1..last];
            let first = || self.arguments_at(inner, depth).into_iter().next().unwrap_or(Value::Other);
            if HOME.contains(&name) && inner.is_empty() {
                return Value::Text(self.home.to_owned());
            }
            if name == "expanduser" || name == "expand_path" || name == "expandvars" {
                let text = if inner.is_empty() {
                    self.value_at(&tokens[..open - 1], depth + 1).text()
                } else {
                    first().text()
                };
                return Value::Text(self.expanded(&text));
            }
            if SAME.contains(&name) {
                return if inner.is_empty() { self.value_at(&tokens[..open - 1], depth + 1) } else { first() };
            }
            if JOIN.contains(&name) {
                let all = self.arguments_at(inner, depth);
                let receiver = self.value_at(&tokens[..open - 1], depth + 1);
                return match (&receiver, all.as_slice()) {
                    (Value::Text(glue), [Value::List(words)]) => {
                        Value::Text(words.iter().map(Value::text).collect::<Vec<_>>().join(glue))
                    }
                    (Value::List(words), [Value::Text(glue)]) => {
                        Value::Text(words.iter().map(Value::text).collect::<Vec<_>>().join(glue))
                    }
                    (Value::Text(base), _) => {
                        Value::Text(joined(std::iter::once(base.clone()).chain(all.iter().map(Value::text))))
                    }
                    _ => Value::Text(joined(all.iter().map(Value::text))),
                };
            }
            if name == "format"
                && let Value::Text(text) = self.value_at(&tokens[..open - 1], depth + 1)
            {
                return Value::Text(filled(&text, "{}", &Value::List(self.arguments_at(inner, depth))));
            }
            if name == "split" {
                let text = self.value_at(&tokens[..open - 1], depth + 1).text();
                return Value::List(text.split_whitespace().map(|w| Value::Text(w.to_owned())).collect());
            }
        }
        Value::Other
    }

    fn arguments_at(&self, tokens: &[Token], depth: usize) -> Vec<Value> {
        split(tokens, &[',']).into_iter().map(|part| self.value_at(part, depth + 1)).collect()
    }

    /// Where the last call of a chain has its parenthesis, and its name.
    fn last_call<'t>(&self, tokens: &'t [Token]) -> Option<(usize, &'t str)> {
        let open = (0..tokens.len())
            .rev()
            .find(|i| tokens[*i] == Token::Sign('(') && close_of(tokens, *i) == Some(tokens.len() - 1))?;
        match tokens.get(open.checked_sub(1)?)? {
            Token::Name { text, .. } => Some((open, text)),
            _ => None,
        }
    }

    fn expanded(&self, text: &str) -> String {
        let text = text.replace("$HOME", self.home).replace("${HOME}", self.home);
        match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", self.home),
            _ => text,
        }
    }
}

/// A text with its marks replaced one after the other.
fn filled(text: &str, mark: &str, values: &Value) -> String {
    values.words().iter().fold(text.to_owned(), |text, value| text.replacen(mark, value, 1))
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for part in parts {
        if part.starts_with('/') {
            out.clear();
        } else if !out.is_empty() && !out.ends_with('/') {
            out.push('/');
        }
        out.push_str(&part);
    }
    out
}

fn trim(mut tokens: &[Token]) -> &[Token] {
    while let [Token::Break, rest @ ..] = tokens {
        tokens = rest;
    }
    while let [rest @ .., Token::Break] = tokens {
        tokens = rest;
    }
    tokens
}

/// `f`-strings and templates: their code in braces, then the text.
fn is_template(tokens: &[Token]) -> bool {
    let mut at = 0;
    while matches!(tokens.get(at), Some(Token::Sign('{'))) {
        match close_of(tokens, at) {
            Some(end) => at = end + 1,
            None => return false,
        }
    }
    at + 1 == tokens.len()
}
