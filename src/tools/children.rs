//! Work that a session gives to others: what a tool asks for, and who carries it out.

use crate::config::Isolation;
use crate::protocol::{ChildRow, SessionId};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tokio_util::sync::CancellationToken;

/// What one child is to do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Task {
    pub goal: String,
    /// What it must know: it sees nothing of the conversation.
    pub context: String,
    /// Names of toolsets; empty: those of the parent.
    pub toolsets: Vec<String>,
    /// It may give work to children as well.
    pub orchestrates: bool,
    /// `None`: as the settings say.
    pub isolation: Option<Isolation>,
    pub limits: TaskLimits,
}

/// What a call lets a child use; `None`: as the settings say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskLimits {
    pub steps: Option<u32>,
    /// Tokens of requests and replies.
    pub tokens: Option<u64>,
    /// Tokens of replies.
    pub output: Option<u64>,
    /// US dollars.
    pub cost: Option<f64>,
    pub seconds: Option<u64>,
}

impl TaskLimits {
    /// What one task does not say, the call says for all.
    pub fn or(self, all: Self) -> Self {
        Self {
            steps: self.steps.or(all.steps),
            tokens: self.tokens.or(all.tokens),
            output: self.output.or(all.output),
            cost: self.cost.or(all.cost),
            seconds: self.seconds.or(all.seconds),
        }
    }
}

/// What came of a batch.
#[derive(Clone, Debug, PartialEq)]
pub enum Ran {
    /// Every child has ended; in the order of the tasks.
    Ended(Vec<ChildResult>),
    /// They work on, and tell their end by a message. `moved`: a person wanted that.
    Background { results: Vec<ChildResult>, moved: bool },
}

/// A batch that a call gives away.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub call_id: String,
    pub tasks: Vec<Task>,
    /// Characters that the results may take together.
    pub room: usize,
    /// Where summaries stand that are longer.
    pub spill: PathBuf,
    /// It goes on without the call, and tells its end to the session.
    pub background: bool,
    pub cancel: CancellationToken,
}

/// What came of a child.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChildResult {
    pub row: ChildRow,
    /// Its last answer, within its bound; says where the rest is.
    pub summary: String,
    /// Files that it changed, with lines added and removed.
    pub files: Vec<(String, u32, u32)>,
    pub commands: usize,
    /// Why it ended, when it did not complete.
    pub error: String,
    /// The worktree that only it had and that stays, because something is in it.
    pub worktree: Option<LeftWorktree>,
    /// What is to be known of how it worked: `no worktree: …`, a limit that it asked for and did not get.
    pub note: String,
    /// What became of its processes in the background, in words.
    pub processes: Vec<String>,
    /// Whose text it read, which its summary may repeat.
    pub strangers: Vec<String>,
}

/// What a child left in its worktree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftWorktree {
    pub branch: String,
    pub folder: PathBuf,
    /// What changed since it began, as `git diff --stat` says it.
    pub changes: String,
    /// What is in it that is nowhere else, in words: `1 untracked file`.
    pub has: Vec<String>,
    /// Something of it is in no commit.
    pub uncommitted: bool,
}

/// Other sessions that work on the same files now.
pub trait Kin: Send + Sync {
    /// What one of them is called: `child 2`; `None`: it is none of them.
    fn called(&self, session: &SessionId) -> Option<String>;

    /// Whose child this session is.
    fn parent(&self) -> Option<SessionId>;
}

/// Who opens children of a session and speaks with them.
pub trait Children: Send + Sync {
    /// The limits, for the description of the tool: children at once, and levels that are left.
    fn limits(&self) -> (usize, u32);

    /// Runs a batch to its end; with what was begun, when it goes on without the call.
    ///
    /// # Errors
    /// Nothing was begun: a toolset that the parent lacks, the depth is used up.
    fn run(&self, batch: Batch) -> BoxFuture<'static, Result<Ran, String>>;

    /// All children of this session, the newest batch last.
    fn list(&self) -> Vec<ChildRow>;

    /// Says something to a child that works.
    ///
    /// # Errors
    /// There is none of this name or id that works.
    fn send(&self, child: &str, text: String) -> Result<SessionId, String>;

    /// Stops a child.
    ///
    /// # Errors
    /// There is none of this name or id that works.
    fn stop(&self, child: &str) -> Result<Option<SessionId>, String>;

    /// Waits for the end of children; of all that work, when none is named.
    ///
    /// # Errors
    /// There is none of this name or id, or `cancel` fired.
    fn wait(
        &self,
        children: Vec<String>,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Vec<ChildResult>, String>>;
}
