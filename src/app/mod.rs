//! The state of the screen and the only code that changes it: `update(&mut Model, now, Msg) -> Vec<Effect>`.
//!
//! Pure: no I/O, clock, tokio, terminal or SQL. Messages are facts, effects are orders that the runtime executes.

pub mod action;
pub mod approvals;
pub mod docs;
pub mod effect;
pub mod events;
pub mod input;
pub mod lists;
pub mod model;
pub mod msg;
pub mod reading;
pub mod run;
pub mod session;
pub mod terminal;
pub mod update;
pub mod window;

#[cfg(test)]
pub(crate) mod tests;

pub use effect::Effect;
pub use model::Model;
pub use msg::Msg;
pub use update::{start, update};
