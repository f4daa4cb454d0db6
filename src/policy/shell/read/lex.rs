//! From text to words: quotes, escapes and substitutions; `dollar` reads what `$` begins.

use super::ast::*;
use super::parse::{Parser, parse_again};
use super::source::Origin;
use std::rc::Rc;

/// What ends a run of parts, and what quotes mean in it.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::policy::shell) enum Mode {
    /// Ends at an operator or a blank.
    Word,
    /// Between double quotes.
    Double,
    /// The body of a here-document: to the end.
    Heredoc,
    /// After the operator of `${…}`.
    Brace { quoted: bool },
    /// Between brackets.
    Subscript,
}

impl Parser<'_> {
    /// The next word, when one starts here.
    pub(in crate::policy::shell) fn word(&mut self) -> Option<Word> {
        let start = self.pos;
        let mut parts = Vec::new();
        self.parts(Mode::Word, &mut parts);
        (self.pos > start).then(|| Word { parts, span: self.origin.span(start..self.pos) })
    }

    pub(super) fn heredoc_parts(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        self.parts(Mode::Heredoc, &mut parts);
        parts
    }

    /// `name=value` when one starts here.
    pub(in crate::policy::shell) fn assign(&mut self) -> Option<Assign> {
        let start = self.pos;
        let name_len = self.name_len(0);
        if name_len == 0 {
            return None;
        }
        if !matches!(self.peek(name_len), b'=' | b'[' | b'+') {
            return None;
        }
        let name = self.text[start..start + name_len].to_owned();
        self.pos += name_len;
        let mut index = None;
        if self.peek(0) == b'[' {
            self.pos += 1;
            let from = self.pos;
            let mut parts = Vec::new();
            self.parts(Mode::Subscript, &mut parts);
            index = Some(Word { parts, span: self.origin.span(from..self.pos) });
            if self.peek(0) != b']' {
                self.pos = start;
                return None;
            }
            self.pos += 1;
        }
        let append = self.peek(0) == b'+';
        self.pos += usize::from(append);
        if self.peek(0) != b'=' {
            self.pos = start;
            return None;
        }
        self.pos += 1;
        let mut values = Vec::new();
        let array = self.peek(0) == b'(';
        if array {
            self.pos += 1;
            loop {
                self.skip_lines();
                match self.word() {
                    Some(word) => values.push(word),
                    None => break,
                }
            }
            if self.peek(0) == b')' {
                self.pos += 1;
            } else {
                self.trouble(start, "this array is not closed");
            }
        } else {
            values.extend(self.word());
        }
        Some(Assign { name, index, values, append, array, span: self.origin.span(start..self.pos) })
    }

    pub(super) fn name_len(&self, ahead: usize) -> usize {
        let rest = &self.bytes[(self.pos + ahead).min(self.bytes.len())..];
        match rest.first() {
            Some(b) if b.is_ascii_alphabetic() || *b == b'_' => {
                rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
            }
            _ => 0,
        }
    }

    pub(in crate::policy::shell) fn parts(&mut self, mode: Mode, out: &mut Vec<Part>) {
        let quoted = matches!(mode, Mode::Double | Mode::Heredoc | Mode::Brace { quoted: true });
        let mut text = String::new();
        let flush = |text: &mut String, out: &mut Vec<Part>| {
            if !text.is_empty() {
                let taken = std::mem::take(text);
                out.push(if quoted { Part::Quoted(taken) } else { Part::Plain(taken) });
            }
        };
        while !self.done() {
            let b = self.peek(0);
            let ends = match mode {
                Mode::Word => {
                    matches!(b, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')')
                        || (b == b'(')
                        || (matches!(b, b'<' | b'>') && self.peek(1) != b'(')
                }
                Mode::Double => b == b'"',
                Mode::Heredoc => false,
                Mode::Brace { .. } => b == b'}',
                Mode::Subscript => b == b']',
            };
            if b == b'(' && mode == Mode::Word && text.ends_with(['@', '?', '*', '+', '!']) && self.extended(&mut text)
            {
                continue;
            }
            if ends {
                break;
            }
            match b {
                b'\\' => {
                    let next = self.peek(1);
                    if next == b'\n' {
                        self.pos += 2;
                    } else if self.pos + 1 >= self.bytes.len()
                        || (matches!(mode, Mode::Double | Mode::Heredoc)
                            && !matches!(next, b'$' | b'`' | b'\\')
                            && !(next == b'"' && mode == Mode::Double))
                    {
                        text.push('\\');
                        self.pos += 1;
                    } else {
                        flush(&mut text, out);
                        self.pos += 1;
                        let from = self.pos;
                        self.advance_char();
                        out.push(Part::Quoted(self.text[from..self.pos].to_owned()));
                    }
                }
                b'\'' if !quoted => {
                    flush(&mut text, out);
                    let from = self.pos + 1;
                    match self.text[from..].find('\'') {
                        Some(len) => {
                            out.push(Part::Quoted(self.text[from..from + len].to_owned()));
                            self.pos = from + len + 1;
                        }
                        None => {
                            self.trouble(self.pos, "this quote is not closed");
                            out.push(Part::Quoted(self.text[from..].to_owned()));
                            self.pos = self.bytes.len();
                        }
                    }
                }
                b'"' if matches!(mode, Mode::Word | Mode::Subscript | Mode::Brace { .. }) => {
                    flush(&mut text, out);
                    self.double(out);
                }
                b'`' => {
                    flush(&mut text, out);
                    self.backticks(quoted, out);
                }
                b'$' => {
                    flush(&mut text, out);
                    if !self.dollar(quoted, matches!(mode, Mode::Double | Mode::Heredoc), out) {
                        text.push('$');
                        self.pos += 1;
                    }
                }
                b'<' | b'>' if mode == Mode::Word && self.peek(1) == b'(' => {
                    flush(&mut text, out);
                    self.pos += 2;
                    let script = self.substitution();
                    out.push(Part::Process { script: Rc::new(script), writes: b == b'>' });
                }
                _ => {
                    let from = self.pos;
                    self.advance_char();
                    text.push_str(&self.text[from..self.pos]);
                }
            }
        }
        flush(&mut text, out);
    }

    /// `@(a|b)` and the like, after its first character: whatever is between the parentheses, it is a pattern. False when it is
    /// more than plain text.
    fn extended(&mut self, text: &mut String) -> bool {
        let mut depth = 0usize;
        for (i, b) in self.bytes[self.pos..].iter().enumerate() {
            match b {
                b'(' => depth += 1,
                b')' => depth -= 1,
                b'$' | b'`' | b'\'' | b'"' | b'\n' | b'<' | b'>' | b';' | b'&' => return false,
                _ => {}
            }
            if depth == 0 {
                self.pos += i + 1;
                text.pop();
                text.push('*');
                return true;
            }
        }
        false
    }

    pub(in crate::policy::shell) fn double(&mut self, out: &mut Vec<Part>) {
        let open = self.pos;
        self.pos += 1;
        let before = out.len();
        self.deeper(|p| p.parts(Mode::Double, out));
        if out.len() == before {
            out.push(Part::Quoted(String::new()));
        }
        if self.peek(0) == b'"' && !self.done() {
            self.pos += 1;
        } else {
            self.trouble(open, "this quote is not closed");
        }
    }

    /// Steps up to the closing parenthesis, which is consumed.
    pub(in crate::policy::shell) fn substitution(&mut self) -> Script {
        let open = self.pos.saturating_sub(2);
        let script = self.deeper(|p| {
            let mut script = Vec::new();
            loop {
                script.append(&mut p.inner_list());
                if p.done() || p.peek(0) == b')' {
                    return script;
                }
                p.trouble(p.pos, "this is not valid shell");
                p.skip_stray();
            }
        });
        if self.peek(0) == b')' && !self.done() {
            self.pos += 1;
        } else {
            self.trouble(open, "this substitution is not closed");
        }
        script
    }

    pub(super) fn backticks(&mut self, quoted: bool, out: &mut Vec<Part>) {
        let open = self.pos;
        let mut inner = String::new();
        let mut changed = false;
        self.pos += 1;
        while !self.done() && self.peek(0) != b'`' {
            if self.peek(0) == b'\\'
                && (matches!(self.peek(1), b'`' | b'\\' | b'$') || (quoted && self.peek(1) == b'"'))
            {
                changed = true;
                self.pos += 1;
            }
            let from = self.pos;
            self.advance_char();
            inner.push_str(&self.text[from..self.pos]);
        }
        let end = self.pos.min(self.bytes.len());
        if self.done() {
            self.trouble(open, "this backtick is not closed");
        }
        self.pos = (end + 1).min(self.bytes.len());
        let origin =
            if changed { Origin::Fixed(self.origin.span(open..self.pos)) } else { self.origin.slice(open + 1..end) };
        let depth = self.depth + 1;
        if !self.reads_again(inner.len()) {
            return;
        }
        let mut parsed = self.deeper(|p| parse_again(&inner, origin, depth, &mut p.again));
        self.troubles.append(&mut parsed.troubles);
        self.names.extend(parsed.names);
        out.push(Part::Output { script: Rc::new(parsed.script), quoted });
    }
}
