//! What the integration tests share: a home of their own, the built program in a real PTY, a model on loopback.

pub mod apptainer;
pub mod cluster;
pub mod daytona;
pub mod disk;
pub mod engine;
pub mod git;
pub mod home;
pub mod hub;
pub mod mock;
pub mod portal;
mod skipped;
pub mod slurm;
pub mod sshd;
pub mod term;
pub mod wiki;

pub use apptainer::Apptainer;
pub use cluster::Cluster;
pub use daytona::Daytona;
pub use disk::Disk;
pub use engine::Engine;
pub use git::git;
pub use home::{Home, UNTESTED};
pub use hub::{Hub, MODEL, Manner, Served};
pub use mock::{Mock, Step};
pub use portal::Portal;
pub use skipped::{has, skipped};
pub use slurm::Slurm;
pub use sshd::Sshd;
pub use term::{Modes, Term};
pub use wiki::Wiki;

use std::time::{Duration, Instant};

/// The longest wait for anything on the screen; machines under load are slow.
pub const PATIENCE: Duration = Duration::from_secs(45);

/// The built program.
pub fn binary() -> &'static str {
    env!("CARGO_BIN_EXE_hermes")
}

/// Waits for a condition; panics with a description when it does not come.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let stop = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < stop, "nothing within {PATIENCE:?}: {what}");
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
