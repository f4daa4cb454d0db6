//! Strings of code: their escapes, and the code inside them.

use super::Lang;
use super::lex::{Lexer, Token};
use crate::policy::shell::walk::resolve::UNKNOWN;

impl Lexer {
    /// A string in quotes. `raw`: backslashes stay; `format`: braces hold code.
    pub fn quoted(&mut self, raw: bool, format: bool) {
        let quote = self.peek(0);
        let triple = self.lang == Lang::Python && self.peek(1) == quote && self.peek(2) == quote;
        let size = if triple { 3 } else { 1 };
        self.at += size;
        let single = quote == '\'' && matches!(self.lang, Lang::Perl | Lang::Php | Lang::Ruby);
        let (mut text, mut closed) = (String::new(), false);
        // Code inside a string has quotes of its own.
        let mark = match self.lang {
            Lang::Python if format => "{",
            Lang::Js if quote == '`' => "$",
            Lang::Ruby if quote == '"' => "#",
            _ => "",
        };
        while self.at < self.chars.len() {
            let c = self.peek(0);
            if mark.contains(c) && (mark == "{" || self.peek(1) == '{') {
                self.code_within(&mut text, mark == "{");
                continue;
            }
            if c == quote && (!triple || (self.peek(1) == quote && self.peek(2) == quote)) {
                self.at += size;
                closed = true;
                break;
            }
            self.at += 1;
            if c != '\\' || self.at >= self.chars.len() {
                text.push(c);
                continue;
            }
            let escaped = self.peek(0);
            self.at += 1;
            match escaped {
                '\n' => {}
                _ if raw || (single && escaped != quote && escaped != '\\') => text.extend(['\\', escaped]),
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'x' | 'u' => {
                    let braces = self.peek(0) == '{';
                    self.at += usize::from(braces);
                    let max = match (escaped, braces) {
                        (_, true) => 6,
                        ('x', _) => 2,
                        _ => 4,
                    };
                    let mut digits = String::new();
                    while digits.len() < max && self.peek(0).is_ascii_hexdigit() {
                        digits.push(self.peek(0));
                        self.at += 1;
                    }
                    self.at += usize::from(braces && self.peek(0) == '}');
                    text.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
                }
                '0'..='7' => {
                    let mut digits = escaped.to_string();
                    while digits.len() < 3 && matches!(self.peek(0), '0'..='7') {
                        digits.push(self.peek(0));
                        self.at += 1;
                    }
                    text.extend(
                        u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32).filter(|c| *c != UNKNOWN),
                    );
                }
                other => text.push(other),
            }
        }
        self.whole &= closed;
        let text = match self.lang {
            Lang::Python if format => self.filled(&text, "{"),
            Lang::Js if quote == '`' => self.filled(&text, "${"),
            Lang::Ruby if quote == '"' => self.filled(&text, "#{"),
            Lang::Perl | Lang::Php if quote == '"' => self.interpolated(&text),
            _ => text,
        };
        self.out.push(Token::Text(text));
    }

    /// Takes a bracket with the code in it, as it stands. `doubled`: two of them are one of the text.
    fn code_within(&mut self, text: &mut String, doubled: bool) {
        if doubled && self.peek(1) == '{' {
            text.push_str("{{");
            self.at += 2;
            return;
        }
        let mut open = 0;
        while self.at < self.chars.len() {
            let c = self.peek(0);
            self.at += 1;
            text.push(c);
            open += i32::from(c == '{') - i32::from(c == '}');
            if c == '}' && open == 0 {
                return;
            }
        }
    }

    /// The text with its code replaced by [`UNKNOWN`]; the code itself goes to the tokens before it, in braces.
    fn filled(&mut self, text: &str, mark: &str) -> String {
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(mark) {
            out.push_str(&rest[..at]);
            rest = &rest[at + mark.len()..];
            if mark == "{" && rest.starts_with('{') {
                out.push('{');
                rest = &rest[1..];
                continue;
            }
            let mut open = 1;
            let end = rest
                .char_indices()
                .find(|(_, c)| {
                    open += i32::from(*c == '{') - i32::from(*c == '}');
                    open == 0
                })
                .map_or(rest.len(), |(i, _)| i);
            self.whole &= end < rest.len() && self.depth < 4;
            let code = rest[..end].to_owned();
            rest = rest.get(end + 1..).unwrap_or("");
            out.push(UNKNOWN);
            // `{value:>10}` and `{value!r}` end the code.
            let code = if mark == "{" { code.split(['!', ':']).next().unwrap_or("").to_owned() } else { code };
            if self.depth < 4 {
                let mut inner = Lexer {
                    chars: code.chars().collect(),
                    at: 0,
                    lang: self.lang,
                    out: Vec::new(),
                    whole: true,
                    depth: self.depth + 1,
                };
                inner.run();
                self.whole &= inner.whole;
                self.out.push(Token::Sign('{'));
                self.out.append(&mut inner.out);
                self.out.push(Token::Sign('}'));
            }
        }
        out.push_str(rest);
        out
    }

    /// A text of Perl or PHP: variables in it are unknown, and code in braces was not read.
    pub fn interpolated(&mut self, text: &str) -> String {
        if self.lang == Lang::Ruby {
            return self.filled(text, "#{");
        }
        self.whole &= !(text.contains("@{") || text.contains("${") || text.contains("{$") || text.contains("$ENV"));
        let mut out = String::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let sigil = c == '$' || (c == '@' && self.lang == Lang::Perl);
            if sigil && chars.peek().is_some_and(|n| n.is_alphanumeric() || *n == '_') {
                while chars.peek().is_some_and(|n| n.is_alphanumeric() || *n == '_') {
                    chars.next();
                }
                out.push(UNKNOWN);
            } else {
                out.push(c);
            }
        }
        out
    }
}
