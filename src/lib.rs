//! Hermes: a full-screen terminal agent.
//!
//! `docs/ARCHITECTURE.md` explains the structure; `tests/tidy.rs` enforces it. The layers, from the inside out:
//! *core* (`app`, `agent::turn`, `policy`, `text`), *adapters* (`llm`, `exec`, `store`, `tools`, `context`, `term`,
//! `config`) and *shell* (`runtime`, `agent::runner`, `ui`, `cli`).

pub mod accounts;
pub mod agent;
pub mod app;
pub mod backends;
pub mod checkpoints;
pub mod cli;
pub mod config;
pub mod context;
pub mod elsewhere;
pub mod engine;
pub mod environment;
pub mod exec;
pub mod fs;
pub mod llm;
pub mod local;
pub mod lock;
pub mod mcp;
pub mod plugins;
pub mod policy;
pub mod protocol;
pub mod pruning;
pub mod recordings;
pub mod report;
pub mod runtime;
pub mod store;
pub mod term;
pub mod text;
pub mod tools;
pub mod ui;
pub mod yaml;

#[cfg(test)]
#[path = "../tests/harness/skipped.rs"]
mod skipped;
