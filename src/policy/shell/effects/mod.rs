//! What commands do: to paths, to secrets, to other files of the line; and what is told of it.

pub(super) mod bomb;
mod classes;
mod copies;
mod downloads;
mod erase;
pub(super) mod findings;
mod lost;
mod named;
mod operands;
pub(super) mod outputs;
mod path_access;
pub(super) mod races;
mod said;
mod second;
mod secrets;
mod variables;
mod written;
