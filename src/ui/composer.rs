//! The field where the user writes: a raised block that grows, its caret, chips and the completion popup.

use super::cache::ViewCache;
use super::paint::{Paint, cells, inset, row};
use super::{hints, to_area};
use crate::app::Model;
use crate::app::input::vi;
use crate::app::model::Pane;
use crate::app::model::layout::Layout;
use crate::app::session::turn::Busy;
use crate::config::theme::Slot;
use crate::text::format::bytes;
use crate::text::width::{grapheme_width, truncate_end, truncate_middle, width};
use crate::text::wrap::{Row, wrap};
use crate::text::{Line, Role};
use ratatui::layout::Rect;

/// Rows of text before it scrolls.
const MAX_ROWS: u16 = 8;
/// Column of the text.
const TEXT: u16 = 4;

/// What is shown of the text, worked out before the panes are placed.
pub struct Field {
    /// Rows it wants, chips included.
    pub rows: u16,
    lines: Vec<Shown>,
    /// Column and row of the caret.
    caret: (u16, u16),
}

struct Shown {
    line: usize,
    text: String,
    /// Characters of the line before this row.
    from: usize,
}

/// Wraps what is around the caret: never the whole of a long text.
pub fn measure(model: &Model, cache: &mut ViewCache, columns: u16) -> Field {
    let area = &model.tab.composer.area;
    let lines = area.lines();
    let room = usize::from(columns.saturating_sub(TEXT + 3)).max(1);
    let cursor = area.cursor();
    let (caret_line, caret_column) = (cursor.0, cursor.1);
    let caret_rows = lines.get(caret_line).map(|line| rows(line, room)).unwrap_or_default();
    let (caret_row, caret_x) = caret(lines.get(caret_line).map_or("", String::as_str), &caret_rows, caret_column, room);
    // The window moves only when the caret leaves it.
    let top = cache.composer_top;
    let here = (caret_line, caret_row);
    let mut top = if top > here || top.0 >= lines.len() { here } else { top };
    if distance(lines, top, here, room).is_none() {
        top = back(lines, here, usize::from(MAX_ROWS) - 1, room);
    }
    // Text that went away above leaves no hole below.
    let earliest = back(lines, end(lines, room), usize::from(MAX_ROWS) - 1, room);
    top = top.min(earliest);
    cache.composer_top = top;
    let mut shown = Vec::new();
    let mut caret = (caret_x, 0);
    'all: for (index, line) in lines.iter().enumerate().skip(top.0) {
        for (at, part) in rows(line, room).into_iter().enumerate() {
            if (index, at) < top {
                continue;
            }
            if shown.len() >= usize::from(MAX_ROWS) {
                break 'all;
            }
            if (index, at) == here {
                caret.1 = shown.len() as u16;
            }
            shown.push(Shown { line: index, text: part.line.text(), from: line[..part.source.start].chars().count() });
        }
    }
    let chips = u16::from(!model.tab.composer.images.is_empty());
    Field { rows: cells(shown.len()).max(1) + chips, lines: shown, caret }
}

fn rows(line: &str, room: usize) -> Vec<Row> {
    wrap(&Line::plain(line, Role::Text), room)
}

/// Row and column of the caret in a wrapped line.
fn caret(line: &str, rows: &[Row], column: usize, room: usize) -> (usize, u16) {
    let byte = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let row = rows.iter().rposition(|row| row.source.start <= byte).unwrap_or(0);
    let start = rows.get(row).map_or(0, |row| row.source.start);
    let x = Line::plain(line.get(start..byte).unwrap_or_default(), Role::Text);
    let shown: usize = wrap(&x, usize::MAX / 2).iter().map(|row| row.line.width()).sum();
    let spaces = line.get(start..byte).unwrap_or_default();
    let trailing = spaces.len() - spaces.trim_end_matches(' ').len();
    let trimmed = width(spaces.trim_end_matches(' ')).max(shown.saturating_sub(trailing));
    (row, cells((trimmed + trailing).min(room)))
}

/// Rows from one place to a later one; `None` when they do not fit the window.
fn distance(lines: &[String], from: (usize, usize), to: (usize, usize), room: usize) -> Option<usize> {
    let mut count = 0;
    let mut at = from;
    while at.0 < to.0 {
        count += rows(lines.get(at.0)?, room).len().saturating_sub(at.1);
        at = (at.0 + 1, 0);
        if count >= usize::from(MAX_ROWS) {
            return None;
        }
    }
    count += to.1.saturating_sub(at.1);
    (count < usize::from(MAX_ROWS)).then_some(count)
}

