//! vi keys in every text field: which field has the keys, and what its state machine did to it.

mod change;
mod machine;
mod motion;
#[cfg(test)]
mod tests;
pub(in crate::app) mod text;

pub use machine::{Mode, State};

use super::edit::Edit;
use super::keys::Press;
use super::{composer, history};
use crate::app::action::Action;
use crate::app::effect::{Effect, LoadRequest};
use crate::app::lists::palette;
use crate::app::model::modal::Modal;
use crate::app::model::{Model, Pane};
use crate::app::run;
use crate::app::window::modals;
use crate::config::keymap::{Code, Key};
use crate::protocol::Level;
use machine::{Memory, Took};
use text::Text;
use tui_textarea::{CursorMove, TextArea};

/// vi keys for the whole program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vi {
    /// `composer.mode` is `vi`.
    pub on: bool,
    /// The composer.
    pub composer: State,
    /// The field of the modal on top.
    pub field: State,
    memory: Memory,
}

impl Vi {
    /// Every field in insert mode, nothing remembered.
    pub fn new(on: bool) -> Self {
        Self { on, ..Self::default() }
    }
}

/// The shape of the terminal's cursor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caret {
    /// As the terminal has it.
    #[default]
    Usual,
    Block,
    Bar,
}

/// Turns vi keys on or off, for this program and the next one.
pub fn toggle(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let on = match argument {
        "" => !model.vi.on,
        "on" | "vi" => true,
        "off" | "emacs" => false,
        other => {
            let text = format!("/vi: use on or off, not \"{other}\"");
            return model.notices.add(model.now, Level::Warning, text);
        }
    };
    model.vi = Vi::new(on);
    let value = if on { "vi" } else { "emacs" };
    out.push(Effect::Load(LoadRequest::SetConfig { key: "composer.mode".into(), value: value.into() }));
    let text = if on { "vi keys on: Esc leaves insert mode, i enters it" } else { "vi keys off" };
    model.notices.add(model.now, Level::Info, text);
}

/// A key for the composer. `false`: none of vi's, here and now.
pub fn composer_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) -> bool {
    if !model.vi.on || model.tab.focus != Pane::Composer || model.chord.is_some() {
        return false;
    }
    // Esc clears what is marked in the conversation before it means anything to the text
    if key.code == Code::Esc && model.tab.transcript.selection.is_some() {
        return false;
    }
    let escape = key.code == Code::Esc;
    if model.vi.composer.is_typing() && !escape {
        return false;
    }
    let was = read(&model.tab.composer.area);
    let mut now = was.clone();
    let took = model.vi.composer.key(&mut model.vi.memory, &mut now, key, false);
    if was != now {
        write(&mut model.tab.composer.area, &was, &now);
    }
    if was.chars != now.chars {
        composer::changed(model, out);
    }
    match took {
        Took::No => return false,
        Took::Yes => {}
        Took::Above => history::previous(model),
        Took::Below => history::next(model),
        Took::Unknown(c) => unknown(model, out, c),
    }
    if model.vi.composer.mode != Mode::Insert {
        model.tab.composer.completion = None;
    }
    true
}

/// A letter that is no command: `:` and `/` begin what they begin everywhere.
fn unknown(model: &mut Model, out: &mut Vec<Effect>, c: char) {
    let empty = composer::is_empty(&model.tab.composer);
    match c {
        ':' => palette::open(model, out),
        '?' if empty => palette::help(model),
        '/' if empty => {
            insert(model);
            composer::edit(model, out, Edit::Insert('/'));
        }
        '/' => run::run(model, out, Action::Find, ""),
        _ => {}
    }
}

/// Whether letters go into the composer.
pub fn types(model: &Model) -> bool {
    !model.vi.on || model.vi.composer.mode == Mode::Insert
}

/// Insert mode for the composer: something is written there that was not begun with a key of vi.
pub fn insert(model: &mut Model) {
    if model.vi.on && model.vi.composer.mode != Mode::Insert {
        model.vi.composer.mode = Mode::Insert;
    }
}

/// The composer was emptied: a new text begins.
pub fn renew(model: &mut Model) {
    if model.vi.on {
        model.vi.composer = State::default();
    }
}

