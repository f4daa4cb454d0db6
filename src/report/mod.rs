//! Reports on the program and its sessions: what the command line prints and the screen shows, as text or as JSON.
//!
//! Reads; changes nothing. Knows neither the screen nor the command line.

pub mod approvals;
pub mod disk;
pub mod doctor;
pub mod figures;
pub mod keys;
pub mod sessions;
pub mod stats;
