//! Insert mode (IRM): what is printed moves what stands right of it instead of replacing it. The emulator does not know it,
//! so each character is sent behind a request for as many blanks as it is wide.

use unicode_width::UnicodeWidthChar as _;

/// Where in a sequence the stream is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    /// ESC and intermediates: one more character ends it.
    Short,
    Control,
    /// OSC, DCS and their like: up to BEL or ESC.
    Text,
}

/// Watches a stream for insert mode.
#[derive(Debug, Default)]
pub(super) struct Insert {
    on: bool,
    state: State,
    /// Parameters of the control sequence so far.
    parameters: Vec<u8>,
    /// Bytes of a character that is not complete.
    begun: Vec<u8>,
}

/// Longer parameters are of no sequence that matters here.
const LONGEST: usize = 64;

impl Insert {
    /// What the emulator is to be given for `bytes`; `None`: just them.
    pub(super) fn through(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let idle = !self.on && self.state == State::Ground && self.begun.is_empty();
        if idle && memchr::memchr(0x1b, bytes).is_none() {
            return None;
        }
        let mut out = Vec::with_capacity(bytes.len() + 16);
        let mut changed = false;
        for &byte in bytes {
            changed |= self.on;
            self.take(byte, &mut out);
        }
        // Outside of insert mode the bytes went through as they were.
        changed.then_some(out)
    }

    fn take(&mut self, byte: u8, out: &mut Vec<u8>) {
        match (self.state, byte) {
            // Cancelled.
            (_, 0x18 | 0x1a) => self.state = State::Ground,
            (_, 0x1b) => self.state = State::Escape,
            (State::Ground, 0x20..=0x7e | 0x80..) if self.on => return self.print(byte, out),
            (State::Ground, _) => {}
            (State::Escape, b'[') => {
                self.parameters.clear();
                self.state = State::Control;
            }
            (State::Escape, b']' | b'P' | b'X' | b'^' | b'_') => self.state = State::Text,
            (State::Escape, 0x20..=0x2f) => self.state = State::Short,
            (State::Escape, b'c') => (self.on, self.state) = (false, State::Ground),
            (State::Escape | State::Short, _) => self.state = State::Ground,
            (State::Control, 0x40..=0x7e) => {
                self.end(byte);
                self.state = State::Ground;
            }
            (State::Control, 0x20..=0x3f) if self.parameters.len() < LONGEST => self.parameters.push(byte),
            (State::Control, _) => {}
            (State::Text, 0x07) => self.state = State::Ground,
            (State::Text, _) => {}
        }
        out.append(&mut self.begun);
        out.push(byte);
    }

    /// A control sequence is complete.
    fn end(&mut self, last: u8) {
        let is_irm = || self.parameters.split(|byte| *byte == b';').any(|mode| mode == b"4");
        match last {
            b'h' if is_irm() => self.on = true,
            b'l' if is_irm() => self.on = false,
            b'p' if self.parameters == b"!" => self.on = false,
            _ => {}
        }
    }

    fn print(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.begun.push(byte);
        match std::str::from_utf8(&self.begun) {
            Ok(text) => {
                let wide = text.chars().next().and_then(char::width).unwrap_or(0);
                if wide > 0 {
                    out.extend(format!("\x1b[{wide}@").bytes());
                }
            }
            // The rest of it is still to come.
            Err(error) if error.error_len().is_none() => return,
            Err(_) => out.extend(b"\x1b[1@"),
        }
        out.append(&mut self.begun);
    }
}

#[cfg(test)]
mod tests {
    use crate::text::screen::Screen;

    fn row(pieces: &[&[u8]]) -> String {
        let mut screen = Screen::new(20, 3);
        pieces.iter().for_each(|piece| screen.feed(piece));
        screen.snapshot().rows[0].spans.iter().map(|span| span.text.as_str()).collect::<String>().trim_end().to_owned()
    }

    #[test]
    fn what_is_inserted_moves_the_rest() {
        let table: [(&[u8], &str); 8] = [
            (b"world\x1b[1G\x1b[4hhello \x1b[4l", "hello world"),
            (b"world\x1b[1G\x1b[4hx\x1b[4lY", "xYorld"),
            ("end\x1b[1G\x1b[4h漢é".as_bytes(), "漢éend"),
            (b"ab\x1b[1G\x1b[4h\x1b[31mX\x1b[m\x1b[4l", "Xab"),
            (b"ab\x1b[1G\x1b[4;20hX", "Xab"),
            (b"ab\x1b[1G\x1b[4h\x1b]0;title\x07X", "Xab"),
            (b"ab\x1b[1G\x1b[4h\x1b[!pX", "Xb"),
            (b"ab\x1b[1G\x1b[?4hX", "Xb"),
        ];
        for (bytes, want) in table {
            assert_eq!(row(&[bytes]), want, "{}", String::from_utf8_lossy(bytes).escape_debug());
            // However it is cut.
            let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(row(&pieces), want, "in pieces: {}", String::from_utf8_lossy(bytes).escape_debug());
        }
    }
}
