//! The state of the screen and the only code that changes it: `update(&mut Model, now, Msg) -> Vec<Effect>`.
//!
//! Pure: no I/O, clock, tokio, terminal or SQL. Messages are facts, effects are orders that the runtime executes.

pub mod action;
pub mod answers;
pub mod appearance;
pub mod approvals;
mod asks;
mod backends;
pub mod borders;
pub mod completion;
pub mod composer;
mod copy_words;
pub mod docs;
pub mod drafts;
pub mod edit;
pub mod editor;
pub mod effect;
pub mod encode;
pub mod events;
pub mod extensions;
pub mod find;
pub mod first_run;
pub mod focus;
pub mod frozen;
pub mod fuzzy;
pub mod hint;
pub mod history;
pub mod items;
pub mod keys;
pub mod marking;
pub mod modals;
pub mod model;
pub mod models;
pub mod mouse;
pub mod msg;
pub mod notices;
pub mod own_server;
pub mod palette;
pub mod paste;
pub mod permissions;
pub mod pickers;
pub mod processes;
pub mod queue;
pub mod quitting;
pub mod reference;
pub mod rewind;
pub mod run;
pub mod scroll;
pub mod seek;
pub mod select;
mod servers;
pub mod sessions;
pub mod settings;
pub mod shown;
pub mod sidebar;
pub mod slash;
pub mod split;
pub mod suggestions;
pub mod tabs;
pub mod toolsets;
pub mod turn;
pub mod update;
pub mod uses;
pub mod vi;
pub mod wake;

#[cfg(test)]
pub(crate) mod tests;

pub use effect::Effect;
pub use model::Model;
pub use msg::Msg;
pub use update::{start, update};
