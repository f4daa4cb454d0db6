//! A key on its way: the layer that owns it, its keymap, the text field, the global keymap.

use super::edit::Edit;
use super::focus::Layer;
use super::{completion, composer, edit, focus, hint, vi};
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::lists::first_run;
use crate::app::model::modal::Modal;
use crate::app::model::{Chord, Model, Pane};
use crate::app::reading::{find, select};
use crate::app::run;
use crate::app::terminal::taking_over;
use crate::app::window::modals;
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

/// What one key means in some contexts, the first one first.
fn single(model: &Model, contexts: &[Context], key: Key) -> Option<Action> {
    match bound(model, contexts, &[key]) {
        Bound::Action(action) => Some(action),
        Bound::Prefix | Bound::None => None,
    }
}

/// A key that was looked up once: what it means to what has the keys, and what it types into a text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Press {
    pub action: Option<Action>,
    pub key: Key,
}

/// What the global keymap means in modals, too.
const EVERYWHERE: [Action; 5] =
    [Action::Suspend, Action::Interrupt, Action::Inbox, Action::ToggleTerminal, Action::Help];

impl Press {
    /// Looks a key up in contexts. Shift does not hide what a key means without it.
    pub fn in_contexts(model: &Model, contexts: &[Context], key: Key) -> Self {
        let plain = Key { shift: false, ..key };
        Self { action: single(model, contexts, key).or_else(|| single(model, contexts, plain)), key }
    }

    /// What a key means to a modal. What types into its field is text, whatever it means elsewhere; where nothing is
    /// written Caps Lock hides no letter.
    pub fn in_modal(model: &Model, modal: &Modal, key: Key) -> Self {
        let writes = focus::writes(modal);
        if writes && edit::printable(key).is_some() {
            return Self { action: None, key };
        }
        let context = [focus::modal_context(modal)];
        let own = Self::in_contexts(model, &context, key).action;
        let own = own.or_else(|| edit::small(key).and_then(|key| single(model, &context, key)));
        let field = || Self::in_contexts(model, &[Context::Field], key).action;
        let edits = || field().filter(|action| writes && Edit::of(*action).is_some());
        let global = || single(model, &[Context::Global], key).filter(|action| EVERYWHERE.contains(action));
        Self { action: own.or_else(edits).or_else(global), key }
    }

    /// What a key means to a text of one line.
    pub fn in_field(model: &Model, key: Key) -> Self {
        match edit::printable(key) {
            Some(_) => Self { action: None, key },
            None => Self::in_contexts(model, &[Context::Field], key),
        }
    }

    /// What it does to a text: a letter that means no action is written.
    pub fn edit(self) -> Option<Edit> {
        match self.action {
            Some(action) => Edit::of(action),
            None => edit::printable(self.key).map(Edit::Insert),
        }
    }
}

/// What leads to another tab from a modal: a question of one session holds up no other.
const TABS: [Action; 11] = [
    Action::NextTab,
    Action::PreviousTab,
    Action::Tab1,
    Action::Tab2,
    Action::Tab3,
    Action::Tab4,
    Action::Tab5,
    Action::Tab6,
    Action::Tab7,
    Action::Tab8,
    Action::Tab9,
];

/// A key that the modal has no use for and that leads to another tab, where there is one.
fn to_another_tab(model: &Model, key: Key) -> Option<Action> {
    let modal = model.tab.modals.last().filter(|_| !model.parked.is_empty())?;
    let own = Press::in_modal(model, modal, key);
    let typed = focus::writes(modal) && edit::printable(key).is_some();
    if own.action.is_some() || typed {
        return None;
    }
    single(model, &[Context::Global], key).filter(|action| TABS.contains(action))
}

/// A key was pressed.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    let (now, armed) = (model.now, model.quit_armed);
    model.notices.key(now);
    let layer = focus::layer(model);
    match layer {
        Layer::Modal => {
            model.chord = None;
            match to_another_tab(model, key) {
                Some(action) => run::run(model, out, action, ""),
                None => modals::key(model, out, key),
            }
        }
        Layer::TakeOver => taking_over::taken_over_key(model, out, key),
        Layer::CopyMode => {
            let action = Press::in_contexts(model, &[Context::Copy], key).action;
            if !action.is_some_and(|action| select::copy_mode_act(model, out, action)) {
                pane_key(model, out, key);
            }
        }
        Layer::Completion => {
            let action = single(model, &[Context::Completion], key);
            if model.chord.is_some() || !action.is_some_and(|action| completion::act(model, out, action)) {
                pane_key(model, out, key);
            }
        }
        Layer::Find => {
            let action = Press::in_contexts(model, &[Context::Find], key).action;
            if model.chord.is_some() || !action.is_some_and(|action| find::act(model, action)) {
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
    let empty = model.tab.focus == Pane::Composer && composer::is_empty(&model.tab.composer);
    if empty && model.chord.is_none() && model.first_run.is_some() {
        let action = Press::in_contexts(model, &[Context::FirstRun], key).action;
        if action.is_some_and(|action| first_run::act(model, out, action)) {
            return;
        }
    }
    let mut contexts = [focus::context(model.tab.focus), Context::Global];
    // Where nothing is written, what deletes forward is free to mean something else: Ctrl-D quits.
    if empty && bound(model, &contexts, &[key]) == Bound::Action(Action::DeleteChar) {
        contexts = [Context::Global; 2];
    }
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
            let all = hint::key(model, Action::Help).map(|key| format!(": {key} shows all")).unwrap_or_default();
            model.notices.add(model.now, Level::Info, format!("no action on these keys{all}"));
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
        Action::FocusNext => !typing || empty || key.code != Code::Tab,
        _ => true,
    }
}

/// A key that is bound to nothing here: text for the composer, whatever has the focus.
fn text_key(model: &mut Model, out: &mut Vec<Effect>, key: Key) {
    match model.tab.focus {
        Pane::Composer => {
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
