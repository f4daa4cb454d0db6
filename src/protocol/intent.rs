//! What a call means to do, and what the policy says to it.

use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// What a planned call would do. The modal shows this same value and `Call::run` does nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Intent {
    /// Reads files or folders.
    Read(PathBuf),
    /// Writes these files (absolute paths, with their unified diffs).
    Edit(Vec<EditIntent>),
    /// Runs a shell line.
    Command { line: String, cwd: PathBuf, background: bool },
    /// Types into a running process.
    Input { process: String, text: String },
    /// Calls a tool that another program brings. `tool` is its whole name (`mcp__server__tool`), as rules, grants and the
    /// allowlist name it; `args` is JSON, indented; `claims` is what the program says of the tool, which changes nothing.
    Remote { server: String, tool: String, args: String, claims: Vec<String> },
    /// Runs a script of this language on the machine of the program, with `cwd` as its folder.
    Code { language: String, code: String, cwd: PathBuf },
    /// Touches only the agent's own state: plan, questions, listing processes.
    Talk,
    /// Ends or signals a process that the session started, or closes its input.
    Handle,
}

/// One file that a call would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EditIntent {
    pub path: PathBuf,
    pub diff: String,
    /// Deletes or moves it away.
    pub removes: bool,
}

/// What the policy decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum Verdict {
    Allow(Vec<Why>),
    Ask(Vec<Why>),
    /// Asked even under yolo: policy edits, words that can't be resolved.
    AskAlways(Vec<Why>),
    DeniedByRule(Why),
    /// No mode runs it.
    Refuse(Vec<Why>),
}

impl Verdict {
    /// The word of the command line and of `docs/CLI.md`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Allow(_) => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::AskAlways(_) => "ask-always",
            Verdict::DeniedByRule(_) => "denied-by-rule",
            Verdict::Refuse(_) => "refuse",
        }
    }

    /// The reasons, most serious first.
    pub fn reasons(&self) -> &[Why] {
        match self {
            Verdict::Allow(why) | Verdict::Ask(why) | Verdict::AskAlways(why) | Verdict::Refuse(why) => why,
            Verdict::DeniedByRule(why) => std::slice::from_ref(why),
        }
    }
}

/// One reason of a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The class, as a person reads it and as a session grant or the allowlist names it: `recursive delete`.
    pub effect: String,
    /// A sentence without a full stop: what these words would do.
    pub text: String,
    /// Bytes of the command that it is about.
    pub span: Range<usize>,
}
