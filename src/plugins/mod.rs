//! What others add: commands that run at events (hooks), and programs that bring tools, hooks and commands (plugins).
//!
//! Nothing here judges a call: what plugins and hooks want done passes the same gate as everything else. Nothing runs
//! before the first frame, and nothing of a project before a person has looked at it (`config::trust`).

pub mod answer;
mod calls;
pub mod command;
pub mod consent;
pub mod create;
pub mod event;
mod fire;
pub mod found;
pub mod hook;
pub mod host;
pub mod install;
pub mod known;
pub mod load;
pub mod manifest;
pub mod moment;
mod peer;
pub mod plugin;
pub mod registered;
pub mod rpc;
pub mod setting;
mod start;
pub mod tool;

pub use event::Event;
pub use host::{Extensions, Told};
pub use moment::Moment;
