//! What the view remembers between frames: laid-out cells, bounded in bytes, and the code that was highlighted.

use super::cells::{self, CellRows, Context};
use crate::app::model::transcript::{Cell, CellId, ToolCell};
use crate::config::Config;
use crate::config::skin::Appearance;
use crate::text::highlight::Highlighter;
use std::collections::HashMap;

/// Bytes of laid-out cells that are kept, some pages of them; those of the last frame always are. What a long session has
/// above takes no memory here until it is scrolled to.
const MAX_BYTES: usize = 512 << 10;
/// What a cell takes beside its rows: its place in the two maps, which are half empty.
const PLACE: usize = 2 * (size_of::<Entry>() + size_of::<(CellId, u32)>() + size_of::<CellId>());

/// The memory of the view. One a screen.
#[derive(Default)]
pub struct ViewCache {
    entries: HashMap<CellId, Entry>,
    /// Rows of every cell ever laid out, for the scroll thumb: survives eviction.
    heights: HashMap<CellId, u32>,
    pub(super) code: Highlighter,
    counters: Counters,
    frame: u64,
    bytes: usize,
    look: u32,
    /// First line and row of the composer that is shown.
    pub(super) composer_top: (usize, usize),
    /// Whether rows of this frame wait for grammars.
    plain: bool,
}

/// What the cache did, for tests and traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Cells laid out.
    pub layouts: u64,
    /// Cells drawn as they were.
    pub hits: u64,
}

struct Entry {
    key: Key,
    rows: CellRows,
    bytes: usize,
    used: u64,
    /// Laid out before the grammars were there.
    plain: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    revision: u32,
    finished: bool,
    expanded: bool,
    width: u16,
    look: u32,
    reasoning: bool,
    diff_rows: usize,
    /// Calls that it stands for.
    group: usize,
}

/// How a cell is shown.
pub(super) struct Shown<'a> {
    pub(super) width: u16,
    pub(super) expand_all: bool,
    /// The calls that it stands for, where it is the first of a group.
    pub(super) group: &'a [&'a ToolCell],
}

impl ViewCache {
    /// What was laid out and what was reused since the start.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Bytes of laid-out cells, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Code was drawn plain since its grammars were loading: draw again soon.
    pub fn wants_frame(&self) -> bool {
        self.plain
    }

    /// A frame begins with this look.
    pub(super) fn begin(&mut self, look: &Appearance) {
        self.frame += 1;
        self.look = look.revision;
        self.plain = false;
    }

    /// A frame ends: what was not drawn may go.
    pub(super) fn end(&mut self) {
        if self.bytes <= MAX_BYTES {
            return;
        }
        let mut old: Vec<(u64, CellId, usize)> = self
            .entries
            .iter()
            .filter(|(_, entry)| entry.used < self.frame)
            .map(|(id, entry)| (entry.used, *id, entry.bytes))
            .collect();
        old.sort_unstable();
        for (_, id, bytes) in old {
            if self.bytes <= MAX_BYTES * 3 / 4 {
                break;
            }
            self.entries.remove(&id);
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }

    /// Lays a cell out unless it is as it was; returns its height in rows.
    pub(super) fn ensure(&mut self, cell: &Cell, shown: &Shown<'_>, config: &Config, look: &Appearance) -> usize {
        let Shown { width, expand_all, group } = *shown;
        let key = Key {
            revision: cell.revision,
            finished: cell.finished,
            expanded: cell.expanded || expand_all,
            width,
            look: self.look,
            reasoning: config.display.show_reasoning,
            diff_rows: config.display.diff_rows,
            group: group.len(),
        };
        let ready = crate::text::highlight::is_loaded();
        if let Some(entry) = self.entries.get_mut(&cell.id)
            && entry.key == key
            && !(entry.plain && ready)
        {
            if entry.used != self.frame {
                entry.used = self.frame;
                self.counters.hits += 1;
            }
            self.plain |= entry.plain;
            return entry.rows.height();
        }
        self.counters.layouts += 1;
        let before = self.entries.remove(&cell.id);
        self.bytes = self.bytes.saturating_sub(before.as_ref().map_or(0, |entry| entry.bytes));
        self.code.take_waiting();
        let mut context =
            Context { width: usize::from(width), expanded: key.expanded, group, look, config, code: &mut self.code };
        let rows = cells::layout(cell, before.map(|entry| entry.rows), &mut context);
        let plain = self.code.take_waiting();
        self.plain |= plain;
        let (bytes, height) = (rows.weight() + PLACE, rows.height());
        self.bytes += bytes;
        self.heights.insert(cell.id, height as u32);
        self.entries.insert(cell.id, Entry { key, rows, bytes, used: self.frame, plain });
        height
    }

    /// The rows of a cell that was ensured in this frame.
    pub(super) fn rows(&self, id: CellId) -> Option<&CellRows> {
        self.entries.get(&id).map(|entry| &entry.rows)
    }

    /// Rows that a cell had when it was last laid out.
    pub(super) fn known_height(&self, id: CellId) -> Option<usize> {
        self.heights.get(&id).map(|rows| *rows as usize)
    }
}
