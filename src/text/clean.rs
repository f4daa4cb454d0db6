//! Terminal bytes as plain text: what a person would have read, without escapes and without lost progress bars.
//!
//! Carriage returns, backspaces, erase-line and short cursor moves are applied, so that a progress bar is one line.
//! What was drawn on the alternate screen is left out, as it leaves nothing behind. Nothing is wrapped and nothing is cut.

/// Rows above the current one that a cursor movement can still change.
const REACH: usize = 64;

/// The text that a terminal without a right margin would show for `bytes`. Invalid UTF-8 becomes U+FFFD.
pub fn clean(bytes: &[u8]) -> String {
    cleaned(bytes, false)
}

/// The same for bytes whose beginning is missing: it may lie within an alternate screen, which their end then tells.
pub fn clean_rest(bytes: &[u8]) -> String {
    cleaned(bytes, true)
}

fn cleaned(bytes: &[u8], cut: bool) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.bytes().any(needs_work) && !text.contains('\u{85}') && !has_c1(&text) {
        return text.into_owned();
    }
    let mut page = Page {
        out: String::with_capacity(text.len()),
        open: Vec::new(),
        row: 0,
        column: 0,
        alternate: false,
        cut,
        draws: [false; 2],
        set: 0,
    };
    let mut rest: &str = &text;
    while !rest.is_empty() {
        rest = page.step(rest);
    }
    page.finish()
}

/// Control characters that change the text or must not be in it; line feeds and tabs do neither.
fn needs_work(byte: u8) -> bool {
    byte < 0x20 && byte != b'\n' && byte != b'\t' || byte == 0x7f
}

fn has_c1(text: &str) -> bool {
    // U+0080 to U+009F are the bytes C2 80 to C2 9F.
    text.as_bytes().windows(2).any(|pair| pair[0] == 0xc2 && pair[1] < 0xa0)
}

/// An escape sequence at the start of a text.
struct Sequence<'a> {
    /// Bytes, the introducer included.
    length: usize,
    /// For a control sequence: its parameters and final character.
    control: Option<(&'a str, char)>,
}

/// Measures the sequence that `text` starts with; an unfinished one takes the rest.
fn sequence(text: &str) -> Sequence<'_> {
    let mut chars = text.char_indices();
    let first = chars.next().map_or('\0', |(_, c)| c);
    let (kind, body) = if first == '\x1b' {
        match chars.next() {
            None => return Sequence { length: text.len(), control: None },
            Some((at, c)) => (c, at + c.len_utf8()),
        }
    } else {
        // An eight-bit control stands for ESC and the character 0x40 below.
        let kind = char::from_u32(first as u32 - 0x40).unwrap_or('\0');
        (kind, first.len_utf8())
    };
    match kind {
        '[' => {
            let tail = &text[body..];
            match tail.find(|c: char| !('\x20'..='\x3f').contains(&c)) {
                None => Sequence { length: text.len(), control: None },
                Some(end) => {
                    let last = tail[end..].chars().next().unwrap_or('\0');
                    if ('\x40'..='\x7e').contains(&last) {
                        Sequence { length: body + end + 1, control: Some((&tail[..end], last)) }
                    } else {
                        Sequence { length: body + end, control: None }
                    }
                }
            }
        }
        ']' | 'P' | 'X' | '^' | '_' => Sequence { length: body + string_length(&text[body..]), control: None },
        // ESC, intermediates, final.
        '\x20'..='\x2f' => {
            let tail = &text[body..];
            let end = tail.find(|c: char| !('\x20'..='\x2f').contains(&c)).unwrap_or(tail.len());
            let last = tail[end..].chars().next().map_or(0, char::len_utf8);
            Sequence { length: body + end + last, control: None }
        }
        _ => Sequence { length: body, control: None },
    }
}

/// Length of a control string up to and with its terminator (BEL, ESC \ or the eight-bit ST).
fn string_length(text: &str) -> usize {
    for (at, c) in text.char_indices() {
        match c {
            '\x07' | '\u{9c}' => return at + c.len_utf8(),
            '\x1b' => return if text[at + 1..].starts_with('\\') { at + 2 } else { at },
            _ => {}
        }
    }
    text.len()
}

/// Finished lines as text, and the last few rows as cells that can still change.
struct Page {
    out: String,
    open: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// On the alternate screen, of which nothing is kept.
    alternate: bool,
    /// The beginning is missing, and nothing has told yet on which screen it was.
    cut: bool,
    /// Whether the two sets of characters draw lines, and which one is in use.
    draws: [bool; 2],
    set: usize,
}

