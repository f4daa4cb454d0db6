//! Copy mode by words: `w`, `b` and `e` over the text of the rows that the last frame showed.

use super::{marking, select};
use crate::app::effect::Effect;
use crate::app::input::vi::text::Text;
use crate::app::model::Model;
use crate::app::model::layout::FlatRow;
use crate::app::model::selection::{Point, Surface};
use crate::app::model::transcript::{Position, Spot};
use crate::text::width::width;

/// Where a word takes the caret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Left,
    Right,
    End,
}

/// Moves the caret by a word. Past the rows on the screen the pane scrolls along, as far as it goes.
pub fn step(model: &mut Model, out: &mut Vec<Effect>, word: Word) {
    let rows = &model.layout.words;
    let Some((row, column)) = caret(model).filter(|(row, _)| *row < rows.len()) else { return };
    let (text, starts) = joined(rows);
    let line = starts[row];
    let inside = usize::from(column.saturating_sub(rows[row].0));
    let at = line + characters(&rows[row].1, inside);
    let text = Text::new(&text, at);
    let to = match word {
        Word::Right => text.word_right(at, false),
        Word::End => text.word_end(at, false),
        Word::Left => text.word_left(at, false),
    };
    let last = text.chars.len().saturating_sub(1);
    let forward = word != Word::Left;
    let stuck = if forward { to > last || to == at } else { to == at || text.is_blank(to) };
    if stuck && scrolls(model, forward) {
        // the row that comes is known with the next frame: the caret waits at its near end
        select::across(model, if forward { i32::MIN } else { i32::MAX });
        return select::down(model, out, if forward { 1 } else { -1 });
    }
    let to = to.min(last);
    let row = starts.partition_point(|start| *start <= to).saturating_sub(1);
    let before: String = text.chars[starts[row]..to].iter().collect();
    let column = rows[row].0.saturating_add(u16::try_from(width(&before)).unwrap_or(u16::MAX));
    put(model, row, column);
}

/// The rows as one text, and where each begins in it, in characters.
fn joined(rows: &[(u16, String)]) -> (String, Vec<usize>) {
    let (mut text, mut starts, mut count) = (String::new(), Vec::with_capacity(rows.len()), 0);
    for (_, row) in rows {
        if !starts.is_empty() {
            text.push('\n');
            count += 1;
        }
        starts.push(count);
        let row = row.trim_end();
        text.push_str(row);
        count += row.chars().count();
    }
    (text, starts)
}

/// The characters of a row before a column; its last one where it ends before.
fn characters(row: &str, column: usize) -> usize {
    let row = row.trim_end();
    let mut used = 0;
    for (at, character) in row.chars().enumerate() {
        used += width(character.encode_utf8(&mut [0; 4]));
        if used > column {
            return at;
        }
    }
    row.chars().count().saturating_sub(1)
}

fn flat(model: &Model, surface: Surface) -> impl Iterator<Item = &FlatRow> {
    model.layout.flat.iter().filter(move |row| row.surface == surface)
}

/// The row of the caret among those of the frame, and its column.
fn caret(model: &Model) -> Option<(usize, u16)> {
    if let Some(selection) = &model.tab.pane_selection {
        let row = flat(model, selection.surface).position(|row| row.place == selection.to.place)?;
        return Some((row, selection.to.column));
    }
    let to = model.tab.transcript.selection?.to;
    let row = model.layout.rows.iter().position(|(_, cell, row)| (*cell, *row) == (to.cell, to.row))?;
    Some((row, to.column))
}

fn put(model: &mut Model, row: usize, column: u16) {
    if let Some(surface) = model.tab.pane_selection.as_ref().map(|selection| selection.surface) {
        let place = flat(model, surface).nth(row).map(|row| row.place);
        if let Some(place) = place {
            marking::move_to(model, Point { place, column });
        }
    } else if let Some((_, cell, row)) = model.layout.rows.get(row).copied() {
        select::move_to(model, Spot { cell, row, column });
    }
}

/// Whether there is more beyond the rows of the frame.
fn scrolls(model: &Model, forward: bool) -> bool {
    match model.tab.pane_selection.as_ref().map(|selection| selection.surface) {
        Some(Surface::Terminal) => model
            .tab
            .processes
            .pane
            .screen
            .as_ref()
            .is_some_and(|it| if forward { it.below > 0 } else { it.scrollback > 0 }),
        Some(Surface::Sidebar | Surface::Modal) => false,
        None if forward => model.layout.position != Position::Latest,
        None => !model.layout.at_top,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::items;
    use crate::app::tests::{ready, script, user};

    fn shown(rows: &[(u16, &str)]) -> Model {
        let mut model = ready();
        let items = (1..=rows.len() as i64).map(|id| user(id, "x")).collect();
        items::opened(&mut model, items);
        let ids: Vec<_> = model.tab.transcript.cells.iter().map(|cell| cell.id).collect();
        model.layout.rows = ids.iter().enumerate().map(|(at, id)| (at as u16, *id, 0)).collect();
        model.layout.words = rows.iter().map(|(indent, text)| (*indent, (*text).to_owned())).collect();
        model.layout.at_top = true;
        model
    }

    #[test]
    fn words_are_steps_in_a_row_and_from_row_to_row() {
        let rows = [(4, "see src/app.rs, twice   "), (4, "日本 wide"), (2, ""), (4, "end")];
        // the caret begins at the start of the last row
        for (keys, row, column) in [
            ("kkk0w", 0, 8),
            ("kkk0ww", 0, 11),
            ("kkk0e", 0, 6),
            ("kkk0ee", 0, 10),
            ("kkk$b", 0, 20),
            ("kkk$w", 1, 4),
            ("kk0w", 1, 9),
            ("kk0e", 1, 6),
            ("kk$w", 2, 2),
            ("b", 2, 2),
            ("bb", 1, 9),
            ("e", 3, 6),
            ("ew", 3, 6),
            ("kkk0b", 0, 4),
        ] {
            let mut model = shown(&rows);
            script(&mut model, &format!("<A-v>{keys}"));
            assert_eq!(caret(&model), Some((row, column)), "{keys}");
        }
    }

    #[test]
    fn beyond_the_screen_the_pane_scrolls() {
        let mut model = shown(&[(4, "one two")]);
        model.layout.at_top = false;
        script(&mut model, "<A-v>b");
        assert_eq!(model.tab.transcript.scroll, -1);
        let mut model = shown(&[(4, "one two")]);
        model.layout.position = Position::Anchor { cell: model.tab.transcript.cells[0].id, row: 0 };
        script(&mut model, "<A-v>www");
        assert_eq!(model.tab.transcript.scroll, 1);
    }

    #[test]
    fn without_a_frame_nothing_moves() {
        let mut model = shown(&[(4, "one two")]);
        model.layout.words.clear();
        script(&mut model, "<A-v>w");
        assert_eq!(caret(&model), Some((0, 0)));
    }
}
