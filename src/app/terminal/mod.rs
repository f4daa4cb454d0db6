//! Running commands and the terminal pane: what it shows, and what goes to the program in it.

pub(super) mod asks;
pub mod editor;
pub mod pane;
pub mod processes;
pub mod shown;
pub mod split;
pub mod taking_over;
