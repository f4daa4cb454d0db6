//! Selecting, expanding and copying in the conversation. What is copied is source text.

use super::copy_words::Word;
use super::{copy_words, find, footer, marking, scroll};
use crate::app::action::Action;
use crate::app::effect::Effect;
use crate::app::input::{focus, hint};
use crate::app::model::notices::About;
use crate::app::model::selection::Grain;
use crate::app::model::transcript::{CellId, CellKind, Position, Selection, Spot};
use crate::app::model::{CopyMode, Copying, Model, Pane};
use crate::config::keymap::Context;
use crate::protocol::Level;

/// Selects the entry above or below.
pub fn step(model: &mut Model, by: i32) {
    if model.tab.focus == Pane::Queue {
        let last = model.tab.queue.len().saturating_sub(1);
        model.tab.queue_selected = scroll::shifted(model.tab.queue_selected, by).min(last);
        return;
    }
    let cells = &model.tab.transcript.cells;
    let Some(last) = cells.len().checked_sub(1) else { return };
    let current = model.tab.transcript.selected.and_then(|id| cells.iter().rposition(|cell| cell.id == id));
    let at = match current {
        Some(at) => scroll::shifted(at, by).min(last),
        None => {
            let bottom = model.layout.rows.last().map(|row| row.1);
            bottom.and_then(|id| cells.iter().rposition(|cell| cell.id == id)).unwrap_or(last)
        }
    };
    // Calls that another one stands for are passed over; the first of them never is one.
    let thoughts = model.config.display.show_reasoning;
    let is_shown = |at: &usize| !model.tab.transcript.is_folded(*at, thoughts);
    let at = if by > 0 { (at..cells.len()).find(is_shown).or(current) } else { (0..=at).rev().find(is_shown) };
    let Some(id) = at.map(|at| cells[at].id) else { return };
    model.tab.transcript.selected = Some(id);
    reveal(model, id);
}

/// Scrolls only when the cell is not on the screen.
pub fn reveal(model: &mut Model, id: CellId) {
    if !model.layout.rows.iter().any(|row| row.1 == id) {
        model.tab.transcript.position = Position::Anchor { cell: id, row: 0 };
        model.tab.transcript.scroll = 0;
    }
}

/// Expands or folds the selected entry, else the last one that folds.
pub fn expand(model: &mut Model) {
    let folds = |kind: &CellKind| {
        matches!(
            kind,
            CellKind::Tool(_) | CellKind::Reasoning { .. } | CellKind::Told { .. } | CellKind::Summary { .. }
        )
    };
    let (transcript, config) = (&model.tab.transcript, &model.config);
    let is_shown = |at: usize| !transcript.is_folded(at, config.display.show_reasoning);
    let cells = || transcript.cells.iter().enumerate().rev();
    let last = || cells().find(|(at, cell)| folds(&cell.kind) && is_shown(*at)).map(|(_, cell)| cell.id);
    if let Some(id) = model.tab.transcript.selected.or_else(last) {
        toggle(model, id);
    }
}

/// Expands or folds an entry.
pub fn toggle(model: &mut Model, id: CellId) {
    match model.tab.transcript.cell(id) {
        // Its details are a list of places.
        Some(cell) if matches!(cell.kind, CellKind::TurnEnd { .. }) => footer::open(model, id),
        Some(cell) => cell.toggle(),
        None => {}
    }
}

/// Expands or folds every tool call.
pub fn expand_all(model: &mut Model) {
    let all = !model.tab.transcript.expand_all;
    model.tab.transcript.expand_all = all;
    for cell in &mut model.tab.transcript.cells {
        if matches!(
            cell.kind,
            CellKind::Tool(_) | CellKind::Reasoning { .. } | CellKind::Told { .. } | CellKind::Summary { .. }
        ) && cell.expanded != all
        {
            cell.toggle();
        }
    }
}

/// Something is selected.
pub fn is_active(model: &Model) -> bool {
    model.tab.transcript.selection.is_some() || model.tab.pane_selection.is_some()
}