/// A key for the field of the modal on top; gives back what the modal itself should get.
pub fn modal_key(model: &mut Model, out: &mut Vec<Effect>, press: Press) -> Option<Press> {
    let key = press.key;
    if !model.vi.on {
        return Some(press);
    }
    let vi = &mut model.vi;
    let Some((text, cursor)) = model.tab.modals.last_mut().and_then(Modal::field) else {
        vi.field = State::default();
        return Some(press);
    };
    // nothing to move in, nothing to leave for
    let leaves = key.code == Code::Esc && text.is_empty() && vi.field.mode == Mode::Insert;
    if leaves || (vi.field.is_typing() && key.code != Code::Esc) {
        return Some(press);
    }
    let was = Text::new(text, *cursor);
    let mut now = was.clone();
    let took = vi.field.key(&mut vi.memory, &mut now, key, true);
    *cursor = now.at;
    if was.chars != now.chars {
        *text = now.string();
        modals::typed(model, out);
    }
    match took {
        Took::Yes | Took::Unknown(_) => None,
        Took::Above => Some(Press { action: Some(Action::Previous), key }),
        Took::Below => Some(Press { action: Some(Action::Next), key }),
        Took::No => {
            if matches!(key.code, Code::Enter | Code::Esc) {
                model.vi.field = State::default();
            }
            Some(press)
        }
    }
}

/// The state of the field that has the keys; `None` when no field has them.
fn current(model: &Model) -> Option<&State> {
    if !model.vi.on || model.tab.processes.pane.taken_over {
        return None;
    }
    match model.tab.modals.last() {
        Some(modal) => modal.has_field().then_some(&model.vi.field),
        None => (model.tab.focus == Pane::Composer).then_some(&model.vi.composer),
    }
}

/// The mode in a word, and the keys of a begun command; `None` where vi has nothing to say.
pub fn sign(model: &Model) -> Option<(&'static str, String)> {
    let state = current(model)?;
    let word = match state.mode {
        Mode::Insert => "INSERT",
        Mode::Normal => "NORMAL",
        Mode::Visual => "VISUAL",
        Mode::VisualLine => "V-LINE",
    };
    Some((word, state.pending()))
}

/// The cursor that fits the mode.
pub fn caret(model: &Model) -> Caret {
    match current(model).map(|state| state.mode) {
        None => Caret::Usual,
        Some(Mode::Insert) => Caret::Bar,
        Some(Mode::Normal | Mode::Visual | Mode::VisualLine) => Caret::Block,
    }
}

/// What is marked in the composer: line and character of its start and its end, the end exclusive.
pub fn marked(model: &Model) -> Option<((usize, usize), (usize, usize))> {
    let state = &model.vi.composer;
    if !model.vi.on || matches!(state.mode, Mode::Insert | Mode::Normal) {
        return None;
    }
    let text = read(&model.tab.composer.area);
    let (from, to) = state.marked(&text)?;
    Some((place(&text, from), place(&text, to)))
}

/// What is marked in the field of the modal on top, in characters.
pub fn marked_field(model: &Model, text: &str, cursor: usize) -> Option<(usize, usize)> {
    model.vi.field.marked(&Text::new(text, cursor)).filter(|_| model.vi.on)
}

/// What follows from the whole state: no block stands behind the last letter, and the terminal's cursor has its shape.
pub fn settle(model: &mut Model, out: &mut Vec<Effect>) {
    if model.vi.on && model.vi.composer.mode != Mode::Insert {
        let area = &mut model.tab.composer.area;
        let cursor = area.cursor();
        let length = area.lines().get(cursor.0).map_or(0, |line| line.chars().count());
        if cursor.1 > 0 && cursor.1 >= length {
            area.move_cursor(CursorMove::Back);
        }
    }
    let caret = caret(model);
    if caret != model.caret {
        model.caret = caret;
        out.push(Effect::Caret(caret));
    }
}

fn read(area: &TextArea<'static>) -> Text {
    let cursor = area.cursor();
    let before: usize = area.lines().iter().take(cursor.0).map(|line| line.chars().count() + 1).sum();
    Text::new(&area.lines().join("\n"), before + cursor.1)
}

fn place(text: &Text, at: usize) -> (usize, usize) {
    let at = at.min(text.chars.len());
    let line = text.chars[..at].iter().filter(|c| **c == '\n').count();
    (line, at - text.line_start(at))
}

/// Puts the difference into the widget, so that its own undo knows of it.
fn write(area: &mut TextArea<'static>, was: &Text, now: &Text) {
    area.cancel_selection();
    let head = was.chars.iter().zip(&now.chars).take_while(|(a, b)| a == b).count();
    let most = was.chars.len().min(now.chars.len()) - head;
    let tail = was.chars.iter().rev().zip(now.chars.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    if was.chars != now.chars {
        jump(area, place(was, head));
        let gone = was.chars.len() - tail - head;
        if gone > 0 {
            area.delete_str(gone);
        }
        if head + tail < now.chars.len() {
            area.insert_str(now.slice(head, now.chars.len() - tail));
        }
    }
    jump(area, place(now, now.at));
}

fn jump(area: &mut TextArea<'static>, (line, column): (usize, usize)) {
    let narrow = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
    area.move_cursor(CursorMove::Jump(narrow(line), narrow(column)));
}
