//! What the user said: a raised block with a bar, as written.

use super::{CellRows, Context};
use crate::protocol::Origin;
use crate::text::markdown::READING_WIDTH;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Row, Span};

/// Lines shown before a long message folds.
const FOLDED: usize = 24;

/// Lays out a message; long ones fold unless expanded.
pub fn layout(text: &str, images: usize, origin: Origin, context: &Context<'_>) -> CellRows {
    let (ground, role) = (Ground::Raised, Role::Text);
    let mut rows: Vec<Row> = Vec::new();
    let how = Wrap { width: context.room().min(READING_WIDTH), ..Wrap::default() };
    let mut left = 0;
    for line in text.trim_end().lines() {
        if rows.len() >= FOLDED && !context.expanded {
            left += 1;
            continue;
        }
        wrap_into(&mut rows, &[Span::new(line, role)], ground, &how);
    }
    if left > 0 {
        rows.push(label(format!("… {left} more lines ▸"), ground));
    }
    if images > 0 {
        let text = if images == 1 { "[image]".to_owned() } else { format!("[{images} images]") };
        rows.push(label(text, ground));
    }
    if rows.is_empty() {
        rows.push(Row { line: Line { spans: Vec::new(), ground }, ..Row::default() });
    }
    if origin == Origin::Steer
        && let Some(first) = rows.first_mut()
    {
        first.line.spans.push(Span::new("  while it ran", Role::Dim));
    }
    let symbol = &context.look.skin.prompt_symbol;
    let symbol = if symbol.is_empty() { "❯" } else { symbol };
    let mut out = CellRows::new(rows);
    out.ground = 1;
    out.bar = true;
    out.mark(symbol, Role::Accent)
}

fn label(text: String, ground: Ground) -> Row {
    Row::ornament(Line { spans: vec![Span::new(text, Role::Dim)], ground })
}
