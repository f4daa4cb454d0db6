//! The command line.

pub mod config;
pub mod doctor;
pub mod keys;
pub mod sessions;
pub mod skins;
pub mod tools;