/// Forgets the selection and leaves copy mode.
pub fn clear(model: &mut Model) {
    model.tab.transcript.selection = None;
    model.tab.pane_selection = None;
    leave_copy_mode(model);
    model.pressed = None;
}

fn leave_copy_mode(model: &mut Model) {
    if model.tab.copy_mode.take().is_some() {
        model.notices.settled(&About::CopyMode);
    }
}

/// Copies the selection, else the selected entry, else the last answer.
pub fn copy(model: &mut Model, out: &mut Vec<Effect>) {
    if is_active(model) {
        // only the next frame knows the text: the selection may have moved since the last one
        model.tab.copying = Some(Copying::Clear);
        return;
    }
    let selected = model.tab.transcript.selected;
    match selected.and_then(|id| model.tab.transcript.cell(id)).map(|cell| cell.source().to_owned()) {
        Some(text) => out.push(Effect::Copy(text)),
        None => copy_answer(model, out, ""),
    }
}

/// Copies the n-th last answer.
pub fn copy_answer(model: &mut Model, out: &mut Vec<Effect>, argument: &str) {
    let nth = argument.parse::<usize>().unwrap_or(1).max(1);
    let answers =
        model.tab.transcript.cells.iter().rev().filter(|cell| matches!(cell.kind, CellKind::Assistant { .. }));
    match answers.map(|cell| cell.source()).nth(nth - 1) {
        Some(text) => out.push(Effect::Copy(text.to_owned())),
        None => model.notices.add(model.now, Level::Info, "no answer to copy yet"),
    }
}

/// What became of a copy.
pub fn copied(model: &mut Model, result: Result<String, String>) {
    match result {
        Ok(known) => model.notices.add(model.now, Level::Info, known),
        Err(error) => model.notices.add(model.now, Level::Warning, error),
    }
}

/// A frame shows the selection: its text is known now.
pub fn drawn(model: &mut Model, out: &mut Vec<Effect>) {
    if !is_active(model) {
        model.tab.copying = None;
    }
    if model.tab.copying.is_some() && marking::wait_for_lines(model, out) {
        return;
    }
    if let (Some(copying), Some(text)) = (model.tab.copying, &model.layout.selected_text) {
        model.tab.copying = None;
        if !text.is_empty() {
            out.push(Effect::Copy(text.clone()));
        }
        match copying {
            Copying::Keep => {}
            Copying::Clear => clear(model),
        }
    }
    if model.tab.pane_selection.is_some() {
        marking::drawn(model);
    }
    if let (Some(mode), Some(selection)) = (&mut model.tab.copy_mode, &mut model.tab.transcript.selection) {
        let row = match mode.beyond {
            -1 => model.layout.rows.first(),
            1 => model.layout.rows.last(),
            _ => None,
        };
        mode.beyond = 0;
        if let Some((_, cell, row)) = row {
            selection.to = Spot { cell: *cell, row: *row, column: selection.to.column };
            if !mode.marking {
                selection.from = selection.to;
            }
        }
    }
}

/// Begins to select with the keyboard in the focused pane, at the last row on the screen.
pub fn copy_mode(model: &mut Model) {
    if model.tab.copy_mode.is_some() {
        clear(model);
        return;
    }
    clear(model);
    if !marking::copy_mode(model) {
        let Some((_, cell, row)) = model.layout.rows.last() else { return };
        let spot = Spot { cell: *cell, row: *row, column: 0 };
        model.tab.transcript.selection = Some(Selection { from: spot, to: spot, grain: Grain::Cell });
        focus::set(model, Pane::Conversation);
    }
    model.tab.copy_mode = Some(CopyMode::default());
    let about = About::CopyMode;
    let key = |action| hint::key_in(model, Context::Copy, action);
    let moves =
        [Action::Left, Action::Down, Action::Up, Action::Right, Action::WordRight, Action::WordLeft, Action::WordEnd];
    let moves = moves.into_iter().filter_map(key).collect::<Vec<_>>().join(" ");
    let keys = hint::sentence(&[
        (Some(moves).filter(|keys| !keys.is_empty()), "move"),
        (key(Action::Mark), "marks"),
        (key(Action::CopyMarked), "copies"),
        (key(Action::Close), "leaves"),
    ]);
    model.notices.about(model.now, Level::Info, about, format!("copy mode: {keys}"));
}

