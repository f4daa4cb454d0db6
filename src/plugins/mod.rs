//! Extensions: commands that run at events (hooks), and programs that add tools, hooks and commands (plugins).
//!
//! Nothing here approves a call: what plugins and hooks want passes the same gate as everything else. Nothing runs
//! before the first frame, and nothing in a project before the user has reviewed it (`config::trust`).

pub mod answer;
mod calls;
pub mod command;
pub mod consent;
pub mod create;
pub mod event;
mod fire;
pub mod found;
pub mod hook;
pub mod hook_payload;
pub mod host;
pub mod install;
pub mod known;
pub mod load;
pub mod manifest;
mod peer;
pub mod plugin;
pub mod registered;
pub mod rpc;
pub mod setting;
mod start;
pub mod tool;

pub use event::Event;
pub use hook_payload::HookPayload;
pub use host::{Extensions, PluginNotice};
