//! Lists to choose from: what all share, and one file for each concern that fills one.

pub mod agents;
pub(super) mod backends;
pub(super) mod context;
pub mod extensions;
pub mod first_run;
pub mod fuzzy;
pub mod local_models;
pub mod models;
pub mod named;
pub mod own_server;
pub mod palette;
pub mod pickers;
pub mod self_test;
pub(super) mod servers;
pub mod sign_in;
pub mod toolsets;
pub(super) mod tree;
pub mod uses;