fn back(lines: &[String], from: (usize, usize), mut steps: usize, room: usize) -> (usize, usize) {
    let (mut line, mut row) = from;
    while steps > row {
        if line == 0 {
            return (0, 0);
        }
        steps -= row + 1;
        line -= 1;
        row = lines.get(line).map_or(0, |line| rows(line, room).len().saturating_sub(1));
    }
    (line, row - steps)
}

fn end(lines: &[String], room: usize) -> (usize, usize) {
    let last = lines.len().saturating_sub(1);
    (last, lines.get(last).map_or(0, |line| rows(line, room).len().saturating_sub(1)))
}

/// Draws the block and returns where the caret is.
pub fn draw(
    model: &Model,
    paint: &mut Paint<'_>,
    area: Rect,
    field: &Field,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    if area.is_empty() {
        return None;
    }
    layout.panes.push((Pane::Composer, to_area(area)));
    let focused = model.tab.focus == Pane::Composer;
    let block = inset(area, 1, 1);
    paint.tone(block, Slot::Raised);
    let several = !model.parked.is_empty();
    let own = super::tabs::colour(&model.tab);
    if several || !paint.has_tones() {
        // The colour of the tab: what is written never goes to the wrong one.
        let bar = if several {
            paint.role(own)
        } else {
            paint.slot(if focused { Slot::BorderFocused } else { Slot::Border })
        };
        paint.repeat(Rect { x: area.x, width: 1, ..block }, "▎", bar);
    }
    let chips = u16::from(!model.tab.composer.images.is_empty());
    let padding = area.height.saturating_sub(field.rows) / 2;
    let body = Rect { y: area.y + padding, height: area.height - padding, ..inset(area, TEXT, 3) };
    let symbol = &model.look.skin.prompt_symbol;
    let symbol = if symbol.is_empty() { "❯" } else { symbol };
    let visible = body.height.saturating_sub(chips).min(cells(field.lines.len()));
    // A block lower than the text shows the part around the caret.
    let skip = (field.caret.1 + 1).saturating_sub(visible.max(1));
    let style = if focused { paint.slot(Slot::Prompt) } else { paint.role(Role::Dim) };
    paint.put(area.x + 2, body.y, 2, symbol, style);
    let selection = vi::marked(model).or_else(|| model.tab.composer.area.selection_range());
    for (at, shown) in field.lines.iter().skip(usize::from(skip)).take(usize::from(visible)).enumerate() {
        let place = row(body, at as u16);
        paint.put(place.x, place.y, place.width, &shown.text, paint.role(Role::Text));
        if let Some((from, to)) = selection {
            mark(paint, place, shown, from, to);
        }
    }
    // What its keys do is not said while a modal takes them.
    if model.tab.composer.area.is_empty() && model.tab.modals.is_empty() {
        let text = if model.tab.processes.pane.taken_over {
            format!("keys go to the command: {} returns", hints::key_of(model, "take-over"))
        } else if super::layout::is_running(model) {
            busy(model, body.width)
        } else {
            "Ask anything, or / for commands".to_owned()
        };
        paint.fit(body.x, body.y, body.width, &text, paint.slot(Slot::Placeholder));
    }
    if chips > 0 {
        let place = row(body, visible.max(1));
        let mut x = place.x;
        for (index, image) in model.tab.composer.images.iter().enumerate() {
            let size = bytes(image.data.len() as u64 * 3 / 4);
            let kind = image.media_type.rsplit('/').next().unwrap_or("image");
            let chip = format!("[image {} · {kind} · {size}] ", index + 1);
            x = paint.put(x, place.y, place.right().saturating_sub(x), &chip, paint.role(Role::Accent));
        }
    }
    let caret = (body.x + field.caret.0, body.y + field.caret.1.saturating_sub(skip));
    (caret.1 < area.bottom()).then_some(caret)
}

/// What the two keys that send do while a turn runs.
fn busy(model: &Model, room: u16) -> String {
    let now = Busy::of(model);
    let does = match now {
        Busy::Queue => "sends after this turn",
        Busy::Steer => "sends to the running turn",
        Busy::Interrupt => "stops the turn and sends",
    };
    let other = match now.other() {
        Busy::Queue => "sends after this turn",
        Busy::Steer | Busy::Interrupt => "sends to the running turn",
    };
    let text = format!("{} {does}", hints::key_of(model, "send"));
    let key = hints::key_of(model, "send-other");
    let both = format!("{text} · {key} {other}");
    if key.is_empty() || width(&both) > usize::from(room) { text } else { both }
}

