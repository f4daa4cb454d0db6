//! The field where the user writes.

use tui_textarea::TextArea;

/// Text, history, attachments and completion.
#[derive(Default)]
pub struct Composer {
    pub area: TextArea<'static>,
    /// Large pastes, shown as `[Pasted text #1: 120 lines]` and put back when sent.
    pub pastes: Vec<Paste>,
    pub images: Vec<crate::protocol::Image>,
    pub history: History,
    pub completion: Option<Completion>,
    /// When it was given a key last.
    pub keyed_at: Option<i64>,
    /// Drafts that Ctrl-C put aside, newest last.
    pub drafts: Vec<String>,
    /// When the draft is written next (milliseconds since the epoch); `None`: it is.
    pub save_at: Option<i64>,
    /// The text is a stored draft as it was loaded.
    pub pristine: bool,
    /// Pastes folded so far, for their numbers.
    pub folded: usize,
}

/// A folded paste.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paste {
    pub placeholder: String,
    pub text: String,
}

/// Earlier prompts, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    pub entries: Vec<String>,
    /// Where the walk is; `None`: at the draft.
    pub at: Option<usize>,
    /// The draft waits here while walking.
    pub draft: String,
}

/// The popup over the composer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// The word that is completed.
    pub word: String,
    pub items: Vec<CompletionItem>,
    pub selected: usize,
    /// The person moved the selection: it is meant, and stays on its item.
    pub moved: bool,
}

/// One suggestion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionItem {
    /// What is put in place of the word.
    pub text: String,
    pub detail: String,
    /// The characters of `text` that match the word, in order.
    pub marks: Vec<u32>,
}
