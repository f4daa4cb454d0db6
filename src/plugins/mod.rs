//! What others add: commands that run at events (hooks), and programs that bring tools, hooks and commands (plugins).
//!
//! Nothing here judges a call: what plugins and hooks want done passes the same gate as everything else. Nothing runs
//! before the first frame, and nothing of a project before a person has looked at it (`config::trust`).

pub mod answer;
pub mod consent;
pub mod event;
pub mod hook;
pub mod manifest;
mod peer;
pub mod registered;
pub mod rpc;
