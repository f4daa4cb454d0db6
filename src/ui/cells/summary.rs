//! A summary in the conversation: what it stands for on one line, the summary itself when opened.

use super::{CellRows, Context};
use crate::text::markdown::READING_WIDTH;
use crate::text::stream::Stream;
use crate::text::width::truncate_end;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Row, Span};

/// Where the entries are, and what can be done.
const STAYS: &str = "the entries above stay here and are found by search; /compact show, edit, undo";

/// Lays out the line, what can be done with it, and the summary.
pub fn layout(line: &str, text: &str, context: &mut Context<'_>) -> CellRows {
    let width = context.room();
    let sign = match (text.is_empty(), context.expanded) {
        (true, _) => "",
        (false, true) => "  ▾",
        (false, false) => "  ▸",
    };
    let spans = vec![Span::new(truncate_end(line, width.saturating_sub(3)), Role::Accent), Span::new(sign, Role::Dim)];
    let mut rows = vec![Row::ornament(Line { spans, ground: Ground::Base })];
    if !text.is_empty() {
        let wrap = Wrap { width: width.min(READING_WIDTH), ..Wrap::default() };
        wrap_into(&mut rows, &[Span::new(STAYS, Role::Dim)], Ground::Base, &wrap);
    }
    if context.expanded {
        rows.push(Row::ornament(Line::default()));
        let mut stream = Stream::default();
        stream.update(text, width, context.code);
        rows.extend(stream.into_rows());
    }
    CellRows::new(rows).mark("⇣", Role::Accent)
}
