//! What a person feels, measured on the built program in a real PTY against a model on loopback.
//!
//! `cargo bench --bench hermes [-- NAME…]` runs all measures or those named. Clocks belong here and nowhere else in the
//! tests; `docs/PERFORMANCE.md` holds figures and their history.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    dead_code
)]

mod backends;
mod checkpoints;
mod children;
mod files;
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
#[path = "../harness/mod.rs"]
mod harness;
mod inside;
mod judge;
mod measures;
mod proc;
mod processes;
mod sandbox;
mod sessions;
mod store;
mod tabs;
mod terminals;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    println!("{:<28} {:>12}  {:>12}", "measure", "figure", "at most");
    for (name, measure) in measures::ALL {
        if wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str())) {
            for row in measure() {
                println!("{:<28} {:>12}  {:>12}  {}", row.name, row.figure, row.limit, row.note);
            }
        }
    }
}
