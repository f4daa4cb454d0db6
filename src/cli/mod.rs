//! The command line: one file a group of commands.

pub mod approvals;
