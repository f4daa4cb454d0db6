//! The screen of a process as a pane shows it.

pub(super) mod recorder;
pub(super) mod view;
pub(super) mod viewport;
pub(super) mod watch;
