//! What this program does to files of its own: writes them whole, and deletes them in one place. Knows no other room.

pub mod remove;
mod write;

pub use write::{WriteError, ensure_dir, write_atomic, write_whole};
