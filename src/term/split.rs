//! Escape sequences that came in pieces. A terminal that is far away, or within another one, may send `ESC` and the rest of
//! a key apart: read as Esc and text they would be typed into whatever has the keys.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// Keys of a sequence at most: `[24;8~`.
const LONGEST: usize = 8;

/// What may be the beginning of a sequence. Who reads hands out [`Split::rest`] when nothing followed at once.
#[derive(Default)]
pub(super) struct Split {
    held: Vec<KeyEvent>,
}

impl Split {
    /// The events that are known to be what they are, now that this one came.
    pub(super) fn take(&mut self, event: Event) -> Vec<Event> {
        let Event::Key(key) = event else {
            let mut out = self.rest();
            out.push(event);
            return out;
        };
        let begins = key.code == KeyCode::Esc && key.modifiers.is_empty() && key.kind == KeyEventKind::Press;
        if begins {
            let out = self.rest();
            self.held.push(key);
            return out;
        }
        if self.held.is_empty() {
            return vec![event];
        }
        self.held.push(key);
        match self.read() {
            Read::More if self.held.len() < LONGEST => Vec::new(),
            Read::Key(key) => {
                self.held.clear();
                vec![Event::Key(key)]
            }
            Read::More | Read::Other => self.rest(),
        }
    }

    /// Whether something may be the beginning of a sequence.
    pub(super) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// What was held back, as it came.
    pub(super) fn rest(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.held).into_iter().map(Event::Key).collect()
    }

    fn read(&self) -> Read {
        let mut text = String::new();
        for key in self.held.iter().skip(1) {
            match key.code {
                // A capital letter is told with Shift.
                KeyCode::Char(char) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => text.push(char),
                _ => return Read::Other,
            }
        }
        let Some((kind, rest)) = text.split_at_checked(1) else { return Read::Other };
        match (kind, rest.chars().last()) {
            ("[" | "O", None) => Read::More,
            ("[", Some('0'..='9' | ';')) => Read::More,
            ("[" | "O", Some(end)) => key(&rest[..rest.len() - end.len_utf8()], end).map_or(Read::Other, Read::Key),
            _ => Read::Other,
        }
    }
}

enum Read {
    More,
    Key(KeyEvent),
    Other,
}

/// The key of a sequence, by its numbers and its last letter. Source: xterm's `ctlseqs`, "PC-Style Function Keys".
fn key(numbers: &str, end: char) -> Option<KeyEvent> {
    let (number, modifiers) = numbers.split_once(';').unwrap_or((numbers, "1"));
    let code = match (end, number) {
        ('A', _) => KeyCode::Up,
        ('B', _) => KeyCode::Down,
        ('C', _) => KeyCode::Right,
        ('D', _) => KeyCode::Left,
        ('H', _) => KeyCode::Home,
        ('F', _) => KeyCode::End,
        ('Z', "") => return Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
        ('P'..='S', _) => KeyCode::F(end as u8 - b'P' + 1),
        ('~', number) => match number.parse::<u8>().ok()? {
            1 | 7 => KeyCode::Home,
            2 => KeyCode::Insert,
            3 => KeyCode::Delete,
            4 | 8 => KeyCode::End,
            5 => KeyCode::PageUp,
            6 => KeyCode::PageDown,
            number @ 11..=15 => KeyCode::F(number - 10),
            number @ 17..=21 => KeyCode::F(number - 11),
            number @ 23..=24 => KeyCode::F(number - 12),
            _ => return None,
        },
        _ => return None,
    };
    let mask = modifiers.parse::<u8>().ok()?.checked_sub(1)?;
    let mut with = KeyModifiers::empty();
    for (bit, modifier) in [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)] {
        with.set(modifier, mask & bit != 0);
    }
    Some(KeyEvent::new(code, with))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(char: char) -> Event {
        let code = if char == '\x1b' { KeyCode::Esc } else { KeyCode::Char(char) };
        let with = if char.is_ascii_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::empty() };
        Event::Key(KeyEvent::new(code, with))
    }

    fn of(text: &str) -> Vec<Event> {
        let mut split = Split::default();
        let mut out: Vec<Event> = text.chars().flat_map(|char| split.take(pressed(char))).collect();
        out.extend(split.rest());
        out
    }

    #[test]
    fn a_key_in_pieces_is_that_key() {
        let none = KeyModifiers::empty();
        for (text, code, with) in [
            ("\x1b[20~", KeyCode::F(9), none),
            ("\x1b[15~", KeyCode::F(5), none),
            ("\x1b[24;5~", KeyCode::F(12), KeyModifiers::CONTROL),
            ("\x1bOP", KeyCode::F(1), none),
            ("\x1b[A", KeyCode::Up, none),
            ("\x1bOA", KeyCode::Up, none),
            ("\x1b[1;3C", KeyCode::Right, KeyModifiers::ALT),
            ("\x1b[3~", KeyCode::Delete, none),
            ("\x1b[Z", KeyCode::BackTab, KeyModifiers::SHIFT),
        ] {
            assert_eq!(of(text), [Event::Key(KeyEvent::new(code, with))], "{text:?}");
        }
    }

    #[test]
    fn everything_else_is_what_it_was_in_its_order() {
        for text in
            ["\x1b", "\x1b\x1b", "\x1bx", "\x1b[", "\x1b[99~", "\x1b[x", "abc", "\x1b[12345678", "[20~", "\x1b\x1b["]
        {
            assert_eq!(of(text), text.chars().map(pressed).collect::<Vec<_>>(), "{text:?}");
        }
        // What is no key ends the wait.
        let mut split = Split::default();
        assert!(split.take(pressed('\x1b')).is_empty());
        assert_eq!(split.take(Event::FocusGained), [pressed('\x1b'), Event::FocusGained]);
    }

    #[test]
    fn a_key_after_a_split_one_is_its_own() {
        let mut want = of("\x1b[20~");
        want.push(pressed('q'));
        assert_eq!(of("\x1b[20~q"), want);
    }
}
