//! A list that can be searched, beside (or over) a preview of what is selected.

use super::field;
use crate::app::Model;
use crate::app::model::layout::{Area, Hit, Layout};
use crate::config::theme::Slot;
use crate::text::Role;
use crate::ui::live;
use crate::ui::paint::{Paint, cells, row};
use ratatui::layout::Rect;

/// Rows of an entry.
const EACH: usize = 2;
/// Columns from which the preview stands beside the list.
const BESIDE: u16 = 76;

/// The list and the field over it.
pub struct Columns<'a> {
    pub query: &'a str,
    /// Cursor in the query, in characters.
    pub cursor: usize,
    /// Something is being looked for.
    pub busy: bool,
    /// Entries that the query leaves.
    pub count: usize,
    pub selected: usize,
    /// Said instead of entries.
    pub empty: &'a str,
}

impl Columns<'_> {
    /// Draws field and list; `entry` draws the two rows of an entry. Returns the place of the preview and where the caret
    /// is.
    pub fn draw(
        &self,
        model: &Model,
        paint: &mut Paint<'_>,
        place: Rect,
        layout: &mut Layout,
        mut entry: impl FnMut(&mut Paint<'_>, Rect, Rect, usize),
    ) -> (Rect, Option<(u16, u16)>) {
        let head = row(place, 0);
        let caret = field(model, paint, head, "⌕ ", self.query, self.cursor);
        if self.busy {
            paint.put(head.right().saturating_sub(1), head.y, 1, live::spinner(model.now), paint.slot(Slot::Spinner));
        }
        let body = Rect { y: place.y + 2, height: place.height.saturating_sub(2), ..place };
        let beside = body.width >= BESIDE;
        let (list, preview) = if beside {
            let left = body.width * 2 / 5;
            (Rect { width: left, ..body }, Rect { x: body.x + left + 3, width: body.width - left - 3, ..body })
        } else {
            // whole entries
            let top = ((body.height * 3 / 5).max(2) / 2 * 2).min(body.height);
            let below = Rect { y: body.y + top + 1, height: body.height.saturating_sub(top + 1), ..body };
            (Rect { height: top, ..body }, below)
        };
        if self.count == 0 && !list.is_empty() {
            paint.fit(list.x + 2, list.y, list.width.saturating_sub(2), self.empty, paint.role(Role::Dim));
        }
        let window = (usize::from(list.height) / EACH).max(1);
        let skip = (self.selected + 1).saturating_sub(window);
        for index in (0..self.count).skip(skip).take(window) {
            let y = cells((index - skip) * EACH);
            let (first, second) = (row(list, y), row(list, y + 1));
            if !first.is_empty() {
                if index == self.selected {
                    paint.tone(first, Slot::Selection);
                    paint.tone(second, Slot::Selection);
                    paint.put(first.x, first.y, 2, "▸", paint.slot(Slot::Prompt));
                }
                entry(paint, first, second, index);
            }
            let hit = Area { x: list.x, y: list.y + y, width: list.width, height: EACH as u16 };
            layout.targets.push((hit, Hit::ModalRow(index)));
        }
        if beside {
            let line = paint.slot(Slot::Border);
            paint.repeat(Rect { x: preview.x.saturating_sub(2), width: 1, ..preview }, "│", line);
        }
        (preview, caret)
    }
}
