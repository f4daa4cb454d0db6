//! Processes from their start to their end: how they start, the table of them, what is told of them and ordered.

pub(super) mod end;
pub(super) mod env;
pub(super) mod events;
mod exported_vars;
mod finish;
pub(super) mod handle;
pub(super) mod hub;
pub(super) mod info;
pub(super) mod kin;
mod launch;
pub(super) mod lifecycle;
pub(super) mod lineage;
mod login;
pub(super) mod notice;
mod orders;
pub(super) mod outbox;
pub(super) mod port;
pub(super) mod process_identity;
pub(super) mod procfs;
pub(super) mod record;
pub(super) mod remote;
pub(super) mod shell;
pub(super) mod spawn;
mod started;
pub(super) mod stopped;
pub(super) mod table;
pub(super) mod usage;
