//! Earlier prompts: walking at the edges of the composer while the draft waits at the end, and searching.

use super::{composer, drafts, paste};
use crate::app::effect::Effect;
use crate::app::lists::pickers;
use crate::app::model::Model;
use crate::app::model::modal::{PickItem, PickerKind};
use tui_textarea::CursorMove;

/// Entries kept; older ones stay in the store.
const LIMIT: usize = 1000;
/// A longer prompt is not offered again as text: it is in its session.
const LONGEST: usize = 100_000;

/// Adds a prompt; `false` when it is not worth storing.
pub fn add(model: &mut Model, text: &str) -> bool {
    let entries = &mut model.tab.composer.history.entries;
    if text.trim().is_empty() || text.len() > LONGEST || entries.last().is_some_and(|last| last == text) {
        return false;
    }
    entries.push(text.to_owned());
    if entries.len() > LIMIT {
        entries.remove(0);
    }
    true
}

/// The stored prompts came; those of this run stay behind them.
pub fn loaded(model: &mut Model, mut stored: Vec<String>) {
    let history = &mut model.tab.composer.history;
    if let Some(at) = &mut history.at {
        *at += stored.len();
    }
    stored.append(&mut history.entries);
    history.entries = stored;
}

/// Up: moves in the text, then to an earlier prompt.
pub fn previous(model: &mut Model) {
    if walk_in_text(model, CursorMove::Up) {
        return;
    }
    let history = &model.tab.composer.history;
    let to = match history.at {
        None => history.entries.len().checked_sub(1),
        Some(at) => at.checked_sub(1),
    };
    let Some(to) = to else { return };
    if history.at.is_none() {
        let draft = paste::encode_draft(&composer::text(&model.tab.composer), &model.tab.composer.pastes);
        model.tab.composer.history.draft = draft;
    }
    show(model, to);
    // on the first row, so that Up goes on to the prompt before
    model.tab.composer.area.move_cursor(CursorMove::Top);
    model.tab.composer.area.move_cursor(CursorMove::End);
}

/// Down: moves in the text, then to a later prompt, then to the draft.
pub fn next(model: &mut Model) {
    if walk_in_text(model, CursorMove::Down) {
        return;
    }
    let Some(at) = model.tab.composer.history.at else { return };
    if at + 1 < model.tab.composer.history.entries.len() {
        show(model, at + 1);
    } else {
        let draft = std::mem::take(&mut model.tab.composer.history.draft);
        model.tab.composer.history.at = None;
        composer::restore(model, &draft);
    }
}

fn walk_in_text(model: &mut Model, to: CursorMove) -> bool {
    let before = model.tab.composer.area.cursor();
    model.tab.composer.area.move_cursor(to);
    let after = model.tab.composer.area.cursor();
    (before.0, before.1) != (after.0, after.1)
}

fn show(model: &mut Model, at: usize) {
    let text = model.tab.composer.history.entries[at].clone();
    composer::set_text(model, &text);
    model.tab.composer.history.at = Some(at);
}

/// The text was edited: what stands there is the draft now; the one that waited goes on the ring.
pub fn leave(model: &mut Model) {
    if model.tab.composer.history.at.take().is_some() {
        let draft = std::mem::take(&mut model.tab.composer.history.draft);
        if !draft.is_empty() {
            drafts::push(model, draft);
        }
    }
}

/// The picker of earlier prompts, newest first.
pub fn search(model: &mut Model) {
    let entries = model.tab.composer.history.entries.iter().rev().map(|text| item(text)).collect();
    pickers::open(model, PickerKind::History, "Prompt history", entries);
}

fn item(text: &str) -> PickItem {
    let mut lines = text.lines();
    let label = lines.next().unwrap_or_default().chars().take(200).collect();
    let more = lines.count();
    let hint = if more > 0 { format!("+{more} lines") } else { String::new() };
    PickItem { label, hint, value: text.to_owned(), ..PickItem::default() }
}

/// A prompt was chosen: it goes into the composer, and what stood there on the ring.
pub fn chosen(model: &mut Model, out: &mut Vec<Effect>, text: &str) {
    if !model.tab.composer.area.is_empty() {
        let draft = paste::encode_draft(&composer::text(&model.tab.composer), &model.tab.composer.pastes);
        drafts::push(model, draft);
    }
    composer::set_text(model, text);
    composer::changed(model, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::{model, script};

    fn with_history() -> Model {
        let mut model = model();
        loaded(&mut model, vec!["one".into(), "two\nlines".into()]);
        model
    }

    #[test]
    fn the_draft_waits_at_the_end_of_the_walk() {
        for (keys, text) in [
            ("draft<up>", "two\nlines"),
            ("draft<up><down>", "two\nlines"),
            ("draft<up><down><down>", "draft"),
            ("draft<up><up>", "one"),
            ("draft<up><up><up>", "one"),
            ("draft<up><up><down>", "two\nlines"),
            ("draft<up><up><down><down>", "draft"),
            ("a<A-ret>b<up>", "a\nb"),
            ("a<A-ret>b<up><up><down><down>", "a\nb"),
        ] {
            let mut model = with_history();
            script(&mut model, keys);
            assert_eq!(composer::text(&model.tab.composer), text, "{keys}");
        }
    }

    #[test]
    fn editing_a_walked_prompt_keeps_the_draft() {
        let mut model = with_history();
        script(&mut model, "draft<up>x");
        assert_eq!(composer::text(&model.tab.composer), "twox\nlines");
        assert_eq!(model.tab.composer.drafts, ["draft"]);
    }

    #[test]
    fn the_search_brings_a_prompt_back() {
        let mut model = with_history();
        script(&mut model, "draft<C-x>rone<ret>");
        assert_eq!(composer::text(&model.tab.composer), "one");
        assert_eq!(model.tab.composer.drafts, ["draft"]);
        assert!(model.tab.modals.is_empty());
    }
}
