//! Undoing one command: the commands that changed files, and what undoing the selected one would mean.

use crate::protocol::{UndoPoint, UndoPreview};

/// The modal. It shows one command at a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoModal {
    /// Newest first.
    pub commands: Vec<UndoPoint>,
    /// Index into `commands`.
    pub selected: usize,
    /// Which one is meant, until they are known.
    pub wanted: Wanted,
    pub loading: bool,
    /// What undoing the selected one would mean, once it is known.
    pub preview: Option<UndoPreview>,
    /// Why there is no preview.
    pub problem: String,
    /// Files that somebody else changed are put back too.
    pub overwrite: bool,
    /// First row of the preview that is shown; a frame sets it to where it came to rest.
    pub scroll: usize,
}

/// Which command is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The newest that changed something.
    #[default]
    Newest,
    /// Counted back from the newest, from 1 on.
    Nth(usize),
    /// That of a tool call.
    Call(String),
}

impl UndoModal {
    /// The selected command.
    pub fn point(&self) -> Option<&UndoPoint> {
        self.commands.get(self.selected)
    }

    /// Files that would be put back, as it is chosen now.
    pub fn count(&self) -> usize {
        let foreign = |preview: &UndoPreview| if self.overwrite { preview.foreign() } else { 0 };
        self.preview.as_ref().map_or(0, |preview| preview.ready() + foreign(preview))
    }
}
