//! One conversation: the pure turn machine, the runner that drives it, and what goes into a request.

mod absence;
pub mod context;
mod guard;
mod models;
mod outbox;
pub mod policy_snapshot;
mod port;
mod retry;
pub mod rewind;
pub mod runner;
pub mod secrets;
mod situation;
mod smart;
pub mod spec;
pub mod trial;
pub mod turn;
mod veil;

pub use models::Models;
pub use port::Port;
pub use runner::rules;
pub use situation::git;

/// Milliseconds since the Unix epoch. The agent stamps what it writes; the pure parts get times as arguments.
pub fn now() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
