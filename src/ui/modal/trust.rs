//! The card before a folder's things run: what they are, what changed, and two answers of which no is the default.

use super::Frame;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::app::model::modal::TrustModal;
use crate::config::theme::Slot;
use crate::text::Role;
use crate::text::wrap::{Row, Wrap, wrap_into};
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Draws it and returns where its caret is.
pub fn draw(
    state: &TrustModal,
    now: i64,
    paint: &mut Paint<'_>,
    area: Rect,
    layout: &mut Layout,
) -> Option<(u16, u16)> {
    let columns = 96.min(area.width.saturating_sub(10)).max(12);
    // Two answers, a blank row over them and one at the top.
    let window = usize::from(area.height.saturating_sub(9)).max(1);
    let mut rows: Vec<Row> = Vec::new();
    let first = state.scroll.min(state.lines.len().saturating_sub(1));
    let mut more = first > 0;
    for line in &state.lines[first..] {
        if rows.len() >= window {
            more = true;
            break;
        }
        // What would run stands as it is written, sentences break between words.
        let verbatim = line.spans.first().is_some_and(|span| span.text.starts_with("  "));
        let how = Wrap { width: usize::from(columns), verbatim, ..Wrap::default() };
        wrap_into(&mut rows, &line.spans, line.ground, &how);
    }
    let foot = match (state.inert_until > now, more) {
        (true, _) => "answers after a quiet moment",
        (false, true) => "↑↓ more · y, then Enter, trusts",
        (false, false) => "y, then Enter, trusts",
    };
    let frame = Frame { title: "⚠ May this run?", title_role: Role::Careful, foot, ..Frame::default() };
    let height = if more { window } else { rows.len() };
    let place = frame.draw(paint, area, columns, cells(height) + 4);
    let room = place.height.saturating_sub(4);
    for (index, line) in rows.iter().take(usize::from(room)).enumerate() {
        paint.line(row(place, index as u16 + 1), &line.line);
    }
    let top = place.height.saturating_sub(2);
    let answers =
        [("Not now: nothing of it runs", "n", !state.agreed), ("Trust it as it is shown here", "y", state.agreed)];
    for (index, (label, key, chosen)) in answers.into_iter().enumerate() {
        let line = row(place, top + index as u16);
        if chosen {
            paint.tone(line, Slot::Selection);
            paint.put(line.x, line.y, 2, "▸", paint.slot(Slot::Prompt));
        }
        let role = paint.role(if chosen { Role::Strong } else { Role::Text });
        paint.fit(line.x + 2, line.y, line.width.saturating_sub(4), label, role);
        paint.right(line.right(), line.y, key, paint.role(Role::Accent));
        layout.targets.push((Area { x: line.x, y: line.y, width: line.width, height: 1 }, Hit::ModalRow(index)));
    }
    None
}
