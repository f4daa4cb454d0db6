//! The command line.

pub mod tools;
