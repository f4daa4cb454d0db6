//! Edits of text fields: our own actions over the widget, and the same for one-line fields.

use super::keys::Press;
use super::paste;
use crate::app::action::Action;
use crate::config::keymap::{Code, Key};
use tui_textarea::{CursorMove, TextArea};

/// What is done to a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Insert(char),
    Left,
    Right,
    WordLeft,
    WordRight,
    Head,
    End,
    Up,
    Down,
    DeleteBefore,
    DeleteAfter,
    DeleteWordBefore,
    DeleteWordAfter,
    DeleteToHead,
    DeleteToEnd,
    Yank,
}

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edited {
    /// The field does not know the key.
    Ignored,
    Moved,
    Changed,
}

impl Edit {
    /// What an action does to a text; `None` when it is none of a text field.
    pub fn of(action: Action) -> Option<Self> {
        Some(match action {
            Action::LineStart => Edit::Head,
            Action::LineEnd => Edit::End,
            Action::CharLeft => Edit::Left,
            Action::CharRight => Edit::Right,
            Action::WordLeft => Edit::WordLeft,
            Action::WordRight => Edit::WordRight,
            Action::HistoryPrevious => Edit::Up,
            Action::HistoryNext => Edit::Down,
            Action::DeleteChar => Edit::DeleteAfter,
            Action::DeleteCharBack => Edit::DeleteBefore,
            Action::DeleteWord => Edit::DeleteWordAfter,
            Action::DeleteWordBack => Edit::DeleteWordBefore,
            Action::DeleteToEnd => Edit::DeleteToEnd,
            Action::DeleteToStart => Edit::DeleteToHead,
            Action::Yank => Edit::Yank,
            _ => return None,
        })
    }
}

/// A key that types a character.
pub fn printable(key: Key) -> Option<char> {
    match key.code {
        Code::Char(c) if !key.ctrl && !key.alt => Some(c),
        _ => None,
    }
}

/// The key of the small letter, for one that types a letter: Caps Lock is on.
pub fn small(key: Key) -> Option<Key> {
    printable(key).map(|c| Key { code: Code::Char(c.to_ascii_lowercase()), ..key })
}

/// Edits a multi-line field.
pub fn area(area: &mut TextArea<'static>, edit: Edit) -> Edited {
    let changed = match edit {
        Edit::Insert(c) => {
            area.insert_char(c);
            true
        }
        Edit::DeleteBefore => area.delete_char(),
        Edit::DeleteAfter => area.delete_next_char(),
        Edit::DeleteWordBefore => area.delete_word(),
        Edit::DeleteWordAfter => area.delete_next_word(),
        Edit::DeleteToHead => area.delete_line_by_head(),
        Edit::DeleteToEnd => area.delete_line_by_end(),
        Edit::Yank => area.paste(),
        Edit::Left => moved(area, CursorMove::Back),
        Edit::Right => moved(area, CursorMove::Forward),
        Edit::WordLeft => moved(area, CursorMove::WordBack),
        Edit::WordRight => moved(area, CursorMove::WordForward),
        Edit::Head => moved(area, CursorMove::Head),
        Edit::End => moved(area, CursorMove::End),
        Edit::Up => moved(area, CursorMove::Up),
        Edit::Down => moved(area, CursorMove::Down),
    };
    if changed { Edited::Changed } else { Edited::Moved }
}

fn moved(area: &mut TextArea<'static>, to: CursorMove) -> bool {
    area.move_cursor(to);
    false
}

