//! What the terminal sends, as messages.

use crate::app::Msg;
use crate::app::msg::{Mouse, MouseKind};
use crate::config::keymap::{Code, Key};
use crate::term::{RawKey, RawMouseKind, raw_key, raw_mouse};
use crossterm::event::{Event, KeyCode};

/// A message, unless the event means nothing to us.
pub fn message(event: Event) -> Option<Msg> {
    match event {
        Event::Key(key) => raw_key(key).and_then(key_of).map(Msg::Key),
        Event::Paste(text) => Some(Msg::Pasted(text)),
        Event::Mouse(mouse) => raw_mouse(mouse).map(|m| {
            let kind = match m.kind {
                RawMouseKind::Press => MouseKind::Press,
                RawMouseKind::Drag => MouseKind::Drag,
                RawMouseKind::Release => MouseKind::Release,
                RawMouseKind::Wheel(rows) => MouseKind::Wheel(rows),
            };
            Msg::Mouse(Mouse { column: m.column, row: m.row, kind, shift: m.shift })
        }),
        Event::Resize(columns, rows) => Some(Msg::Resized(columns, rows)),
        Event::FocusGained => Some(Msg::FocusChanged(true)),
        Event::FocusLost => Some(Msg::FocusChanged(false)),
    }
}

/// Joins a message to the one before it where only the sum or the last counts; `None` when it was taken in.
pub fn merge(before: &mut Msg, next: Msg) -> Option<Msg> {
    match (before, next) {
        (Msg::Resized(columns, rows), Msg::Resized(c, r)) => {
            (*columns, *rows) = (c, r);
            None
        }
        (
            Msg::Mouse(Mouse { column, row, kind: MouseKind::Wheel(sum), .. }),
            Msg::Mouse(Mouse { column: c, row: r, kind: MouseKind::Wheel(more), .. }),
        ) if (*sum > 0) == (more > 0) => {
            (*column, *row) = (c, r);
            *sum = sum.saturating_add(more);
            None
        }
        (
            Msg::Mouse(drag @ Mouse { kind: MouseKind::Drag, .. }),
            Msg::Mouse(next @ Mouse { kind: MouseKind::Drag, .. }),
        ) => {
            *drag = next;
            None
        }
        (_, next) => Some(next),
    }
}

fn key_of(raw: RawKey) -> Option<Key> {
    let mut key = Key { code: Code::Enter, ctrl: raw.ctrl, alt: raw.alt, shift: raw.shift };
    key.code = match raw.code {
        KeyCode::Char(c) => {
            // Shift is in the letter; terminals differ about the flag.
            key.shift = false;
            let c = if raw.shift && raw.code == KeyCode::Char(c) && c.is_ascii_lowercase() {
                c.to_ascii_uppercase()
            } else {
                c
            };
            Code::Char(match c {
                // What terminals without the kitty protocol send for Ctrl-\\ ] ^ _ arrives under these digits.
                '4'..='7' if raw.ctrl => ['\\', ']', '^', '_'][c as usize - '4' as usize],
                c if raw.ctrl => c.to_ascii_lowercase(),
                c => c,
            })
        }
        KeyCode::F(n) => Code::F(n),
        KeyCode::Enter => Code::Enter,
        KeyCode::Esc => Code::Esc,
        KeyCode::Tab => Code::Tab,
        KeyCode::BackTab => {
            key.shift = false;
            Code::BackTab
        }
        KeyCode::Backspace => Code::Backspace,
        KeyCode::Delete => Code::Delete,
        KeyCode::Insert => Code::Insert,
        KeyCode::Up => Code::Up,
        KeyCode::Down => Code::Down,
        KeyCode::Left => Code::Left,
        KeyCode::Right => Code::Right,
        KeyCode::Home => Code::Home,
        KeyCode::End => Code::End,
        KeyCode::PageUp => Code::PageUp,
        KeyCode::PageDown => Code::PageDown,
        KeyCode::Null
        | KeyCode::CapsLock
        | KeyCode::ScrollLock
        | KeyCode::NumLock
        | KeyCode::PrintScreen
        | KeyCode::Pause
        | KeyCode::Menu
        | KeyCode::KeypadBegin
        | KeyCode::Media(_)
        | KeyCode::Modifier(_) => return None,
    };
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wheel(rows: i16) -> Msg {
        Msg::Mouse(Mouse { column: 1, row: 1, kind: MouseKind::Wheel(rows), shift: false })
    }

    #[test]
    fn floods_of_input_merge() {
        let mut first = wheel(1);
        assert_eq!(merge(&mut first, wheel(1)), None);
        assert_eq!(first, wheel(2));
        // A change of direction is not summed away.
        assert_eq!(merge(&mut first, wheel(-1)), Some(wheel(-1)));
        let mut size = Msg::Resized(80, 24);
        assert_eq!(merge(&mut size, Msg::Resized(100, 30)), None);
        assert_eq!(size, Msg::Resized(100, 30));
    }

    #[test]
    fn legacy_control_characters_have_their_names() {
        let raw = RawKey { code: KeyCode::Char('5'), ctrl: true, alt: false, shift: false };
        assert_eq!(key_of(raw).map(|key| key.code), Some(Code::Char(']')));
    }

    #[test]
    fn shift_is_in_the_letter() {
        let raw = RawKey { code: KeyCode::Char('a'), ctrl: false, alt: false, shift: true };
        assert_eq!(key_of(raw), Some(Key { code: Code::Char('A'), ctrl: false, alt: false, shift: false }));
        let raw = RawKey { code: KeyCode::Char('C'), ctrl: true, alt: false, shift: true };
        assert_eq!(key_of(raw), Some(Key { code: Code::Char('c'), ctrl: true, alt: false, shift: false }));
    }
}
