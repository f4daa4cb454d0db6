//! Keys as a program gets them: by the name that a person or a model gives them, as the bytes that xterm would send.

use crate::config::keymap::{self, Code, Key};

/// The bytes of a key. `application`: the program asked for application cursor keys (DECCKM).
pub fn key(key: Key, application: bool) -> Vec<u8> {
    // xterm's parameter: 1 + shift 1 + alt 2 + control 4
    let modifier = 1 + u8::from(key.shift) + 2 * u8::from(key.alt) + 4 * u8::from(key.ctrl);
    let bytes = match key.code {
        Code::Char(c) => return character(c, key.ctrl, key.alt),
        Code::Enter => return escaped(key.alt, b"\r"),
        Code::Esc => return escaped(key.alt, b"\x1b"),
        Code::Tab => return escaped(key.alt, b"\t"),
        Code::Backspace if key.ctrl => return escaped(key.alt, b"\x08"),
        Code::Backspace => return escaped(key.alt, b"\x7f"),
        Code::BackTab => "\x1b[Z".to_owned(),
        Code::Up => letter('A', modifier, application),
        Code::Down => letter('B', modifier, application),
        Code::Right => letter('C', modifier, application),
        Code::Left => letter('D', modifier, application),
        Code::Home => letter('H', modifier, application),
        Code::End => letter('F', modifier, application),
        Code::Insert => number(2, modifier),
        Code::Delete => number(3, modifier),
        Code::PageUp => number(5, modifier),
        Code::PageDown => number(6, modifier),
        Code::F(n @ 1..=4) => {
            let last = char::from(b'P' + n - 1);
            if modifier == 1 { format!("\x1bO{last}") } else { format!("\x1b[1;{modifier}{last}") }
        }
        // the numbers skip 16 and 22, as VT220 keyboards did
        Code::F(n @ 5..=12) => number([15, 17, 18, 19, 20, 21, 23, 24][usize::from(n - 5)], modifier),
        Code::F(_) => String::new(),
    };
    bytes.into_bytes()
}

/// Names of `tmux` and others for keys that the keymap writes differently.
const ALIASES: &[(&str, Code)] = &[
    ("bspace", Code::Backspace),
    ("btab", Code::BackTab),
    ("dc", Code::Delete),
    ("ic", Code::Insert),
    ("ppage", Code::PageUp),
    ("npage", Code::PageDown),
    ("page_up", Code::PageUp),
    ("page_down", Code::PageDown),
    ("cr", Code::Enter),
    ("ret", Code::Enter),
];

/// Keys and text, in the order in which they are typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Key(Key),
    Text(String),
}

impl Keys {
    /// Adds a word: the name of a key (`Enter`, `C-c`, `Up`, `F5`, `M-x`), or else text that is typed as it is.
    pub fn word(&mut self, word: &str) {
        match named(word) {
            Some(key) => self.0.push(Part::Key(key)),
            None => self.text(word),
        }
    }

    /// Adds text, even when a key has that name.
    pub fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.0.push(Part::Text(text.to_owned()));
        }
    }

    /// Nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Only Ctrl-C: it stops what runs, as a signal does, and gives no command.
    pub fn only_interrupts(&self) -> bool {
        let interrupt = Key { code: Code::Char('c'), ctrl: true, alt: false, shift: false };
        !self.is_empty() && self.0.iter().all(|part| *part == Part::Key(interrupt))
    }

    /// What reaches the program. `application`: it asked for application cursor keys.
    pub fn bytes(&self, application: bool) -> Vec<u8> {
        let each = self.0.iter().map(|part| match part {
            Part::Key(one) => key(*one, application),
            // The terminal makes a line feed of it unless the program asked for keys.
            Part::Text(text) => text.replace('\n', "\r").into_bytes(),
        });
        each.flatten().collect()
    }

    /// What is typed, as it is judged: Enter ends a line, other keys stay the bytes that they are.
    pub fn typed(&self) -> String {
        let each = self.0.iter().map(|part| match part {
            Part::Key(Key { code: Code::Enter, ctrl: false, alt: false, .. }) => "\n".to_owned(),
            Part::Key(one) => String::from_utf8_lossy(&key(*one, false)).into_owned(),
            Part::Text(text) => text.clone(),
        });
        each.collect()
    }

    /// As a person reads it: `"ls" Enter Ctrl-C`.
    pub fn shown(&self) -> String {
        let each = self.0.iter().map(|part| match part {
            Part::Key(key) => keymap::display(&[*key]),
            Part::Text(text) => format!("{text:?}"),
        });
        each.collect::<Vec<_>>().join(" ")
    }
}

