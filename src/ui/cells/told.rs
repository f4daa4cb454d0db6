//! What the program told the model by itself: one dim line, the whole text when opened.

use super::{CellRows, Context};
use crate::text::markdown::READING_WIDTH;
use crate::text::width::truncate_end;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Row, Span};

/// Lays out the line, and below it what the model read.
pub fn layout(gist: &str, text: &str, context: &Context<'_>) -> CellRows {
    let width = context.room().min(READING_WIDTH);
    let sign = if context.expanded { "  ▾" } else { "  ▸" };
    let gist = truncate_end(gist, width.saturating_sub(3));
    let spans = vec![Span::new(gist, Role::Dim), Span::new(sign, Role::Dim)];
    let mut rows = vec![Row::ornament(Line { spans, ground: Ground::Base })];
    if context.expanded {
        for line in text.trim_end().lines() {
            wrap_into(
                &mut rows,
                &[Span::new(line, Role::Dim)],
                Ground::Base,
                &Wrap { width, verbatim: true, ..Wrap::default() },
            );
        }
    }
    CellRows::new(rows).mark("·", Role::Dim)
}
