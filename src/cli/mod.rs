//! The command line.

pub mod sessions;
pub mod tools;
