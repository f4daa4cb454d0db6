//! Find in the conversation.

use crate::app::action::Action;
use crate::app::input::{focus, hint};
use crate::app::model::modal::{InputModal, InputThen, Modal};
use crate::app::model::transcript::CellKind;
use crate::app::model::transcript::{CellId, Find, Position};
use crate::app::model::{Model, Pane};
use crate::protocol::Level;

/// Opens the search, with what was searched last, or searches at once.
pub fn open(model: &mut Model, words: &str) {
    if !words.is_empty() {
        query(model, words);
        done(model);
        return;
    }
    let text = model.tab.transcript.find.as_ref().map(|find| find.query.clone()).unwrap_or_default();
    model.tab.modals.push(Modal::Input(InputModal {
        title: "Find".into(),
        hint: hint::sentence(&[
            (hint::field(model, Action::Accept), "keeps the hits"),
            (hint::field(model, Action::Close), "forgets them"),
        ]),
        cursor: text.chars().count(),
        text,
        masked: false,
        then: InputThen::Find,
        message: String::new(),
        busy: false,
        inert_until: 0,
    }));
}

/// Searches anew; lower-case words find both cases. The newest hit is shown.
pub fn query(model: &mut Model, query: &str) {
    let hits = hits(model, query);
    let current = hits.len().saturating_sub(1);
    model.tab.transcript.find = Some(Find { query: query.to_owned(), hits, current });
    show(model);
}

fn hits(model: &Model, query: &str) -> Vec<CellId> {
    if query.is_empty() {
        return Vec::new();
    }
    let exact = query.chars().any(char::is_uppercase);
    let found = |text: &str| if exact { text.contains(query) } else { text.to_lowercase().contains(query) };
    let cells = model.tab.transcript.cells.iter().filter(|cell| found(cell.source()) || found(target(&cell.kind)));
    cells.map(|cell| cell.id).collect()
}

fn target(kind: &CellKind) -> &str {
    if let CellKind::Tool(tool) = kind { &tool.target } else { "" }
}

fn show(model: &mut Model) {
    let Some(find) = &model.tab.transcript.find else { return };
    if let Some(cell) = find.hits.get(find.current).copied() {
        model.tab.transcript.selected = Some(cell);
        model.tab.transcript.position = Position::Anchor { cell, row: 0 };
        model.tab.transcript.scroll = 0;
    }
}

/// The query is entered: keys go to the conversation.
pub fn done(model: &mut Model) {
    match &model.tab.transcript.find {
        Some(find) if find.hits.is_empty() => {
            model.notices.add(model.now, Level::Info, format!("no matches for \"{}\"", find.query));
            model.tab.transcript.find = None;
        }
        Some(_) => focus::set(model, Pane::Conversation),
        None => {}
    }
}

/// Forgets the hits.
pub fn close(model: &mut Model) {
    model.tab.transcript.find = None;
    if model.tab.focus == Pane::Conversation {
        focus::set(model, Pane::Composer);
    }
}

/// The next hit (1, newer) or the one before (-1), round at the ends.
pub fn step(model: &mut Model, by: i32) {
    let Some(find) = &mut model.tab.transcript.find else {
        open(model, "");
        return;
    };
    let count = find.hits.len() as i32;
    if count > 0 {
        find.current = (find.current as i32 + by).rem_euclid(count) as usize;
        show(model);
    }
}

/// An action while hits are shown. `false`: not one of its own.
pub fn act(model: &mut Model, action: Action) -> bool {
    let reading = model.tab.focus == Pane::Conversation;
    match action {
        Action::Close => close(model),
        Action::FindNext if reading => step(model, -1),
        Action::FindPrevious if reading => step(model, 1),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::items;
    use crate::app::tests::{ready, script, user};

    #[test]
    fn hits_are_walked_from_the_newest_and_escape_forgets_them() {
        let mut model = ready();
        items::opened(&mut model, vec![user(1, "Apple"), user(2, "pear"), user(3, "apple tart")]);
        let ids: Vec<_> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
        script(&mut model, "<C-f>apple<ret>");
        assert_eq!(model.tab.transcript.selected, Some(ids[2]));
        script(&mut model, "n");
        assert_eq!(model.tab.transcript.selected, Some(ids[0]));
        script(&mut model, "n");
        assert_eq!(model.tab.transcript.selected, Some(ids[2]), "round at the end");
        script(&mut model, "<esc>");
        assert_eq!(model.tab.transcript.find, None);
        assert_eq!(model.tab.focus, Pane::Composer);
        script(&mut model, "<C-f>Apple<ret>");
        assert_eq!(model.tab.transcript.find.as_ref().map(|find| find.hits.len()), Some(1), "capitals are exact");
        script(&mut model, "<esc><C-f>zzz<ret>");
        assert_eq!(model.tab.transcript.find, None);
    }
}
