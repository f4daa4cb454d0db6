//! Scripts that call tools: the module that they import, the socket that their calls come over, and the life of the child
//! that runs them.

pub mod language;
pub mod result;
pub mod run;
pub mod server;
pub mod stubs;