/// An action in copy mode. `false`: not one of its own.
pub fn copy_mode_act(model: &mut Model, out: &mut Vec<Effect>, action: Action) -> bool {
    match action {
        Action::PageUp => half_pages(model, out, -2),
        Action::PageDown => half_pages(model, out, 2),
        Action::HalfPageUp => half_pages(model, out, -1),
        Action::HalfPageDown => half_pages(model, out, 1),
        Action::Find => find::open(model, ""),
        Action::FindNext => find::step(model, -1),
        Action::FindPrevious => find::step(model, 1),
        Action::Left => across(model, -1),
        Action::Right => across(model, 1),
        Action::WordRight => copy_words::step(model, out, Word::Right),
        Action::WordLeft => copy_words::step(model, out, Word::Left),
        Action::WordEnd => copy_words::step(model, out, Word::End),
        Action::LineStart => across(model, i32::MIN),
        Action::LineEnd => across(model, i32::MAX),
        Action::Down => down(model, out, 1),
        Action::Up => down(model, out, -1),
        Action::ToStart => edge(model, true),
        Action::ToEnd => edge(model, false),
        Action::Mark => mark(model),
        Action::MarkLine => mark_row(model),
        Action::CopyMarked => {
            copy(model, out);
            leave_copy_mode(model);
        }
        Action::Close => clear(model),
        _ => return false,
    }
    true
}

fn half_pages(model: &mut Model, out: &mut Vec<Effect>, by: i32) {
    if model.tab.pane_selection.is_some() {
        return marking::half_pages(model, out, by);
    }
    let rows = (model.layout.rows.len() / 2).max(1) as i32;
    model.tab.transcript.scroll = model.tab.transcript.scroll.saturating_add(rows * by);
    if let Some(mode) = &mut model.tab.copy_mode {
        mode.beyond = by.signum() as i8;
    }
}

fn width(model: &Model) -> u16 {
    let area = model.layout.panes.iter().find(|(pane, _)| *pane == Pane::Conversation);
    area.map_or(model.size.0, |(_, area)| area.width)
}

/// The caret of copy mode goes to a place of the conversation.
pub(super) fn move_to(model: &mut Model, to: Spot) {
    let marking = model.tab.copy_mode.is_some_and(|mode| mode.marking);
    if let Some(selection) = &mut model.tab.transcript.selection {
        selection.to = to;
        if !marking {
            selection.from = to;
        }
    }
}

/// Moves the caret across; far steps stop at the edges.
pub(super) fn across(model: &mut Model, by: i32) {
    if model.tab.pane_selection.is_some() {
        return marking::across(model, by);
    }
    let last = i32::from(width(model).saturating_sub(1));
    let Some(Selection { to, .. }) = model.tab.transcript.selection else { return };
    let column = i32::from(to.column).saturating_add(by).clamp(0, last) as u16;
    move_to(model, Spot { column, ..to });
}

/// Moves the caret by rows; beyond the edge the pane scrolls along.
pub(super) fn down(model: &mut Model, out: &mut Vec<Effect>, by: i32) {
    if model.tab.pane_selection.is_some() {
        return marking::down(model, out, by);
    }
    let Some(Selection { to, .. }) = model.tab.transcript.selection else { return };
    let rows = &model.layout.rows;
    let at = rows.iter().position(|(_, cell, row)| (*cell, *row) == (to.cell, to.row));
    let next = at.and_then(|at| at.checked_add_signed(by as isize)).and_then(|at| rows.get(at)).copied();
    match next {
        Some((_, cell, row)) => move_to(model, Spot { cell, row, column: to.column }),
        None => {
            model.tab.transcript.scroll += by;
            if let Some(mode) = &mut model.tab.copy_mode {
                mode.beyond = by.signum() as i8;
            }
        }
    }
}

