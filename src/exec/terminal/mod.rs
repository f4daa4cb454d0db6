//! What passes over the terminal of a process: output and the log of it, keys and their echo, questions of programs, and
//! whether one waits for input.

mod blocked;
mod echo;
pub(super) mod foreground;
mod fullscreen;
pub(super) mod input;
pub(super) mod keys;
pub(super) mod log;
mod partial_escape;
pub(super) mod plain;
mod query;
pub(super) mod reader;
pub(super) mod search;
pub(super) mod spill;
pub(super) mod waiting;
