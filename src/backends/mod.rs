//! Where commands run and files live: this machine, or another one reached through a client program.
//!
//! A [`Backend`] knows how to prepare its machine and how to call its client (`ssh`, `podman exec`, `kubectl exec`).
//! Everything else is shared, in [`Remote`]: commands on a terminal with a persistent folder and variables, background
//! work that outlives a connection, signals, files, and lookups on that machine for the gate.

mod backend;
mod container;
mod daytona;
mod files;
mod found;
mod gateway;
mod job;
mod keys;
mod kubernetes;
mod modal;
mod open;
mod reaper;
mod remote;
mod script;
mod search;
mod service;
mod singularity;
mod slot;
mod slurm;
mod ssh;
mod transfer;
mod world;

pub use backend::{Backend, Leaving, PlaceError, Programs, Terminal, Traits};
pub use files::{About, Files, Kind};
pub use job::{Job, JobSpec};
pub use keys::Keys;
pub use open::{Backends, KINDS, check, client_of};
pub use remote::Remote;
pub use search::{Hit, Reach, Wanted, WantedMode};
pub use transfer::{Moved, pull, push};
pub use world::Worlds;
