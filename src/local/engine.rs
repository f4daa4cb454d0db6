//! The server of a local model: which program it is, how it is started, found again and ended.

pub mod fault;
pub mod find;
pub mod install;
mod launch;
mod record;

pub use find::{Engine, Missing, find};
pub use launch::{Plan, Wish, plan};

pub(super) use launch::{knows_key, passed, settled, start};
pub(super) use record::{Files, Users};