fn edge(model: &mut Model, first: bool) {
    if model.tab.pane_selection.is_some() {
        return marking::edge(model, first);
    }
    let rows = &model.layout.rows;
    let row = if first { rows.first() } else { rows.last() };
    if let Some((_, cell, row)) = row.copied() {
        move_to(model, Spot { cell, row, column: 0 });
    }
}

fn mark(model: &mut Model) {
    if let Some(mode) = &mut model.tab.copy_mode {
        mode.marking = !mode.marking;
    }
    marking::mark(model, false);
    if let Some(selection) = &mut model.tab.transcript.selection {
        selection.from = selection.to;
        selection.grain = Grain::Cell;
    }
}

fn mark_row(model: &mut Model) {
    if let Some(mode) = &mut model.tab.copy_mode {
        mode.marking = true;
    }
    marking::mark(model, true);
    if let Some(selection) = &mut model.tab.transcript.selection {
        selection.from = selection.to;
        selection.grain = Grain::Line;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::model::layout::Layout;
    use crate::app::msg::Msg;
    use crate::app::session::items;
    use crate::app::tests::{ready, script, user};
    use crate::app::update;

    fn shown() -> Model {
        let mut model = ready();
        items::opened(&mut model, vec![user(1, "one"), user(2, "two"), user(3, "three")]);
        let ids: Vec<_> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
        model.layout.rows = vec![(1, ids[1], 0), (2, ids[2], 0)];
        model
    }

    #[test]
    fn the_selected_entry_is_copied_as_it_was_written() {
        let mut model = shown();
        step(&mut model, -1);
        let mut out = Vec::new();
        copy(&mut model, &mut out);
        assert_eq!(out, [Effect::Copy("three".into())]);
        step(&mut model, -1);
        step(&mut model, -1);
        let first = model.tab.transcript.cells[0].id;
        assert_eq!(model.tab.transcript.position, Position::Anchor { cell: first, row: 0 }, "scrolled into view");
    }

    #[test]
    fn copy_mode_marks_rows_and_copies_the_text_of_the_frame() {
        let mut model = shown();
        let ids: Vec<_> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
        script(&mut model, "<A-v>");
        let keys_are_said =
            |model: &Model| model.notices.shown.iter().any(|notice| notice.text.starts_with("copy mode"));
        assert!(keys_are_said(&model));
        script(&mut model, "<esc>");
        assert!(!keys_are_said(&model), "they go with it");
        script(&mut model, "<A-v>kvjll");
        let spot = |cell, column| Spot { cell, row: 0, column };
        assert_eq!(
            model.tab.transcript.selection,
            Some(Selection { from: spot(ids[1], 0), to: spot(ids[2], 2), grain: Grain::Cell })
        );
        assert_eq!(script(&mut model, "y").iter().filter(|e| matches!(e, Effect::Copy(_))).count(), 0);
        let layout = Layout { selected_text: Some("two\nthr".into()), ..Layout::default() };
        let effects = update(&mut model, 0, Msg::Drawn(Box::new(layout)));
        assert!(effects.contains(&Effect::Copy("two\nthr".into())));
        assert_eq!(model.tab.copy_mode, None);
    }

    #[test]
    fn the_caret_scrolls_beyond_the_screen() {
        let mut model = shown();
        let ids: Vec<_> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
        script(&mut model, "<A-v>kk");
        assert_eq!(model.tab.transcript.scroll, -1);
        let rows = vec![(1, ids[0], 0), (2, ids[1], 0)];
        update(&mut model, 0, Msg::Drawn(Box::new(Layout { rows, ..Layout::default() })));
        assert_eq!(model.tab.transcript.selection.expect("a caret").to.cell, ids[0]);
    }

    #[test]
    fn expanding_bumps_the_revision() {
        let mut model = shown();
        let before = model.tab.transcript.cells[0].revision;
        let id = model.tab.transcript.cells[0].id;
        toggle(&mut model, id);
        let cell = &model.tab.transcript.cells[0];
        assert!(cell.expanded && cell.revision > before);
    }
}