/// A character of the set that draws lines (`ESC ( 0`).
fn drawn(c: char) -> char {
    const FROM: &str = "`afgjklmnopqrstuvwxyz{|}~";
    const TO: &str = "◆▒°±┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
    FROM.find(c).and_then(|at| TO.chars().nth(at)).unwrap_or(c)
}

impl Page {
    /// Takes one run of plain text or one control; returns what is left.
    fn step<'a>(&mut self, text: &'a str) -> &'a str {
        let plain = text.char_indices().find(|&(_, c)| c.is_control() && c != '\t').map_or(text.len(), |(at, _)| at);
        if plain > 0 {
            if !self.alternate {
                self.write(&text[..plain]);
            }
            return &text[plain..];
        }
        let c = text.chars().next().unwrap_or('\0');
        match c {
            '\n' | '\r' | '\x08' if self.alternate => &text[1..],
            '\n' => {
                self.line_feed();
                &text[1..]
            }
            '\r' => {
                self.column = 0;
                &text[1..]
            }
            '\x08' => {
                self.column = self.column.saturating_sub(1);
                &text[1..]
            }
            '\x0e' | '\x0f' => {
                self.set = usize::from(c == '\x0e');
                &text[1..]
            }
            '\x1b' | '\u{80}'..='\u{9f}' => {
                let found = sequence(text);
                match &text[..found.length] {
                    "\x1b(0" => self.draws[0] = true,
                    "\x1b)0" => self.draws[1] = true,
                    "\x1bc" => (self.draws, self.set) = ([false; 2], 0),
                    other if other.starts_with("\x1b(") => self.draws[0] = false,
                    other if other.starts_with("\x1b)") => self.draws[1] = false,
                    _ => {}
                }
                match found.control {
                    Some((parameters, last @ ('h' | 'l'))) => self.switch(parameters, last == 'h'),
                    Some((parameters, last)) if !self.alternate => self.control(parameters, last),
                    _ => {}
                }
                &text[found.length..]
            }
            c => &text[c.len_utf8()..],
        }
    }

    /// Sets or resets modes: one of them is the screen.
    fn switch(&mut self, parameters: &str, on: bool) {
        let Some(modes) = parameters.strip_prefix('?') else { return };
        if !modes.split(';').any(|mode| matches!(mode, "47" | "1047" | "1049")) {
            return;
        }
        if std::mem::take(&mut self.cut) && !on {
            self.out.clear();
            self.open.clear();
            (self.row, self.column) = (0, 0);
        }
        self.alternate = on;
    }

    fn row(&mut self) -> &mut Vec<char> {
        while self.open.len() <= self.row {
            self.open.push(Vec::new());
        }
        &mut self.open[self.row]
    }

    fn write(&mut self, text: &str) {
        let column = self.column;
        let draws = self.draws[self.set];
        let row = self.row();
        if row.len() < column {
            row.resize(column, ' ');
        }
        let mut at = column;
        for c in text.chars().map(|c| if draws { drawn(c) } else { c }) {
            match row.get_mut(at) {
                Some(cell) => *cell = c,
                None => row.push(c),
            }
            at += 1;
        }
        self.column = at;
    }

    fn line_feed(&mut self) {
        self.row += 1;
        self.column = 0;
        self.row();
        // Rows beyond the reach of cursor movements are final.
        if self.row > REACH {
            let first = self.open.remove(0);
            push_row(&mut self.out, &first);
            self.row -= 1;
        }
    }

    fn control(&mut self, parameters: &str, last: char) {
        if parameters.starts_with(['?', '>', '<', '=']) {
            return;
        }
        let mut numbers = parameters.split([';', ':']).map(|n| n.parse::<usize>().ok());
        let first = numbers.next().flatten();
        let count = first.unwrap_or(1).max(1);
        match last {
            'A' | 'F' => {
                self.row = self.row.saturating_sub(count);
                if last == 'F' {
                    self.column = 0;
                }
            }
            'B' | 'E' => {
                self.row = (self.row + count).min(self.open.len().saturating_sub(1).max(self.row));
                if last == 'E' {
                    self.column = 0;
                }
            }
            // A bound keeps a hostile number from filling memory with blanks.
            'C' => self.column = (self.column + count).min(4096.max(self.column)),
            'D' => self.column = self.column.saturating_sub(count),
            'G' | '`' => self.column = (count - 1).min(4096),
            'H' | 'f' => {
                // An absolute position has no meaning in a stream: what follows begins on a line of its own.
                self.row = self.open.len().saturating_sub(1);
                if !self.row().is_empty() {
                    self.row = self.open.len();
                }
                self.column = 0;
            }
            'K' => {
                let column = self.column;
                let row = self.row();
                match first.unwrap_or(0) {
                    0 => row.truncate(column),
                    1 => row.iter_mut().take(column + 1).for_each(|c| *c = ' '),
                    _ => row.clear(),
                }
            }
            'J' if first.unwrap_or(0) == 0 => {
                let column = self.column;
                self.row().truncate(column);
                self.open.truncate(self.row + 1);
            }
            'P' => {
                let column = self.column;
                let row = self.row();
                if column < row.len() {
                    row.drain(column..(column + count).min(row.len()));
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> String {
        // A line feed at the end has opened an empty row, so joining puts it back.
        let open = std::mem::take(&mut self.open);
        for (index, row) in open.iter().enumerate() {
            if index > 0 {
                self.out.push('\n');
            }
            self.out.extend(row);
        }
        self.out
    }
}

fn push_row(out: &mut String, row: &[char]) {
    out.extend(row);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_lines_are_lines() {
        for (bytes, want) in
            [(&b"\x1b(0lqqk\x1b(B\nx lx"[..], "┌──┐\nx lx"), (b"\x1b)0a\x0eqq\x0fq", "a──q"), (b"\x1b(0x\x1bcx", "│x")]
        {
            assert_eq!(clean(bytes), want, "{}", String::from_utf8_lossy(bytes).escape_debug());
        }
    }

    #[test]
    fn cleans_as_the_cases_say() {
        let cases = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/ansi-strip.jsonl"));
        for line in cases.lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = case["text"].as_str().unwrap();
            assert_eq!(clean(text.as_bytes()), case["sanitize_display"].as_str().unwrap(), "{text:?}");
        }
    }

    #[test]
    fn applies_what_a_terminal_would() {
        let cases: &[(&str, &str)] = &[
            ("a\nb\n", "a\nb\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
            ("long line\r\x1b[Kshort\n", "short\n"),
            ("abc\x08\x08X\n", "aXc\n"),
            ("ab\x1b[1;32mcd\x1b[0m", "abcd"),
            ("one\ntwo\nthree\n\x1b[2A\x1b[2KTWO\n\x1b[1B", "one\nTWO\nthree\n"),
            ("tab\there", "tab\there"),
            ("bell\x07 null\0", "bell null"),
            ("\x1b]0;title\x07x", "x"),
            ("wide 日本\r日", "日ide 日本"),
            ("a\x1b[3Cb", "a   b"),
            ("\r\n\r\nx", "\n\nx"),
            ("x\x1b[2J\x1b[Hy", "x\ny"),
            ("a\n\x1b[?1049h\x1b[Hmenu\x1b[5;5Hq\r\n\x1b[?1049lb\n", "a\nb\n"),
            ("a\x1b[?1;47hnever left", "a"),
            ("a\x1b[?1049lb", "ab"),
        ];
        for (input, expected) in cases {
            assert_eq!(clean(input.as_bytes()), *expected, "{input:?}");
        }
    }

    #[test]
    fn a_rest_may_begin_on_the_alternate_screen() {
        for (input, expected) in [
            ("enu\x1b[7;1H\x1b[?25h\x1b[?1049lb\n", "b\n"),
            ("b\n\x1b[?1049hmenu", "b\n"),
            ("b\n\x1b[?1049hmenu\x1b[?1049lc", "b\nc"),
            ("\x1b[?1000l\x1b[4lb", "b"),
        ] {
            assert_eq!(clean_rest(input.as_bytes()), expected, "{input:?}");
        }
    }

    #[test]
    fn keeps_all_lines_of_a_long_stream() {
        let input: String = (0..500).map(|n| format!("{n}%\r{n} done\r\n")).collect();
        let expected: String = (0..500).map(|n| format!("{n} done\n")).collect();
        assert_eq!(clean(input.as_bytes()), expected);
    }

    #[test]
    fn survives_invalid_bytes() {
        assert_eq!(clean(b"a\xff\xfeb"), "a\u{fffd}\u{fffd}b");
        assert_eq!(clean(b"\x1b[999999999Cx").chars().count(), 4097);
    }

    proptest::proptest! {
        #[test]
        fn never_panics(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200)) {
            let text = clean(&bytes);
            proptest::prop_assert!(!text.contains('\x1b'));
        }
    }
}
