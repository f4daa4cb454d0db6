//! Notes for the user, and the line that ends a turn.

use super::{CellRows, Context};
use crate::app::reading::footer;
use crate::protocol::NoteKind;
use crate::text::markdown::READING_WIDTH;
use crate::text::wrap::{Wrap, wrap_into};
use crate::text::{Ground, Role, Span};

/// Lays out a note with the mark of its kind.
pub fn layout(kind: NoteKind, text: &str, context: &Context<'_>) -> CellRows {
    let (mark, role, text_role) = match kind {
        NoteKind::Warning => ("⚠", Role::Careful, Role::Text),
        NoteKind::Error => ("✗", Role::Bad, Role::Text),
        NoteKind::Interrupted => ("■", Role::Careful, Role::Dim),
        // A turn's end has a cell of its own.
        NoteKind::Info | NoteKind::TurnEnd => ("·", Role::Dim, Role::Dim),
        NoteKind::Hook => ("↪", Role::Dim, Role::Dim),
    };
    let mut rows = Vec::new();
    let how = Wrap { width: context.room().min(READING_WIDTH), ..Wrap::default() };
    for line in text.lines() {
        wrap_into(&mut rows, &[Span::new(line, text_role)], Ground::Base, &how);
    }
    CellRows::new(rows).mark(mark, role)
}

/// Lays out the end of a turn.
pub fn turn_end(text: &str, context: &Context<'_>) -> CellRows {
    if text.is_empty() {
        return CellRows::new(Vec::new());
    }
    let mut rows = Vec::new();
    let how = Wrap { width: context.room().min(READING_WIDTH), ..Wrap::default() };
    let sign = if footer::leads(text) { "  ▸" } else { "" };
    wrap_into(&mut rows, &[Span::new(text, Role::Dim), Span::new(sign, Role::Dim)], Ground::Base, &how);
    CellRows::new(rows).mark("─", Role::Rule)
}
