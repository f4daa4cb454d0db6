//! Programs that no table can describe: what they run, read and write, by their own languages and options.

mod archive;
mod as_root;
mod build_tools;
pub(super) mod code;
pub(super) mod decode;
pub(super) mod fetch;
mod filters;
mod git;
pub(super) mod interpret;
mod kill;
mod languages;
mod readings;
mod recipes;
mod registry;
mod repository;
mod script;
mod search;
mod secret_search;
mod sed;
mod setup;
mod shells;
mod special;
mod sql;
mod sql_client;
mod stdin_languages;
mod transform;
mod unknown;
pub(super) mod wrappers;
mod xargs;

pub use code::{JAVASCRIPT, asks_each_time, script};
