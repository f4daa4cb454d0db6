//! What a dollar sign begins: variables, `${…}`, `$(…)`, arithmetic and `$'…'`.

use super::ast::*;
use super::lex::Mode;
use super::parse::Parser;
use std::rc::Rc;

impl Parser<'_> {
    /// Reads what starts with `$`; false when it is just a dollar sign.
    pub(in crate::policy::shell) fn dollar(&mut self, quoted: bool, inside: bool, out: &mut Vec<Part>) -> bool {
        match self.peek(1) {
            b'(' => {
                if self.peek(2) == b'(' && !self.not_arithmetic.contains(&self.pos) {
                    let start = self.pos;
                    let troubles = self.troubles.len();
                    self.pos += 3;
                    if let Some(words) = self.arithmetic("))") {
                        out.push(Part::Number(words));
                        return true;
                    }
                    self.troubles.truncate(troubles);
                    self.not_arithmetic.insert(start);
                    if !self.reads_again(self.pos - start) {
                        return true;
                    }
                    self.pos = start;
                }
                self.pos += 2;
                let script = self.substitution();
                out.push(Part::Output { script: Rc::new(script), quoted });
            }
            b'[' => {
                self.pos += 2;
                let words = self.arithmetic("]").unwrap_or_default();
                out.push(Part::Number(words));
            }
            b'{' => {
                self.pos += 2;
                self.deeper(|p| p.braces(quoted, out));
            }
            b'\'' if !inside => {
                self.pos += 2;
                let text = self.ansi_c();
                out.push(Part::Quoted(text));
            }
            b'"' if !inside => {
                self.pos += 1;
                self.double(out);
            }
            b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-' | b'0'..=b'9' => {
                let name = char::from(self.peek(1)).to_string();
                self.pos += 2;
                out.push(Part::Variable { name, operation: Operation::Plain, quoted });
            }
            _ => {
                let len = self.name_len(1);
                if len == 0 {
                    return false;
                }
                let name = self.text[self.pos + 1..self.pos + 1 + len].to_owned();
                self.pos += 1 + len;
                out.push(Part::Variable { name, operation: Operation::Plain, quoted });
            }
        }
        true
    }

    /// `${…}` after its opening.
    fn braces(&mut self, quoted: bool, out: &mut Vec<Part>) {
        let open = self.pos - 2;
        let mut operation = Operation::Plain;
        if self.peek(0) == b'!' && self.peek(1) != b'}' {
            self.pos += 1;
            operation = Operation::Indirect;
        } else if self.peek(0) == b'#' && !matches!(self.peek(1), b'}' | b'#' | b'%') {
            self.pos += 1;
            operation = Operation::Other;
        }
        let len = match self.name_len(0) {
            0 if self.peek(0).is_ascii_digit() => {
                self.bytes[self.pos..].iter().take_while(|b| b.is_ascii_digit()).count()
            }
            0 => usize::from(matches!(self.peek(0), b'@' | b'*' | b'#' | b'?' | b'$' | b'!' | b'-')),
            n => n,
        };
        let mut name = self.text[self.pos..self.pos + len].to_owned();
        self.pos += len;
        if self.peek(0) == b'[' {
            self.pos += 1;
            let from = self.pos;
            let mut parts = Vec::new();
            self.parts(Mode::Subscript, &mut parts);
            let index = Word { parts, span: self.origin.span(from..self.pos) };
            self.pos += usize::from(self.peek(0) == b']');
            match index.literal() {
                Some(text) => name = format!("{name}[{text}]"),
                None => {
                    name = format!("{name}[*]");
                    out.push(Part::Number(vec![index]));
                }
            }
        }
        let rest = self.pos;
        if self.peek(0) != b'}' && matches!(operation, Operation::Plain) {
            let colon = usize::from(self.peek(0) == b':');
            let op = self.peek(colon);
            if matches!(op, b'-' | b'=' | b'+' | b'?') {
                self.pos += colon + 1;
                let word = self.brace_word(quoted);
                operation = match op {
                    b'-' | b'=' => Operation::Default(word, op == b'='),
                    b'+' => Operation::Alternative(word),
                    _ => Operation::Error(word),
                };
            } else {
                operation = Operation::Compute(self.brace_word(quoted));
            }
        } else if self.peek(0) != b'}' {
            let _ = self.brace_word(quoted);
            operation = Operation::Other;
        }
        if self.peek(0) == b'}' && !self.done() {
            self.pos += 1;
        } else {
            self.trouble(open.min(rest), "this brace is not closed");
        }
        if name.is_empty() {
            self.trouble(open, "this expansion is not understood");
        }
        out.push(Part::Variable { name, operation, quoted });
    }

    fn brace_word(&mut self, quoted: bool) -> Word {
        let start = self.pos;
        let mut parts = Vec::new();
        self.parts(Mode::Brace { quoted }, &mut parts);
        Word { parts, span: self.origin.span(start..self.pos) }
    }

    /// Arithmetic up to `close`, which is consumed: only its expansions matter. `None` when it does not end so.
    pub(in crate::policy::shell) fn arithmetic(&mut self, close: &str) -> Option<Vec<Word>> {
        let mut words = Vec::new();
        let mut open = 0usize;
        while !self.done() {
            if open == 0 && self.at(close) {
                self.pos += close.len();
                return Some(words);
            }
            let from = self.pos;
            let mut parts = Vec::new();
            match self.peek(0) {
                b'(' => {
                    open += 1;
                    self.pos += 1;
                }
                b')' if open == 0 => return None,
                b')' => {
                    open -= 1;
                    self.pos += 1;
                }
                b'`' => self.backticks(true, &mut parts),
                b'$' => {
                    if !self.deeper(|p| p.dollar(true, true, &mut parts)) {
                        self.pos += 1;
                    }
                }
                // A name stands for its value, which is arithmetic again.
                _ => match self.name_len(0) {
                    0 => self.advance_char(),
                    len => {
                        parts.push(Part::Quoted(self.text[from..from + len].to_owned()));
                        self.pos += len;
                    }
                },
            }
            if !parts.is_empty() {
                words.push(Word { parts, span: self.origin.span(from..self.pos) });
            }
        }
        None
    }

    /// The text of `$'…'` after its opening quote.
    fn ansi_c(&mut self) -> String {
        let open = self.pos - 2;
        let mut text = String::new();
        // A NUL ends the string in bash: what follows up to the quote is read and dropped.
        let mut end = None;
        while !self.done() && self.peek(0) != b'\'' {
            if self.peek(0) != b'\\' {
                let from = self.pos;
                self.advance_char();
                text.push_str(&self.text[from..self.pos]);
                continue;
            }
            self.pos += 1;
            let b = self.peek(0);
            let simple = match b {
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'a' => '\x07',
                b'b' => '\x08',
                b'e' | b'E' => '\x1b',
                b'f' => '\x0c',
                b'v' => '\x0b',
                b'\\' | b'\'' | b'"' | b'?' => char::from(b),
                _ => '\0',
            };
            if simple != '\0' {
                self.pos += 1;
                text.push(simple);
                continue;
            }
            if b == b'c' && self.pos + 1 < self.bytes.len() {
                // A control character; `\c@` is NUL.
                self.pos += 1;
                match self.peek(0) & 0x1f {
                    0 => end = end.or(Some(text.len())),
                    code => text.push(char::from(code)),
                }
                self.advance_char();
                continue;
            }
            let (radix, skip, max) = match b {
                b'x' => (16, 1, 2),
                b'u' => (16, 1, 4),
                b'U' => (16, 1, 8),
                b'0'..=b'7' => (8, 0, 3),
                _ => {
                    text.push('\\');
                    continue;
                }
            };
            self.pos += skip;
            let digits = self.bytes[self.pos.min(self.bytes.len())..]
                .iter()
                .take(max)
                .take_while(|b| char::from(**b).is_digit(radix))
                .count();
            let code = u32::from_str_radix(&self.text[self.pos..self.pos + digits], radix).unwrap_or(0);
            self.pos += digits;
            match char::from_u32(code) {
                Some('\0') => end = end.or(Some(text.len())),
                code => text.extend(code),
            }
        }
        text.truncate(end.unwrap_or(text.len()));
        if self.done() {
            self.trouble(open, "this quote is not closed");
        } else {
            self.pos += 1;
        }
        text
    }
}
