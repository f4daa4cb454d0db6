//! Putting text into the buffer: clipped, styled by slots and roles, without building widgets.

use crate::config::theme::{Slot, Theme};
use crate::text::width::{truncate_end, width};
use crate::text::{Ground, Line, Role, Span};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// A buffer and the theme it is painted with.
pub struct Paint<'a> {
    pub buffer: &'a mut Buffer,
    pub theme: &'a Theme,
    /// The frame that lies over the panes.
    pub over: Option<Rect>,
}

impl<'a> Paint<'a> {
    /// Paints on a buffer with a theme.
    pub fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        Self { buffer, theme, over: None }
    }

    /// The style of a part of the screen.
    pub fn slot(&self, slot: Slot) -> Style {
        self.theme.slot(slot)
    }

    /// Whether the theme sets blocks apart by their ground; where it does not, a bar does.
    pub fn has_tones(&self) -> bool {
        let (base, raised) = (self.theme.slot(Slot::Base).bg, self.theme.slot(Slot::Raised).bg);
        raised.is_some() && raised != base
    }

    /// The style of text.
    pub fn role(&self, role: Role) -> Style {
        self.theme.text(role)
    }

    /// Styles an area and leaves its text.
    pub fn tone(&mut self, area: Rect, slot: Slot) {
        let style = self.theme.slot(slot);
        self.buffer.set_style(area, style);
    }

    /// The background of a row.
    pub fn ground(&mut self, area: Rect, ground: Ground) {
        if ground != Ground::Base {
            let style = self.theme.ground(ground);
            self.buffer.set_style(area, style);
        }
    }

    /// Empties an area that covers others.
    pub fn clear(&mut self, area: Rect, slot: Slot) {
        let area = area.intersection(self.buffer.area);
        // A wide character that the left edge cuts in two would push the row to the right.
        if area.x > self.buffer.area.x {
            for y in area.y..area.bottom() {
                if let Some(cell) = self.buffer.cell_mut((area.x - 1, y))
                    && width(cell.symbol()) > 1
                {
                    cell.set_symbol(" ");
                }
            }
        }
        for y in area.y..area.bottom() {
            for x in area.x..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
        }
        let base = self.theme.slot(Slot::Base);
        self.buffer.set_style(area, base);
        self.tone(area, slot);
    }

    /// Writes at most `cells` cells and returns the column after them.
    pub fn put(&mut self, x: u16, y: u16, cells: u16, text: &str, style: Style) -> u16 {
        let area = self.buffer.area;
        if x >= area.right() || y >= area.bottom() || cells == 0 {
            return x;
        }
        self.buffer.set_stringn(x, y, text, usize::from(cells), style).0
    }

    /// Writes cut to the width with `…`.
    pub fn fit(&mut self, x: u16, y: u16, cells: u16, text: &str, style: Style) -> u16 {
        if width(text) <= usize::from(cells) {
            return self.put(x, y, cells, text, style);
        }
        let cut = truncate_end(text, usize::from(cells));
        self.put(x, y, cells, &cut, style)
    }

    /// Writes so that the text ends before column `end`; returns where it starts.
    pub fn right(&mut self, end: u16, y: u16, text: &str, style: Style) -> u16 {
        let x = end.saturating_sub(cells(width(text)));
        self.put(x, y, end - x, text, style);
        x
    }

    /// Writes spans by their roles, over the style that is there.
    pub fn spans(&mut self, x: u16, y: u16, cells: u16, spans: &[Span]) -> u16 {
        let end = x.saturating_add(cells);
        let mut at = x;
        for span in spans {
            if at >= end {
                break;
            }
            let style = self.theme.text(span.role);
            at = self.put(at, y, end - at, &span.text, style);
        }
        at
    }

    /// Writes a line with its ground across the width.
    pub fn line(&mut self, area: Rect, line: &Line) {
        self.ground(area, line.ground);
        self.spans(area.x, area.y, area.width, &line.spans);
    }

    /// One symbol repeated.
    pub fn repeat(&mut self, area: Rect, symbol: &str, style: Style) {
        let area = area.intersection(self.buffer.area);
        for y in area.y..area.bottom() {
            for x in area.x..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.set_symbol(symbol).set_style(style);
                }
            }
        }
    }
}

/// Cells as the buffer counts them.
pub fn cells(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// A row of an area; empty when it lies outside.
pub fn row(area: Rect, index: u16) -> Rect {
    if index >= area.height {
        return Rect { height: 0, ..area };
    }
    Rect { y: area.y + index, height: 1, ..area }
}

/// An area without `left` columns on the left and `right` on the right.
pub fn inset(area: Rect, left: u16, right: u16) -> Rect {
    let left = left.min(area.width);
    Rect { x: area.x + left, width: area.width.saturating_sub(left + right), ..area }
}
