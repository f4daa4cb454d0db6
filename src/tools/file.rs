//! What the file tools share: text as it is on disk, safe writing, and planned edits.

mod checks;
pub mod commands;
pub mod diff;
mod disk;
pub mod document;
pub mod edit;
pub mod encoding;
pub mod gutter;
pub mod history;
pub mod masks;
pub mod restore;
pub mod restore_target;
pub mod settle;
pub mod syntax;
pub mod text;
pub mod write;

pub use disk::Disk;
