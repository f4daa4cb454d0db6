//! What the agent knows before the first prompt: the project's context files, notes and skills, and the system prompt.
//!
//! Owns: finding these texts, limiting their size, scanning them for injections. Does not own: tools that change notes or
//! skills, or what is sent with a message.

pub mod context_files;
mod fold;
pub mod layers;
pub mod memory;
pub mod prompt;
pub mod skills;
pub mod threats;
pub mod untrusted;

use crate::config::{Config, Paths};
use std::path::{Path, PathBuf};

/// Everything read for one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knowledge {
    pub soul: Option<String>,
    pub context: context_files::ContextFiles,
    pub notes: memory::Memory,
    pub profile: memory::Memory,
    pub skills: Vec<skills::Skill>,
    /// Where `SOUL.md` is.
    pub soul_file: PathBuf,
    /// Where notes and profile are.
    pub memories: PathBuf,
}

/// What the sidebar shows of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnowledgeSummary {
    /// Percent of the limit and newest entries, newest first.
    pub notes: Option<(u8, Vec<String>)>,
    pub profile: Option<(u8, Vec<String>)>,
    pub skills: Vec<String>,
    /// Names of context files, with what was wrong with them.
    pub context_files: Vec<(String, Option<String>)>,
}

/// How many entries of notes the summary has.
const NEWEST: usize = 3;

impl Knowledge {
    /// Reads it all. Blocking and bounded (a few small files); nothing of it is needed for the first frame.
    pub fn read(paths: &Paths, config: &Config, cwd: &Path) -> Self {
        // What the layer has room for is decided when the prompt is put together.
        let limit = config.context_file_max_chars.unwrap_or(usize::MAX);
        let memory = |enabled: bool, name: &str, kind: memory::Kind, limit: usize| {
            if enabled { memory::read(&paths.memories().join(name), kind, limit) } else { memory::Memory::default() }
        };
        let limits = &config.memory;
        Self {
            soul: context_files::soul(&paths.soul(), limit),
            context: context_files::load(cwd, limit),
            notes: memory(limits.memory_enabled, "MEMORY.md", memory::Kind::Notes, limits.memory_char_limit),
            profile: memory(limits.user_profile_enabled, "USER.md", memory::Kind::Profile, limits.user_char_limit),
            skills: skills::discover(paths, &config.skills),
            soul_file: paths.soul(),
            memories: paths.memories(),
        }
    }

    /// What the sidebar shows.
    pub fn summary(&self) -> KnowledgeSummary {
        let share = |memory: &memory::Memory| {
            let newest = || memory.entries.iter().rev().take(NEWEST).cloned().collect();
            (!memory.entries.is_empty()).then(|| (memory.percent(), newest()))
        };
        KnowledgeSummary {
            notes: share(&self.notes),
            profile: share(&self.profile),
            skills: self.skills.iter().map(|skill| skill.name.clone()).collect(),
            context_files: self.context.files.iter().map(|file| (file.name.clone(), file.problem.clone())).collect(),
        }
    }
}
