//! How the model thinks aloud: one line when done, the last lines while it goes on.

use super::{CellRows, Context};
use crate::app::model::transcript::Thinking;
use crate::text::format::{self, plural};
use crate::text::markdown::READING_WIDTH;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Line, Role, Row, Span};

/// Rows of the live end.
const LIVE: usize = 3;

/// Lays out reasoning; nothing when it is switched off.
pub fn layout(text: &str, time: Thinking, finished: bool, context: &Context<'_>) -> CellRows {
    let text = text.trim();
    if super::Context::room(context) == 0 || text.is_empty() || !context.config.display.show_reasoning {
        return CellRows::new(Vec::new());
    }
    let words = text.split_ascii_whitespace().count() as u64;
    let width = context.room().min(READING_WIDTH);
    let mut rows = Vec::new();
    // What is thought folds as soon as the answer begins.
    if finished || matches!(time, Thinking::For(_)) {
        let sign = if context.expanded { "▾" } else { "▸" };
        let took = match time {
            Thinking::For(ms) if ms < 1000 => format!("thought for {} ", format::elapsed(ms)),
            Thinking::For(ms) => format!("thought for {} ", format::clock(ms)),
            Thinking::Unknown | Thinking::Since(_) => "thought ".to_owned(),
        };
        let spans = vec![
            Span::new(took, Role::Emphasis),
            Span::new(format!("· {}  {sign}", plural(words, "word", "words")), Role::Dim),
        ];
        rows.push(Row::ornament(Line { spans, ground: Ground::Base }));
        if context.expanded {
            wrap(&mut rows, text, width);
        }
    } else if context.expanded {
        wrap(&mut rows, text, width);
    } else {
        // Only the end is laid out: enough bytes for the rows, whatever the script.
        let mut from = text.len().saturating_sub(width * (LIVE + 1) * 4);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        wrap(&mut rows, &text[from..], width);
        let surplus = rows.len().saturating_sub(LIVE);
        rows.drain(..surplus);
    }
    CellRows::new(rows).mark("∴", Role::Dim)
}

fn wrap(rows: &mut Vec<Row>, text: &str, width: usize) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        wrap_into(rows, &[Span::new(line, Role::Dim)], Ground::Base, &Wrap { width, ..Wrap::default() });
    }
}
