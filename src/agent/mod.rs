//! One conversation: the pure turn machine, the runner that drives it, and what a request contains.

mod auto_approver;
pub mod budget;
pub mod children;
pub mod compaction;
pub mod context;
mod correction;
mod digest;
mod guard;
mod handle;
mod models;
mod named_files;
mod outbox;
mod outside;
pub mod policy_snapshot;
pub mod prefix;
pub mod replay;
mod resumed;
mod retry;
pub mod rewind;
pub mod runner;
pub mod secrets;
mod situation;
pub mod spec;
mod stream_redactor;
pub mod trial;
pub mod turn;
pub mod undo;
mod wait_clock;
mod work;
pub mod worktree;

pub use handle::AgentHandle;
pub use models::Models;
pub use runner::rules;
pub use situation::git;

/// Milliseconds since the Unix epoch. The agent stamps what it writes; the pure parts get times as arguments.
pub fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