fn mark(paint: &mut Paint<'_>, place: Rect, shown: &Shown, from: (usize, usize), to: (usize, usize)) {
    let length = shown.text.chars().count();
    let column = |spot: (usize, usize)| match spot.0.cmp(&shown.line) {
        std::cmp::Ordering::Less => 0,
        std::cmp::Ordering::Greater => length,
        std::cmp::Ordering::Equal => spot.1.saturating_sub(shown.from).min(length),
    };
    let cell = |characters: usize| cells(width(&shown.text.chars().take(characters).collect::<String>()));
    let (start, stop) = (cell(column(from)), cell(column(to)));
    if start < stop {
        paint.tone(Rect { x: place.x + start, width: stop - start, ..place }.intersection(place), Slot::Marked);
    }
}

/// The popup of completions over the composer.
pub fn completion(model: &Model, paint: &mut Paint<'_>, composer: Rect, above: Rect) {
    let Some(completion) = model.tab.composer.completion.as_ref().filter(|found| !found.items.is_empty()) else {
        return;
    };
    let most = usize::from(composer.y.saturating_sub(above.y)).min(8);
    let count = completion.items.len().min(most);
    if count == 0 {
        return;
    }
    let first = completion.selected.saturating_sub(count - 1).min(completion.items.len() - count);
    let plain = completion.items.iter().all(|item| item.detail.is_empty());
    // paths stand alone and get the whole width
    let most = if plain { usize::from(composer.width.saturating_sub(8)) } else { 40 };
    let label = completion.items.iter().map(|item| width(&item.text)).max().unwrap_or(0).min(most);
    // As wide as the composer: beside a narrow one the conversation would show on, torn.
    let place = Rect { y: composer.y - cells(count), height: cells(count), ..inset(composer, 1, 1) };
    paint.clear(place, Slot::Overlay);
    for (at, item) in completion.items.iter().enumerate().skip(first).take(count) {
        let line = row(place, cells(at - first));
        let chosen = at == completion.selected;
        if chosen {
            paint.tone(line, Slot::Selection);
        }
        let text = inset(line, 2, 1);
        paint.put(line.x, line.y, 2, if chosen { "▸ " } else { "  " }, paint.slot(Slot::Prompt));
        let room = label.min(usize::from(text.width));
        let path = item.text.starts_with('@');
        let shown = if path { truncate_middle(&item.text, room) } else { truncate_end(&item.text, room) };
        paint.put(text.x, text.y, cells(room), &shown, paint.role(if chosen { Role::Strong } else { Role::Text }));
        for column in marked_columns(&item.text, &shown, &item.marks) {
            paint.tone(Rect { x: text.x + column, y: text.y, width: 1, height: 1 }.intersection(text), Slot::Match);
        }
        let x = text.x + cells(label) + 2;
        paint.fit(x, text.y, text.right().saturating_sub(x), &item.detail, paint.role(Role::Dim));
    }
}

/// Columns of marked characters in a text of which the middle or the end may be left out.
fn marked_columns(whole: &str, shown: &str, marks: &[u32]) -> Vec<u16> {
    let head = whole.chars().zip(shown.chars()).take_while(|(a, b)| a == b).count();
    let (all, left) = (whole.chars().count(), shown.chars().count());
    let mut columns = Vec::with_capacity(marks.len());
    let mut column = 0;
    for (at, character) in shown.chars().enumerate() {
        // what stands after the sign of omission is counted from the end
        let source = if at < head { at } else { at + all - left };
        let omitted = at == head && all != left;
        if !omitted && u32::try_from(source).is_ok_and(|source| marks.contains(&source)) {
            columns.push(column);
        }
        column += cells(grapheme_width(character.encode_utf8(&mut [0; 4])));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::marked_columns;

    #[test]
    fn marks_follow_what_is_left_of_a_text() {
        for (shown, marks, columns) in [
            ("@src/app/vi.rs", vec![1, 9], vec![1, 9]),
            ("@src…/vi.rs", vec![1, 5, 9], vec![1, 6]),
            ("@src/a…", vec![1, 9], vec![1]),
        ] {
            assert_eq!(marked_columns("@src/app/vi.rs", shown, &marks), columns, "{shown}");
        }
    }
}
