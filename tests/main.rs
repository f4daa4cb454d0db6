//! One integration binary: links once, runs everything that needs more than one room of the house.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

mod agent;
mod backends;
mod docs;
mod e2e;
#[allow(dead_code, reason = "the measures use some of it, the tests the rest")]
mod harness;
mod judge;
mod sources;
mod strings;
mod tidy;
