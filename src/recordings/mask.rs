//! The rows of a screen as they may be kept: without secrets, also where one is cut by the edge or folded over rows.

use crate::text::ansi;
use crate::text::width::{pad, truncate_end};
use crate::text::{Line, Snapshot};
use std::collections::HashSet;
use std::ops::Range;

/// What stands for a row of which nothing may be kept.
const GONE: &str = "[redacted]";
/// Characters of a row that stands in the middle of a secret, for it to be told from a word; at the upper edge of a screen
/// fewer do, since what it belongs to may have scrolled away.
const PIECE: usize = 8;
const FIRST: usize = 4;

/// What is known of secrets.
pub struct Masks<'a> {
    /// A text without them; the same text where there are none.
    pub redact: &'a dyn Fn(&str) -> String,
    /// Bytes of a text up to where a known one may have begun that is not whole.
    pub certain: &'a dyn Fn(&str) -> usize,
}

/// The rows of a screen, with colour sequences. `before` is what was printed last, which may have more of a secret than the
/// screen. A row that something was taken from loses its colours.
#[must_use]
pub fn masked(screen: &Snapshot, before: &str, masks: &Masks<'_>) -> Vec<String> {
    let lines = logical(screen);
    let mut shown: Vec<String> = screen.rows.iter().map(ansi::encode).collect();
    for (line, masked) in lines.iter().zip(texts(&lines, before, masks)) {
        let Some(masked) = masked else { continue };
        for (nth, row) in line.rows.clone().enumerate() {
            if let Some(row) = shown.get_mut(row) {
                *row = if nth == 0 { truncate_end(&masked, usize::from(screen.columns)) } else { String::new() };
            }
        }
    }
    shown
}

/// A line as it was printed, and the rows that it takes.
struct Logical {
    rows: Range<usize>,
    text: String,
}

fn logical(screen: &Snapshot) -> Vec<Logical> {
    let mut lines: Vec<Logical> = Vec::new();
    let mut goes_on = false;
    for (at, row) in screen.rows.iter().map(Line::text).enumerate() {
        let wraps = screen.wrapped.get(at).copied().unwrap_or(false);
        // Blanks at the end are not kept of a row, and stand between words here.
        let row = if wraps { pad(&row, usize::from(screen.columns)) } else { row };
        match lines.last_mut().filter(|_| goes_on) {
            Some(line) => {
                line.rows.end = at + 1;
                line.text.push_str(&row);
            }
            None => lines.push(Logical { rows: at..at + 1, text: row }),
        }
        goes_on = wraps;
    }
    lines
}

/// What each line is to say instead; `None`: as it is.
fn texts(lines: &[Logical], before: &str, masks: &Masks<'_>) -> Vec<Option<String>> {
    let whole = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let clean = (masks.redact)(&whole);
    let parts: Vec<&str> = clean.split('\n').collect();
    let left: HashSet<&str> = parts.iter().map(|part| part.trim()).collect();
    let secret = secrets(before, masks);
    let told = lines.iter().enumerate().map(|(at, line)| {
        let text = line.text.trim();
        if text.is_empty() {
            return None;
        }
        if parts.len() == lines.len() {
            // Line by line.
            if parts[at] != line.text {
                return Some(parts[at].to_owned());
            }
        } else if !left.contains(text) {
            return Some(GONE.to_owned());
        }
        let is_piece = |secret: &String| {
            secret == text
                || text.chars().count() >= PIECE && secret.contains(text)
                || at == 0 && text.chars().count() >= FIRST && secret.ends_with(text)
        };
        if secret.iter().any(is_piece) {
            return Some(GONE.to_owned());
        }
        let end = (masks.certain)(text);
        (text[end..].chars().count() >= FIRST).then(|| format!("{}***", &text[..end]))
    });
    told.collect()
}

/// Lines of what was printed that don't stand as they were once it is masked.
fn secrets(before: &str, masks: &Masks<'_>) -> Vec<String> {
    let clean = (masks.redact)(before);
    if clean == before {
        return Vec::new();
    }
    let left: HashSet<&str> = clean.lines().map(str::trim).collect();
    let gone = before.lines().map(str::trim).filter(|line| line.chars().count() >= FIRST && !left.contains(line));
    gone.map(str::to_owned).collect()
}
