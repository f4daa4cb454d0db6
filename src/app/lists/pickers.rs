//! Lists with a filter: what all pickers share, and what choosing means in each.

use super::fuzzy::Fuzzy;
use super::{agents, backends, context, local_models, models, own_server, palette, servers, toolsets, tree};
use crate::app::action::Action;
use crate::app::approvals;
use crate::app::approvals::{mode, permissions};
use crate::app::effect::{Effect, LoadRequest};
use crate::app::input::edit::Edited;
use crate::app::input::keys::Press;
use crate::app::input::{edit, history};
use crate::app::model::Model;
use crate::app::model::modal::{Modal, PickItem, Picker, PickerKind};
use crate::app::reading::footer;
use crate::app::session::sessions::keeping;
use crate::app::session::{checkout, tabs};
use crate::app::window::modals::Move;
use crate::app::window::{appearance, modals};

/// Opens a picker with its rows; the current one is selected.
pub fn open(model: &mut Model, kind: PickerKind, title: &str, items: Vec<PickItem>) {
    let selected = items.iter().position(|item| item.current).unwrap_or_default();
    let matches = (0..items.len()).collect();
    model.tab.modals.push(Modal::Picker(Box::new(Picker {
        kind,
        title: title.to_owned(),
        query: String::new(),
        cursor: 0,
        items,
        matches,
        selected,
        loading: false,
        inert_until: 0,
        footnote: String::new(),
    })));
}

/// The picker on top, when it is of this kind.
pub fn top(model: &mut Model, kind: PickerKind) -> Option<&mut Picker> {
    let Some(Modal::Picker(picker)) = model.tab.modals.last_mut() else { return None };
    (picker.kind == kind).then_some(picker)
}

/// Gives a picker new rows; the query and, where it is still there, the selection stay.
pub fn fill(picker: &mut Picker, items: Vec<PickItem>) {
    // A row that is always there was nobody's choice while the list was loading.
    let selected = chosen(picker).filter(|item| !item.always).map(|item| item.value.clone());
    picker.items = items;
    picker.loading = false;
    filter(picker);
    let find = |test: &dyn Fn(&PickItem) -> bool| picker.matches.iter().position(|at| test(&picker.items[*at]));
    let at = match &selected {
        Some(value) => find(&|item| item.value == *value),
        None => find(&|item| item.current),
    };
    picker.selected = at.unwrap_or_default();
}

/// Best match first; equal ones keep their order, and without a query all of it.
fn filter(picker: &mut Picker) {
    picker.selected = 0;
    if picker.query.trim().is_empty() {
        picker.matches = (0..picker.items.len()).collect();
        return;
    }
    let mut fuzzy = Fuzzy::new(&picker.query);
    let mut score = |text: &str| fuzzy.score(text);
    let mut scored: Vec<(u32, usize)> = Vec::new();
    for (at, item) in picker.items.iter().enumerate() {
        if item.always {
            scored.push((0, at));
            continue;
        }
        // the label counts double: a hit in the description is a weaker one
        let label = score(&item.label).map(|score| score * 2);
        let best = label.max(score(&item.detail)).max(score(&item.value)).max(score(&item.hint));
        scored.extend(best.map(|score| (score + item.boost, at)));
    }
    scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
    picker.matches = scored.into_iter().map(|(_, at)| at).collect();
}

/// The selected row.
pub fn chosen(picker: &Picker) -> Option<&PickItem> {
    picker.matches.get(picker.selected).and_then(|at| picker.items.get(*at))
}

/// A key for the picker on top.
pub fn key(model: &mut Model, out: &mut Vec<Effect>, press: Press) {
    if let Some(movement) = modals::movement(press.action) {
        return step(model, out, movement);
    }
    match press.action {
        Some(Action::Close) => return cancel(model),
        Some(Action::Refresh) => return refresh(model, out),
        Some(Action::Accept) => return accept(model, out),
        Some(Action::OpenTab) => return agents::in_tab(model, out),
        Some(Action::CancelDownload) => {
            if top(model, PickerKind::LocalModels).is_some() {
                local_models::ask_cancel(model);
            }
            return;
        }
        _ => {}
    }
    let Some(Modal::Picker(picker)) = model.tab.modals.last_mut() else { return };
    if edit::line(&mut picker.query, &mut picker.cursor, press) == Edited::Changed {
        typed(model, out);
    }
}

