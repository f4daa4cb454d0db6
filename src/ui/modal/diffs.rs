//! What putting files back changes in them, line by line and in short.

use super::rewind::{shown, text};
use crate::app::model::types::{Fate, FileBack};
use crate::text::width::truncate_end;
use crate::text::{Line, Role, Span};

/// Files whose lines are shown; each frame lays them out.
const FILES: usize = 40;

/// The lines of all files that have some, under a head; empty when none has.
pub(super) fn lines(files: &[FileBack], columns: usize) -> Vec<Line> {
    let with: Vec<&FileBack> =
        files.iter().filter(|file| !file.diff.is_empty() && file.fate != Fate::Already).collect();
    if with.is_empty() {
        return Vec::new();
    }
    let mut out = vec![Line::default(), text("What that changes in them", Role::Strong)];
    for file in with.iter().take(FILES) {
        out.push(text(format!("  {}", shown(&file.path)), Role::Accent));
        out.extend(file.diff.lines().map(|line| diff_line(line, columns)));
    }
    let more = with.len().saturating_sub(FILES);
    if more > 0 {
        out.push(text(format!("  … {more} more files"), Role::Dim));
    }
    out
}

fn diff_line(line: &str, columns: usize) -> Line {
    let role = match line.chars().next() {
        Some('+') => Role::Added,
        Some('-') => Role::Removed,
        Some(' ') => Role::Text,
        _ => Role::Dim,
    };
    let line = truncate_end(&shown(&line.replace('\t', "    ")), columns.saturating_sub(4));
    Line { spans: vec![Span::new("    ", Role::Dim), Span::new(line, role)], ..Line::default() }
}
