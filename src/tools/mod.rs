//! Tools: what they are (`spec`), which exist (`registry`), which a session may use (`toolset`), and the one way a call
//! is run (`dispatch`: plan, decide, ask, run). One file a tool.

pub mod spec;
pub mod world;