/// The query was changed.
pub fn typed(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Picker(picker)) = model.tab.modals.last_mut() else { return };
    filter(picker);
    if picker.kind == PickerKind::Permissions {
        return permissions::typed(model, out);
    }
    preview(model, out);
}

fn refresh(model: &mut Model, out: &mut Vec<Effect>) {
    if let Some(picker) = top(model, PickerKind::Model) {
        picker.loading = true;
        out.push(Effect::Load(LoadRequest::Models { refresh: true }));
    }
}

/// Pasted text narrows the list.
pub fn paste(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    let Some(Modal::Picker(picker)) = model.tab.modals.last_mut() else { return };
    edit::insert(&mut picker.query, &mut picker.cursor, text.trim_end());
    typed(model, out);
}

/// Moves the selection.
pub fn step(model: &mut Model, out: &mut Vec<Effect>, movement: Move) {
    let Some(Modal::Picker(picker)) = model.tab.modals.last_mut() else { return };
    picker.selected = modals::moved(picker.selected, picker.matches.len(), movement);
    preview(model, out);
}

/// A click selects a row, on the selected one it takes it.
pub fn click(model: &mut Model, out: &mut Vec<Effect>, row: usize) {
    let Some(Modal::Picker(picker)) = model.tab.modals.last_mut() else { return };
    if row >= picker.matches.len() {
        return;
    }
    if picker.selected == row {
        accept(model, out);
    } else {
        picker.selected = row;
        preview(model, out);
    }
}

/// Shows what the selected row would do, where that can be seen.
fn preview(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Picker(picker)) = model.tab.modals.last() else { return };
    let Some(value) = chosen(picker).map(|item| item.value.clone()) else { return };
    match picker.kind {
        PickerKind::Skin => appearance::preview_skin(model, out, &value),
        PickerKind::Theme => appearance::preview_theme(model, out, &value),
        PickerKind::Servers => servers::note(model),
        PickerKind::LocalModels => local_models::note(model),
        PickerKind::Toolsets => toolsets::note(model),
        PickerKind::Context => context::note(model),
        PickerKind::Tree => tree::note(model),
        PickerKind::Agents => agents::note(model),
        PickerKind::OtherWindow => {}
        PickerKind::Backends => backends::note(model),
        PickerKind::Permissions => permissions::note(model),
        PickerKind::Palette
        | PickerKind::Help
        | PickerKind::Model
        | PickerKind::Served
        | PickerKind::Provider
        | PickerKind::Modes
        | PickerKind::Checkout
        | PickerKind::Inbox
        | PickerKind::History
        | PickerKind::SessionActions
        | PickerKind::Turn
        | PickerKind::Tabs => {}
    }
}

/// Closes the picker and leaves everything as it was.
pub fn cancel(model: &mut Model) {
    if let Some(Modal::Picker(picker)) = model.tab.modals.pop() {
        match picker.kind {
            PickerKind::Skin | PickerKind::Theme => appearance::restore(model),
            PickerKind::Palette
            | PickerKind::Help
            | PickerKind::Model
            | PickerKind::Served
            | PickerKind::LocalModels
            | PickerKind::Provider
            | PickerKind::Servers
            | PickerKind::Toolsets
            | PickerKind::Context
            | PickerKind::Tree
            | PickerKind::Agents
            | PickerKind::OtherWindow
            | PickerKind::SessionActions
            | PickerKind::Backends
            | PickerKind::Modes
            | PickerKind::Checkout
            | PickerKind::Permissions
            | PickerKind::Inbox
            | PickerKind::History
            | PickerKind::Turn
            | PickerKind::Tabs => {}
        }
    }
}

