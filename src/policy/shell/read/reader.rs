//! Steps through the text of a line: characters, blanks, reserved words, and what could not be read.

use super::parse::Parser;

/// Nested lists, substitutions and compound commands that are followed.
const MAX_DEPTH: usize = 48;
/// Bytes that are read again. Bodies within substitutions within arithmetic would be read twice at each level.
const MAX_AGAIN: usize = 512 * 1024;
/// Reserved words that end or divide a list.
const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}", "in"];

impl Parser<'_> {
    pub(in crate::policy::shell) fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    pub(in crate::policy::shell) fn at(&self, text: &str) -> bool {
        self.bytes[self.pos.min(self.bytes.len())..].starts_with(text.as_bytes())
    }

    pub(in crate::policy::shell) fn done(&self) -> bool {
        self.pos >= self.bytes.len()
    }

    pub(super) fn advance_char(&mut self) {
        self.pos += self.text[self.pos..].chars().next().map_or(1, char::len_utf8);
    }

    pub(super) fn trouble(&mut self, at: usize, what: &'static str) {
        if self.troubles.len() < 8 {
            let at = self.text.floor_char_boundary(at);
            let end = self.text[at..].chars().next().map_or(at, |c| at + c.len_utf8());
            self.troubles.push((self.origin.span(at..end), what));
        }
    }

    /// Whether so many bytes may be read once more; otherwise the rest of the text is left, which is noted.
    pub(super) fn reads_again(&mut self, bytes: usize) -> bool {
        self.again += bytes;
        let ok = self.again <= MAX_AGAIN;
        if !ok {
            self.trouble(self.pos, "this is nested too deep to check");
            self.pos = self.bytes.len();
        }
        ok
    }

    pub(in crate::policy::shell) fn deeper<T: Default>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        if self.depth >= MAX_DEPTH {
            self.trouble(self.pos, "this is nested too deep to check");
            self.pos = self.bytes.len();
            return T::default();
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' => self.pos += 1,
                b'\\' if self.peek(1) == b'\n' => self.pos += 2,
                b'#' if self.pos == 0
                    || matches!(self.bytes[self.pos - 1], b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')') =>
                {
                    while !self.done() && self.peek(0) != b'\n' {
                        self.pos += 1;
                    }
                }
                _ => return,
            }
        }
    }

    pub(super) fn skip_lines(&mut self) {
        loop {
            self.skip_blanks();
            if self.peek(0) != b'\n' {
                return;
            }
            self.newline();
        }
    }

    pub(super) fn newline(&mut self) {
        self.pos += 1;
        if !self.pending.is_empty() {
            self.read_heredocs();
        }
    }

    /// The bare word at the current place, when it is a reserved word that ends or divides a list.
    pub(super) fn peek_keyword(&self) -> Option<&'static str> {
        CLOSERS.iter().copied().find(|k| self.at_keyword(k))
    }

    pub(super) fn at_keyword(&self, keyword: &str) -> bool {
        self.at(keyword)
            && matches!(
                self.peek(keyword.len()),
                0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>'
            )
    }

    pub(super) fn keyword(&mut self, keyword: &str) -> bool {
        self.skip_lines();
        let here = self.at_keyword(keyword);
        if here {
            self.pos += keyword.len();
        }
        here
    }

    pub(in crate::policy::shell) fn require(&mut self, keyword: &str) {
        if !self.keyword(keyword) {
            self.trouble(self.pos.min(self.bytes.len()), "this compound command is not complete");
        }
    }

    /// Passes a word or character that cannot stand here.
    pub(super) fn skip_stray(&mut self) {
        match self.peek_keyword() {
            Some(keyword) => self.pos += keyword.len(),
            None => self.advance_char(),
        }
    }
}
