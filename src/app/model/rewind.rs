//! Going back to an earlier prompt: the prompts, what the selected one would mean, and the choice.

use crate::protocol::{RewindPoint, RewindPreview};

/// The modal of a rewind, or of the undo of the last exchange.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RewindModal {
    /// Newest first.
    pub points: Vec<RewindPoint>,
    pub query: String,
    /// Cursor in the query, in characters.
    pub cursor: usize,
    /// Indices into `points` that the query leaves.
    pub matches: Vec<usize>,
    /// Index into `matches`.
    pub selected: usize,
    pub loading: bool,
    /// The prompt that is selected once the list is there; `None`: the newest.
    pub wanted: Option<crate::protocol::ItemId>,
    /// What the selected prompt would mean, once it is known.
    pub preview: Option<RewindPreview>,
    /// Why there is no preview.
    pub problem: String,
    /// Enter came before the preview: it goes on once that is there.
    pub accepted: bool,
    /// What is done about it; `None` while a prompt is chosen.
    pub confirm: Option<Confirming>,
    /// The last exchange is undone: there is no list to go back to.
    pub undo: bool,
    /// First row of the preview that is shown; a frame sets it to where it came to rest.
    pub scroll: usize,
}

/// A prompt was chosen; nothing has happened yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirming {
    pub selected: RewindChoice,
    /// Files that somebody else changed are put back too.
    pub overwrite: bool,
}

/// What is taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RewindChoice {
    Both,
    #[default]
    Conversation,
    Files,
    /// Not an answer: whether files that somebody else changed are put back too.
    Overwrite,
}

impl RewindModal {
    /// The selected prompt.
    pub fn point(&self) -> Option<&RewindPoint> {
        self.matches.get(self.selected).and_then(|at| self.points.get(*at))
    }

    /// What can be chosen for the prompt, in the order of the screen.
    pub fn choices(&self) -> &'static [RewindChoice] {
        let Some(preview) = &self.preview else { return &[] };
        match (preview.ready(), preview.foreign()) {
            (0, 0) => &[RewindChoice::Conversation],
            (_, 0) => &[RewindChoice::Both, RewindChoice::Conversation, RewindChoice::Files],
            (_, _) => &[RewindChoice::Both, RewindChoice::Conversation, RewindChoice::Files, RewindChoice::Overwrite],
        }
    }
}