/// Takes the selected row.
fn accept(model: &mut Model, out: &mut Vec<Effect>) {
    let Some(Modal::Picker(picker)) = model.tab.modals.last() else { return };
    let Some(value) = chosen(picker).map(|item| item.value.clone()) else { return };
    let kind = picker.kind;
    // These stay open.
    match kind {
        PickerKind::Servers => return servers::switched(model, out, &value),
        PickerKind::Toolsets => return toolsets::switched(model, out, &value),
        PickerKind::Context => return context::switched(model, out),
        PickerKind::Permissions => return permissions::chosen(model, &value),
        PickerKind::Palette
        | PickerKind::Help
        | PickerKind::Model
        | PickerKind::Served
        | PickerKind::LocalModels
        | PickerKind::Skin
        | PickerKind::Theme
        | PickerKind::Provider
        | PickerKind::Backends
        | PickerKind::Modes
        | PickerKind::Checkout
        | PickerKind::Inbox
        | PickerKind::History
        | PickerKind::Tree
        | PickerKind::Agents
        | PickerKind::OtherWindow
        | PickerKind::SessionActions
        | PickerKind::Turn
        | PickerKind::Tabs => {}
    }
    model.tab.modals.pop();
    match kind {
        // What means something only in a list or a field is there to be read.
        PickerKind::Help if value.is_empty() => {}
        PickerKind::Palette | PickerKind::Help => palette::chosen(model, out, &value),
        PickerKind::Model => models::chosen(model, out, &value),
        PickerKind::Skin => appearance::take_skin(model, out, &value),
        PickerKind::Theme => appearance::take_theme(model, out, &value),
        PickerKind::Served => own_server::picked(model, out, &value),
        PickerKind::LocalModels => local_models::chosen(model, out, &value),
        PickerKind::Provider => models::provider_chosen(model, out, &value),
        PickerKind::Backends => backends::chosen(out, &value),
        PickerKind::Checkout => checkout::chosen(model, out, &value),
        PickerKind::Modes => mode::choose(model, out, &value),
        PickerKind::Servers | PickerKind::Toolsets | PickerKind::Context | PickerKind::Permissions => {}
        PickerKind::Turn => footer::chosen(model, &value),
        PickerKind::Inbox => approvals::chosen(model, &value),
        PickerKind::History => history::chosen(model, out, &value),
        PickerKind::Tabs => tabs::chosen(model, out, &value),
        PickerKind::Tree => tree::chosen(model, out, &value),
        PickerKind::Agents => agents::chosen(model, out, &value),
        PickerKind::OtherWindow => agents::with_other(model, out, &value),
        PickerKind::SessionActions => keeping::chosen(model, out, &value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker(labels: &[&str]) -> Picker {
        let item = |label: &&str| PickItem { label: (*label).into(), value: (*label).into(), ..PickItem::default() };
        Picker {
            kind: PickerKind::Palette,
            title: String::new(),
            query: String::new(),
            cursor: 0,
            items: labels.iter().map(item).collect(),
            matches: Vec::new(),
            selected: 0,
            loading: false,
            inert_until: 0,
            footnote: String::new(),
        }
    }

    fn shown(picker: &Picker) -> Vec<&str> {
        picker.matches.iter().map(|at| picker.items[*at].label.as_str()).collect()
    }

    #[test]
    fn every_letter_is_text_in_a_filter() {
        let mut model = crate::app::tests::ready();
        crate::app::tests::script(&mut model, "<C-p>kg Gjqyn");
        let Some(Modal::Picker(picker)) = model.tab.modals.last() else { panic!("{:?}", model.tab.modals) };
        assert_eq!(picker.query, "kg Gjqyn");
    }

    #[test]
    fn matches_are_fuzzy_best_first_and_stable() {
        let mut picker = picker(&["open session", "new session", "sidebar", "quit"]);
        for (query, first, count) in
            [("", "open session", 4), ("ses", "open session", 2), ("nses", "new session", 2), ("zz", "", 0)]
        {
            picker.query = query.into();
            filter(&mut picker);
            assert_eq!(
                (shown(&picker).first().copied().unwrap_or_default(), picker.matches.len()),
                (first, count),
                "{query}"
            );
        }
    }

    #[test]
    fn every_letter_narrows_the_list() {
        let mut model = crate::app::tests::ready();
        crate::app::tests::script(&mut model, "<C-p>jk gGq<left>x");
        let picker = top(&mut model, PickerKind::Palette).expect("the palette");
        assert_eq!((picker.query.as_str(), picker.cursor), ("jk gGxq", 6));
    }

    #[test]
    fn new_rows_keep_query_and_selection() {
        let mut picker = picker(&["a one", "a two"]);
        picker.query = "a".into();
        filter(&mut picker);
        picker.selected = 1;
        let items = ["b", "a zero", "a one", "a two"];
        let items = items.map(|label| PickItem { label: label.into(), value: label.into(), ..PickItem::default() });
        fill(&mut picker, items.into());
        assert_eq!(chosen(&picker).map(|item| item.value.as_str()), Some("a two"));
        assert_eq!(picker.matches.len(), 3);
    }
}
