//! A key on its way: the layer that owns it, its keymap, the text field, the global keymap.

use super::action::Action;
use super::edit;
use super::effect::Effect;
use super::focus::{self, Layer};
use super::model::modal::Modal;
use super::model::{Chord, Model, Pane};
use super::{completion, composer, find, modals, processes, run, select, usual, vi};
use crate::config::keymap::{Code, Context, Key, Match};
use crate::protocol::Level;

/// Milliseconds until the popup of what follows a started chord opens.
pub const CHORD_POPUP: i64 = 500;

/// What keys mean in some contexts, the first one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Action(Action),
    Prefix,
    None,
}

/// Looks keys up in contexts, the first that knows them wins.
pub fn bound(model: &Model, contexts: &[Context], keys: &[Key]) -> Bound {
    let mut prefix = false;
    for context in contexts {
        match model.keymap.lookup(*context, keys) {
            Match::Action(name) => match Action::from_name(name) {
                Some(action) => return Bound::Action(action),
                None => continue,
            },
            Match::Prefix => prefix = true,
            Match::None => {}
        }
    }
    if prefix { Bound::Prefix } else { Bound::None }
}

/// A key was pressed.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    let (now, armed) = (model.now, model.quit_armed);
    model.notices.key(now);
    let layer = focus::layer(model);
    match layer {
        Layer::Modal => {
            model.chord = None;
            // The output that a question is about can be looked at: nothing of it is answered by that.
            let shows = matches!(model.tab.modals.last(), Some(Modal::Approval(_)))
                && edit::printable(key).is_none()
                && bound(model, &[Context::Global], &[key]) == Bound::Action(Action::ToggleTerminal);
            match shows {
                true => run::by_key(model, out, Action::ToggleTerminal, key),
                false => modals::key(model, out, key),
            }
        }
        Layer::TakeOver => processes::taken_over_key(model, out, key),
        Layer::CopyMode => {
            if !select::copy_mode_key(model, out, key) {
                pane_key(model, out, key);
            }
        }
        Layer::Completion => {
            // Tab completes and Enter may send: one action by name, but not one key
            let tab = key.code == Code::Tab;
            let usual = if tab { key } else { usual::translate(model, &[Context::Completion], key) };
            if model.chord.is_some() || !completion::key(model, out, usual) {
                pane_key(model, out, key);
            }
        }
        Layer::Find => {
            if model.chord.is_some() || !find::key(model, key) {
                pane_key(model, out, key);
            }
        }
        Layer::Pane(_) => pane_key(model, out, key),
    }
    // any other key than the one that armed it
    if model.quit_armed == armed {
        model.quit_armed = None;
    }
}

/// The focused pane's keymap, then the global one, then text.
fn pane_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    if vi::composer_key(model, out, key) {
        return;
    }
    let contexts = [focus::context(model.tab.focus), Context::Global];
    // The leader once more: the popup at once, and then its next page.
    if bound(model, &contexts, &[key, key]) == Bound::None
        && let Some(chord) = model.chord.as_mut().filter(|chord| chord.keys == [key])
    {
        chord.page += usize::from(chord.shown);
        chord.shown = true;
        return;
    }
    let mut keys = model.chord.take().map(|chord| chord.keys).unwrap_or_default();
    let chord = !keys.is_empty();
    if chord && key.code == Code::Esc {
        return;
    }
    keys.push(key);
    match bound(model, &contexts, &keys) {
        Bound::Action(action) if chord || applies(model, action, key) => run::by_key(model, out, action, key),
        Bound::Prefix => model.chord = Some(Chord { keys, since: model.now, shown: false, page: 0 }),
        Bound::None if chord => {
            model.notices.add(model.now, Level::Info, "no action on these keys: F1 shows all");
        }
        Bound::Action(_) | Bound::None => text_key(model, out, key),
    }
}

/// Whether a bound key means its action here, or the text that it would type.
fn applies(model: &Model, action: Action, key: Key) -> bool {
    let typing = model.tab.focus == Pane::Composer;
    let empty = composer::is_empty(&model.tab.composer);
    if typing && !empty && edit::printable(key).is_some() {
        return false;
    }
    match action {
        // Ctrl-D deletes forward in a text
        Action::Quit => !typing || empty || !(key.ctrl && key.code == Code::Char('d')),
        Action::FocusNext => !typing || empty || key.code != Code::Tab,
        // an arrow belongs to the first-run card while nothing is written
        Action::HistoryPrevious | Action::HistoryNext => !(model.first_run.is_some() && empty),
        _ => true,
    }
}

/// A key that is bound to nothing here: text for the composer, whatever has the focus.
fn text_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    match model.tab.focus {
        Pane::Composer => {
            if super::first_run::key(model, key) {
                return;
            }
            if key.code == Code::Tab && !composer::is_empty(&model.tab.composer) {
                completion::refresh(model, out);
                return;
            }
            if composer::key(model, out, key) {
                select::clear(model);
            }
        }
        Pane::Conversation | Pane::Terminal | Pane::Sidebar | Pane::Queue => {
            if edit::printable(key).is_some_and(|c| c != ' ') {
                focus::set(model, Pane::Composer);
                vi::insert(model);
                composer::key(model, out, key);
            }
        }
    }
}

/// What can follow the chord so far, for the popup: the keys as shown, and the name of the action.
pub fn following(model: &Model) -> Vec<(String, &str)> {
    let Some(chord) = &model.chord else { return Vec::new() };
    let mut rows: Vec<(String, &str)> = Vec::new();
    for context in [focus::context(model.tab.focus), Context::Global] {
        for (keys, action) in model.keymap.following(context, &chord.keys) {
            if !rows.iter().any(|(known, _)| *known == keys) {
                rows.push((keys, action));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::msg::Msg;
    use crate::app::tests::{model, script};
    use crate::app::update;

    #[test]
    fn a_chord_waits_shows_what_follows_and_ends() {
        let mut model = model();
        let effects = script(&mut model, "<C-x>");
        assert_eq!(effects, [Effect::WakeAt(CHORD_POPUP)]);
        update(&mut model, CHORD_POPUP, Msg::Woke);
        assert!(model.chord.as_ref().is_some_and(|chord| chord.shown));
        assert!(following(&model).iter().any(|(_, action)| *action == "history-search"));
        script(&mut model, "<C-x>");
        assert_eq!(model.chord.as_ref().map(|chord| chord.page), Some(1), "the leader turns the page");
        script(&mut model, "<esc>");
        assert_eq!(model.chord, None);
        script(&mut model, "<C-x><C-x>");
        assert_eq!(model.chord.as_ref().map(|chord| (chord.shown, chord.page)), Some((true, 0)), "at once");
        script(&mut model, "<esc><C-x>z");
        assert_eq!(model.chord, None);
        assert_eq!(composer::text(&model.tab.composer), "", "a failed chord types nothing");
    }

    #[test]
    fn global_keys_win_over_text_and_text_over_what_needs_an_empty_composer() {
        let mut model = model();
        script(&mut model, "abc<C-a><C-d>");
        assert_eq!(composer::text(&model.tab.composer), "bc");
        script(&mut model, "<C-p>");
        assert_eq!(model.tab.modals.len(), 1, "the palette, not the line above");
    }
}
