//! One session on the screen, and several in tabs: the turn, what waits, its items, going back, switching.

pub mod btw;
pub mod budget;
pub mod checkout;
pub mod compaction;
pub mod elsewhere;
pub mod goal;
pub mod items;
pub mod queue;
pub mod replay;
pub mod rewind;
pub mod scripts;
pub mod sessions;
pub mod stats;
pub mod tabs;
pub mod turn;
pub mod undo;
pub mod worktree;
