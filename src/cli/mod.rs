//! The command line: one file a group of commands. Each has clap arguments and a `run` that writes to a given output.

pub mod config;
pub mod doctor;
pub mod keys;
pub mod skins;
