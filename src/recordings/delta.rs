//! Screens and what differs between them. Pure.

use serde::{Deserialize, Serialize};

/// A screen at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Milliseconds since the epoch.
    pub at: i64,
    /// Columns and rows.
    pub size: (u16, u16),
    /// As many as `size` says; text with colour sequences, blanks at the end left out.
    pub rows: Vec<String>,
    /// Column and row; `None` when hidden.
    pub cursor: Option<(u16, u16)>,
}

/// What changed from one screen to the next: the rows that differ, whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Delta {
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    size: Option<(u16, u16)>,
    #[serde(rename = "c")]
    cursor: Option<(u16, u16)>,
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    rows: Vec<(u16, String)>,
}

impl Delta {
    /// What makes `after` of `before`; `None` when nothing to be seen differs.
    pub(super) fn between(before: &Frame, after: &Frame) -> Option<Self> {
        let size = (before.size != after.size).then_some(after.size);
        let was = |row: usize| before.rows.get(row).map_or("", String::as_str);
        let changed = after.rows.iter().enumerate().filter(|(row, text)| was(*row) != text.as_str());
        let rows: Vec<(u16, String)> = changed.map(|(row, text)| (row as u16, text.clone())).collect();
        let same = size.is_none() && rows.is_empty() && before.cursor == after.cursor;
        (!same).then_some(Self { size, cursor: after.cursor, rows })
    }

    /// Makes the next screen of the one before. A row outside the screen is left out.
    pub(super) fn apply(self, frame: &mut Frame, at: i64) {
        frame.at = at;
        frame.cursor = self.cursor;
        frame.size = self.size.unwrap_or(frame.size);
        frame.rows.resize(usize::from(frame.size.1), String::new());
        for (row, text) in self.rows {
            if let Some(kept) = frame.rows.get_mut(usize::from(row)) {
                *kept = text;
            }
        }
    }
}

impl Frame {
    /// A screen with these rows, filled up or cut to its size.
    #[must_use]
    pub fn new(at: i64, size: (u16, u16), mut rows: Vec<String>, cursor: Option<(u16, u16)>) -> Self {
        rows.resize(usize::from(size.1), String::new());
        Self { at, size, rows, cursor }
    }

    /// Its rows as lines of styled text.
    #[must_use]
    pub fn lines(&self) -> Vec<crate::text::Line> {
        let line = |row: &String| crate::text::ansi::lines(row).into_iter().next().unwrap_or_default();
        self.rows.iter().map(line).collect()
    }
}