/// The key of this name; single characters are text.
fn named(word: &str) -> Option<Key> {
    let plain = |code| Key { code, ctrl: false, alt: false, shift: false };
    if word.chars().nth(1).is_none() || word.contains(char::is_whitespace) {
        return None;
    }
    let lower = word.to_ascii_lowercase();
    if let Some((_, code)) = ALIASES.iter().find(|(name, _)| *name == lower) {
        return Some(plain(*code));
    }
    // `^C`, as terminals show it.
    let mut rest = word.chars();
    if let (Some('^'), Some(letter), None) = (rest.next(), rest.next(), rest.next()) {
        return Some(Key { ctrl: true, ..plain(Code::Char(letter.to_ascii_lowercase())) });
    }
    // `a-b` is a word unless what is before the hyphen holds a key down, in capitals as everybody writes it.
    let modified = ["C-", "M-", "S-", "A-"].iter().any(|prefix| word.starts_with(prefix))
        || ["ctrl-", "alt-", "shift-"].iter().any(|prefix| lower.starts_with(prefix));
    let capital = word.chars().next().is_some_and(char::is_uppercase);
    if !modified && !capital {
        return None;
    }
    match keymap::parse(word).ok()?.as_slice() {
        [key] => Some(*key),
        _ => None,
    }
}

fn character(c: char, ctrl: bool, alt: bool) -> Vec<u8> {
    let mut buffer = [0; 4];
    if !ctrl {
        return escaped(alt, c.encode_utf8(&mut buffer).as_bytes());
    }
    let byte = match c.to_ascii_lowercase() {
        letter @ 'a'..='z' => letter as u8 - b'a' + 1,
        ' ' | '@' | '2' => 0,
        '[' | '3' => 0x1b,
        '\\' | '4' => 0x1c,
        ']' | '5' => 0x1d,
        '^' | '6' => 0x1e,
        '_' | '/' | '7' => 0x1f,
        '?' | '8' => 0x7f,
        _ => return escaped(alt, c.encode_utf8(&mut buffer).as_bytes()),
    };
    escaped(alt, &[byte])
}

fn escaped(alt: bool, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 1);
    if alt {
        out.push(0x1b);
    }
    out.extend_from_slice(bytes);
    out
}

fn letter(last: char, modifier: u8, application: bool) -> String {
    match (modifier, application) {
        (1, true) => format!("\x1bO{last}"),
        (1, false) => format!("\x1b[{last}"),
        _ => format!("\x1b[1;{modifier}{last}"),
    }
}

fn number(number: u8, modifier: u8) -> String {
    if modifier == 1 { format!("\x1b[{number}~") } else { format!("\x1b[{number};{modifier}~") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(words: &[&str]) -> Keys {
        let mut keys = Keys::default();
        words.iter().for_each(|word| keys.word(word));
        keys
    }

    #[test]
    fn names_are_keys_and_everything_else_is_text() {
        for (word, bytes) in [
            ("Enter", "\r"),
            ("C-c", "\x03"),
            ("^C", "\x03"),
            ("Ctrl-D", "\x04"),
            ("Up", "\x1b[A"),
            ("F5", "\x1b[15~"),
            ("M-x", "\x1bx"),
            ("Escape", "\x1b"),
            ("BSpace", "\x7f"),
            ("PageDown", "\x1b[6~"),
            ("BTab", "\x1b[Z"),
            ("S-Up", "\x1b[1;2A"),
            ("Space", " "),
            ("enter", "enter"),
            ("up", "up"),
            ("a-b", "a-b"),
            ("y", "y"),
            (":wq", ":wq"),
            ("Up and down", "Up and down"),
            ("two\nlines", "two\rlines"),
        ] {
            assert_eq!(keys(&[word]).bytes(false), bytes.as_bytes(), "{word}");
        }
        assert_eq!(keys(&["Up"]).bytes(true), b"\x1bOA");
        let mut text = Keys::default();
        text.text("Up");
        assert_eq!(text.bytes(false), b"Up");
    }

    #[test]
    fn what_is_judged_is_what_the_program_makes_of_it() {
        assert_eq!(keys(&["git status", "Enter"]).typed(), "git status\n");
        assert_eq!(keys(&["Up", "Enter"]).typed(), "\x1b[A\n");
        assert_eq!(keys(&["i", "x", "Escape", ":wq", "Enter"]).shown(), r#""i" "x" Esc ":wq" Enter"#);
        assert!(keys(&["C-c", "C-c"]).only_interrupts());
        assert!(!keys(&["C-c", "y"]).only_interrupts() && !keys(&[]).only_interrupts());
    }
}
