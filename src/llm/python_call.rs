//! Calls in Python's form, `read_file(path="a", limit=3)`: names and literals only, nothing is evaluated.

use serde_json::{Map, Number, Value};

/// Reads one call, or a list of calls in brackets, that make up the whole text. Keyword arguments only.
pub(super) fn parse(text: &str) -> Option<Vec<(String, Value)>> {
    let mut reader = Reader { rest: text.trim(), depth: 0 };
    let mut calls = Vec::new();
    if reader.eat('[') {
        loop {
            calls.push(reader.call()?);
            if !reader.eat(',') {
                break;
            }
        }
        reader.eat(']').then_some(())?;
    } else {
        while !reader.rest.is_empty() {
            calls.push(reader.call()?);
            reader.skip();
        }
    }
    reader.skip();
    (reader.rest.is_empty() && !calls.is_empty()).then_some(calls)
}

struct Reader<'a> {
    rest: &'a str,
    depth: u8,
}

/// Deeper nesting is no tool call.
const MAX_DEPTH: u8 = 32;

impl<'a> Reader<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, wanted: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> Option<&'a str> {
        self.skip();
        let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        self.rest = if is_name { rest } else { self.rest };
        is_name.then_some(word)
    }

    fn call(&mut self) -> Option<(String, Value)> {
        let name = self.word()?.to_owned();
        // Only `name(`: a space between would be prose with a bracket.
        self.rest = self.rest.strip_prefix('(')?;
        let mut args = Map::new();
        while !self.eat(')') {
            let key = self.word()?.to_owned();
            self.eat('=').then_some(())?;
            args.insert(key, self.value()?);
            if !self.eat(',') {
                self.eat(')').then_some(())?;
                break;
            }
        }
        Some((name, Value::Object(args)))
    }

    fn value(&mut self) -> Option<Value> {
        self.depth += 1;
        let value = if self.depth > MAX_DEPTH { None } else { self.value_inside() };
        self.depth -= 1;
        value
    }

    fn value_inside(&mut self) -> Option<Value> {
        self.skip();
        match self.rest.chars().next()? {
            '"' | '\'' => self.string().map(Value::String),
            '[' => {
                self.eat('[');
                let mut list = Vec::new();
                while !self.eat(']') {
                    list.push(self.value()?);
                    if !self.eat(',') {
                        self.eat(']').then_some(())?;
                        break;
                    }
                }
                Some(Value::Array(list))
            }
            '{' => {
                self.eat('{');
                let mut map = Map::new();
                while !self.eat('}') {
                    self.skip();
                    let key = self.string()?;
                    self.eat(':').then_some(())?;
                    map.insert(key, self.value()?);
                    if !self.eat(',') {
                        self.eat('}').then_some(())?;
                        break;
                    }
                }
                Some(Value::Object(map))
            }
            '-' | '0'..='9' => {
                let end =
                    self.rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c)).unwrap_or(self.rest.len());
                let (number, rest) = self.rest.split_at(end);
                self.rest = rest;
                number
                    .parse::<i64>()
                    .map(Value::from)
                    .ok()
                    .or_else(|| Number::from_f64(number.parse().ok()?).map(Value::Number))
            }
            _ => match self.word()? {
                "True" | "true" => Some(Value::Bool(true)),
                "False" | "false" => Some(Value::Bool(false)),
                "None" | "null" => Some(Value::Null),
                _ => None,
            },
        }
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.rest.get(..1).filter(|quote| matches!(*quote, "\"" | "'"))?;
        let triple = quote.repeat(3);
        let end = if self.rest.starts_with(&triple) { triple.as_str() } else { quote };
        let mut rest = self.rest.get(end.len()..)?;
        let mut out = String::new();
        loop {
            if let Some(after) = rest.strip_prefix(end) {
                self.rest = after;
                return Some(out);
            }
            let mut chars = rest.chars();
            match chars.next()? {
                '\\' => match chars.next()? {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    '\n' => {}
                    same @ ('\\' | '"' | '\'') => out.push(same),
                    other => out.extend(['\\', other]),
                },
                '\n' if end.len() == 1 => return None,
                letter => out.push(letter),
            }
            rest = chars.as_str();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn literals_become_json() {
        let table = [
            (r#"f(a="x", b=3, c=-1.5, d=True, e=None)"#, json!({"a": "x", "b": 3, "c": -1.5, "d": true, "e": null})),
            ("f(a='it\\'s', b=\"\"\"two\nlines\"\"\")", json!({"a": "it's", "b": "two\nlines"})),
            (r#"f(todos=[{"id": "1", 'content': "a, (b)"},], )"#, json!({"todos": [{"id": "1", "content": "a, (b)"}]})),
            ("f()", json!({})),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), Some(vec![("f".to_owned(), expected)]), "{text}");
        }
        assert_eq!(parse("[f(a=1), g(b=2)]").map(|calls| calls.len()), Some(2));
        assert_eq!(parse("f(a=1)\ng()").map(|calls| calls.len()), Some(2));
    }

    #[test]
    fn anything_else_is_not_a_call() {
        let deep = format!("f(a={}1{})", "[".repeat(99), "]".repeat(99));
        for text in
            ["", "f", "f (a=1)", "f(1)", "f(a=b)", "f(a=1) and more", "f(a=\"open)", "f(a=1", "x = f(a=1)", &deep]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
