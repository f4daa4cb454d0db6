//! Children that no pane shows: one answer and an end, a protocol over pipes, a shell on another machine, `git`, a browser
//! and the door that it comes back to, a server that several windows share.

pub(super) mod browse;
pub(super) mod daemon;
pub(super) mod door;
pub(super) mod link;
pub(super) mod oneshot;
pub(super) mod piped;
pub(super) mod repo;
pub(super) mod script;
