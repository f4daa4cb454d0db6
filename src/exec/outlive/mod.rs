//! What outlives this program: terminals that a keeper holds, the register of them, and how the next run finds them again.

pub(super) mod detached;
mod host_id;
pub(super) mod recover;
pub(super) mod register;
pub(super) mod remote_recovery;
pub(super) mod terminal_keeper;
