//! The text that vi keys act on: characters and a caret, with the lines and words in it.

/// A text and its caret, in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    pub chars: Vec<char>,
    pub at: usize,
}

/// What a character is to a word motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Blank,
    Word,
    Other,
}

impl Text {
    /// A text with its caret at a character.
    pub fn new(text: &str, at: usize) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let at = at.min(chars.len());
        Self { chars, at }
    }

    /// The text as one string.
    pub fn string(&self) -> String {
        self.chars.iter().collect()
    }

    /// The characters of a range, the ends cut to the text.
    pub fn slice(&self, from: usize, to: usize) -> String {
        let to = to.min(self.chars.len());
        self.chars[from.min(to)..to].iter().collect()
    }

    /// Puts text in place of a range.
    pub fn replace(&mut self, from: usize, to: usize, with: &str) {
        let to = to.min(self.chars.len());
        self.chars.splice(from.min(to)..to, with.chars());
    }

    fn class(&self, at: usize, big: bool) -> Class {
        match self.chars.get(at) {
            None => Class::Blank,
            Some(c) if c.is_whitespace() => Class::Blank,
            Some(c) if big || c.is_alphanumeric() || *c == '_' => Class::Word,
            Some(_) => Class::Other,
        }
    }

    /// Whether a place is white space, a line break or the end.
    pub fn is_blank(&self, at: usize) -> bool {
        self.class(at, false) == Class::Blank
    }

    /// The first character of the line that holds a place.
    pub fn line_start(&self, at: usize) -> usize {
        let at = at.min(self.chars.len());
        self.chars[..at].iter().rposition(|c| *c == '\n').map_or(0, |before| before + 1)
    }

    /// The line break after a place, or the end of the text.
    pub fn line_end(&self, at: usize) -> usize {
        let at = at.min(self.chars.len());
        self.chars[at..].iter().position(|c| *c == '\n').map_or(self.chars.len(), |after| at + after)
    }

    /// The first character of a line that is no white space, else its end.
    pub fn first_letter(&self, at: usize) -> usize {
        let (start, end) = (self.line_start(at), self.line_end(at));
        (start..end).find(|at| !self.is_blank(*at)).unwrap_or(end)
    }

    /// The start of the n-th line, counted from 0, or of the last one.
    pub fn nth_line(&self, n: usize) -> usize {
        let mut start = 0;
        for _ in 0..n {
            let end = self.line_end(start);
            if end == self.chars.len() {
                break;
            }
            start = end + 1;
        }
        start
    }

    /// A column of the line some lines further down (or up), cut to that line; `None` past the first or last line.
    pub fn in_line(&self, lines: isize, column: usize) -> Option<usize> {
        let mut start = self.line_start(self.at);
        for _ in 0..lines.unsigned_abs() {
            if lines < 0 {
                start = self.line_start(start.checked_sub(1)?);
            } else {
                let end = self.line_end(start);
                if end == self.chars.len() {
                    return None;
                }
                start = end + 1;
            }
        }
        Some((start + column).min(self.line_end(start)))
    }

    fn is_empty_line(&self, at: usize) -> bool {
        self.line_start(at) == at && self.line_end(at) == at
    }

    /// The start of the next word.
    pub fn word_right(&self, from: usize, big: bool) -> usize {
        let (mut at, last) = (from, self.chars.len());
        let class = self.class(at, big);
        while class != Class::Blank && at < last && self.class(at, big) == class {
            at += 1;
        }
        while at < last && self.is_blank(at) && (at == from || !self.is_empty_line(at)) {
            at += 1;
        }
        at
    }

    /// The start of the word before.
    pub fn word_left(&self, from: usize, big: bool) -> usize {
        let mut at = from;
        while at > 0 {
            at -= 1;
            if !self.is_blank(at) || self.is_empty_line(at) {
                break;
            }
        }
        let class = self.class(at, big);
        while class != Class::Blank && at > 0 && self.class(at - 1, big) == class {
            at -= 1;
        }
        at
    }

    /// The last character of this word, or of the next one when it is that already.
    pub fn word_end(&self, from: usize, big: bool) -> usize {
        let mut at = from + 1;
        while at < self.chars.len() && self.is_blank(at) {
            at += 1;
        }
        self.run_end(at.min(self.chars.len().saturating_sub(1)), big)
    }

    /// The last character of the run of one class that holds a place.
    pub fn run_end(&self, from: usize, big: bool) -> usize {
        let class = self.class(from, big);
        let mut at = from;
        while at + 1 < self.chars.len() && self.chars[at + 1] != '\n' && self.class(at + 1, big) == class {
            at += 1;
        }
        at
    }

    /// The first character of the run of one class that holds a place.
    pub fn run_start(&self, from: usize, big: bool) -> usize {
        let class = self.class(from, big);
        let mut at = from;
        while at > 0 && self.chars[at - 1] != '\n' && self.class(at - 1, big) == class {
            at -= 1;
        }
        at
    }

    /// Keeps the caret on a character, where its line has one.
    pub fn settle(&mut self) {
        self.at = self.at.min(self.chars.len());
        let start = self.line_start(self.at);
        if self.at == self.line_end(self.at) && self.at > start {
            self.at -= 1;
        }
    }
}