/// A key in a one-line field; `cursor` counts characters.
pub fn line(text: &mut String, cursor: &mut usize, press: Press) -> Edited {
    let Some(edit) = press.edit() else { return Edited::Ignored };
    let length = text.chars().count();
    let at = (*cursor).min(length);
    *cursor = at;
    match edit {
        Edit::Insert(c) => {
            put(text, cursor, c);
            Edited::Changed
        }
        Edit::Left => go(cursor, at.saturating_sub(1)),
        Edit::Right => go(cursor, (at + 1).min(length)),
        Edit::WordLeft => go(cursor, word_left(text, at)),
        Edit::WordRight => go(cursor, word_right(text, at)),
        Edit::Head => go(cursor, 0),
        Edit::End => go(cursor, length),
        Edit::Up | Edit::Down | Edit::Yank => Edited::Ignored,
        Edit::DeleteBefore => cut(text, cursor, at.saturating_sub(1), at),
        Edit::DeleteAfter => cut(text, cursor, at, (at + 1).min(length)),
        Edit::DeleteWordBefore => cut(text, cursor, word_left(text, at), at),
        Edit::DeleteWordAfter => cut(text, cursor, at, word_right(text, at)),
        Edit::DeleteToHead => cut(text, cursor, 0, at),
        Edit::DeleteToEnd => cut(text, cursor, at, length),
    }
}

/// Puts a character into a field.
pub fn put(text: &mut String, cursor: &mut usize, c: char) {
    text.insert(offset(text, *cursor), c);
    *cursor += 1;
}

/// Puts text into a one-line field; line breaks become spaces.
pub fn insert(text: &mut String, cursor: &mut usize, piece: &str) {
    let piece = paste::harmless(piece).replace(['\n', '\t'], " ");
    text.insert_str(offset(text, *cursor), &piece);
    *cursor += piece.chars().count();
}

fn go(cursor: &mut usize, to: usize) -> Edited {
    *cursor = to;
    Edited::Moved
}

fn cut(text: &mut String, cursor: &mut usize, from: usize, to: usize) -> Edited {
    if from == to {
        return Edited::Moved;
    }
    let range = offset(text, from)..offset(text, to);
    text.replace_range(range, "");
    *cursor = from;
    Edited::Changed
}

/// Byte offset of a character.
fn offset(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(offset, _)| offset)
}

fn word_left(text: &str, at: usize) -> usize {
    let chars: Vec<char> = text.chars().take(at).collect();
    let end = chars.iter().rposition(|c| c.is_alphanumeric()).map_or(0, |last| last + 1);
    chars[..end].iter().rposition(|c| !c.is_alphanumeric()).map_or(0, |before| before + 1)
}

fn word_right(text: &str, at: usize) -> usize {
    let rest = text.chars().skip(at);
    let mut inside = false;
    let mut end = at;
    for c in rest {
        if c.is_alphanumeric() {
            inside = true;
        } else if inside {
            break;
        }
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{keys, model};

    fn pressed(key: Key) -> Press {
        Press::in_field(&model(), key)
    }

    #[test]
    fn one_line_fields_take_the_usual_keys() {
        for (script, text, at) in [
            ("hello", "hello", 5),
            ("hello<left><left><backspace>", "helo", 2),
            ("one two<C-w>", "one ", 4),
            ("one two<A-b><A-d>", "one ", 4),
            ("one two<C-a><A-f><C-k>", "one", 3),
            ("one two<C-left><C-u>", "two", 0),
            ("aä€b<left><left><del>", "aäb", 2),
            ("ab<home>x<end>y", "xaby", 4),
        ] {
            let (mut value, mut cursor) = (String::new(), 0);
            for key in keys(script) {
                line(&mut value, &mut cursor, pressed(key));
            }
            assert_eq!((value.as_str(), cursor), (text, at), "{script}");
        }
    }

    #[test]
    fn fields_leave_keys_that_they_do_not_know() {
        let mut text = String::new();
        let mut cursor = 0;
        for script in ["<f1>", "<C-p>", "<A-x>", "<esc>", "<ret>", "<tab>"] {
            assert_eq!(line(&mut text, &mut cursor, pressed(keys(script)[0])), Edited::Ignored, "{script}");
        }
        assert_eq!(text, "");
    }
}
