//! What outlives this program: terminals that a keeper holds, the register of them, and how the next run finds them again.

pub(super) mod detached;
pub(super) mod host_id;

/// Where numbers of processes mean the same as here, in a short name.
pub fn host_name() -> String {
    host_id::HostId::here().short()
}

pub(super) mod recover;
pub(super) mod register;
pub(super) mod remote_recovery;
pub(super) mod terminal_keeper;
