//! Models that run on this computer: which fit it, fetching them, and the server that answers for them.
//!
//! Owns: the table of models, the files, the engine's process. Does not own: what is sent to a model (the agent), the wire
//! (`llm`), and whether anything is fetched (a person says yes first).

pub mod choice;
pub mod engine;
mod error;
pub mod fetch;
pub mod get;
pub mod gguf;
pub mod idle;
pub mod machine;
mod provider;
pub mod served;
pub mod shelf;
pub mod table;

pub use error::LocalError;
pub use served::Local;
