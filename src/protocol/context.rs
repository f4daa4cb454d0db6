//! What a session's requests are made of, and what a person decides about entries.

use super::ItemId;
use serde::{Deserialize, Serialize};

/// What a request is made of, in the order of priority: what comes later gives way first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// Who the agent is, and how it works.
    Identity,
    Tools,
    /// `AGENTS.md` and its kin.
    Project,
    Skills,
    Profile,
    Learnings,
    Memory,
    /// The summary and what was said.
    Session,
    /// What changes between turns: folder, git status, processes, plan.
    Runtime,
}

impl Layer {
    /// The layers that the prompt is made of.
    pub const OF_PROMPT: &[Self] =
        &[Self::Identity, Self::Project, Self::Skills, Self::Profile, Self::Learnings, Self::Memory];

    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Tools => "tools",
            Self::Project => "project files",
            Self::Skills => "skills",
            Self::Profile => "user profile",
            Self::Learnings => "learnings",
            Self::Memory => "memory",
            Self::Session => "session",
            Self::Runtime => "runtime",
        }
    }
}

/// A layer of the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLayer {
    pub layer: Layer,
    /// Estimated, as it is sent.
    pub tokens: u64,
    /// What it may take; `None`: nothing bounds it.
    pub most: Option<u64>,
    /// What it would take if nothing were cut.
    pub whole: u64,
}

impl ContextLayer {
    /// Whether not all of it is sent.
    pub fn is_cut(&self) -> bool {
        self.whole > self.tokens
    }
}

/// What the next request is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextView {
    /// Largest first.
    pub layers: Vec<ContextLayer>,
    /// Largest first.
    pub parts: Vec<ContextPart>,
}

/// A part of the next request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    pub layer: Layer,
    /// The entry; `None`: it stands in every request (the prompt, the tools) or is a summary.
    pub item: Option<ItemId>,
    /// `you: fix the parser`, `read_file src/main.rs`, `system prompt`.
    pub what: String,
    /// Estimated, as it is sent.
    pub tokens: u64,
    pub sent: Sent,
}

/// How a part is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sent {
    #[default]
    Whole,
    /// Old output as one line: the window was full.
    Shortened,
    /// As the person decided.
    Kept(Keep),
}

/// What a person decides about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// It is sent as it is, whatever is compacted.
    Pinned,
    /// One line stands for it.
    Line,
    /// It is not sent.
    Out,
}

/// A file that somebody else changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideFile {
    pub path: String,
    /// `modified`, `renamed from a.rs`.
    pub what: String,
    /// The other session that did it, by its title.
    pub by: Option<String>,
}

/// A reply that was not served from the provider's cache although the request before was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrefixBreak {
    /// Milliseconds since the epoch.
    pub at: i64,
    /// The first part that differs from the request before; empty: none does.
    pub part: String,
    /// What changed it, where that is known.
    pub cause: String,
    /// Tokens from the cache, of so many.
    pub cached: u64,
    pub input: u64,
}

/// What a person wants to know of a request, or to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ContextOrder {
    /// Answered with `ContextParts`.
    List,
    /// `None`: as it would be without a word of the person. Answered with `ContextParts`.
    Keep(ItemId, Option<Keep>),
}
